// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

// plain returns the dialect for clients that apply the stream unchanged and wait between the
// waves, such as kubectl apply and kubectl wait. Objects are ready by kstatus of sigs.k8s.io/cli-utils
// (pkg/kstatus/status/core.go), and an Ingress with an address. The reasons of every engine apply
// for objects that are never ready.
func plain() Dialect {
	return Dialect{
		Name: Plain, Title: "kubectl", Encrypted: DecryptedBefore,
		Rules: Rules{
			KeepsOrder: true,
			// The order in which people like to read manifests, used objects first. It
			// resembles the order of Argo CD and Helm.
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
