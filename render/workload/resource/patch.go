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

// The parts of the input that provisioners may change. The other parts follow from
// the author's document: a provisioner that could merge its own containers, names
// or secrets over it would take the workload away from its author, and lists
// would lose their items.
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

// decodePatch checks the changes of a provisioner to the input of the module. Their shape is checked
// here, because the module would report a mistake of the author.
func (d *reading) decodePatch(v object.Value) object.Value {
	for _, m := range v.Members {
		field := "workload." + m.Name
		switch m.Name {
		case PartAnnotations, PartPodAnnotations:
			d.checkTexts(field, m.Value)
		case PartLabels:
			d.checkTexts(field, m.Value)
			d.reportNames(field, m.Value, "objects find their pods by it", labelName, labelWorkload)
			d.reportNames(field, m.Value, "it says what a ConfigMap or an ExternalSecret holds", "ropewalk.dev/config-type")
		case PartReplicas:
			d.checkCount(field, m.Value, 0)
		case PartAutoscaling:
			d.checkNames(field, m.Value, "min", "max", "cpu", "memory")
			for _, n := range m.Value.Members {
				d.checkCount(field+"."+n.Name, n.Value, 1)
			}
		case PartDisruption:
			d.checkNames(field, m.Value, "minAvailable", "maxUnavailable")
			if len(m.Value.Members) != 1 {
				d.fail(field, "", "must have one of minAvailable and maxUnavailable")
			}
		case PartServiceAccount:
			d.checkNames(field, m.Value, "annotations")
			if annotations, ok := m.Value.Get("annotations"); ok {
				d.checkTexts(field+".annotations", annotations)
			}
		case PartSecurityContext:
			d.decodeMap(object.Member{Name: field, Value: m.Value})
		case PartPod:
			d.decodeMap(object.Member{Name: field, Value: m.Value})
			d.reportNames(field, m.Value, "it follows from the workload", "containers", "initContainers", "volumes",
				"serviceAccountName", "serviceAccount", "automountServiceAccountToken", "securityContext")
		default:
			d.fail(field, "", "cannot be changed by a provisioner: allowed are %s", joinNames(patchParts()))
		}
	}
	return v
}

// The labels by which objects find their pods.
const (
	labelName     = "app.kubernetes.io/name"
	labelWorkload = "ropewalk.dev/workload"
)

// checkTexts reports a value that is not a map of texts.
func (d *reading) checkTexts(field string, v object.Value) {
	for _, m := range d.decodeMap(object.Member{Name: field, Value: v}).Members {
		if m.Value.Kind != object.KindString {
			d.fail(field+"."+m.Name, "", "must be text, got a %s", m.Value.Kind)
		}
	}
}

// checkCount reports a value that is not an integer of at least least.
func (d *reading) checkCount(field string, v object.Value, least int) {
	if n, err := strconv.Atoi(v.Text); v.Kind != object.KindNumber || err != nil || n < least {
		d.fail(field, "", "must be an integer of at least %d", least)
	}
}

// checkNames reports a value that is not a map, and names in it that are not among allowed.
func (d *reading) checkNames(field string, v object.Value, allowed ...string) {
	for _, m := range d.decodeMap(object.Member{Name: field, Value: v}).Members {
		if !slices.Contains(allowed, m.Name) {
			d.fail(field+"."+m.Name, object.Suggest(m.Name, allowed), "cannot be changed by a provisioner: allowed are %s", joinNames(allowed))
		}
	}
}

// reportNames reports the names that a map must not have.
func (d *reading) reportNames(field string, v object.Value, why string, names ...string) {
	for _, m := range v.Members {
		if slices.Contains(names, m.Name) {
			d.fail(field+"."+m.Name, "", "cannot be changed by a provisioner: %s", why)
		}
	}
}

// Made is a resource of a workload with its result.
type Made struct {
	// Resource is the declaration of the workload, and Path its path in the document.
	Resource *score.Resource
	Path     string
	// Params are the params that the provisioner got.
	Params object.Value
	// External is the service of the project that the resource names, nil for others.
	External *spec.ExternalService
	*Result
}

// Patch returns the changes of the resources of a workload to the input, merged in the order of their
// names. Two resources that set different values are a mistake: the order of names would decide.
func Patch(resources []Made) (object.Value, object.Errors) {
	var out object.Value
	var errs object.Errors
	owners := map[string]*score.Resource{}
	for n, r := range resources {
		same := func(o Made) bool { return o.Result == r.Result }
		if r.Workload.Kind != object.KindMap || slices.ContainsFunc(resources[:n], same) {
			continue
		}

		// A part that an earlier resource sets too must be the same, or have other fields.
		for _, m := range r.Workload.Members {
			first := owners[m.Name]
			if first == nil {
				owners[m.Name] = r.Resource
				continue
			}
			present, _ := out.Get(m.Name)
			if path, differ := difference(present, m.Value); differ {
				errs = append(errs, &object.Error{
					Stage: object.StageSpec, Pos: r.Resource.Type.Pos, Path: r.Path,
					Err: fmt.Errorf("the resources %q and %q set a different %s of the workload",
						first.Name, r.Resource.Name, object.Fields(append([]string{m.Name}, path...)...)),
					Hint:  "remove one of them",
					Notes: []object.Note{{Pos: first.Pos, Text: "the other resource"}},
				})
			}
		}
		out = out.Merge(r.Workload)
	}
	return out, errs
}

// difference returns the path to the first part that both values have with different values.
func difference(a, b object.Value) (path []string, differ bool) {
	if a.Kind != object.KindMap || b.Kind != object.KindMap {
		return nil, string(a.JSON()) != string(b.JSON())
	}
	for _, m := range b.Members {
		present, ok := a.Get(m.Name)
		if !ok {
			continue
		}
		if below, differ := difference(present, m.Value); differ {
			return append([]string{m.Name}, below...), true
		}
	}
	return nil, false
}
