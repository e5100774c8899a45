// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package isolation makes the objects by which an environment of a project keeps its namespace
// apart from others: the Namespace, a ResourceQuota with the LimitRange that it needs, and a
// NetworkPolicy that denies what no other one allows.
package isolation

import (
	"encoding/json"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Name is the name of the spec that makes the objects.
const Name = "isolation"

// What a container requests that says nothing of it, where a quota counts it: the API server
// refuses a pod whose requests are not known.
const (
	defaultCPU    = "100m"
	defaultMemory = "128Mi"
)

// Spec returns the spec that makes the objects of a namespace. Its module is a text of JSON, with
// the line of the isolation for every object. There is none if nothing is isolated.
func Spec(i spec.Isolation, namespace string) (spec.Transform, bool) {
	objects := objectsOf(i, namespace)
	if len(objects) == 0 {
		return spec.Transform{}, false
	}
	fields := make([]string, len(objects))
	for n, o := range objects {
		data, err := json.Marshal(o)
		if err != nil { // It has only maps, lists and texts.
			return spec.Transform{}, false
		}
		fields[n] = `"` + strings.ToLower(o.Kind()) + `":` + string(data)
	}
	ref := spec.CueRef{Type: spec.RefInline, Ref: "{" + strings.Join(fields, ",") + "}", Pos: i.Pos, TypePos: i.Pos, RefPos: i.Pos, Generated: true}
	return spec.Transform{Kind: spec.KindTransform, Name: Name, Namespace: namespace, Pos: i.Pos, NamePos: i.Pos, CueRef: ref}, true
}

// objectsOf returns the objects of a namespace.
func objectsOf(i spec.Isolation, namespace string) (out []object.Object) {
	in := func(apiVersion, kind, name string, body map[string]any) {
		out = append(out, object.Object{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}, "spec": body,
		})
	}
	if i.Namespace {
		out = append(out, namespaceOf(i, namespace))
	}
	hard, requests := map[string]any{}, map[string]any{}
	for _, q := range []struct{ name, counted, amount, usual string }{
		{"cpu", "requests.cpu", i.Quota.CPU, defaultCPU}, {"memory", "requests.memory", i.Quota.Memory, defaultMemory}, {"", "pods", i.Quota.Pods, ""},
	} {
		if q.amount == "" {
			continue
		}
		hard[q.counted] = q.amount
		if q.name != "" {
			requests[q.name] = q.usual
		}
	}
	if len(hard) > 0 {
		in("v1", "ResourceQuota", "quota", map[string]any{"hard": hard})
	}
	if len(requests) > 0 {
		in("v1", "LimitRange", "default-requests", map[string]any{"limits": []any{map[string]any{"type": "Container", "defaultRequest": requests}}})
	}
	if i.DefaultDeny {
		in("networking.k8s.io/v1", "NetworkPolicy", "default-deny", map[string]any{"podSelector": map[string]any{}, "policyTypes": []any{"Ingress", "Egress"}})
	}
	return out
}

// namespaceOf returns the Namespace, with the labels of Pod Security.
func namespaceOf(i spec.Isolation, name string) object.Object {
	metadata := map[string]any{"name": name}
	if i.PodSecurity != "" {
		labels := map[string]any{}
		for _, mode := range []string{"enforce", "audit", "warn"} {
			labels["pod-security.kubernetes.io/"+mode] = i.PodSecurity
		}
		metadata["labels"] = labels
	}
	return object.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
}
