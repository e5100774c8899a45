// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Resolved is a workload whose placeholders are resolved: the input of [Input].
type Resolved struct {
	// Workload is the document, and Context the context of its module.
	Workload score.Workload
	Context  object.Context
	Config   spec.Workloads
	// Containers are in the order of workload.Containers.
	Containers []Container
	// Patch holds the changes of provisioners to the input of the module, merged in the
	// order of the names of the resources, or KindNone.
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
	// Queue is nil if no queue scales the workload.
	Queue *Queue
	// Routes are the routes from outside of the cluster (resources of type route).
	Routes []network.Route
	// Opened are the ports that Gateways of the project lead to.
	Opened []score.Port
}

// runs reports whether the pods run until they are replaced, and not to an end.
func (r Resolved) runs() bool {
	return r.Workload.Kind.Value == score.KindDeployment || r.Workload.Kind.Value == score.KindStatefulSet
}

// entries returns the routes from outside of the cluster: resources and Gateways.
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
	// Content is the text of a text file; Binary holds any other file.
	Content Text
	Binary  []byte
	// IsText distinguishes the two: content that is not UTF-8 is binary.
	IsText bool
}

// Mount is a volume that a container mounts.
type Mount struct {
	Spec score.Mount
	// Resource is the key of the volume's resource, which names the volume of the
	// pod. A volume without a resource has a name that no resource has.
	Resource string
	// Volume is the source of a volume of a pod, or KindNone; Claim is the spec of
	// a claim that each replica gets, or KindNone.
	Volume, Claim object.Value
	// Single is set if only pods on one node can mount the volume.
	Single bool
}

// RootResources begins the placeholders of resources.
const RootResources = "resources"

// Text is text after its placeholders were resolved: literal pieces and
// references to secrets, in order. Text with any reference is tainted
// entirely. No piece ever holds the value of a secret, and nothing in a literal can
// turn it into a reference.
type Text struct {
	// Pieces hold no empty literal, and no two adjacent literals of one kind: see [Join].
	Pieces []Piece
	Pos    object.Pos
}

// Piece is literal text, or a reference if Secret is not nil.
type Piece struct {
	Literal string
	// Verbatim is set if the literal is a value of a variable, in which $(NAME) is not a
	// reference.
	Verbatim bool
	// Public is set if the literal is an output of a server for a laptop, whose credentials
	// are public knowledge.
	Public bool
	Secret *Secret
	// Escape writes the value of the secret as part of a URL.
	Escape bool
}

// Secret is a reference to one secret.
type Secret struct {
	// Resource and Output are the names that the author uses.
	Resource, Output string
	// URL is the output of the resource that is a complete URL with this secret in
	// it, or "".
	URL string
	// Written is the placeholder of a secret that is not an output of a resource, or "".
	Written string
	// Name identifies the reference in its workload: letters, digits and _,
	// such as db__password.
	Name string
	resource.Reference
}

// reference returns the placeholder of the secret without its braces, for messages.
func (s *Secret) reference() string {
	return cmp.Or(s.Written, RootResources+"."+s.Resource+"."+s.Output)
}

// Tainted reports whether t holds a secret.
func (t Text) Tainted() bool {
	for _, p := range t.Pieces {
		if p.Secret != nil {
			return true
		}
	}
	return false
}

// Plain returns a text that is not tainted.
func (t Text) Plain() string {
	if len(t.Pieces) == 1 {
		return t.Pieces[0].Literal
	}
	var b strings.Builder
	for _, p := range t.Pieces {
		b.WriteString(p.Literal)
	}
	return b.String()
}

// private returns a text that is not tainted, without its public pieces.
func (t Text) private() string {
	return Text{Pieces: slices.DeleteFunc(slices.Clone(t.Pieces), func(p Piece) bool { return p.Public })}.Plain()
}

// Single returns the secret of a text that consists of one secret, or nil.
func (t Text) Single() *Secret {
	if len(t.Pieces) == 1 && !t.Pieces[0].Escape {
		return t.Pieces[0].Secret
	}
	return nil
}

// Join returns pieces, in which adjacent literals are joined and empty literals are left out.
func Join(pieces []Piece) []Piece {
	if len(pieces) == 1 {
		return pieces
	}
	out := make([]Piece, 0, len(pieces))
	for i := 0; i < len(pieces); i++ {
		if pieces[i].Secret != nil {
			out = append(out, pieces[i])
			continue
		}
		end := i
		joined := pieces[i]
		joins := func(p Piece) bool {
			return p.Secret == nil && p.Verbatim == joined.Verbatim && p.Public == joined.Public
		}
		for end < len(pieces) && joins(pieces[end]) {
			end++
		}
		if s := (Text{Pieces: pieces[i:end]}).Plain(); s != "" {
			joined.Literal = s
			out = append(out, joined)
		}
		i = end - 1
	}
	return out
}

// Queue holds the values with which KEDA reaches the queue that a workload is scaled by.
type Queue struct {
	// Address is the address of the server in the form of KEDA, and AddressParameter the
	// parameter of a Secret that may hold it, or "" if KEDA reads it only as plain text. The
	// queues of a cloud have no address.
	Address          Text
	AddressParameter string
	// VHost is the virtual host of RabbitMQ that the resource names, if the author names none of them.
	VHost string
	// Credentials are in the order of the broker's credentials. A missing credential has no pieces.
	Credentials []Text
	// Account is the provider of the account of KEDA by which it reads the queue.
	Account string
}
