// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The parts of the input that provisioners may change. All else follows from
// what the author wrote: a provisioner that could merge its own containers, names
// or secrets over it would take the workload away from its author, and lists
// would lose what is in them.
const (
	PartAnnotations     = "annotations"
	PartAutoscaling     = "autoscaling"
	PartDisruption      = "disruption"
	PartLabels          = "labels"
	PartPod             = "pod"
	PartPodAnnotations  = "podAnnotations"
	PartReplicas        = "replicas"
	PartSecurityContext = "securityContext"
	PartServiceAccount  = "serviceAccount"
)

// patchParts returns the names of the parts, sorted.
func patchParts() []string {
	return []string{
		PartAnnotations, PartAutoscaling, PartDisruption, PartLabels, PartPod, PartPodAnnotations,
		PartReplicas, PartSecurityContext, PartServiceAccount,
	}
}

// decodePatch checks what a provisioner merges over the input of the module. Its shape is checked
// here, because the module would report a mistake of the author.
func (d *reading) decodePatch(v object.Value) object.Value {
	for _, m := range v.Members {
		at := "workload." + m.Name
		switch m.Name {
		case PartAnnotations, PartPodAnnotations:
			d.checkTexts(at, m.Value)
		case PartLabels:
			d.checkTexts(at, m.Value)
			d.refuseNames(at, m.Value, "objects find their pods by it", labelName, labelWorkload)
			d.refuseNames(at, m.Value, "it says what a ConfigMap or an ExternalSecret holds", "ropewalk.dev/config-type")
		case PartReplicas:
			d.checkCount(at, m.Value, 0)
		case PartAutoscaling:
			d.checkNames(at, m.Value, "min", "max", "cpu", "memory")
			for _, n := range m.Value.Members {
				d.checkCount(at+"."+n.Name, n.Value, 1)
			}
		case PartDisruption:
			d.checkNames(at, m.Value, "minAvailable", "maxUnavailable")
			if len(m.Value.Members) != 1 {
				d.fail(at, "", "must have one of minAvailable and maxUnavailable")
			}
		case PartServiceAccount:
			d.checkNames(at, m.Value, "annotations")
			if annotations, ok := m.Value.Get("annotations"); ok {
				d.checkTexts(at+".annotations", annotations)
			}
		case PartSecurityContext:
			d.decodeMap(object.Member{Name: at, Value: m.Value})
		case PartPod:
			d.decodeMap(object.Member{Name: at, Value: m.Value})
			d.refuseNames(at, m.Value, "it follows from the workload", "containers", "initContainers", "volumes",
				"serviceAccountName", "serviceAccount", "automountServiceAccountToken", "securityContext")
		default:
			d.fail(at, "", "cannot be changed by a provisioner: allowed are %s", list(patchParts()))
		}
	}
	return v
}

// The labels by which objects find their pods.
const (
	labelName     = "app.kubernetes.io/name"
	labelWorkload = "ropewalk.dev/workload"
)

// checkTexts reports a value that is no map of text.
func (d *reading) checkTexts(at string, v object.Value) {
	for _, m := range d.decodeMap(object.Member{Name: at, Value: v}).Members {
		if m.Value.Kind != object.KindString {
			d.fail(at+"."+m.Name, "", "must be text, got a %s", m.Value.Kind)
		}
	}
}

// checkCount reports a value that is no integer of at least least.
func (d *reading) checkCount(at string, v object.Value, least int) {
	if n, err := strconv.Atoi(v.Text); v.Kind != object.KindNumber || err != nil || n < least {
		d.fail(at, "", "must be an integer of at least %d", least)
	}
}

// checkNames reports a value that is no map, and names in it that are not among known.
func (d *reading) checkNames(at string, v object.Value, known ...string) {
	for _, m := range d.decodeMap(object.Member{Name: at, Value: v}).Members {
		if !slices.Contains(known, m.Name) {
			d.fail(at+"."+m.Name, object.Suggest(m.Name, known), "cannot be changed by a provisioner: allowed are %s", list(known))
		}
	}
}

// refuseNames reports those of names that are in a map.
func (d *reading) refuseNames(at string, v object.Value, why string, names ...string) {
	for _, m := range v.Members {
		if slices.Contains(names, m.Name) {
			d.fail(at+"."+m.Name, "", "cannot be changed by a provisioner: %s", why)
		}
	}
}

// Made is a resource of a workload with what became of it.
type Made struct {
	// Resource is what the workload declares, and Path leads to it in its document.
	Resource *score.Resource
	Path     string
	// Params are those that the provisioner was given.
	Params object.Value
	// External is the service of the project that the resource names, nil for others.
	External *spec.ExternalService
	*Result
}

// Patch returns what the resources of a workload merge over the input, in the order of their
// names. Two resources that set a different value are a mistake: the order of names would decide.
func Patch(all []Made) (object.Value, object.Errors) {
	var out object.Value
	var errs object.Errors
	from := map[string]*score.Resource{}
	for n, r := range all {
		same := func(o Made) bool { return o.Result == r.Result }
		if r.Workload.Kind != object.KindMap || slices.ContainsFunc(all[:n], same) {
			continue
		}

		// A part that an earlier resource sets too must be the same, or have other fields.
		for _, m := range r.Workload.Members {
			first := from[m.Name]
			if first == nil {
				from[m.Name] = r.Resource
				continue
			}
			under, _ := out.Get(m.Name)
			if at, differ := difference(under, m.Value); differ {
				errs = append(errs, &object.Error{
					Stage: object.StageSpec, Pos: r.Resource.Type.Pos, Path: r.Path,
					Err: fmt.Errorf("the resources %q and %q set a different %s of the workload",
						first.Name, r.Resource.Name, object.Fields(append([]string{m.Name}, at...)...)),
					Hint:  "remove one of them",
					Notes: []object.Note{{Pos: first.Pos, Text: "the other resource"}},
				})
			}
		}
		out = out.Merge(r.Workload)
	}
	return out, errs
}

// difference returns the path to the first part that both values have and that differs.
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
