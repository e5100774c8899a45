// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// Annotations of Argo CD; see its documentation of sync waves and sync options.
const (
	ArgoSyncWave    = "argocd.argoproj.io/sync-wave"
	ArgoSyncOptions = "argocd.argoproj.io/sync-options"
	// ReadyWhen carries the readyWhen of a node to Argo CD: an expression tree as
	// JSON, which the health check of the kind walks; see render/emit.
	ReadyWhen = "ropewalk.dev/ready-when"
)

// argoCD returns the dialect of Argo CD 3.5. The order of kinds is kindOrder of
// gitops-engine/pkg/sync/sync_tasks.go: kinds follow each other without a wait, objects of the same
// kind are applied at the same time, kinds that are not listed come last. An object is ready by its
// health check: gitops-engine/pkg/health and the scripts in resource_customizations.
func argoCD() Dialect {
	return Dialect{
		Name: ArgoCD, Title: "Argo CD", Encrypted: Refused,
		Annotations: []string{ArgoSyncOptions, ArgoSyncWave, ReadyWhen}, WaveAnnotation: ArgoSyncWave,
		Keep:     []Mark{{Annotation: ArgoSyncOptions, Entry: "Prune=false"}},
		Recreate: []Mark{{Annotation: ArgoSyncOptions, Entry: "Force=true"}, {Annotation: ArgoSyncOptions, Entry: "Replace=true"}},
		Rules: Rules{
			First: []string{
				"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
				"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
				"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
				"ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
				"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
				"HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
			},
			Ready: argoReady(),
			NeverReady: []NeverReady{
				IngressAddress, GatewayAddress, RouteAccepted, LoadBalancerAddress, ClaimUnbound, DeploymentPaused, JobSuspended,
				CronJobSuspended, AutoscalerIdle,
			},
		},
	}
}

// argoReady lists the types of Argo CD's health checks that mean readiness. Its
// checks of Services other than of type LoadBalancer, and of CronJobs that are not
// suspended, report healthy at once.
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
