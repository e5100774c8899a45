// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

// zeroIsFine reports whether the server takes the zero value of a member that
// its published schema calls required: the schema says what a client should
// send, the validation code what is refused. The list comes from comparing with
// that code (test/oracle).
func zeroIsFine(component, member string) bool {
	switch component + "." + member {
	case "scheduling.v1.PriorityClass.value",
		"core.v1.HTTPHeader.value",
		"core.v1.Sysctl.value",
		"apps.v1.ControllerRevision.revision",
		"core.v1.SleepAction.seconds",
		"batch.v1.PodFailurePolicy.rules",
		"core.v1.LimitRangeSpec.limits",
		"apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion.served":
		return true
	}
	return false
}

// emptyRefused reports whether the server refuses "" for a member that may be
// absent. It takes "" for absent where the member is no pointer in its code,
// which no published schema shows.
func emptyRefused(component, member string) bool {
	switch component + "." + member {
	case "core.v1.VolumeMount.mountPropagation",
		"core.v1.ServicePort.appProtocol",
		"core.v1.ServiceSpec.internalTrafficPolicy",
		"core.v1.ServiceSpec.ipFamilyPolicy",
		"core.v1.PersistentVolumeClaimSpec.volumeMode",
		"core.v1.PersistentVolumeSpec.volumeMode",
		"batch.v1.JobSpec.completionMode",
		"networking.v1.IngressSpec.ingressClassName",
		"networking.v1.NetworkPolicyPort.protocol",
		"policy.v1.PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy",
		"scheduling.v1.PriorityClass.preemptionPolicy",
		"storage.v1.StorageClass.volumeBindingMode",
		"autoscaling.v2.HPAScalingRules.selectPolicy",
		"admissionregistration.v1.ValidatingWebhook.failurePolicy",
		"admissionregistration.v1.MutatingWebhook.failurePolicy",
		"admissionregistration.v1.RuleWithOperations.scope":
		return true
	}
	return false
}
