// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// conflict returns the mistake of two generators or vars which do not go together. It returns nil
// if the error of the library is about something else.
func (b *build) conflict(text string) error {
	if name := find(generated, text); name != "" {
		return b.generators(name, strings.Contains(text, "does not exist"))
	}
	name := find(varTwice, text)
	noun := "there is a var %q already"
	hint := "remove one of them, or give it another name"
	if name == "" {
		name = find(varSeveral, text)
		noun = "objref of var %q selects several objects"
		hint = "set its namespace, or write a replacement"
	}
	if name == "" {
		return nil
	}
	return b.declared(hint, fmt.Sprintf(noun, name), func(k *kustomization) (p []object.Path) {
		for i, v := range k.types.Vars { //nolint:staticcheck // Files of others have deprecated fields.
			if v.Name == name {
				p = append(p, item("vars", i))
			}
		}
		return p
	})
}

// generators returns the mistake of a generator whose object is there already, or is absent.
func (b *build) generators(name string, absent bool) error {
	what, hint := "%q is there already", "set behavior: merge or replace, or give one another name"
	if absent {
		what, hint = "there is no %q to merge with or to replace", "correct the name, or set behavior: create"
	}
	return b.declared(hint, fmt.Sprintf(what, name), func(k *kustomization) (p []object.Path) {
		add := func(field string, i int, g types.GeneratorArgs) {
			if g.Name == name && absent == slices.Contains([]string{"merge", "replace"}, g.Behavior) {
				p = append(p, item(field, i))
			}
		}
		for i, g := range k.types.ConfigMapGenerator {
			add("configMapGenerator", i, g.GeneratorArgs)
		}
		for i, g := range k.types.SecretGenerator {
			add("secretGenerator", i, g.GeneratorArgs)
		}
		return p
	})
}

// declared returns a mistake at the last of the places that pathsIn finds. The others are notes.
func (b *build) declared(hint, text string, pathsIn func(*kustomization) []object.Path) error {
	e := component.Fail(b.pos(b.root, nil), nil, hint, "%s", text)
	var positions []object.Pos
	for _, name := range slices.Sorted(maps.Keys(b.made)) {
		for _, p := range pathsIn(b.made[name]) {
			positions = append(positions, b.pos(b.made[name], p))
			e.Path = p.String()
		}
	}
	for i, pos := range positions {
		e.Pos = pos
		if i < len(positions)-1 {
			e.Notes = append(e.Notes, object.Note{Pos: pos, Text: "it is here, too"})
		}
	}
	return object.Errors{e}
}

// keysTwice returns a mistake for each key that a map of an object has twice: the library fails
// when it writes it.
func (b *build) keysTwice() object.Errors {
	var errs object.Errors
	report := func(n *yaml.Node, at func(*yaml.Node) object.Pos) {
		for _, twice := range repeatedKeys(n) {
			e := component.Fail(at(twice[1]), nil, "remove one of them", "key %q is written twice, first at line %d", twice[1].Value, twice[0].Line)
			errs = append(errs, e)
		}
	}
	for file, docs := range b.docs {
		for _, d := range docs {
			report(d.node, func(n *yaml.Node) object.Pos { return b.posOf(file, n.Line, n.Column) })
		}
	}
	for _, p := range b.patches {
		for _, d := range p.docs {
			report(d.node, func(n *yaml.Node) object.Pos { return p.pos(document{line: n.Line, column: n.Column}) })
		}
	}
	return errs.Sorted()
}

// repeatedKeys returns the keys of the maps in n that are there twice, each with its first place.
func repeatedKeys(n *yaml.Node) (repeated [][2]*yaml.Node) {
	known := map[string]*yaml.Node{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Kind == yaml.ScalarNode {
			if first, ok := known[c.Value]; ok {
				repeated = append(repeated, [2]*yaml.Node{first, c})
			}
			known[c.Value] = c
		}
		repeated = append(repeated, repeatedKeys(c)...)
	}
	return repeated
}
