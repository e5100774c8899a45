// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package order

// Rules is what the order must know of an engine. The engine's own rules are
// data, because they differ and change; see [Plain], [ArgoCD] and [Flux].
type Rules struct {
	// Engine is plain, argocd or flux.
	Engine string
	// Name is what people call the engine, for reasons.
	Name string

	// KeepsOrder is for what applies objects in the order in which they are
	// written, and does not sort them.
	KeepsOrder bool
	// Serial is for engines that apply the objects of a wave one after another,
	// sorted by kind, group, namespace and name; others apply objects of one
	// kind at once.
	Serial bool
	// Stages are parts of a wave that the engine applies and waits for one
	// after another; what belongs to none of them comes after the last.
	Stages []Stage
	// First are the kinds that come first inside a wave, and Last those that
	// come last; kinds that are in neither stand between them. Engines look at
	// the kind only, not at its group.
	First, Last []string

	// Ready are the types, as Kind.group, whose readiness the engine waits for;
	// *.group and *.*.group stand for every kind of a group and of the groups
	// below one.
	Ready []string
	// ReadyCustom is for engines that wait for the conditions of any custom
	// resource.
	ReadyCustom bool
	// Traps are what keeps the engine waiting, perhaps for ever.
	Traps []Trap
}

// Stage is a part of a wave: kinds by name, or by the end of their name.
type Stage struct {
	Kinds    []string
	Suffixes []string
}

// Trap is a reason for which a healthy object may never count as ready, or not for
// long, so that a wave that is not the last would hang on it.
type Trap string

// The traps.
const (
	// TrapNone is no trap.
	TrapNone Trap = ""
	// TrapIngress is an Ingress, which gets an address only where its
	// controller publishes one.
	TrapIngress Trap = "an Ingress may never get an address"
	// TrapGateway is a Gateway of the Gateway API, which is programmed only
	// when it gets an address.
	TrapGateway Trap = "a Gateway may never get an address"
	// TrapRoute is a route of the Gateway API, which is accepted only where its
	// Gateway is there, and resolved only when its Service is: that of a canary
	// is made by Flagger, later than anything that a render has.
	TrapRoute Trap = "a route may never be accepted by its Gateway"
	// TrapLoadBalancer is a Service of type LoadBalancer.
	TrapLoadBalancer Trap = "a LoadBalancer may never get an address"
	// TrapClaim is a claim whose class binds it only when a pod uses it
	// (WaitForFirstConsumer), or whose class is not known.
	TrapClaim Trap = "a claim binds only when a pod uses it"
	// TrapPaused is a Deployment with paused: true.
	TrapPaused Trap = "a paused Deployment never finishes its rollout"
	// TrapSuspended is a Job with suspend: true.
	TrapSuspended Trap = "a suspended Job never completes"
	// TrapStopped is a CronJob with suspend: true, for engines that call it
	// suspended; all other CronJobs are ready at once.
	TrapStopped Trap = "a suspended CronJob never counts as ready"
	// TrapAutoscaler is a HorizontalPodAutoscaler that no other object leads to.
	// Its controller looks at it every 15 seconds only, and before that it is not
	// ready; where its target is not there yet, Argo CD even fails the sync.
	TrapAutoscaler Trap = "an autoscaler is ready only after the next look of its controller"
)

// RulesFor is the rules of an engine: plain, argocd or flux.
func RulesFor(engine string) (Rules, bool) {
	switch engine {
	case "plain":
		return Plain(), true
	case "argocd":
		return ArgoCD(), true
	case "flux":
		return Flux(), true
	}
	return Rules{}, false
}

// Plain is for whoever applies the stream as it stands and waits between the
// waves, such as kubectl apply and kubectl wait. What is ready is what
// kstatus of sigs.k8s.io/cli-utils says (pkg/kstatus/status/core.go), and an
// Ingress with an address; the traps are those of every engine.
func Plain() Rules {
	return Rules{
		Engine: "plain", Name: "the stream", KeepsOrder: true,
		First: conventionalOrder(), Last: []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
		Ready: append(kstatusReady(), "Ingress.networking.k8s.io"), ReadyCustom: true,
		Traps: []Trap{TrapIngress, TrapGateway, TrapRoute, TrapLoadBalancer, TrapClaim, TrapPaused, TrapSuspended},
	}
}

// conventionalOrder is the order in which people like to read manifests: what
// others use comes first. It is close to that of Argo CD and Helm.
func conventionalOrder() []string {
	return []string{
		"Namespace", "CustomResourceDefinition", "StorageClass", "PriorityClass", "RuntimeClass", "IngressClass",
		"GatewayClass", "NetworkPolicy", "ResourceQuota", "LimitRange", "ServiceAccount", "Secret", "ConfigMap",
		"PersistentVolume", "PersistentVolumeClaim", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "Job",
		"CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Ingress", "APIService",
	}
}

// ArgoCD is Argo CD 3.5. The order of kinds is kindOrder of
// gitops-engine/pkg/sync/sync_tasks.go: kinds follow each other without a wait,
// objects of one kind are applied at once, kinds that are not in it come last.
// What is ready is what has a health check: gitops-engine/pkg/health and the
// scripts in resource_customizations.
func ArgoCD() Rules {
	return Rules{
		Engine: "argocd", Name: "Argo CD",
		First: []string{
			"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
			"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
			"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
			"ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
			"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
			"HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
		},
		Ready: argoReady(),
		Traps: []Trap{
			TrapIngress, TrapGateway, TrapRoute, TrapLoadBalancer, TrapClaim, TrapPaused, TrapSuspended, TrapStopped,
			TrapAutoscaler,
		},
	}
}

// argoReady is the types of Argo CD's health checks that mean readiness. Its
// checks of Services other than of type LoadBalancer, and of CronJobs that are
// not suspended, say healthy at once.
func argoReady() []string {
	return []string{
		"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod", "Job.batch",
		"PersistentVolumeClaim", "Ingress.networking.k8s.io", "Ingress.extensions",
		"HorizontalPodAutoscaler.autoscaling", "PodDisruptionBudget.policy", "APIService.apiregistration.k8s.io",
		"Workflow.argoproj.io", "Rollout.argoproj.io", "ApplicationSet.argoproj.io",
		"Certificate.cert-manager.io", "CertificateRequest.cert-manager.io", "Issuer.cert-manager.io",
		"ClusterIssuer.cert-manager.io", "Order.acme.cert-manager.io", "Challenge.acme.cert-manager.io",
		"ExternalSecret.external-secrets.io", "ClusterExternalSecret.external-secrets.io",
		"SecretStore.external-secrets.io", "ClusterSecretStore.external-secrets.io", "PushSecret.external-secrets.io",
		"SealedSecret.bitnami.com",
		"Gateway.gateway.networking.k8s.io", "GatewayClass.gateway.networking.k8s.io",
		"HTTPRoute.gateway.networking.k8s.io", "GRPCRoute.gateway.networking.k8s.io",
		"TLSRoute.gateway.networking.k8s.io", "BackendTLSPolicy.gateway.networking.k8s.io",
		"ListenerSet.gateway.networking.k8s.io",
		"ScaledObject.keda.sh", "ScaledJob.keda.sh", "Canary.flagger.app",
		"Cluster.postgresql.cnpg.io", "Database.postgresql.cnpg.io", "Backup.postgresql.cnpg.io",
		"postgresql.acid.zalan.do",
		"Kustomization.kustomize.toolkit.fluxcd.io", "HelmRelease.helm.toolkit.fluxcd.io",
		"GitRepository.source.toolkit.fluxcd.io", "OCIRepository.source.toolkit.fluxcd.io",
		"HelmRepository.source.toolkit.fluxcd.io", "HelmChart.source.toolkit.fluxcd.io",
		"Bucket.source.toolkit.fluxcd.io",
		"Cluster.cluster.x-k8s.io", "Machine.cluster.x-k8s.io", "MachineDeployment.cluster.x-k8s.io",
		"MachinePool.cluster.x-k8s.io", "MachineHealthCheck.cluster.x-k8s.io",
		"VerticalPodAutoscaler.autoscaling.k8s.io",
		"*.*.crossplane.io", "*.*.upbound.io", "*.*.cnrm.cloud.google.com", "*.*.services.k8s.aws",
	}
}

// Flux is Flux 2.9: ApplyAllStaged and ReconcileOrder of fluxcd/pkg/ssa. Inside
// a stage objects are applied one after another. What is ready is what kstatus
// says, and Jobs when they are complete (fluxcd/pkg/runtime/statusreaders).
// kstatus does not look at the address of an Ingress or a Service.
func Flux() Rules {
	return Rules{
		Engine: "flux", Name: "Flux", Serial: true,
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
		Traps: []Trap{TrapClaim, TrapPaused, TrapSuspended},
	}
}

func kstatusReady() []string {
	return []string{
		"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod", "Job.batch",
		"PersistentVolumeClaim", "PodDisruptionBudget.policy",
	}
}
