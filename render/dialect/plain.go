// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// plain returns the dialect for clients that apply the stream as it stands and wait between the
// waves, such as kubectl apply and kubectl wait. Ready is what kstatus of sigs.k8s.io/cli-utils
// reports (pkg/kstatus/status/core.go), and an Ingress with an address. An object is never ready
// for the reasons of every engine.
func plain() Dialect {
	return Dialect{
		Name: Plain, Title: "kubectl", Encrypted: DecryptedBefore,
		Rules: Rules{
			KeepsOrder: true,
			// The order in which people like to read manifests, what others use first. It
			// is close to that of Argo CD and Helm.
			First: []string{
				"Namespace", "CustomResourceDefinition", "StorageClass", "PriorityClass", "RuntimeClass", "IngressClass",
				"GatewayClass", "NetworkPolicy", "ResourceQuota", "LimitRange", "ServiceAccount", "Secret", "ConfigMap",
				"PersistentVolume", "PersistentVolumeClaim", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
				"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "Job",
				"CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Ingress", "APIService",
			},
			Last:  []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
			Ready: append(kstatusReady(), "Ingress.networking.k8s.io"), ReadyCustom: true,
			NeverReady: []NeverReady{
				IngressAddress, GatewayAddress, RouteAccepted, LoadBalancerAddress, ClaimUnbound, DeploymentPaused, JobSuspended,
			},
		},
	}
}

func kstatusReady() []string {
	return []string{
		"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod", "Job.batch",
		"PersistentVolumeClaim", "PodDisruptionBudget.policy",
	}
}
