// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// workload is an object that makes pods.
type workload struct {
	kind, namespace, name string
	replicas              int64
	spec                  corev1.PodSpec
}

// String returns kind namespace/name.
func (w workload) String() string { return w.kind + " " + w.namespace + "/" + w.name }

// parse reads a manifest, and reports whether it makes pods of its own. A DaemonSet and a Job count
// as at least one pod.
func parse(manifest []byte) (workload, bool) {
	var o struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace, Name string }
		Spec             struct {
			corev1.PodSpec
			Replicas    *int64
			Parallelism *int64
			Template    struct{ Spec corev1.PodSpec }
			JobTemplate struct {
				Spec struct {
					Parallelism *int64
					Template    struct{ Spec corev1.PodSpec }
				}
			}
		}
	}
	if yaml.Unmarshal(manifest, &o) != nil {
		return workload{}, false
	}

	// Kinds differ in the field of the pod, and in the field of the count.
	out := workload{
		kind:      o.Kind,
		namespace: o.Metadata.Namespace,
		name:      o.Metadata.Name,
		replicas:  1,
		spec:      o.Spec.Template.Spec,
	}
	count := o.Spec.Replicas
	switch o.APIVersion + "/" + o.Kind {
	case "v1/Pod":
		out.spec = o.Spec.PodSpec
	case "apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/ReplicaSet", "apps/v1/DaemonSet":
	case "batch/v1/Job":
		count = o.Spec.Parallelism
	case "batch/v1/CronJob":
		count = o.Spec.JobTemplate.Spec.Parallelism
		out.spec = o.Spec.JobTemplate.Spec.Template.Spec
	default:
		return workload{}, false
	}
	if count != nil {
		out.replicas = *count
	}
	return out, true
}
