// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// What errors of the library are recognised by.
const (
	noTarget   = `no (?:resource )?matches for Id (\S+?)[;,]?(?:\s|$)`
	several    = `multiple matches for Id (\S+?)[;,]?(?:\s|$)`
	registered = `already registered id: (\S+)`
	jsonPath   = `(?:path|pointer|key|value)[^/]*?(/[^'":,\s]+)`
	noReplicas = `resource with name (\S+) does not match a config with the following GVK`
	folder     = `(?:path|target for path|under) '?/?t/([^':\n]*)'?`
	generated  = `merging from generator (?s:.*)Kind:"(\w+)"(?s:.*)Name:"([^"]*)"`
	varTwice   = `var '([^']*)' already encountered`
	varSeveral = `resId matches for var \{(\S+)`
	keyTwice   = `mapping key "[^"]*" already defined`
)

// explain returns the mistake of the user that err of the library is about.
func (b *build) explain(err error) error {
	text := err.Error()

	// A patch selects one object, and a field of replicas too.
	if id := find(noTarget, text); id != "" {
		return b.untargeted(id, text)
	}
	if id := find(several, text); id != "" {
		return b.untargeted(id, text)
	}
	if name := find(noReplicas, text); name != "" {
		for _, k := range append(slices.Collect(maps.Values(b.made)), b.top) {
			if k == nil {
				continue
			}
			if i := slices.IndexFunc(k.types.Replicas, func(r types.Replica) bool { return r.Name == name }); i >= 0 {
				const format = "no Deployment, StatefulSet, ReplicaSet or ReplicationController is called %q"
				field := item("replicas", i)
				return object.Errors{component.Fail(b.pos(k, field), field, "correct the name, or remove it", format, name)}
			}
		}
	}

	// An object, a generator or a key may be there twice, or lack its name.
	if id := find(registered, text); id != "" {
		return b.duplicate(id)
	}
	if errs := b.conflict(text); errs != nil {
		return errs
	}
	if find(keyTwice, text) != "" {
		if errs := b.keysTwice(); errs != nil {
			return errs
		}
	}
	if strings.Contains(text, "missing metadata.name") || strings.Contains(text, "missing Resource metadata") || strings.Contains(text, "missing kind") {
		if errs := b.nameless(); errs != nil {
			return errs
		}
	}

	// Anything else is placed at the patch or the folder that the text names.
	pos := b.pos(b.root, nil)
	dirs := regexp.MustCompile(folder).FindAllStringSubmatch(text, -1)
	for _, d := range slices.Backward(dirs) {
		if k, ok := b.made[strings.TrimSuffix(d[1], "/")]; ok {
			pos = b.pos(k, nil)
			break
		}
	}
	const hint = "\"kustomize build\" may say more, with values of the files"
	return object.Errors{component.Fail(b.patchAt(text, pos), nil, hint, "%s", b.short(text))}
}

func find(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[len(m)-1]
	}
	return ""
}

// split reads an id of the library: Kind.version.group/name.namespace.
func split(id string) (kind, name, namespace string) {
	gvk, rest, _ := strings.Cut(strings.Trim(id, `"'`), "/")
	kind, _, _ = strings.Cut(gvk, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		rest, namespace = rest[:i], rest[i+1:]
	}
	if namespace == "[noNs]" || namespace == "[noNamespace]" {
		namespace = ""
	}
	return kind, rest, namespace
}

// untargeted returns the mistake of a patch that selects no object, or several.
func (b *build) untargeted(id, text string) error {
	kind, name, namespace := split(id)

	// The objects of the kind tell what was meant.
	var candidates []string
	for _, docs := range b.docs {
		for _, d := range docs {
			if d.kind == kind {
				candidates = append(candidates, d.name)
			}
		}
	}
	hint := fmt.Sprintf("there is no %s to patch", kind)
	if slices.Contains(candidates, name) {
		hint = "one of this name has another group, version or namespace, or comes later"
	} else if len(candidates) > 0 {
		hint = object.Suggest(name, candidates)
	}
	if namespace != "" {
		name = namespace + "/" + name
	}

	// The text tells whether there are none or several.
	noun := "nothing: no"
	if find(several, text) != "" {
		noun, hint = "several objects:", "set target in patches, with the namespace or labels of one"
	}

	// The mistake is at the place of the patch.
	pos := b.pos(b.root, nil)
	for _, p := range b.patches {
		for _, d := range p.docs {
			sameName := d.name == name || (namespace != "" && namespace+"/"+d.name == name)
			if sameName && d.kind == kind {
				pos = p.pos(d)
			}
		}
	}
	return object.Errors{component.Fail(pos, nil, hint, "the patch matches %s %s %q", noun, kind, name)}
}

// duplicate returns the mistake of two objects of one name.
func (b *build) duplicate(id string) error {
	kind, name, _ := split(id)
	var positions []object.Pos
	for _, file := range slices.Sorted(maps.Keys(b.docs)) {
		for _, d := range b.docs[file] {
			if d.kind == kind && (d.name == name || strings.Contains(name, d.name)) {
				positions = append(positions, b.posOf(file, d.line, d.column))
			}
		}
	}
	const hint = "remove one of them, or give one another name or namespace"
	e := component.Fail(b.pos(b.root, nil), nil, hint, "%s %q is there twice", kind, name)
	if len(positions) > 0 {
		e.Pos = positions[len(positions)-1]
	}
	if len(positions) > 1 {
		e.Notes = []object.Note{{Pos: positions[0], Text: "first here"}}
	}
	return object.Errors{e}
}

// nameless returns the mistakes of objects without a name or a kind.
func (b *build) nameless() object.Errors {
	var errs object.Errors
	for file, docs := range b.docs {
		for _, d := range docs {
			if field := map[bool]string{d.name == "": "metadata.name", d.kind == "": "kind"}[true]; field != "" {
				errs = append(errs, component.Fail(b.posOf(file, d.line, d.column), nil, "", "%s has no %s", cmp.Or(d.kind, "the object"), field))
			}
		}
	}
	return errs.Sorted()
}

// patchAt returns the place of the patch that an error is about.
func (b *build) patchAt(text string, pos object.Pos) object.Pos {
	excerpt := find(jsonPath, text)
	for _, p := range b.patches {
		broken := slices.ContainsFunc(p.docs, func(d document) bool { return d.kind == "" || d.name == "" })
		quoted := len(p.text) > 0 && strings.Contains(text, strings.TrimSpace(p.text[:min(len(p.text), 80)]))
		broken = broken && strings.Contains(text, "unable to parse") || len(p.docs) == 0 && strings.Contains(text, "empty")
		if excerpt != "" && strings.Contains(p.text, excerpt) || quoted || broken {
			return p.field
		}
	}
	return pos
}

// said are words of the library that are no part of what it read.
const said = `(?:add|remove|replace|test) operation does not apply|doc is missing (?:path|key)|unable to remove nonexistent key|test failed|` +
	`missing value|invalid index|unable to find field|is out of bounds|is missing for replacement source|nothing selected by|` +
	`another key by that name already exists|expected sequence or mapping node|wrong node kind|kustomize crashed|` +
	`must specify a target for patch|must specify (?:at least one target|the target name)|replacements must specify a source and at least one target|` +
	`target must specify resources to select|value and resource selectors are mutually exclusive|cannot specify both path and inline replacement|` +
	`delimiter option can only be used with scalar nodes|fieldPath cannot be empty|conflicting fieldspecs|exists in both commonLabels and labels|` +
	`found multiple possible referrals|no structured data found in path|not a structured data path|invalid value type expect a string|` +
	`namespace is blank for resource|builtin version and custom schema provided, cannot use both|the specified OpenAPI version is not built in|` +
	`the field 'sortOptions\.\w+'|plugin \S+ not configurable|validator shouldn't modify the resource map|empty json patch operations|` +
	`Multiple Strategic-Merge Patches in one .patches. entry is not allowed to set .patches\.target. field`

// short returns what the library says in words of its own, with the path of an operation: all else
// in its text may be of the files, and a secret.
func (b *build) short(text string) string {
	if strings.Contains(text, "patch appears to be empty") {
		return "the patch is empty"
	}
	words := append([]string{"kustomize cannot build it"}, regexp.MustCompile(said).FindAllString(text, -1)...)
	if at := find(jsonPath, text); at != "" {
		path := regexp.MustCompile(`\bpath["']?: *["']?` + regexp.QuoteMeta(at) + `["'\s,}]`)
		if slices.ContainsFunc(b.patches, func(p patch) bool { return path.MatchString(p.text + " ") }) {
			words = append(words, at)
		}
	}
	return strings.Join(slices.Compact(words), ": ")
}
