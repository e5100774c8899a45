// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

// immutable reports whether a field of a kind cannot be changed once the object
// exists. Source: the update validation of each kind in Kubernetes 1.36
// (pkg/apis/*/validation) and of CustomResourceDefinitions.
func immutable(before, after object.Object, f Field) bool {
	switch before.Ref().GroupKind() {
	case "Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps":
		return under(f.Path, "spec.selector")
	case "StatefulSet.apps":
		return statefulSet(f.Path)
	case "Job.batch":
		return under(f.Path, "spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy",
			"spec.backoffLimitPerIndex", "spec.managedBy", "spec.podReplacementPolicy", "spec.successPolicy")
	case "Pod":
		return pod(f.Path)
	case "PersistentVolumeClaim":
		return claim(f)
	case "PersistentVolume":
		return under(f.Path, "spec.volumeMode", "spec.nodeAffinity") || source(f.Path)
	case "Service":
		return service(before, after, f.Path)
	case "ConfigMap":
		return locked(before) && under(f.Path, "data", "binaryData", "immutable")
	case "Secret":
		isLocked := locked(before) && under(f.Path, "data", "stringData", "immutable")
		return f.Path == "type" || isLocked
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return under(f.Path, "roleRef")
	case "StorageClass.storage.k8s.io":
		return under(f.Path, "provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
	case "PriorityClass.scheduling.k8s.io":
		return under(f.Path, "value", "preemptionPolicy")
	case "IngressClass.networking.k8s.io":
		return under(f.Path, "spec.controller")
	case "RuntimeClass.node.k8s.io":
		return under(f.Path, "handler")
	case "EndpointSlice.discovery.k8s.io":
		return under(f.Path, "addressType")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return under(f.Path, "spec.scope", "spec.group", "spec.names.plural", "spec.names.kind")
	}
	return false
}

// under reports whether a path is one of others or below it.
func under(path string, others ...string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return object.Within(path, o) })
}

func locked(o object.Object) bool { return o.Get("immutable") == true }

// statefulSet reports whether a field of a StatefulSet is immutable: everything in spec is,
// except what the API server lets through.
func statefulSet(path string) bool {
	return under(path, "spec") && !under(path, "spec.replicas", "spec.ordinals", "spec.template", "spec.updateStrategy",
		"spec.revisionHistoryLimit", "spec.persistentVolumeClaimRetentionPolicy", "spec.minReadySeconds")
}

// pod reports whether a field of a Pod is immutable: everything in spec is, except images,
// tolerations, deadlines and gates.
func pod(path string) bool {
	if !under(path, "spec") {
		return false
	}
	image := (under(path, "spec.containers") || under(path, "spec.initContainers")) && strings.HasSuffix(path, "].image")
	return !image && !under(path,
		"spec.activeDeadlineSeconds", "spec.tolerations", "spec.terminationGracePeriodSeconds", "spec.schedulingGates")
}

// claim reports whether a field of a claim is immutable: everything in spec is, except more
// storage and another class of attributes.
func claim(f Field) bool {
	if !under(f.Path, "spec") || under(f.Path, "spec.volumeAttributesClassName") {
		return false
	}
	if f.Path != "spec.resources.requests.storage" {
		return !under(f.Path, "spec.resources")
	}
	return shrinks(f)
}

// shrinks reports whether a quantity becomes less.
func shrinks(f Field) bool {
	old, was := quantity(f.Before)
	now, is := quantity(f.After)
	return was && is && now.Cmp(old) < 0
}

func quantity(v any) (resource.Quantity, bool) {
	text, ok := v.(string)
	if !ok {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// source reports whether a path is the volume behind a PersistentVolume: what
// is no other field of its spec.
func source(path string) bool {
	return under(path, "spec") && !under(path, "spec.accessModes", "spec.capacity", "spec.claimRef", "spec.mountOptions",
		"spec.nodeAffinity", "spec.persistentVolumeReclaimPolicy", "spec.storageClassName", "spec.volumeAttributesClassName", "spec.volumeMode")
}

// service reports whether a change of a Service is refused. The cluster IP is immutable: a
// headless service is made with or without it.
func service(before, after object.Object, path string) bool {
	if !under(path, "spec.clusterIP", "spec.clusterIPs") {
		return false
	}
	// A manifest without an address keeps the one that was assigned.
	old, now := before.Text("spec", "clusterIP"), after.Text("spec", "clusterIP")
	external := before.Text("spec", "type") == "ExternalName" || after.Text("spec", "type") == "ExternalName"
	if external || now == "" {
		return false
	}
	return old != "" || now == "None"
}
