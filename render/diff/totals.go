// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

// Totals are the requests of a snapshot to a cluster.
type Totals struct {
	// Objects counts the objects.
	Objects int `json:"objects"`
	// Requests sums the pods that run all the time: of Deployments, StatefulSets, ReplicaSets and
	// Pods, with as many replicas as they name, or as their autoscaler begins with, or a single
	// replica.
	Requests Requests `json:"requests"`
	// PerNode sums the DaemonSets, for each node, and Jobs the Jobs and CronJobs, while each of
	// them runs once.
	PerNode Requests `json:"perNode,omitzero"`
	Jobs    Requests `json:"jobs,omitzero"`
	// Images counts the containers of each image.
	Images map[string]int `json:"images"`
}

// Requests are resources of pods.
type Requests struct {
	// CPU is in thousandths of a core, and Memory in bytes.
	CPU    int64 `json:"milliCPU"`
	Memory int64 `json:"memoryBytes"`
	// Open counts the pods that have a container that does not name both.
	Open int64 `json:"open,omitempty"`
}

// Totals counts the objects of a snapshot.
func (s Snapshot) Totals() Totals {
	// An autoscaler decides how many pods a workload begins with.
	out := Totals{Images: map[string]int{}}
	least := map[object.Ref]int64{}
	items := delivered(s.Items)
	for _, i := range items {
		ref, replicas := scaled(i.Object)
		if ref.Kind != "" {
			least[ref] = replicas
		}
	}

	// Count images, and requests of workloads by how many pods they have.
	for _, i := range items {
		out.Objects++
		for _, c := range containers(i.Object) {
			if image, ok := c["image"].(string); ok {
				out.Images[image]++
			}
		}
		ref := i.Object.Ref()
		if _, ok := podSpecs()[ref.GroupKind()]; !ok || ref.Kind == "PodTemplate" {
			continue
		}
		single := podRequests(podSpec(i.Object))
		switch ref.Kind {
		case "DaemonSet":
			out.PerNode.add(single, 1)
		case "Job":
			out.Jobs.add(single, integer(i.Object.Get("spec", "parallelism"), 1))
		case "CronJob":
			out.Jobs.add(single, integer(i.Object.Get("spec", "jobTemplate", "spec", "parallelism"), 1))
		default:
			replicas, scaled := least[ref]
			if given := i.Object.Get("spec", "replicas"); given != nil || !scaled {
				replicas = integer(given, 1)
			}
			out.Requests.add(single, replicas)
		}
	}
	return out
}

// scaled returns the object that an autoscaler scales, and the replicas that it begins with.
func scaled(o object.Object) (object.Ref, int64) {
	field := ""
	switch o.Ref().GroupKind() {
	case "HorizontalPodAutoscaler.autoscaling":
		field = "minReplicas"
	case "ScaledObject.keda.sh":
		field = "minReplicaCount"
	default:
		return object.Ref{}, 0
	}
	target := object.Object(o.Map("spec", "scaleTargetRef"))
	ref := object.Ref{Group: target.Group(), Kind: target.Kind(), Namespace: o.Namespace(), Name: target.Text("name")}
	if ref.Kind == "" { // KEDA takes a Deployment.
		ref.Group, ref.Kind = "apps", "Deployment"
	}
	least := int64(1)
	if field == "minReplicaCount" {
		least = 0
	}
	return ref, integer(o.Get("spec", field), least)
}

func integer(v any, otherwise int64) int64 {
	if n, ok := v.(int64); ok && n >= 0 {
		return n
	}
	return otherwise
}

func (r *Requests) add(single Requests, times int64) {
	r.CPU += single.CPU * times
	r.Memory += single.Memory * times
	r.Open += single.Open * times
}

// podRequests returns what one pod requests. That is the sum of its containers and its sidecars,
// or what an init container needs beside the sidecars before it, if that is more. Source:
// https://kubernetes.io/docs/concepts/workloads/pods/init-containers/
func podRequests(spec map[string]any) Requests {
	var first, sidecars, out Requests
	for _, v := range list(spec["initContainers"]) {
		m, _ := v.(map[string]any)
		one := containerRequests(m)
		if m["restartPolicy"] == "Always" {
			sidecars.add(one, 1)
			one = Requests{}
		}
		first = Requests{CPU: max(first.CPU, sidecars.CPU+one.CPU), Memory: max(first.Memory, sidecars.Memory+one.Memory)}
	}
	out = sidecars
	for _, v := range list(spec["containers"]) {
		m, _ := v.(map[string]any)
		out.add(containerRequests(m), 1)
	}
	return Requests{CPU: max(out.CPU, first.CPU), Memory: max(out.Memory, first.Memory), Open: min(out.Open, 1)}
}

// containerRequests returns what a container requests. A missing request is its limit.
func containerRequests(c map[string]any) (out Requests) {
	resources, _ := c["resources"].(map[string]any)
	requests, _ := resources["requests"].(map[string]any)
	limits, _ := resources["limits"].(map[string]any)
	value := func(name string, read func(resource.Quantity) int64) int64 {
		for _, of := range []map[string]any{requests, limits} {
			if q, err := resource.ParseQuantity(oneText(of[name])); err == nil {
				return read(q)
			}
		}
		out.Open = 1
		return 0
	}
	out.CPU = value("cpu", func(q resource.Quantity) int64 { return q.MilliValue() })
	out.Memory = value("memory", func(q resource.Quantity) int64 { return q.Value() })
	return out
}

// oneText returns a quantity as it is written, be it a text or a number.
func oneText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return oneLine(v)
}
