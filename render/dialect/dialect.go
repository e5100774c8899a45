// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package dialect is the one table of dialects: for each engine, as data, the
// order in which it applies objects, what it treats as ready, the annotations
// that carry our policies to it, and what it cannot do.
//
// The stages after render/object read the table and none has a list of its own:
// order reads the [Rules], emit and diff the annotations, check what becomes of
// encrypted Secrets. A new dialect is one entry in the table, and one writer in
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

// Dialect is how a render is written for an engine, and what the stages must know
// of that engine.
type Dialect struct {
	Name Name
	// Title is what messages call the engine.
	Title string
	Rules

	// Annotations are those that the writer sets; it sets no others.
	Annotations []string
	// WaveAnnotation holds the number of the wave on every object, "" where none does.
	WaveAnnotation string
	// Keep marks objects that the engine leaves in the cluster when they leave the
	// render, Recreate those that it deletes and creates again where a field is
	// immutable, and Watch those that it does not apply.
	Keep, Recreate, Watch []Mark
	// Layered dialects are written as one folder for each wave.
	Layered bool
	// NeedsNamespace is for engines that refuse a namespaced object without a
	// metadata.namespace; others put it into a namespace of their own.
	NeedsNamespace bool
	// Encrypted is what becomes of objects that SOPS encrypted.
	Encrypted Encrypted
}

// Encrypted is what becomes of objects that SOPS encrypted.
type Encrypted int

// What can become of encrypted objects: the engine cannot decrypt them, decrypts
// them itself, or leaves that to whatever applies the manifests.
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
		if entry == m.Entry || m.AnyCase && strings.EqualFold(entry, m.Entry) {
			return true
		}
	}
	return false
}

// AnyOn reports whether an object with these annotations has one of marks.
func AnyOn(marks []Mark, annotations map[string]string) bool {
	return slices.ContainsFunc(marks, func(m Mark) bool { return m.On(annotations) })
}
