// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// isQuantity reports whether the API server reads a field of a kind as a quantity, of
// which 1000m and 1 are the same. Elsewhere, in a ConfigMap or a custom resource, they are
// two texts. Source: the schemas of Kubernetes 1.36.
func isQuantity(kind string, field object.Path) bool {
	// Some kinds have quantities of their own.
	path := shape(field)
	parent := path[:max(0, strings.LastIndexByte(path, '.'))]
	switch kind {
	case "PersistentVolume":
		return parent == "spec.capacity"
	case "PersistentVolumeClaim":
		return parent == "spec.resources.requests" || parent == "spec.resources.limits"
	case "ResourceQuota":
		return parent == "spec.hard"
	case "LimitRange":
		return slices.Contains([]string{
			"spec.limits[].default", "spec.limits[].defaultRequest", "spec.limits[].max", "spec.limits[].min", "spec.limits[].maxLimitRequestRatio",
		}, parent)
	case "StatefulSet.apps":
		if parent == "spec.volumeClaimTemplates[].spec.resources.requests" || parent == "spec.volumeClaimTemplates[].spec.resources.limits" {
			return true
		}
	}

	// Every kind with pods has the quantities of pods.
	pod, ok := podSpecs()[kind]
	if !ok || !strings.HasPrefix(path, pod+".") {
		return false
	}
	if path == pod+".volumes[].emptyDir.sizeLimit" {
		return true
	}
	return slices.Contains([]string{
		"overhead", "resources.limits", "resources.requests",
		"containers[].resources.limits", "containers[].resources.requests",
		"initContainers[].resources.limits", "initContainers[].resources.requests",
		"volumes[].ephemeral.volumeClaimTemplate.spec.resources.limits",
		"volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests",
	}, strings.TrimPrefix(parent, pod+"."))
}

// podSpecs returns where each built-in kind has the spec of its pods.
func podSpecs() map[string]string {
	return map[string]string{
		"Pod": "spec", "PodTemplate": "template.spec", "CronJob.batch": "spec.jobTemplate.spec.template.spec", "Job.batch": "spec.template.spec",
		"Deployment.apps": "spec.template.spec", "DaemonSet.apps": "spec.template.spec", "ReplicaSet.apps": "spec.template.spec",
		"StatefulSet.apps": "spec.template.spec", "ReplicationController": "spec.template.spec",
	}
}

// shape returns a path as text, in which every index is [], and dots in names are slashes.
func shape(path object.Path) string {
	var b strings.Builder
	for i, step := range path {
		switch {
		case step.IsIndex:
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(strings.ReplaceAll(step.Name, ".", "/"))
	}
	return b.String()
}
