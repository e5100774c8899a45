// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// warnOfUnused warns of patches that select nothing and of images that no file has, in files of the
// user: the library reports neither. Names that only a step in between gives to an object are not
// known: if one may be meant, there is no warning.
func (b *build) warnOfUnused(results []Result) {
	for _, k := range append(slices.Collect(maps.Values(b.made)), b.top) {
		if k == nil || k.repository != "." {
			continue
		}
		for i, p := range k.types.Patches {
			if p.Target != nil && !b.selects(*p.Target, results) {
				b.warn(k, item("patches", i), "correct the target, or remove the patch", "the patch selects no object")
			}
		}
		for i, image := range k.types.Images {
			if !b.mentions(k, image.Name) {
				b.warn(k, item("images", i), "correct the name, which is without tag and digest, or remove it", "no file has the image %q", image.Name)
			}
		}
	}
}

// warn adds a warning at a field of k.
func (b *build) warn(k *kustomization, p object.Path, hint, format string, args ...any) {
	e := component.Fail(b.pos(k, p), p, hint, format, args...)
	e.Severity = object.SeverityWarning
	b.warnings = append(b.warnings, e)
}

// mentions reports whether a file has an image, whose name is a pattern. In the file of k the first
// occurrence is the field itself, and does not count.
func (b *build) mentions(k *kustomization, image string) bool {
	pattern, err := regexp.Compile(image)
	if err != nil {
		return true // The library says what is wrong.
	}
	for name, data := range b.files {
		if name == k.name {
			data = bytes.Replace(data, []byte(image), nil, 1)
		}
		if pattern.Match(data) {
			return true
		}
	}
	return len(b.rendered) > 0
}

// selects reports whether a patch may have had an object, by the kinds and names of the files
// and of what was built. Generators, and labels, may do what is not seen here.
func (b *build) selects(target types.Selector, results []Result) bool {
	match, err := types.NewSelectorRegex(&target)
	if err != nil || target.LabelSelector != "" || target.AnnotationSelector != "" || len(b.rendered) > 0 {
		return true
	}

	// A name may have got a prefix or a suffix since.
	fits := func(apiVersion, kind string, names ...string) bool {
		group, version := resid.ParseGroupVersion(apiVersion)
		if !match.MatchGvk(resid.NewGvk(group, version, kind)) {
			return false
		}
		for _, name := range names {
			if match.MatchName(name) || strings.Contains(name, target.Name) {
				return true
			}
		}
		return false
	}

	// Objects come from files, from the build itself, and from generators.
	for _, docs := range b.docs {
		for _, d := range docs {
			if fits(d.apiVersion, d.kind, d.name) {
				return true
			}
		}
	}
	for _, r := range results {
		if fits(r.Object.Text("apiVersion"), r.Object.Kind(), r.Object.Name()) {
			return true
		}
	}
	for _, k := range b.made {
		for _, g := range k.types.ConfigMapGenerator {
			if fits("v1", "ConfigMap", g.Name) {
				return true
			}
		}
		for _, g := range k.types.SecretGenerator {
			if fits("v1", "Secret", g.Name) {
				return true
			}
		}
		if len(k.types.Generators)+len(k.types.Transformers) > 0 {
			return true
		}
	}
	return false
}
