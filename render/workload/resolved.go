// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// resolved is a workload whose placeholders are resolved: what resolve.go makes
// and lower.go takes.
type resolved struct {
	source Source
	config spec.Workloads
	// containers are in the order of source.Spec.Containers.
	containers []container
	// patch is what provisioners lay over the input of the module, merged in the
	// order of the names of the resources; KindNone where there is nothing.
	patch object.Value
	// dependsOn are the ids of nodes that come before the pods: "node" of the
	// workload's own spec, "spec/node" or "spec/" (all of it) of others. Sorted.
	dependsOn []string
	network   network
	// ownsStore says that this workload is the one that makes the store of the
	// environment.
	ownsStore bool
	// routes are the ways in from outside (resources of type route).
	routes []route
}

// container is a container whose texts are resolved.
type container struct {
	spec score.Container
	// variables are in the order of spec.Variables.
	variables []variable
	// files are in the order of spec.Files.
	files []file
	// mounts are in the order of spec.Volumes.
	mounts []mount
}

type variable struct {
	name    string
	namePos object.Pos
	value   text
}

type file struct {
	spec score.File
	// content is the text of a file that is text; binary holds that of another.
	content text
	binary  []byte
	// isText says which of the two it is: content that is no UTF-8 is binary.
	isText bool
}

type mount struct {
	spec score.Mount
	// resource is the key of the volume's resource, which names the volume of the
	// pod.
	resource string
	// volume is the source of a volume of a pod, or KindNone; claim is the spec of
	// a claim that each replica gets, or KindNone.
	volume, claim object.Value
	// single says that pods on one node only can mount the volume.
	single bool
}

// network is who talks to whom, after both sides agreed.
type network struct {
	inbound, outbound []peer
	external          []external
	backends          []backend
}

// peer is another workload; the account of one that is not in the project is not
// known, and neither are its ports where nobody named one.
type peer struct {
	name, namespace, serviceAccount string
	ports                           []score.Port
}

// external is a host outside of the cluster; cidr is there where it is an
// address.
type external struct {
	name, host, cidr string
	ports            []score.Port
}

type backend struct {
	host string
	port int
}
