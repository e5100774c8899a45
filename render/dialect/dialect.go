// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package dialect is the table of dialects: for each engine, as data, the order in
// which it applies objects, the objects that it waits for, the annotations that carry
// our policies to it, and its limits.
//
// The stages after render/object read the table and have no lists of their own:
// order reads the [Rules], emit and diff the annotations, check the treatment of
// encrypted Secrets. A new dialect is an entry in the table, and a writer in
// render/emit; a test there compares them. #Context.engine of
// cue/schema, the contract of modules, names the dialects once more.
package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Name names a dialect, as users write it: --dialect, spec.context.engine.
type Name string

// The dialects.
const (
	Plain  Name = "plain"
	ArgoCD Name = "argocd"
	Flux   Name = "flux"
)

//nolint:gochecknoglobals // It is never changed; building it at each look-up would cost more than the look-up.
var table = sync.OnceValue(func() []Dialect { return []Dialect{plain(), argoCD(), flux()} })

// All returns the table, which is shared: callers do not change it.
func All() []Dialect { return table() }

// Names lists the dialects in the order of the table.
func Names() (names []string) {
	for _, d := range table() {
		names = append(names, string(d.Name))
	}
	return names
}

// Find looks a dialect up; the zero name is plain.
func Find(name Name) (Dialect, error) {
	for _, d := range table() {
		if d.Name == cmp.Or(name, Plain) {
			return d, nil
		}
	}
	known := Names()
	last := len(known) - 1
	return Dialect{}, fmt.Errorf("unknown dialect %q: expected %s or %s", string(name), strings.Join(known[:last], ", "), known[last])
}

// Dialect describes the form of a render for an engine, and the facts about the engine that the
// stages need.
type Dialect struct {
	Name Name
	// Title is the name of the engine in messages.
	Title string
	Rules

	// Annotations are the annotations that the writer sets; it sets no others.
	Annotations []string
	// WaveAnnotation holds the number of the wave on every object, or is "".
	WaveAnnotation string
	// Keep marks objects that the engine leaves in the cluster when they leave the
	// render, Recreate objects that it deletes and creates again if a field is
	// immutable, and Watch objects that it does not apply.
	Keep, Recreate, Watch []Mark
	// Layered dialects are written as one folder for each wave.
	Layered bool
	// NeedsNamespace is for engines that refuse a namespaced object without a
	// metadata.namespace; others put it into a namespace of their own.
	NeedsNamespace bool
	// Encrypted is the treatment of objects that SOPS encrypted.
	Encrypted Encrypted
}

// Encrypted is the treatment of objects that SOPS encrypted.
type Encrypted int

// The treatments of encrypted objects: the engine cannot decrypt them, decrypts them
// itself, or leaves that to the tool that applies the manifests.
const (
	Refused Encrypted = iota
	Decrypted
	DecryptedBefore
)

// Mark is an entry of an annotation that holds a list of entries, separated by commas.
type Mark struct {
	Annotation, Entry string
	// AnyCase marks entries that the engine compares without regard to case.
	AnyCase bool
}

// On reports whether an object with these annotations has the mark.
func (m Mark) On(annotations map[string]string) bool {
	for entry := range strings.SplitSeq(annotations[m.Annotation], ",") {
		entry = strings.TrimSpace(entry)
		if entry == m.Entry || (m.AnyCase && strings.EqualFold(entry, m.Entry)) {
			return true
		}
	}
	return false
}

// AnyOn reports whether an object with these annotations has a mark in marks.
func AnyOn(marks []Mark, annotations map[string]string) bool {
	return slices.ContainsFunc(marks, func(m Mark) bool { return m.On(annotations) })
}
