// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

// result is an object of the library with what it knows of its origin.
type result struct {
	object object.Object
	origin *resource.Origin
}

// placed are objects with the origins of others, which were built with marks.
func placed(exact, marked []result) []result {
	known := map[object.Ref]result{}
	for _, r := range marked {
		known[r.object.Ref()] = r
	}
	for i, r := range exact {
		exact[i].origin = known[r.object.Ref()].origin
	}
	return exact
}

// places finds the line of an object.
type places struct {
	*build
	// kustomizations are by the path of their file.
	kustomizations map[string]*kustomization
	used           map[string]map[int]bool
}

func (b *build) places() places {
	p := places{build: b, kustomizations: map[string]*kustomization{}, used: map[string]map[int]bool{}}
	for _, k := range b.made {
		p.kustomizations[k.name] = k
	}
	return p
}

// of is the line of the file that r comes from; the file where that cannot be known.
func (p places) of(r result) object.Pos {
	if r.origin == nil {
		return p.pos(p.root, nil)
	}
	if r.origin.ConfiguredIn != "" {
		return p.generator(r)
	}
	at := path.Join(p.dir, r.origin.Path)
	if pos, ok := p.rendered[at]; ok {
		return pos
	}
	name := strings.TrimPrefix(at, treeDir+"/")
	if p.used[name] == nil {
		p.used[name] = map[int]bool{}
	}
	best, score := -1, 0
	for i, d := range p.docs[name] {
		if s := likeness(d, r.object); s > score && !p.used[name][i] {
			best, score = i, s
		}
	}
	if best < 0 {
		return p.at(name, 0, 0)
	}
	p.used[name][best] = true
	return p.at(name, p.docs[name][best].line, p.docs[name][best].column)
}

// likeness is how well an object fits what a file holds: names get prefixes and suffixes.
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

// generator is the line of the generator that made r.
func (p places) generator(r result) object.Pos {
	file := strings.TrimPrefix(path.Join(p.dir, r.origin.ConfiguredIn), treeDir+"/")
	k := p.kustomizations[file]
	if k == nil {
		for _, d := range p.docs[file] {
			if d.kind == r.origin.ConfiguredBy.Kind && d.name == r.origin.ConfiguredBy.Name {
				return p.at(file, d.line, d.column)
			}
		}
		return p.at(file, 0, 0)
	}
	var field string
	var names []string
	if r.object.Kind() == "Secret" {
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
		if strings.Contains(r.object.Name(), name) && len(name) > length {
			best, length = i, len(name)
		}
	}
	if best < 0 {
		return p.pos(k, object.Fields(field))
	}
	return p.pos(k, item(field, best))
}
