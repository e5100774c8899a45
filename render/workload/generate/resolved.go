// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Resolved is a workload whose placeholders are resolved: what
// [Input] takes.
type Resolved struct {
	// Workload is the document, and context that of its module.
	Workload score.Workload
	Context  object.Context
	Config   spec.Workloads
	// Containers are in the order of workload.Containers.
	Containers []Container
	// Patch is what provisioners merge over the input of the module, merged in the
	// order of the names of the resources; KindNone where there is nothing.
	Patch object.Value
	// DependsOn are the ids of nodes that come before the pods: "node" of the
	// workload's own spec, "spec/node" or "spec/" (all of it) of others. Sorted.
	DependsOn []string
	Network   network.Network
	// OwnsStore is set if this workload makes the store of the
	// environment.
	OwnsStore bool
	// Pulls are the Secrets to pull images with that this workload makes for its namespace,
	// by name.
	Pulls map[string]resource.Reference
	// Queue is nil where the workload is not scaled by a queue.
	Queue *Queue
	// Routes are the ways in from outside (resources of type route).
	Routes []network.Route
	// Opened are the ports that Gateways of the project lead to.
	Opened []score.Port
}

// entries returns the ways in from outside: routes and Gateways.
func (r Resolved) entries() []network.Route {
	return append(slices.Clip(r.Routes), network.Route{Ports: r.Opened})
}

// Container is a container whose texts are resolved.
type Container struct {
	Spec score.Container
	// Variables are in the order of spec.Variables.
	Variables []Variable
	// Files are in the order of spec.Files.
	Files []File
	// Mounts are in the order of spec.Volumes.
	Mounts []Mount
}

// Variable is a variable of a container.
type Variable struct {
	Name    string
	NamePos object.Pos
	Value   Text
}

// File is a file that a container mounts.
type File struct {
	Spec score.File
	// Content is the text of a file that is text; binary holds that of another.
	Content Text
	Binary  []byte
	// IsText distinguishes the two: content that is no UTF-8 is binary.
	IsText bool
}

// Mount is a volume that a container mounts.
type Mount struct {
	Spec score.Mount
	// Resource is the key of the volume's resource, which names the volume of the
	// pod.
	Resource string
	// Volume is the source of a volume of a pod, or KindNone; claim is the spec of
	// a claim that each replica gets, or KindNone.
	Volume, Claim object.Value
	// Single is set if only pods on one node can mount the volume.
	Single bool
}
