// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// condition is a condition of an object.
type condition struct{ status, reason, message string }

// conditions returns the conditions in the layout of v1beta2, by type. They are in
// status.conditions of objects of that version, and in status.v1beta2.conditions of older objects.
func conditions(o *unstructured.Unstructured) map[string]condition {
	out := map[string]condition{}
	for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}} {
		list, _ := nested(o.Object, path...).([]any)
		for _, v := range list {
			if c, ok := v.(map[string]any); ok {
				out[text(c, "type")] = condition{status: text(c, "status"), reason: text(c, "reason"), message: text(c, "message")}
			}
		}
	}
	return out
}

// Deleting is in Item.Busy of an object that has a deletion time.
const Deleting = "is being deleted"

// busy returns the reasons why an object is not at rest, by fields that all kinds of Cluster API
// have in common.
func busy(o *unstructured.Unstructured) []string {
	var out []string
	if o.GetDeletionTimestamp() != nil {
		out = append(out, Deleting)
	}

	// Some conditions report work that is going on.
	byType := conditions(o)
	for _, t := range []string{"RollingOut", "ScalingUp", "ScalingDown", "Remediating", "Deleting"} {
		if c := byType[t]; c.status == "True" {
			why := strings.TrimSuffix(printable.OneLine(c.reason+": "+c.message), ":")
			out = append(out, strings.TrimSuffix("condition "+t+" is True: "+why, ": "))
		}
	}
	// A controller does not observe a paused object, which is a finding of its own.
	if seen, ok := number(o, "status", "observedGeneration"); ok && seen < o.GetGeneration() && PausedBy(o) == "" {
		out = append(out, fmt.Sprintf("observedGeneration %d of %d", seen, o.GetGeneration()))
	}

	// A Machine is done when it has a node.
	isMachine := o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: ClusterGroup, Kind: machineKind}
	if isMachine && text(o.Object, "status", "nodeRef", "name") == "" {
		out = append(out, "has no node yet")
	}

	// All replicas must be up to date.
	want, ok := number(o, "spec", "replicas")
	if !ok {
		want, ok = number(o, "status", "replicas")
	}
	have, both := number(o, "status", "upToDateReplicas")
	if !both {
		have, both = number(o, "status", "v1beta2", "upToDateReplicas")
	}
	if ok && both && want != have {
		out = append(out, fmt.Sprintf("%d of %d replicas are up to date", have, want))
	}
	return out
}

// number returns a field that is a number, and reports whether it is there.
func number(o *unstructured.Unstructured, path ...string) (int64, bool) {
	switch v := nested(o.Object, path...).(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// PausedBy returns the field managers that paused a Cluster; "" if it is not paused.
func PausedBy(o *unstructured.Unstructured) string {
	var managers []string
	if paused, _ := nested(o.Object, "spec", "paused").(bool); paused {
		for _, f := range o.GetManagedFields() {
			if ownsPaused(f) {
				managers = append(managers, f.Manager)
			}
		}
		if len(managers) == 0 {
			managers = append(managers, "an unknown field manager")
		}
	}
	slices.Sort(managers)
	managers = slices.Compact(managers)
	if hasKey(o.GetAnnotations(), pausedAnnotation) {
		managers = append(managers, "annotation")
	}
	return strings.Join(managers, ", ")
}

// ownsPaused reports whether a field manager owns spec.paused.
func ownsPaused(f metav1.ManagedFieldsEntry) bool {
	if f.FieldsV1 == nil || f.Subresource != "" {
		return false
	}
	var fields struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	_, ok := fields.Spec["f:paused"]
	return ok
}

// hasKey reports whether a map has a key.
func hasKey(m map[string]string, k string) bool {
	_, ok := m[k]
	return ok
}

// nested returns a field, or nil.
func nested(m map[string]any, path ...string) any {
	for i, k := range path {
		v := m[k]
		if i == len(path)-1 {
			return v
		}
		m, _ = v.(map[string]any)
	}
	return nil
}

// text returns a field, or "" if it is no text.
func text(m map[string]any, path ...string) string {
	s, _ := nested(m, path...).(string)
	return s
}
