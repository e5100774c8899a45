// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
)

// patch checks what a provisioner merges over the input of the module. Its shape
// is checked here, because the module would blame the author.
func (d *reading) patch(v object.Value) object.Value {
	for _, m := range v.Members {
		at := "workload." + m.Name
		switch m.Name {
		case generate.PartAnnotations, generate.PartPodAnnotations:
			d.texts(at, m.Value)
		case generate.PartLabels:
			d.texts(at, m.Value)
			d.without(at, m.Value, "objects find their pods by it", labelName, labelWorkload)
		case generate.PartReplicas:
			d.count(at, m.Value, 0)
		case generate.PartAutoscaling:
			d.only(at, m.Value, "min", "max", "cpu", "memory")
			for _, n := range m.Value.Members {
				d.count(at+"."+n.Name, n.Value, 1)
			}
		case generate.PartDisruption:
			d.only(at, m.Value, "minAvailable", "maxUnavailable")
			if len(m.Value.Members) != 1 {
				d.fail(at, "", "must have one of minAvailable and maxUnavailable")
			}
		case generate.PartServiceAccount:
			d.only(at, m.Value, "annotations")
			if annotations, ok := m.Value.Get("annotations"); ok {
				d.texts(at+".annotations", annotations)
			}
		case generate.PartSecurityContext:
			d.object(object.Member{Name: at, Value: m.Value})
		case generate.PartPod:
			d.object(object.Member{Name: at, Value: m.Value})
			d.without(at, m.Value, "it follows from the workload", "containers", "initContainers", "volumes",
				"serviceAccountName", "serviceAccount", "automountServiceAccountToken", "securityContext")
		default:
			d.fail(at, "", "cannot be changed by a provisioner: allowed are %s", list(generate.PatchParts()))
		}
	}
	return v
}

// The labels by which objects find their pods.
const (
	labelName     = "app.kubernetes.io/name"
	labelWorkload = "ropewalk.dev/workload"
)

// texts wants a map of text.
func (d *reading) texts(at string, v object.Value) {
	for _, m := range d.object(object.Member{Name: at, Value: v}).Members {
		if m.Value.Kind != object.KindString {
			d.fail(at+"."+m.Name, "", "must be text, got a %s", m.Value.Kind)
		}
	}
}

// count reads an integer.
func (d *reading) count(at string, v object.Value, least int) {
	if n, err := strconv.Atoi(v.Text); v.Kind != object.KindNumber || err != nil || n < least {
		d.fail(at, "", "must be an integer of at least %d", least)
	}
}

// only wants a map with no other names.
func (d *reading) only(at string, v object.Value, known ...string) {
	for _, m := range d.object(object.Member{Name: at, Value: v}).Members {
		if !slices.Contains(known, m.Name) {
			d.fail(at+"."+m.Name, object.Suggest(m.Name, known), "cannot be changed by a provisioner: allowed are %s", list(known))
		}
	}
}

// without refuses names in a map.
func (d *reading) without(at string, v object.Value, why string, names ...string) {
	for _, m := range v.Members {
		if slices.Contains(names, m.Name) {
			d.fail(at+"."+m.Name, "", "cannot be changed by a provisioner: %s", why)
		}
	}
}

// patch is what the resources merge over the input, in the order of their names.
// Two that want different things are a mistake: the order of names would decide.
func (c *Compilation) patch() object.Value {
	var out object.Value
	from := map[string]int{}
	resources := c.member.source.Spec.Resources
	for n, i := range c.member.instances {
		r := c.result(i)
		if r == nil || r.workload.Kind != object.KindMap || slices.Contains(c.member.instances[:n], i) {
			continue
		}
		for _, m := range r.workload.Members {
			first, twice := from[m.Name]
			under, _ := out.Get(m.Name)
			if at, differ := difference(under, m.Value); twice && differ {
				path := object.Fields(append([]string{m.Name}, at...)...)
				c.errs = append(c.errs, &object.Error{
					Stage: object.StageSpec, Pos: resources[n].Type.Pos, Path: c.member.resourcePath(&resources[n]),
					Err: fmt.Errorf("the resources %q and %q set a different %s of the workload",
						resources[first].Name, resources[n].Name, path),
					Hint:  "remove one of them",
					Notes: []object.Note{{Pos: resources[first].Pos, Text: "the other resource"}},
				})
			}
			if !twice {
				from[m.Name] = n
			}
		}
		out = out.Merge(r.workload)
	}
	return out
}

// difference is the way to the first part that both values have and that is not
// the same in them.
func difference(a, b object.Value) (at []string, differ bool) {
	if a.Kind != object.KindMap || b.Kind != object.KindMap {
		return nil, string(a.JSON()) != string(b.JSON())
	}
	for _, m := range b.Members {
		under, ok := a.Get(m.Name)
		if !ok {
			continue
		}
		if below, differ := difference(under, m.Value); differ {
			return append([]string{m.Name}, below...), true
		}
	}
	return nil, false
}
