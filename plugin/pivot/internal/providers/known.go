// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import "slices"

// Kinds of providers, as the inventory of clusterctl and the Cluster API Operator name them.
const (
	core           = "CoreProvider"
	bootstrap      = "BootstrapProvider"
	controlPlane   = "ControlPlaneProvider"
	infrastructure = "InfrastructureProvider"
)

// operatorGroup is the API group of the Cluster API Operator.
const operatorGroup = "operator.cluster.x-k8s.io"

// known is a provider whose objects Ropewalk makes.
type known struct {
	kind, name string
	// namespace is the namespace in which clusterctl installs it.
	namespace string
	// version is the release by whose definitions objects are checked; "" if that is a commit.
	version string
}

// all returns the providers whose objects Ropewalk makes, in the versions of the table in
// deploy/pivot/providers.md.
func all() []known {
	const clusterAPI = "v1.14.0"
	return []known{
		{core, "cluster-api", "capi-system", clusterAPI},
		{bootstrap, "kubeadm", "capi-kubeadm-bootstrap-system", clusterAPI},
		{controlPlane, "kubeadm", "capi-kubeadm-control-plane-system", clusterAPI},
		{infrastructure, "docker", "capd-system", clusterAPI},
		{infrastructure, "aws", "capa-system", "v2.13.0"},
		{infrastructure, "gcp", "capg-system", "v1.13.1"},
		{infrastructure, "azure", "capz-system", ""},
	}
}

// find returns a known provider. Another provider gets only its kind and its name.
func find(kind, name string) known {
	list := all()
	i := slices.IndexFunc(list, func(k known) bool { return k.kind == kind && k.name == name })
	if i < 0 {
		return known{kind: kind, name: name}
	}
	return list[i]
}

// order returns the kinds of providers that the Cluster API Operator has, in the order in which they
// need each other.
func order() []string {
	return []string{core, bootstrap, controlPlane, infrastructure, "IPAMProvider", "RuntimeExtensionProvider", "AddonProvider"}
}

// rank returns the place of a kind of providers in that order. An unknown kind comes last.
func rank(kind string) int {
	if i := slices.Index(order(), kind); i >= 0 {
		return i
	}
	return len(order())
}
