// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/render/object"
)

// A document that was meant for this package and misses it by a slip would vanish: no
// other tool reads it either. So a document that comes close is a mistake: an apiVersion
// or its key that is misspelt or missing, a kind of Ropewalk in a group of Kubernetes, or the
// fields of Ropewalk without an apiVersion. A document that names the group of another project
// belongs to that project.

// IsNear reports whether an object that is not a document of Ropewalk was probably meant to be one,
// so that [Parse] rejects it. The argument doc is JSON in Go, with numbers as json.Number.
func IsNear(doc map[string]any) bool {
	var p parsing
	return p.nearDocument(NewStructured("", doc).doc.value)
}

// nearDocument reports the mistake of a document that is not a document of Ropewalk and was probably
// meant to be one. It returns false if it is a document of another tool.
func (p *parsing) nearDocument(v object.Value) bool {
	switch v.Kind {
	case object.KindMap:
	case object.KindList:
		return p.nearItems(v)
	default:
		return p.nearText(v)
	}

	// The apiVersion may have a slip, or be cut.
	m, ok := keyLike(v, "apiVersion")
	if ok && len(v.Members) == 1 && isCut(m.Value.Text) {
		p.fail(m.Pos, nil, "", "the document ends after apiVersion")
		return true
	}
	apiVersion, kind := m.Value.Text, textLike(v, "kind")
	if m.Value.Kind != object.KindString {
		apiVersion = ""
	}

	// The group, the kind and the fields tell the intention.
	group, _, _ := strings.Cut(apiVersion, "/")
	path := object.Fields("apiVersion")
	intended := meantVersion(apiVersion, kind, v)
	// The groups of Kubernetes itself have no kind of Ropewalk; other groups may have one.
	foreign := strings.Contains(group, ".") && !nearVersion(apiVersion)
	switch {
	case intended == "" || (foreign && !isShape(v, kind)):
		return p.reportNested(v, apiVersion, kind)
	case ok && m.Name != "apiVersion":
		p.fail(m.Pos, nil, `did you mean "apiVersion"?`, "field %q is not known", m.Name)
	case apiVersion == "":
		pos := v.Pos
		if ok {
			pos = m.Value.Pos
		}
		p.fail(pos, path, "write apiVersion: "+intended, "is missing")
	default:
		p.fail(m.Value.Pos, path, "write apiVersion: "+intended, "%q is not known", apiVersion)
	}
	return true
}

// meantVersion returns the apiVersion that a document was probably meant to have, by its
// apiVersion, its kind and its fields. It returns "" if the document does not belong to Ropewalk.
func meantVersion(apiVersion, kind string, v object.Value) string {
	metadata, _ := v.Get("metadata")
	body, _ := v.Get("spec")
	switch {
	case apiVersion != "" && nearScore(apiVersion), kind == "" && isShape(v, kind) && body.Kind != object.KindMap:
		return ScoreVersion
	case apiVersion != "" && nearOwn(apiVersion), isShape(v, kind):
		return APIVersion
	// Projects are known to many tools, and to old ones without a group.
	case nearKind(kind) && !nearWord(kind, KindProject) && (metadata.Kind == object.KindMap || body.Kind == object.KindMap):
		return APIVersion
	}
	return ""
}

// isShape reports whether a document has the fields of a document of Ropewalk: the fields of a Score
// file if it has no kind, or the spec of a Transform or of a Workload.
func isShape(v object.Value, kind string) bool {
	if kind == "" {
		metadata, _ := keyLike(v, "metadata")
		if name, _ := keyLike(metadata.Value, "name"); name.Value.Kind == object.KindString && hasContainers(v) {
			return true
		}
	}
	body, _ := v.Get("spec")
	ref, _ := body.Get("cueRef")
	switch {
	case nearWord(kind, KindProject):
		return slices.ContainsFunc(body.Members, func(m object.Member) bool {
			return slices.Contains([]string{"specs", "context", "policies", "workloads", "environments"}, m.Name)
		})
	case kind == "", nearKind(kind):
		return ref.Kind == object.KindMap || hasContainers(body)
	}
	return false
}

// hasContainers reports whether a map has containers by name. The containers of a Pod are a list.
func hasContainers(v object.Value) bool {
	containers, _ := keyLike(v, "containers")
	return slices.ContainsFunc(containers.Value.Members, func(m object.Member) bool {
		_, image := m.Value.Get("image")
		return image
	})
}

// nearText reports a document that is cut in its first key.
func (p *parsing) nearText(v object.Value) bool {
	if v.Kind != object.KindString || !isStart(v.Text, "apiVersion") {
		return false
	}
	p.fail(v.Pos, nil, "", "the document ends in %q: expected apiVersion and kind", v.Text)
	return true
}

// reportNested reports the documents of Ropewalk that are fields of a document of another tool, or
// items of a field.
func (p *parsing) reportNested(v object.Value, apiVersion, kind string) bool {
	if apiVersion != "" && kind != "List" {
		return false
	}
	for _, m := range v.Members {
		if isSpec(m.Value) {
			p.fail(m.Pos, nil, "write its fields at the top of the document", "a spec below the field %q is not read", m.Name)
			return true
		}
		if p.nearItems(m.Value) {
			return true
		}
	}
	return false
}

// warnBare warns of a document with the fields of a Score file only and no apiVersion. It may be a
// file for --overrides-file, which is then called so.
func (p *parsing) warnBare(v object.Value) {
	file := path.Base(v.Pos.File)
	isOverrides := strings.Contains(file, "override") || strings.Contains(file, "values")
	if isOverrides || !hasContainers(v) || !hasOnly(v, "metadata", "containers", "service", "resources") {
		return
	}
	hint := "write apiVersion: " + ScoreVersion + " and metadata: {name: …}, or rename it to overrides.yaml if it is for --overrides-file"
	e := mistake(v.Pos, nil, hint, "the document has the fields of a Score file and no apiVersion, and is not read")
	e.Severity = object.SeverityWarning
	p.out.Warnings = append(p.out.Warnings, e)
}

// hasOnly reports whether a map has no fields but names, or fields that were meant to be these.
func hasOnly(v object.Value, names ...string) bool {
	return !slices.ContainsFunc(v.Members, func(m object.Member) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return nearKey(m.Name, name) })
	})
}

// isSpec reports whether a value is a document of Ropewalk, by its apiVersion or its fields.
func isSpec(v object.Value) bool {
	kind := textLike(v, "kind")
	ours := nearVersion(textLike(v, "apiVersion")) && isRead(kind)
	return v.Kind == object.KindMap && (ours || isShape(v, kind))
}

// nearItems reports the items of a list that are documents of Ropewalk.
func (p *parsing) nearItems(items object.Value) bool {
	for _, i := range items.Items {
		if isSpec(i) {
			p.fail(i.Pos, nil, `write each as a document of its own, with "---" between them`, "a spec in a list is not read")
			return true
		}
	}
	return false
}

// keyLike returns the member of a map that is called name, or was meant to be.
func keyLike(v object.Value, name string) (object.Member, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m, true
		}
	}
	for _, m := range v.Members {
		if nearKey(m.Name, name) {
			return m, true
		}
	}
	return object.Member{}, false
}

// textLike returns the text of the field that is called name, or was meant to be.
func textLike(v object.Value, name string) string {
	m, _ := keyLike(v, name)
	if m.Value.Kind != object.KindString {
		return ""
	}
	return m.Value.Text
}

// nearKey reports whether a key equals this name, except for its case, its separators or a slip: one
// letter, or two of a long name.
func nearKey(key, name string) bool {
	const short = 5
	slips := 2
	if len(name) <= short {
		slips = 1
	}
	const separators = 4
	// The version of an app is a key of charts and of their values.
	comparable := len(key) <= len(name)+separators && letters(key) != "appversion"
	return comparable && isClose(letters(key), strings.ToLower(name), slips)
}

// isClose reports whether a text differs from a word by at most slips letters.
func isClose(text, word string, slips int) bool {
	return max(len(text)-len(word), len(word)-len(text)) <= slips && object.Distance(text, word) <= slips
}

// letters returns a text in lower case, with letters only.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// nearVersion reports whether an apiVersion belongs to Ropewalk, or was meant to: with a slip, or
// cut off.
func nearVersion(apiVersion string) bool { return nearOwn(apiVersion) || nearScore(apiVersion) }

// isCut reports whether a text is the beginning of an apiVersion, however short.
func isCut(text string) bool {
	return strings.HasPrefix(APIVersion, text) || strings.HasPrefix(ScoreVersion, text)
}

// isStart reports whether a text is the beginning of a word, and long enough to tell.
func isStart(text, word string) bool {
	const least = 3
	return len(text) >= least && strings.HasPrefix(word, text)
}

// nearOwn reports whether a part of the group is our name, but for a slip.
func nearOwn(apiVersion string) bool {
	ownName, _, _ := strings.Cut(group, ".")
	parts := strings.FieldsFunc(strings.ToLower(apiVersion), notLetter)
	isOurs := func(part string) bool { return isClose(part, ownName, 2) || isClose(part, letters(group), 2) }
	return isStart(apiVersion, APIVersion) || slices.ContainsFunc(parts, isOurs)
}

// nearScore reports whether a group is the group of Score but for a slip, or the version is the version
// of Score and the group is not another one: Humanitec has this version too.
func nearScore(apiVersion string) bool {
	group, version, _ := strings.Cut(apiVersion, "/")
	if version == "" {
		version = group
	}
	name, known, _ := strings.Cut(ScoreVersion, "/")
	name, _, _ = strings.Cut(name, ".")
	first, _, dotted := strings.Cut(strings.ToLower(group), ".")
	nearGroup := isClose(letters(group), letters(scoreGroup), 1) || isClose(letters(group), letters(scoreGroupOld), 1)
	nearKnown := isClose(strings.ToLower(version), known, 1) && (!dotted || isClose(first, name, 1))
	return isStart(apiVersion, ScoreVersion) || nearGroup || nearKnown
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// nearKind reports whether a kind is a kind of Ropewalk, except for its case or a slip.
func nearKind(kind string) bool {
	return slices.ContainsFunc(knownKinds(), func(k string) bool { return nearWord(kind, k) })
}

// nearWord reports whether a text equals a word, except for its case or a slip: two of a long word.
func nearWord(text, word string) bool {
	const long = 8
	return isClose(strings.ToLower(text), strings.ToLower(word), 1+len(word)/long)
}

// isRead reports whether a document of this kind is read. A Score file has the kind "".
func isRead(kind string) bool { return kind == "" || nearKind(kind) }

// Mentions reports the documents that a file may hold beside ConfigMaps. The result ours is true for
// documents that this package reads, which are documents of Ropewalk and Score files, and for an
// apiVersion that misses these by a slip. The result near is true for other documents that may be
// meant for it. It looks at single lines only, so that most files of other tools are not parsed.
func Mentions(data []byte) (ours, near bool) {
	// The name of a group is enough.
	for _, group := range []string{group, scoreGroup, scoreGroupOld} {
		if bytes.Contains(data, []byte(group+"/")) {
			return true, true
		}
	}

	// Without a group, the keys of single lines tell.
	containers, metadata := false, false
	for line := range bytes.Lines(data) {
		key, value, ok := keyOf(line)
		switch {
		case !ok:
			near = near || isStart(key, "apiVersion")
		case nearKey(key, "apiVersion"):
			if nearVersion(value) {
				return true, true
			}
			near = near || isCut(value)
		case key == "kind" && nearKind(value), bytes.Contains(line, []byte("cueRef:")):
			near = true
		}
		containers = containers || nearKey(key, "containers")
		near = near || (line[0] > ' ' && nearKey(key, "containers"))
		metadata = metadata || nearKey(key, "metadata")
	}
	if start := bytes.TrimSpace(data); len(start) > 0 && start[0] == '{' {
		// The document may be a single line.
		metadata = metadata || bytes.Contains(data, []byte(`"metadata"`))
		containers = containers || bytes.Contains(data, []byte(`"containers"`)) || bytes.Contains(data, []byte(`"cueRef"`))
	}
	return false, near || (containers && metadata)
}

// keyOf returns the key of a line of YAML or JSON, and its value if it is short. It reports false
// if the line has no key, and key is then the line.
func keyOf(line []byte) (key, value string, ok bool) {
	const longest = 128
	line = bytes.TrimLeft(bytes.TrimSpace(line), "- {")
	before, after, ok := bytes.Cut(line, []byte(":"))
	if len(before) > longest/4 || len(after) > longest {
		return "", "", false
	}
	const quotes = `"', }`
	value, _, _ = strings.Cut(string(after), " #")
	return strings.Trim(string(before), quotes), strings.Trim(value, quotes), ok
}
