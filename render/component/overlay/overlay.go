// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package overlay lays dependencies, readiness, apply policies and patches over the nodes of
// a spec, by selector.
//
// # Invariants
//
// An overlay that selects nothing is a mistake: what its author wanted would not happen. A
// patch keeps apiVersion, kind, name and namespace of its object.
//
// Patches have the forms of `kubectl patch`: a map is a strategic merge patch, with the merge keys
// of the types of Kubernetes; a list is a patch of RFC 6902.
package overlay

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// schemas is held while kyaml merges: its schemas are global, and not safe for concurrent
// use.
var schemas sync.Mutex //nolint:gochecknoglobals // it guards a global of the library

// Apply lays overlays over nodes, in order, and changes them. The error is an object.Errors
// with every mistake.
func Apply(nodes []*object.Node, overlays []spec.Overlay) error {
	var errs object.Errors
	for _, o := range overlays {
		found, err := applyAll(nodes, o)
		if err != nil {
			errs = append(errs, err)
		}
		if !found && !o.Found {
			allRefs := append(refs(nodes), o.Others...)
			errs = append(errs, &object.Error{
				Stage: object.StageEvaluate, Pos: o.Select.Pos, Path: o.Path.Append(object.Field("select")).String(),
				Err: fmt.Errorf("selects none of the %d objects of the spec", len(allRefs)), Hint: nearest(o.Select, allRefs),
			})
		}
	}
	return errs.Sorted().Err()
}

// ApplyFirst lays overlays over some of the nodes of a spec, as Apply does, and returns the overlays
// for its other nodes: one that selected a node here need not select one there.
func ApplyFirst(nodes []*object.Node, overlays []spec.Overlay) ([]spec.Overlay, error) {
	if len(nodes) == 0 || len(overlays) == 0 {
		return overlays, nil
	}
	var errs object.Errors
	remaining := slices.Clone(overlays)
	others := refs(nodes)
	for i, o := range overlays {
		found, err := applyAll(nodes, o)
		if err != nil {
			errs = append(errs, err)
		}
		remaining[i].Others, remaining[i].Found = others, found
	}
	return remaining, errs.Sorted().Err()
}

// refs returns what the nodes are called.
func refs(nodes []*object.Node) []object.Ref {
	out := make([]object.Ref, len(nodes))
	for i, n := range nodes {
		out[i] = n.Object.Ref()
	}
	return out
}

// applyAll lays o over the nodes that it selects, and reports whether it selects a node.
func applyAll(nodes []*object.Node, o spec.Overlay) (found bool, err *object.Error) {
	selected := slices.DeleteFunc(slices.Clone(nodes), func(n *object.Node) bool { return !o.Select.Matches(n.Object) })
	for _, n := range selected {
		if err := applyOne(n, o, len(selected) == 1 && !o.Found); err != nil {
			return true, err // The same mistake is in all others.
		}
	}
	return len(selected) > 0, nil
}

// applyOne lays o over n. The argument alone says that the overlay selects no other node. If it
// selects several, the one that the others wait for does not wait for itself. A node that is
// alone and waits for itself is a mistake, which the graph reports.
func applyOne(n *object.Node, o spec.Overlay, alone bool) *object.Error {
	// Dependencies and needs are added, and rules replaced.
	for _, d := range o.DependsOn {
		if d.ID != n.ID || alone {
			n.DependsOn = append(slices.Clip(n.DependsOn), d)
		}
	}
	if len(o.ReadyWhen) > 0 {
		n.ReadyWhen = o.ReadyWhen
	}
	n.Needs = append(slices.Clip(n.Needs), o.Needs...)

	// A policy replaces the policy of the module.
	for _, field := range [...]struct {
		to   *string
		from string
	}{
		{&n.Apply.Mode, o.Apply.Mode},
		{&n.Apply.Conflict, o.Apply.Conflict},
		{&n.Apply.Adopt, o.Apply.Adopt},
		{&n.Apply.Deletion, o.Apply.Deletion},
	} {
		if field.from != "" {
			*field.to = field.from
		}
	}
	if o.Apply.Prune != nil {
		n.Apply.Prune = o.Apply.Prune
	}

	// A patch changes fields of the object, but makes no other object of it.
	if o.Patch.Kind == object.KindNone {
		return nil
	}
	fieldPath := o.Path.Append(object.Field("patch"))
	hint := ""
	patched, pos, err := patch(n.Object, o.Patch)
	switch {
	case err != nil:
	case patched.APIVersion() != n.Object.APIVersion() || patched.Ref() != n.Object.Ref():
		err = fmt.Errorf("it makes another object: %s %s", patched.APIVersion(), patched.Ref())
		hint = "a patch changes fields of an object: its apiVersion, kind, name and namespace stay"
	default:
		n.Object = patched
		return nil
	}
	return &object.Error{
		Stage: object.StageEvaluate, Pos: pos, Path: fieldPath.String(), Node: n.ID,
		Err: fmt.Errorf("the patch of %s fails: %w", n.Object.Ref(), err), Hint: hint,
	}
}

// patch returns o with a patch, and the position of the part of the patch that fails.
func patch(o object.Object, p object.Value) (patched object.Object, pos object.Pos, err error) {
	defer crash.Recover(&err)
	pos = p.Pos
	data, err := json.Marshal(o)
	if err != nil {
		return nil, pos, err
	}
	if p.Kind == object.KindMap {
		data, pos, err = merged(o, data, p)
		if err != nil {
			return nil, pos, err
		}
	} else {
		for _, op := range p.Items {
			var ops jsonpatch.Patch
			ops, err = jsonpatch.DecodePatch(object.ListAt(op.Pos, op).JSON())
			if err == nil {
				data, err = ops.Apply(data)
			}
			if err != nil {
				return nil, op.Pos, short(err, op)
			}
		}
	}
	if err != nil {
		return nil, pos, err
	}
	patched, err = object.Decode(data)
	return patched, pos, err
}

// short returns an error of the library on one operation, without its repetitions.
func short(err error, op object.Value) error {
	kind, _ := op.Get("op")
	path, _ := op.Get("path")
	text := regexp.MustCompile(`^[a-z]+ operation does not apply: `).ReplaceAllString(err.Error(), "")
	text = strings.TrimSuffix(text, ": missing value")
	if strings.Contains(text, "missing") {
		text = "the object has no such path"
	}
	return fmt.Errorf("%s %s: %s", kind.Text, path.Text, text)
}

// merged returns a strategic merge patch of an object, which is given as JSON too, and the
// position of the part of the patch that fails.
func merged(o object.Object, data []byte, p object.Value) (result []byte, pos object.Pos, err error) {
	if d, ok := p.Get("$patch"); ok {
		return nil, p.Pos, fmt.Errorf("$patch: %s for the whole object", d.Text)
	}
	schemas.Lock()
	defer schemas.Unlock()
	kind := openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: o.APIVersion(), Kind: o.Kind()})
	pos, err = checkKeys(kind, p, nil)
	if err != nil {
		return nil, pos, err
	}
	dest, err := yaml.Parse(string(data))
	if err != nil {
		return nil, p.Pos, err
	}
	src, err := yaml.Parse(string(p.JSON()))
	if err != nil {
		return nil, p.Pos, err
	}
	merge, err := merge2.Merge(src, dest, yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListAppend})
	if err != nil {
		return nil, p.Pos, err
	}
	result, err = merge.MarshalJSON()
	return result, p.Pos, err
}

// checkKeys refuses items of a patch without the key that the items of their list are found by,
// as kubectl does: kyaml leaves such items out. A list that replaces the list of the object,
// with $patch: replace, needs no keys. Without a schema s is nil: lists replace then.
func checkKeys(s *openapi.ResourceSchema, v object.Value, path object.Path) (object.Pos, error) {
	if s == nil {
		return object.Pos{}, nil
	}
	for _, m := range v.Members {
		if pos, err := checkKeys(s.Field(m.Name), m.Value, path.Append(object.Field(m.Name))); err != nil {
			return pos, err
		}
	}
	elements := s.Elements()
	strategy, key := s.PatchStrategyAndKey()
	merges := strings.Contains(strategy, "merge") && key != "" && !slices.ContainsFunc(v.Items, func(item object.Value) bool {
		directive, _ := item.Get("$patch")
		return directive.Text == "replace"
	})
	for i, item := range v.Items {
		itemPath := path.Append(object.Index(i))
		value, _ := item.Get(key)
		hasKey := value.Text != "" && (value.Kind == object.KindString || value.Kind == object.KindNumber)
		if merges && !hasKey {
			return item.Pos, fmt.Errorf("%s has no %s, by which an item of a merge patch is found", itemPath, key)
		}
		if pos, err := checkKeys(elements, item, itemPath); err != nil {
			return pos, err
		}
	}
	return object.Pos{}, nil
}

// nearest names what there is of the kind that a selector names.
func nearest(s spec.Selector, objects []object.Ref) string {
	var kinds, names []string
	for _, ref := range objects {
		kinds = append(kinds, ref.Kind)
		ok, err := path.Match(s.Kind, ref.Kind)
		matches := err == nil && ok
		if matches || s.Kind == "" {
			names = append(names, ref.Name)
		}
	}
	if s.Kind != "" && len(names) == 0 {
		return object.Suggest(s.Kind, unique(kinds))
	}
	return object.Suggest(s.Name, unique(names))
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
