// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/coordination"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/discovery"
	"k8s.io/kubernetes/pkg/apis/flowcontrol"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/node"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	csr "k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	corenode "k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"

	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// builtIn reports whether the API server itself serves, or once served, the
// group.
func builtIn(group string) bool {
	if group == "" || group == "apiextensions.k8s.io" {
		return true
	}
	return legacyscheme.Scheme.IsGroupRegistered(group)
}

// strategyFor is what the server asks before it creates an object of the type.
func strategyFor(obj runtime.Object) (rest.RESTCreateStrategy, bool) {
	if s, ok := workloadStrategy(obj); ok {
		return s, true
	}
	if s, ok := coreStrategy(obj); ok {
		return s, true
	}
	return otherStrategy(obj)
}

func workloadStrategy(obj runtime.Object) (rest.RESTCreateStrategy, bool) {
	switch obj.(type) {
	case *apps.ControllerRevision:
		return controllerrevision.Strategy, true
	case *apps.DaemonSet:
		return daemonset.Strategy, true
	case *apps.Deployment:
		return deployment.Strategy, true
	case *apps.ReplicaSet:
		return replicaset.Strategy, true
	case *apps.StatefulSet:
		return statefulset.Strategy, true
	case *autoscaling.HorizontalPodAutoscaler:
		return horizontalpodautoscaler.Strategy, true
	case *batch.CronJob:
		return cronjob.Strategy, true
	case *batch.Job:
		return job.Strategy, true
	case *core.Pod:
		return pod.Strategy, true
	case *core.PodTemplate:
		return podtemplate.Strategy, true
	case *core.ReplicationController:
		return replicationcontroller.Strategy, true
	}
	return nil, false
}

func coreStrategy(obj runtime.Object) (rest.RESTCreateStrategy, bool) {
	switch obj.(type) {
	case *core.ConfigMap:
		return configmap.Strategy, true
	case *core.Endpoints:
		return endpoint.Strategy, true
	case *core.LimitRange:
		return limitrange.Strategy, true
	case *core.Namespace:
		return namespace.Strategy, true
	case *core.Node:
		return corenode.Strategy, true
	case *core.PersistentVolume:
		return persistentvolume.Strategy, true
	case *core.PersistentVolumeClaim:
		return persistentvolumeclaim.Strategy, true
	case *core.ResourceQuota:
		return resourcequota.Strategy, true
	case *core.Secret:
		return secret.Strategy, true
	case *core.Service:
		return service.Strategy, true
	case *core.ServiceAccount:
		return serviceaccount.Strategy, true
	}
	return nil, false
}

func otherStrategy(obj runtime.Object) (rest.RESTCreateStrategy, bool) {
	switch obj.(type) {
	case *admissionregistration.MutatingWebhookConfiguration:
		return mutatingwebhookconfiguration.Strategy, true
	case *admissionregistration.ValidatingWebhookConfiguration:
		return validatingwebhookconfiguration.Strategy, true
	case *admissionregistration.ValidatingAdmissionPolicy:
		return validatingadmissionpolicy.NewStrategy(nil, nil), true
	case *admissionregistration.ValidatingAdmissionPolicyBinding:
		return validatingadmissionpolicybinding.NewStrategy(nil, nil, nil), true
	case *certificates.CertificateSigningRequest:
		return csr.Strategy, true
	case *coordination.Lease:
		return lease.Strategy, true
	case *discovery.EndpointSlice:
		return endpointslice.Strategy, true
	case *flowcontrol.FlowSchema:
		return flowschema.Strategy, true
	case *flowcontrol.PriorityLevelConfiguration:
		return prioritylevelconfiguration.Strategy, true
	case *networking.Ingress:
		return ingress.Strategy, true
	case *networking.IngressClass:
		return ingressclass.Strategy, true
	case *networking.NetworkPolicy:
		return networkpolicy.Strategy, true
	case *node.RuntimeClass:
		return runtimeclass.Strategy, true
	case *policy.PodDisruptionBudget:
		return poddisruptionbudget.Strategy, true
	case *rbac.ClusterRole:
		return clusterrole.Strategy, true
	case *rbac.ClusterRoleBinding:
		return clusterrolebinding.Strategy, true
	case *rbac.Role:
		return role.Strategy, true
	case *rbac.RoleBinding:
		return rolebinding.Strategy, true
	case *scheduling.PriorityClass:
		return priorityclass.Strategy, true
	case *storage.CSIDriver:
		return csidriver.Strategy, true
	case *storage.CSIStorageCapacity:
		return csistoragecapacity.Strategy, true
	case *storage.StorageClass:
		return storageclass.Strategy, true
	case *storage.VolumeAttributesClass:
		return volumeattributesclass.Strategy, true
	}
	return nil, false
}
