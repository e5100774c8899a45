// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Result is an object of the library with what it knows of its origin, which may be nil.
type Result struct {
	Object object.Object
	Origin *Origin
}

// Origin tells where an object comes from.
type Origin struct {
	// Path is the path of its file.
	Path string
	// ConfiguredIn is the file of the generator that made it, and Kind and Name are the kind and
	// the name of the generator.
	ConfiguredIn, Kind, Name string
}

// withOrigins returns objects with the origins of others, which were built with marks.
func withOrigins(exact, marked []Result) []Result {
	known := map[object.Ref]Result{}
	for _, r := range marked {
		known[r.Object.Ref()] = r
	}
	for i, r := range exact {
		exact[i].Origin = known[r.Object.Ref()].Origin
	}
	return exact
}

// places finds the line of an object.
type places struct {
	*build
	// kustomizations are by the path of their file.
	kustomizations map[string]*kustomization
	// used counts the objects that each document of a file was found for: several kustomizations may
	// use one base.
	used map[string]map[int]int
}

func (b *build) places() places {
	p := places{build: b, kustomizations: map[string]*kustomization{}, used: map[string]map[int]int{}}
	for _, k := range b.made {
		p.kustomizations[k.name] = k
	}
	return p
}

// of returns the line of the file that r comes from, or the file if the line cannot be known.
func (p places) of(r Result) object.Pos {
	if r.Origin == nil {
		return p.pos(p.root, nil)
	}
	if r.Origin.ConfiguredIn != "" {
		return p.generator(r)
	}
	at := path.Join(p.dir, r.Origin.Path)
	if pos, ok := p.rendered[at]; ok {
		return pos
	}
	name := strings.TrimPrefix(at, treeDir+"/")
	if p.used[name] == nil {
		p.used[name] = map[int]int{}
	}
	// Of documents that fit alike, the one with the fewest objects so far is meant.
	best, score := -1, 0
	for i, d := range p.docs[name] {
		s := likeness(d, r.Object)
		if s > score || s == score && p.used[name][i] < p.used[name][best] {
			best, score = i, s
		}
	}
	if best < 0 {
		return p.posOf(name, 0, 0)
	}
	p.used[name][best]++
	return p.posOf(name, p.docs[name][best].line, p.docs[name][best].column)
}

// likeness returns how well an object fits what a file holds: names get prefixes and suffixes.
func likeness(d document, o object.Object) int {
	score := 1
	if d.kind == o.Kind() {
		score += 8
	}
	switch {
	case d.name == o.Name():
		score += 4
	case strings.Contains(o.Name(), d.name):
		score += 2
	}
	if d.namespace == o.Namespace() {
		score++
	}
	return score
}

// generator returns the line of the generator that made r.
func (p places) generator(r Result) object.Pos {
	file := strings.TrimPrefix(path.Join(p.dir, r.Origin.ConfiguredIn), treeDir+"/")
	k := p.kustomizations[file]

	// A generator of a file is an object there.
	if k == nil {
		for _, d := range p.docs[file] {
			if d.kind == r.Origin.Kind && d.name == r.Origin.Name {
				return p.posOf(file, d.line, d.column)
			}
		}
		return p.posOf(file, 0, 0)
	}

	// A generator of the kustomization is found by the longest name that the object contains.
	var field string
	var names []string
	if r.Object.Kind() == "Secret" {
		field = "secretGenerator"
		for _, g := range k.types.SecretGenerator {
			names = append(names, g.Name)
		}
	} else {
		field = "configMapGenerator"
		for _, g := range k.types.ConfigMapGenerator {
			names = append(names, g.Name)
		}
	}
	best, length := -1, 0
	for i, name := range names {
		if strings.Contains(r.Object.Name(), name) && len(name) > length {
			best, length = i, len(name)
		}
	}
	if best < 0 {
		return p.pos(k, object.Fields(field))
	}
	return p.pos(k, item(field, best))
}
