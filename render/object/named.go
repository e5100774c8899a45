// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Expand returns the items of a List, and the items of the Lists in it. Any other object is
// returned as it is. A List of one kind, such as a RoleList, is expanded too: it has items and no
// name, which objects have. The error is a mistake in a List; it has no position. It is reported
// because the content of the List would be lost otherwise.
func (o Object) Expand() ([]Object, *Error) {
	// A List of v1 is expanded, and a List of one kind that has no name.
	of, isList := strings.CutSuffix(o.Kind(), "List")
	_, hasItems := o["items"].([]any)
	plain := of == "" && o.APIVersion() == "v1"
	typed := of != "" && hasItems && o.Name() == ""
	if !isList || (!plain && !typed) {
		return []Object{o}, nil
	}

	// Fields that a List does not have would be lost with it.
	known := []string{"apiVersion", "kind", "metadata", "items"}
	for _, name := range SortedKeys(o) {
		if !slices.Contains(known, name) {
			err := fmt.Errorf("a %s has no such field; it has %s", o.Kind(), strings.Join(known, ", "))
			return nil, &Error{Path: name, Err: err, Hint: DidYouMean(name, known)}
		}
	}
	if !hasItems && o["items"] != nil {
		return nil, &Error{Path: "items", Err: fmt.Errorf("expected a list of objects"), Hint: "begin each object with a dash"}
	}

	// A List in a List is expanded too.
	var out []Object
	for _, item := range o.List("items") {
		m, ok := item.(map[string]any)
		if !ok {
			out = append(out, Object{})
			continue
		}
		if m["kind"] == nil && m["apiVersion"] == nil && of != "" { // As kubectl reads them.
			m = maps.Clone(m)
			m["kind"], m["apiVersion"] = of, o.APIVersion()
		}
		below, err := Object(m).Expand()
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}

// NameHint returns what to do about an object that leaves its name to the API server, or whose
// name is no text. It returns "" for other objects.
func (o Object) NameHint() string {
	switch name := o.Map("metadata")["name"].(type) {
	case nil:
		if o.Text("metadata", "generateName") != "" {
			return "set metadata.name: with generateName every apply creates another object, and a GitOps engine cannot find its own"
		}
	case bool:
		words := map[bool]string{true: "on, yes and y", false: "off, no and n"}
		return fmt.Sprintf("write metadata.name in quotes: without them it is %t for kubectl, as %s are", name, words[name])
	case int64, float64:
		return "write metadata.name in quotes: without them it is a number"
	}
	return ""
}

// NameNodes gives the nodes of a spec ids made of their objects: kind and name, with the
// namespace and then the group if that is not enough. Two nodes of one object are an error with
// the hint.
func NameNodes(spec string, nodes []*Node, hint string) error {
	// Give each node the shortest id that no other node of this round has.
	remaining := nodes
	for _, name := range []func(Ref) string{
		func(r Ref) string { return nodeName(r.Kind, r.Name) },
		func(r Ref) string { return nodeName(r.Kind, r.Namespace, r.Name) },
		func(r Ref) string { return nodeName(r.Kind, r.Group, r.Namespace, r.Name) },
	} {
		count := map[string]int{}
		for _, n := range remaining {
			count[name(n.Object.Ref())]++
		}
		var repeated []*Node
		for _, n := range remaining {
			id := name(n.Object.Ref())
			n.ID = MakeID(spec, id)
			if count[id] > 1 {
				repeated = append(repeated, n)
			}
		}
		remaining = repeated
	}

	// What has the same id even with group and namespace is the same object.
	var errs Errors
	first := map[ID]*Node{}
	for _, n := range nodes {
		if f, ok := first[n.ID]; ok {
			errs = append(errs, &Error{
				Stage: StageEvaluate, Pos: n.Pos, Node: n.ID,
				Err:   fmt.Errorf("object %q is made twice", n.Object.Ref()),
				Hint:  hint,
				Notes: []Note{{Pos: f.Pos, Text: "first made here"}},
			})
			continue
		}
		first[n.ID] = n
	}
	return errs.Err()
}

// nodeName joins what there is of parts to the second half of an id.
func nodeName(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.ReplaceAll(strings.ToLower(strings.Join(parts, "-")), "/", "-")
}
