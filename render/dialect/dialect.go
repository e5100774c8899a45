// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package dialect is the one table of dialects: for each engine, as data, the
// order in which it applies objects, what it treats as ready, the annotations
// that carry our policies to it, and what it cannot do.
//
// The stages after render/object read the table and none has a list of its own:
// order reads the [Rules], emit and diff the annotations, check what becomes of
// encrypted Secrets. A new dialect is one entry in [All], [Names] and [Find], and
// one writer in render/emit; a test there compares them. #Context.engine of
// cue/schema, the contract of modules, names the dialects once more.
package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Name names a dialect, as users write it: --dialect, spec.context.engine.
type Name string

// The dialects.
const (
	Plain  Name = "plain"
	ArgoCD Name = "argocd"
	Flux   Name = "flux"
)

// All is the table. It is made anew by each call, because its slices are the
// caller's; a caller that looks at many objects keeps it.
func All() []Dialect { return []Dialect{plain(), argoCD(), flux()} }

// Names lists the dialects in the order of the table.
func Names() []string { return []string{string(Plain), string(ArgoCD), string(Flux)} }

// Find looks a dialect up; the zero name is plain.
func Find(name Name) (Dialect, error) {
	switch cmp.Or(name, Plain) {
	case Plain:
		return plain(), nil
	case ArgoCD:
		return argoCD(), nil
	case Flux:
		return flux(), nil
	}
	known := Names()
	last := len(known) - 1
	return Dialect{}, fmt.Errorf("unknown dialect %q: expected %s or %s", string(name), strings.Join(known[:last], ", "), known[last])
}

// Dialect is how a render is written for an engine, and what the stages must know
// of that engine.
type Dialect struct {
	Name Name
	// Engine is what messages call the engine.
	Engine string
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
