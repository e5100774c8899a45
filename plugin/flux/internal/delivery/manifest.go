// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// Annotations of manifests: the annotations that kustomize-controller heeds, and the mark of a
// hand-over. The value of the mark says whether the author had forbidden to prune.
const (
	annotationPrune     = "kustomize.toolkit.fluxcd.io/prune"
	annotationSSA       = "kustomize.toolkit.fluxcd.io/ssa"
	annotationReconcile = "kustomize.toolkit.fluxcd.io/reconcile"
	annotationHandOver  = "ropewalk.dev/handover"

	disabled  = "disabled"
	prunable  = "prunable"
	protected = "protected"
)

// parse reads a manifest: one YAML document with one object.
func parse(data []byte) (object.Object, ObjectRef, error) {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, ObjectRef{}, err
	}
	o, err := object.Decode(text)
	if err != nil || o == nil {
		return nil, ObjectRef{}, fmt.Errorf("it holds no object")
	}
	r := ObjectRef{Group: o.Group(), Version: o.Version(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
	if r.Kind == "" || r.Version == "" || r.Name == "" {
		return nil, ObjectRef{}, fmt.Errorf("apiVersion, kind or metadata.name is missing")
	}
	switch o.Get("metadata", "annotations").(type) {
	case nil, map[string]any:
		return o, r, nil
	}
	return nil, ObjectRef{}, fmt.Errorf("metadata.annotations is not a map")
}

// drop removes an annotation. An empty map of annotations is removed too, so that a manifest that
// was marked and unmarked is the same as before.
func drop(o object.Object, name string) {
	annotations := o.Map("metadata", "annotations")
	delete(annotations, name)
	if len(annotations) == 0 {
		delete(o.Map("metadata"), "annotations")
	}
}

// unmark removes the mark of a manifest and returns the mark. The manifest is plain then.
func unmark(o object.Object) mark {
	m := plain
	switch o.Text("metadata", "annotations", annotationHandOver) {
	case prunable:
		m = marked
		drop(o, annotationPrune)
	case protected:
		m = marked
	}
	drop(o, annotationHandOver)
	return m
}

// enmark marks a plain manifest.
func enmark(o object.Object) {
	if o.Text("metadata", "annotations", annotationPrune) == disabled {
		o.Annotate(annotationHandOver, protected)
		return
	}
	o.Annotate(annotationPrune, disabled)
	o.Annotate(annotationHandOver, prunable)
}

// once reports whether Flux leaves an object alone if it exists.
func once(o object.Object) bool {
	annotations := o.Annotations()
	ssa := annotations[annotationSSA]
	return ssa == "IfNotPresent" || ssa == "Ignore" || annotations[annotationReconcile] == disabled
}

// library holds the plain manifests that a delivery may put together, by their sum.
type library map[string]emit.File

// add reads the files of an artifact into a content.
func (l library) add(files []emit.File) (content, error) {
	c := make(content, len(files))
	for _, f := range files {
		o, ref, err := parse(f.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		m := unmark(o)
		f.Data = emit.YAML(map[string]any(o))
		hash := sha256.Sum256(f.Data)
		sum := hex.EncodeToString(hash[:])
		l[sum] = f
		c[ref.key()] = manifest{sum: sum, mark: m, once: once(o)}
	}
	return c, nil
}

// files returns the files of a content. They have the names that they had in their artifacts. If
// two names are the same, the second file gets the sum in front of its name.
func (l library) files(c content) ([]emit.File, error) {
	keys := sortedKeys(c)
	taken := map[string]bool{}
	out := make([]emit.File, 0, len(keys))
	for _, k := range keys {
		f, ok := l[c[k].sum]
		if !ok {
			return nil, fmt.Errorf("the manifest of %s is not at hand", k)
		}
		if c[k].mark == marked {
			o, _, err := parse(f.Data)
			if err != nil {
				return nil, err
			}
			enmark(o)
			f.Data = emit.YAML(map[string]any(o))
		}
		if taken[f.Path] {
			f.Path = c[k].sum[:12] + "-" + f.Path
		}
		taken[f.Path] = true
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b emit.File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}
