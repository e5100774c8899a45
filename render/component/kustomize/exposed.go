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

// refuseExposed refuses what copies data of a Secret into an object of another kind, or makes the
// Secret one: no rule protects it there, and the Secret itself may be gone from what is built.
func (w *walker) refuseExposed(top *kustomization) {
	for _, check := range w.later {
		check()
	}
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
			w.reportReplaced(w.pos(k, p), p, list)
		}
		for i, t := range k.types.Patches {
			w.reportUnmade(w.pos(k, item("patches", i)), item("patches", i), k, t)
		}
		for i, v := range k.types.Vars { //nolint:staticcheck // Files of others have deprecated fields.
			if w.isSecretData(resid.NewResId(v.ObjRef.GVK(), v.ObjRef.Name), v.FieldRef.FieldPath) {
				w.errs = append(w.errs, copied(w.pos(k, item("vars", i)), item("vars", i)))
			}
		}
	}
}

// replacementsOf returns the replacements of a file, which holds one or a list.
func (w *walker) replacementsOf(k *kustomization, ref string) (replacements []types.Replacement) {
	name, ok := w.join(k, ref, func(string, string, ...any) {})
	var replacement types.Replacement
	switch {
	case !ok: // It was reported.
	case yaml.Unmarshal(w.files[name], &replacements) == nil:
	case yaml.Unmarshal(w.files[name], &replacement) == nil:
		return []types.Replacement{replacement}
	}
	return replacements
}

// reportReplaced reports the first replacement that shows a value of a Secret.
func (w *walker) reportReplaced(pos object.Pos, p object.Path, list []types.Replacement) {
	for _, r := range list {
		if slices.ContainsFunc(r.Targets, func(t *types.TargetSelector) bool {
			return t != nil && (t.Select == nil || takesSecrets(*t.Select)) && slices.Contains(t.FieldPaths, "kind") && w.hasSecret(func(string) bool { return true })
		}) {
			w.errs = append(w.errs, remade(pos, p))
			return
		}
		if r.Source == nil || !w.isSecretData(r.Source.ResId, r.Source.FieldPath) {
			continue
		}
		if slices.ContainsFunc(r.Targets, func(t *types.TargetSelector) bool {
			if t == nil || t.Select == nil || t.Select.Kind != "Secret" {
				return true
			}
			return slices.ContainsFunc(t.FieldPaths, func(field string) bool { return !isData(field) })
		}) {
			w.errs = append(w.errs, copied(pos, p))
			return
		}
	}
}

// reportUnmade reports a patch that may give a Secret another kind.
func (w *walker) reportUnmade(pos object.Pos, p object.Path, k *kustomization, t types.Patch) {
	if t.Options == nil || !t.Options.AllowKindChange || !w.hasSecret(func(string) bool { return true }) {
		return
	}
	takes := t.Target != nil && takesSecrets(*t.Target)
	if t.Target == nil {
		text := []byte(t.Patch)
		if name, ok := w.join(k, t.Path, func(string, string, ...any) {}); ok && t.Path != "" {
			text = w.files[name]
		}
		docs, _, _ := documents(text) // What is wrong with it was reported.
		takes = slices.ContainsFunc(docs, func(d document) bool { return d.kind == "Secret" })
	}
	if takes {
		w.errs = append(w.errs, remade(pos, p))
	}
}

// takesSecrets reports whether a selector may have Secrets.
func takesSecrets(selector types.Selector) bool {
	match, err := types.NewSelectorRegex(&types.Selector{ResId: resid.ResId{Gvk: selector.Gvk}})
	return err != nil || match.MatchGvk(resid.NewGvk("", "v1", "Secret"))
}

func copied(pos object.Pos, p object.Path) *object.Error {
	return component.Fail(pos, p, "refer to the Secret by its name and key where the value is needed", "it copies a value of a Secret into an object that is none")
}

func remade(pos object.Pos, p object.Path) *object.Error {
	return component.Fail(pos, p, "name another kind in the target", "it may give a Secret another kind, which shows its values")
}

// isData reports whether a field is one of the data of a Secret.
func isData(field string) bool {
	top, _, _ := strings.Cut(field, ".")
	top, _, _ = strings.Cut(top, "[")
	return top == "data" || top == "stringData"
}

// isSecretData reports whether a field holds data of a Secret. A name may have got a prefix, a suffix
// or another name since the file that has it, so that without a kind any Secret may be meant,
// unless another object has the name.
func (w *walker) isSecretData(id resid.ResId, field string) bool {
	mayBeSecret := id.Kind == "Secret" || id.Kind == ""
	if !mayBeSecret || !isData(field) {
		return false
	}
	if id.Kind == "Secret" || w.hasSecret(func(name string) bool { return strings.Contains(id.Name, name) }) {
		return true
	}
	for _, docs := range w.docs {
		if slices.ContainsFunc(docs, func(d document) bool { return d.kind != "Secret" && d.name != "" && strings.Contains(id.Name, d.name) }) {
			return false
		}
	}
	for _, k := range w.made {
		if slices.ContainsFunc(k.types.ConfigMapGenerator, func(c types.ConfigMapArgs) bool { return strings.Contains(id.Name, c.Name) }) {
			return false
		}
	}
	return w.hasSecret(func(string) bool { return true })
}

// hasSecret reports whether a file or a generator has a Secret of such a name.
func (w *walker) hasSecret(matches func(name string) bool) bool {
	for _, docs := range w.docs {
		if slices.ContainsFunc(docs, func(d document) bool { return (d.kind == "Secret" || d.kind == "SecretGenerator") && matches(d.name) }) {
			return true
		}
	}
	for _, k := range w.made {
		if slices.ContainsFunc(k.types.SecretGenerator, func(s types.SecretArgs) bool { return matches(s.Name) }) {
			return true
		}
	}
	return false
}
