// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Provider is where the machines are. The part that has the name of the type says how.
//
// +kubebuilder:validation:XValidation:rule="has(self.docker) == (self.type == 'docker')",message="docker: is needed by the type docker, and by no other"
// +kubebuilder:validation:XValidation:rule="has(self.aws) == (self.type == 'aws')",message="aws: is needed by the type aws, and by no other"
// +kubebuilder:validation:XValidation:rule="has(self.gcp) == (self.type == 'gcp')",message="gcp: is needed by the type gcp, and by no other"
// +kubebuilder:validation:XValidation:rule="has(self.azure) == (self.type == 'azure')",message="azure: is needed by the type azure, and by no other"
type Provider struct {
	// Type is the infrastructure provider of Cluster API.
	// +required
	// +kubebuilder:validation:Enum=docker;aws;gcp;azure
	Type string `json:"type"`
	// Docker: machines are containers. For trials.
	// +optional
	Docker *DockerProvider `json:"docker,omitempty"`
	// AWS: Cluster API Provider AWS.
	// +optional
	AWS *AWSProvider `json:"aws,omitempty"`
	// GCP: Cluster API Provider GCP.
	// +optional
	GCP *GCPProvider `json:"gcp,omitempty"`
	// Azure: Cluster API Provider Azure.
	// +optional
	Azure *AzureProvider `json:"azure,omitempty"`
	// Credentials are Secrets by which the provider acts, of any namespace of the parent.
	// The pivot sends them to the cluster over the link, apart from the snapshot, to the same
	// names. Where there are none the cluster has an identity of its own, such as that of its
	// machines.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Credentials []ObjectKey `json:"credentials,omitempty"`
}

// ObjectKey names an object in a namespace.
type ObjectKey struct {
	// Namespace of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Namespace string `json:"namespace"`
	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
	Name string `json:"name"`
}

// ControlPlane are the machines with the API server and etcd.
type ControlPlane struct {
	// Replicas is 1, 3 or 5: etcd wants an odd number. With 1 an upgrade of the cluster by
	// itself is a risk: its Cluster API runs beside the machine that is replaced.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Enum=1;3;5
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// HealthCheck, where it is present, has Cluster API replace machines that fail: one after
	// the other, and only where etcd keeps its majority, so none of a single one.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	MachineSpec `json:",inline"`
}

// WorkerPool is a MachineDeployment.
//
// +kubebuilder:validation:XValidation:rule="!has(self.autoscale) || !has(self.replicas)",message="the autoscaler sets how many machines there are: remove replicas, or autoscale"
type WorkerPool struct {
	// Name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	Name string `json:"name"`
	// Replicas is how many machines there are; 1 where neither it nor autoscale is there.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Autoscale leaves replicas to the cluster-autoscaler, within its bounds.
	// +optional
	Autoscale *Autoscale `json:"autoscale,omitempty"`
	// HealthCheck, where it is present, has Cluster API replace machines that fail.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// Labels of the nodes, of the domains that Cluster API hands on to them:
	// node-role.kubernetes.io, node-restriction.kubernetes.io and node.cluster.x-k8s.io.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`

	MachineSpec `json:",inline"`
}

// Autoscale is what the Cluster API provider of the cluster-autoscaler is bound by. A pool with
// several failure domains has a MachineDeployment for each, and each has a share of the bounds.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min is greater than max"
type Autoscale struct {
	// Min is the fewest machines, which a pool begins with.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Min int32 `json:"min"`
	// Max is the most machines.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Max int32 `json:"max"`
}

// HealthCheck is a MachineHealthCheck for each set of machines.
type HealthCheck struct {
	// MaxUnhealthy is how many machines of a MachineDeployment, or of the control plane, may
	// fail before none of them is replaced, as a number or a percentage: many that fail at
	// once point to a network. 40% where it is absent, or 1 where that is less than one machine.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^(100|[0-9]{1,2})%$"
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == string || (self >= 0 && self <= 1000)",message="expected 0 to 1000 machines, or a percentage such as 40%"
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
	// UnhealthyTimeout is how long a node may be other than ready.
	// +kubebuilder:default:="5m"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern="^([0-9]+(s|m|h))+$"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s') && duration(self) <= duration('24h')",message="expected a duration from 30s to 24h"
	// +optional
	UnhealthyTimeout string `json:"unhealthyTimeout,omitempty"`
	// NodeStartupTimeout is how long a machine may take to become a node; 0s is for ever.
	// +kubebuilder:default:="10m"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern="^([0-9]+(s|m|h))+$"
	// +kubebuilder:validation:XValidation:rule="self == '0s' || (duration(self) >= duration('30s') && duration(self) <= duration('24h'))",message="expected 0s, or a duration from 30s to 24h"
	// +optional
	NodeStartupTimeout string `json:"nodeStartupTimeout,omitempty"`
}

// MachineSpec is what a machine is made of. The fields are of the provider; docker has the
// image alone.
type MachineSpec struct {
	// InstanceType is the size: an instance type (aws, gcp) or a VM size (azure). Needed
	// there.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	InstanceType string `json:"instanceType,omitempty"`
	// Image of the machine: a container image (docker), an AMI (aws), an image or a family
	// (gcp), the id of an image (azure). The provider's own for the version where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image,omitempty"`
	// DiskGiB is the size of the root disk.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=16384
	DiskGiB int32 `json:"diskGiB,omitempty"`
	// FailureDomains the machines are spread over, such as zones; all of the region where
	// there are none. For the control plane, the first is not preferred.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	FailureDomains []string `json:"failureDomains,omitempty"`
}

// DockerProvider are containers of a Docker engine, or of the memory of a test.
type DockerProvider struct {
	// Backend is docker, or inMemory: no machines at all.
	// +kubebuilder:default:=docker
	// +kubebuilder:validation:Enum=docker;inMemory
	// +optional
	Backend string `json:"backend,omitempty"`
}

// AWSProvider is an account and a network of AWS.
type AWSProvider struct {
	// Region, such as eu-west-1.
	// +required
	// +kubebuilder:validation:Pattern="^[a-z]{2}(-[a-z]+)+-[0-9]+$"
	Region string `json:"region"`
	// IdentityRef is an identity of the provider, which is cluster-scoped. That of its
	// controller where it is absent.
	// +optional
	IdentityRef *AWSIdentity `json:"identityRef,omitempty"`
	// SSHKeyName is a key pair of the region; machines have none where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SSHKeyName string `json:"sshKeyName,omitempty"`
	// VPC that is there; the provider makes one where it is empty.
	// +optional
	// +kubebuilder:validation:Pattern="^vpc-[0-9a-f]+$"
	VPC string `json:"vpc,omitempty"`
	// Subnets of the VPC.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern="^subnet-[0-9a-f]+$"
	Subnets []string `json:"subnets,omitempty"`
	// InstanceProfile of control plane and workers; those of clusterawsadm where it is empty.
	// +optional
	InstanceProfile InstanceProfiles `json:"instanceProfiles,omitempty"`
}

// InstanceProfiles are the IAM instance profiles of machines.
type InstanceProfiles struct {
	// ControlPlane is that of control-plane machines.
	// +kubebuilder:default:="control-plane.cluster-api-provider-aws.sigs.k8s.io"
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ControlPlane string `json:"controlPlane,omitempty"`
	// Workers is that of all other machines.
	// +kubebuilder:default:="nodes.cluster-api-provider-aws.sigs.k8s.io"
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Workers string `json:"workers,omitempty"`
}

// AWSIdentity is an identity of Cluster API Provider AWS.
type AWSIdentity struct {
	// Kind of the identity.
	// +required
	// +kubebuilder:validation:Enum=AWSClusterControllerIdentity;AWSClusterRoleIdentity;AWSClusterStaticIdentity
	Kind string `json:"kind"`
	// Name of the identity.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GCPProvider is a project and a network of Google Cloud.
type GCPProvider struct {
	// Project is the id of the project.
	// +required
	// +kubebuilder:validation:Pattern="^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$"
	Project string `json:"project"`
	// Region, such as europe-west1.
	// +required
	// +kubebuilder:validation:Pattern="^[a-z]+-[a-z]+[0-9]+$"
	Region string `json:"region"`
	// Network is a VPC network; default where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Network string `json:"network,omitempty"`
	// CredentialsRef names a Secret with the key of a service account, of any namespace;
	// the identity of the provider's controller where it is absent.
	// +optional
	CredentialsRef *ObjectKey `json:"credentialsRef,omitempty"`
}

// AzureProvider is a subscription and a network of Azure.
type AzureProvider struct {
	// Location, such as westeurope.
	// +required
	// +kubebuilder:validation:Pattern="^[a-z][a-z0-9]+$"
	Location string `json:"location"`
	// SubscriptionID of the resources.
	// +required
	// +kubebuilder:validation:Pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
	SubscriptionID string `json:"subscriptionID"`
	// ResourceGroup of the cluster; its name where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	ResourceGroup string `json:"resourceGroup,omitempty"`
	// IdentityRef names an AzureClusterIdentity of the namespace of the cluster.
	// +required
	IdentityRef LocalObjectReference `json:"identityRef"`
	// VNet is a virtual network that is there, in VNetResourceGroup; the provider makes one
	// where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VNet string `json:"vnet,omitempty"`
	// VNetResourceGroup is that of VNet; that of the cluster where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=90
	VNetResourceGroup string `json:"vnetResourceGroup,omitempty"`
}
