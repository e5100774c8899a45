// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply writes objects of Flux and Argo CD by server-side apply, and reports whether a live
// object is as it was applied, so that objects that did not change are not written.
package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner is the field owner of server-side apply.
const FieldOwner = client.FieldOwner("ropewalk-controller")

// annotationApplied identifies the configuration that was applied last, so that a field that is not
// desired any more is noticed.
const annotationApplied = "ropewalk.dev/applied"

// Same reports whether a live object was written by Write(want), and was not changed since. The
// status counts only if want has a status.
func Same(want, live client.Object) bool {
	applied, status, err := configuration(want)
	if err != nil {
		return true
	}
	have, _ := plain(live).(map[string]any)
	hasStatus := status == nil || reflect.DeepEqual(plain(status.Object["status"]), have["status"])
	return hasStatus && covers(plain(applied.Object), have)
}

// Write applies an object, and then its status if it has a status.
func Write(ctx context.Context, c client.Client, want client.Object) error {
	applied, status, err := configuration(want)
	if err != nil {
		return err
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), FieldOwner, client.ForceOwnership)
	if err != nil || status == nil {
		return err
	}
	return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), FieldOwner, client.ForceOwnership)
}

// configuration returns an object as it is applied, with the annotation that identifies it, and its
// status, or nil if it has no status.
func configuration(object client.Object) (applied, status *unstructured.Unstructured, err error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
	if err != nil {
		return nil, nil, err
	}
	applied = &unstructured.Unstructured{Object: content}
	if fields, _ := content["status"].(map[string]any); len(fields) > 0 {
		status = &unstructured.Unstructured{Object: map[string]any{"status": fields}}
		status.SetGroupVersionKind(applied.GroupVersionKind())
		status.SetNamespace(object.GetNamespace())
		status.SetName(object.GetName())
	}

	// The rest is identified by its sum.
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	annotations := applied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationApplied] = Sum(content)[:16]
	applied.SetAnnotations(annotations)
	return applied, status, nil
}

// plain returns a value as JSON has it.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil
	}
	return out
}

// covers reports whether have has all that want has. Typed clients leave out the kind of objects,
// and controllers leave out fields that are false.
func covers(want, have any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(want, have)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range w {
		isOptional := value == false || key == "apiVersion" || key == "kind"
		if isOptional && h[key] == nil {
			continue
		}
		if !covers(value, h[key]) {
			return false
		}
	}
	return true
}

// Sum returns a text that identifies a value by its JSON.
func Sum(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error() // It is data, and so it can be marshalled.
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
