// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// exposed refuses replacements and vars that copy data of a Secret into an object of another
// kind: no rule protects it there, and the Secret itself may be gone from what is built.
func (w *walker) exposed(top *kustomization) {
	for _, k := range append(slices.Collect(maps.Values(w.made)), top) {
		if k == nil {
			continue
		}
		for i, r := range k.types.Replacements {
			p := item("replacements", i)
			list := []types.Replacement{r.Replacement}
			if r.Path != "" {
				list = w.replacementsOf(k, r.Path)
			}
			w.replaced(w.pos(k, p), p, list)
		}
		for i, v := range k.types.Vars { //nolint:staticcheck // Files of others have deprecated fields.
			if w.secret(resid.NewResId(v.ObjRef.GVK(), v.ObjRef.Name), v.FieldRef.FieldPath) {
				w.errs = append(w.errs, copied(w.pos(k, item("vars", i)), item("vars", i)))
			}
		}
	}
}

// replacementsOf are those of a file: one, or a list.
func (w *walker) replacementsOf(k *kustomization, ref string) (out []types.Replacement) {
	name, ok := w.join(k, ref, func(string, string, ...any) {})
	var one types.Replacement
	switch {
	case !ok: // It was reported.
	case yaml.Unmarshal(w.files[name], &out) == nil:
	case yaml.Unmarshal(w.files[name], &one) == nil:
		return []types.Replacement{one}
	}
	return out
}

// replaced reports the first replacement that shows a value of a Secret.
func (w *walker) replaced(pos object.Pos, p object.Path, list []types.Replacement) {
	for _, r := range list {
		if r.Source == nil || !w.secret(r.Source.ResId, r.Source.FieldPath) {
			continue
		}
		if slices.ContainsFunc(r.Targets, func(t *types.TargetSelector) bool { return t == nil || t.Select == nil || t.Select.Kind != "Secret" }) {
			w.errs = append(w.errs, copied(pos, p))
			return
		}
	}
}

func copied(pos object.Pos, p object.Path) *object.Error {
	return component.Fail(pos, p, "refer to the Secret by its name and key where the value is needed", "it copies a value of a Secret into an object that is none")
}

// secret reports whether a field holds data of a Secret.
func (w *walker) secret(id resid.ResId, field string) bool {
	top, _, _ := strings.Cut(field, ".")
	if top, _, _ = strings.Cut(top, "["); top != "data" && top != "stringData" || id.Kind != "Secret" && id.Kind != "" {
		return false
	}
	if id.Kind == "Secret" {
		return true
	}
	for _, docs := range w.docs {
		if slices.ContainsFunc(docs, func(d document) bool { return d.kind == "Secret" && d.name == id.Name }) {
			return true
		}
	}
	for _, k := range w.made {
		if slices.ContainsFunc(k.types.SecretGenerator, func(s types.SecretArgs) bool { return s.Name == id.Name }) {
			return true
		}
	}
	return false
}
