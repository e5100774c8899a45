// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// Annotations of Flux's kustomize-controller.
const (
	FluxPrune = "kustomize.toolkit.fluxcd.io/prune"
	FluxSSA   = "kustomize.toolkit.fluxcd.io/ssa"
	FluxForce = "kustomize.toolkit.fluxcd.io/force"
)

// flux returns the dialect of Flux 2.9: ApplyAllStaged and ReconcileOrder of fluxcd/pkg/ssa.
// Inside a stage objects are applied one after another. Objects are ready by kstatus, and Jobs
// when they are complete (fluxcd/pkg/runtime/statusreaders). kstatus does not look at the address
// of an Ingress or a Service.
func flux() Dialect {
	return Dialect{
		Name: Flux, Title: "Flux", Encrypted: Decrypted, Layered: true, NeedsNamespace: true,
		Annotations: []string{FluxPrune, FluxForce, FluxSSA},
		Keep:        []Mark{{Annotation: FluxPrune, Entry: "disabled"}},
		Recreate:    []Mark{{Annotation: FluxForce, Entry: "enabled"}},
		Watch:       []Mark{{Annotation: FluxSSA, Entry: "Ignore", AnyCase: true}},
		Rules: Rules{
			Serial: true,
			Stages: []Stage{
				{Kinds: []string{"CustomResourceDefinition", "Namespace", "ClusterRole"}},
				{Suffixes: []string{"Class"}},
			},
			First: []string{
				"CustomResourceDefinition", "Namespace", "ClusterClass", "RuntimeClass", "PriorityClass", "StorageClass",
				"VolumeSnapshotClass", "IngressClass", "GatewayClass", "ResourceQuota", "ServiceAccount", "Role",
				"ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Service", "LimitRange",
				"Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
			},
			Last:  []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
			Ready: kstatusReady(), ReadyCustom: true,
			NeverReady: []NeverReady{ClaimUnbound, DeploymentPaused, JobSuspended},
		},
	}
}
