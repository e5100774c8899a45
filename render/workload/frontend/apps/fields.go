// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package apps

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// field maps a field of an application to the spec of a Workload; * stands for the name of the
// container. If types is not "", the field has an effect with those types of scaling only. Fields
// without a counterpart are written by code.
type field struct{ from, to, types string }

// fields returns the fields of an application with their places in a Workload.
func fields() []field {
	return []field{
		{"environment", "containers.*.variables", ""},
		{"namespace", "namespace", ""},
		{"path", "annotations", ""},
		{"port", "service", ""},
		{"resources.cpu", "containers.*.resources.requests.cpu", ""},
		{"resources.ephemeral_storage", "containers.*.resources.requests.ephemeral-storage", ""},
		{"resources.ephemeral_storage", "containers.*.resources.limits.ephemeral-storage", ""},
		{"resources.memory", "containers.*.resources.requests.memory", ""},
		{"resources.memory_limit", "containers.*.resources.limits.memory", ""},
		{"scaling.type", "", ""},
		{"scaling.min_instances", "replicas.min", ""},
		{"scaling.max_instances", "replicas.max", "hpa keda-cron keda-http keda-queue"},
		{"scaling.cooldown_period", "replicas.cooldown", "keda-cron keda-http keda-queue"},
		{"scaling.queue_name", "replicas.queue.name", "keda-queue"},
		{"scaling.queue_length", "replicas.queue.length", "keda-queue"},
		{"scaling.cron_schedules", "replicas.cron", "keda-cron"},
		{"scaling.concurrency", "replicas.http.concurrency", "keda-http"},
		{"scaling.hosts", "replicas.http.hosts", "keda-http"},
		{"scaling.rate", "replicas.http.rate", "keda-http"},
		{"security.create_service_account", "serviceAccount.existing", ""},
		{"security.network_policy.allow_from", "network.allowFrom", ""},
		{"security.network_policy.allow_to", "network.allowTo", ""},
		{"security.network_policy.enabled", "", ""},
		{"security.service_account", "serviceAccount.name", ""},
		{"security.service_account_annotations", "serviceAccount.annotations", ""},
	}
}

// messages returns the function that turns errors on the Workload into errors on the fields of
// the application.
func (a *app) messages() func(object.Errors) object.Errors {
	prefix := a.Path.String() + "."
	var paths [][2]string
	for _, f := range fields() {
		paths = append(paths, [2]string{"spec." + f.to, prefix + f.from})
	}
	paths = append(paths, [2]string{"spec.resources.queue", "spec.workloads.config.apps.queue.resource"},
		[2]string{"spec.replicas.queue", "spec.workloads.config.apps.queue"},
		[2]string{"spec.replicas", prefix + "scaling"},
		[2]string{"spec.containers.*", strings.TrimSuffix(prefix, ".")}, [2]string{"metadata", prefix + "name"})
	words := strings.NewReplacer("min: ", "min_instances: ", "write max too", "write max_instances too", "raise max", "raise max_instances",
		"a queue, cron or http", "the type keda-queue, keda-cron or keda-http")
	return func(errs object.Errors) object.Errors {
		return slices.DeleteFunc(builder.Written(errs, paths, words), func(e *object.Error) bool {
			e.Path = strings.Replace(e.Path, "].labels", "].pod_labels", 1)
			return a.known(e.Path)
		})
	}
}

// writtenGateway returns errors on a Gateway as errors on the fields below gateway.
func writtenGateway(errs object.Errors) object.Errors {
	return builder.Written(errs, [][2]string{
		{"spec.target", "gateway.provider"},
		{"spec.cors.allowOrigins", "gateway.cors.allow_origins"},
		{"spec.cors.allowMethods", "gateway.cors.allow_methods"},
		{"spec.cors.allowHeaders", "gateway.cors.allow_headers"},
		{"spec.cors.maxAge", "gateway.cors.max_age"},
		{"spec.rateLimit.requests", "gateway.rate_limit.requests_per_second"},
		{"spec.rateLimit", "gateway.rate_limit"},
		{"spec", "gateway"},
	}, strings.NewReplacer("target: ", "provider: ", "rateLimit", "rate_limit"))
}
