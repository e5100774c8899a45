// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package quota compares what the pods of a render ask for with the ResourceQuotas and LimitRanges
// of their namespaces. It counts the render alone, at the replicas that it names: pods of others,
// pods of an autoscaler, and quotas with scopes are not counted.
package quota

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/emit"
)

// Bounds limit the pods of a namespace.
type Bounds struct {
	Quotas []corev1.ResourceQuota
	Ranges []corev1.LimitRange
	// Hidden is set if the reader may not list one of the two.
	Hidden bool
}

// Reader reads the bounds of a namespace from a cluster.
type Reader func(ctx context.Context, namespace string) (Bounds, error)

// Warnings describe the pods of a render that their namespaces do not allow.
type Warnings struct {
	// Over has a line for each pod beyond a bound, sorted.
	Over []string
	// Hidden are the namespaces whose quotas or ranges may not be listed.
	Hidden []string
}

// Warn compares a render with the bounds of its namespaces.
func Warn(ctx context.Context, read Reader, files []emit.File) (Warnings, error) {
	byNamespace := map[string][]workload{}
	for _, f := range files {
		// Objects without containers are most of a large render.
		if f.Node == "" || !bytes.Contains(f.Data, []byte("containers:")) {
			continue
		}
		if w, ok := parse(f.Data); ok {
			byNamespace[w.namespace] = append(byNamespace[w.namespace], w)
		}
	}

	// Compare the pods of each namespace with its bounds.
	var out Warnings
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		b, err := read(ctx, namespace)
		if err != nil {
			return Warnings{}, err
		}
		if b.Hidden {
			out.Hidden = append(out.Hidden, namespace)
		}
		out.Over = append(out.Over, judge(byNamespace[namespace], b.Quotas, b.Ranges)...)
	}
	slices.Sort(out.Over)
	out.Over = slices.Compact(out.Over)
	return out, nil
}

// judge returns a line for each bound of a namespace that its pods exceed.
func judge(workloads []workload, quotas []corev1.ResourceQuota, ranges []corev1.LimitRange) []string {
	// Check each container, and sum up the requests.
	var out []string
	sums := corev1.ResourceList{}
	for _, w := range workloads {
		pod := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
		for _, c := range w.spec.Containers {
			asks := withDefaults(c.Resources, ranges)
			out = append(out, outOfRange(w, c.Name, asks, ranges)...)
			out = append(out, unset(w, c.Name, asks, quotas)...)
			add(pod, named("requests.", asks.Requests), 1)
			add(pod, named("limits.", asks.Limits), 1)
		}
		add(sums, pod, w.replicas)
	}

	// Compare the sums with the quotas.
	for _, q := range plain(quotas) {
		for name, hard := range q.Spec.Hard {
			if sum, ok := sums[canonical(name)]; ok && sum.Cmp(hard) > 0 {
				out = append(out, fmt.Sprintf("ResourceQuota %s/%s allows %s of %s, and the pods of this render ask for %s",
					q.Namespace, q.Name, hard.String(), name, sum.String()))
			}
		}
	}
	return out
}

// unset returns a line for each resource that a quota demands and a container does not set.
func unset(w workload, container string, asks corev1.ResourceRequirements, quotas []corev1.ResourceQuota) (out []string) {
	says := corev1.ResourceList{}
	add(says, named("requests.", asks.Requests), 1)
	add(says, named("limits.", asks.Limits), 1)
	for _, q := range plain(quotas) {
		for name := range q.Spec.Hard {
			_, ok := says[canonical(name)]
			if isCompute(canonical(name)) && !ok {
				out = append(out, fmt.Sprintf("%s: container %q has no %s, without which ResourceQuota %s/%s refuses its pods",
					w, container, canonical(name), q.Namespace, q.Name))
			}
		}
	}
	return out
}

// outOfRange returns a line for each resource of a container that a LimitRange does not allow.
func outOfRange(w workload, container string, asks corev1.ResourceRequirements, ranges []corev1.LimitRange) (out []string) {
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for name, highest := range item.Max {
				if limit, ok := asks.Limits[name]; ok && limit.Cmp(highest) > 0 {
					out = append(out, fmt.Sprintf("%s: container %q has the limit %s of %s, and LimitRange %s/%s allows %s",
						w, container, limit.String(), name, r.Namespace, r.Name, highest.String()))
				}
			}
			for name, lowest := range item.Min {
				if request, ok := asks.Requests[name]; ok && request.Cmp(lowest) < 0 {
					out = append(out, fmt.Sprintf("%s: container %q requests %s of %s, and LimitRange %s/%s wants %s at least",
						w, container, request.String(), name, r.Namespace, r.Name, lowest.String()))
				}
			}
		}
	}
	return out
}

// withDefaults returns the resources of a container after the API server has filled in the defaults
// of the LimitRanges, and the limit as the request.
func withDefaults(r corev1.ResourceRequirements, ranges []corev1.LimitRange) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	maps.Copy(out.Limits, r.Limits)
	maps.Copy(out.Requests, r.Limits)
	maps.Copy(out.Requests, r.Requests)
	fill := func(target, from corev1.ResourceList) {
		for name, amount := range from {
			if _, ok := target[name]; !ok {
				target[name] = amount
			}
		}
	}
	for _, limits := range ranges {
		for _, item := range limits.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				fill(out.Limits, item.Default)
				fill(out.Requests, item.DefaultRequest)
			}
		}
	}
	return out
}

// plain returns the quotas that count every pod.
func plain(quotas []corev1.ResourceQuota) []corev1.ResourceQuota {
	hasScopes := func(q corev1.ResourceQuota) bool { return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil }
	return slices.DeleteFunc(slices.Clone(quotas), hasScopes)
}

// canonical returns the name of a resource of a quota: cpu is short for requests.cpu.
func canonical(name corev1.ResourceName) corev1.ResourceName {
	if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
		return "requests." + name
	}
	return name
}

// isCompute reports whether a quota of a resource refuses pods that do not set it.
func isCompute(name corev1.ResourceName) bool {
	field, base, _ := strings.Cut(string(name), ".")
	return (field == "requests" || field == "limits") && (base == "cpu" || base == "memory")
}

// named returns a list with a prefix before each name.
func named(prefix corev1.ResourceName, list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, amount := range list {
		out[prefix+name] = amount
	}
	return out
}

// add adds a list to another list so many times.
func add(total, list corev1.ResourceList, times int64) {
	for name, amount := range list {
		amount.Mul(times)
		sum := total[name]
		sum.Add(amount)
		total[name] = sum
	}
}
