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

// runs reports whether the pods run until they are replaced, and not to an end.
func (r Resolved) runs() bool {
	return r.Workload.Kind.Value == score.KindDeployment || r.Workload.Kind.Value == score.KindStatefulSet
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
	// pod. A volume without a resource has a name that no resource has.
	Resource string
	// Volume is the source of a volume of a pod, or KindNone; claim is the spec of
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
	// Pieces hold no empty literal, and no two that touch: see [Join].
	Pieces []Piece
	Pos    object.Pos
}

// Piece is literal text, or a reference where secret is not nil.
type Piece struct {
	Literal string
	// Verbatim is set if the literal is a value from outside, in which no $(NAME) is a
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
	// Resource and output are the names that the author uses.
	Resource, Output string
	// URL is the output of the resource that is a complete URL with this secret in
	// it, "" where there is none.
	URL string
	// Written is the placeholder of what is no output of a resource; "" where it is one.
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

// private returns a text that is not tainted, without what is public.
func (t Text) private() string {
	return Text{Pieces: slices.DeleteFunc(slices.Clone(t.Pieces), func(p Piece) bool { return p.Public })}.Plain()
}

// Single returns the only secret that t consists of, or nil if there is more or something else.
func (t Text) Single() *Secret {
	if len(t.Pieces) == 1 && !t.Pieces[0].Escape {
		return t.Pieces[0].Secret
	}
	return nil
}

// Join returns pieces, in which adjacent literals are one and empty ones are left out.
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
		for end < len(pieces) && pieces[end].Secret == nil && pieces[end].Verbatim == joined.Verbatim && pieces[end].Public == joined.Public {
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

// Queue is what KEDA needs to reach the queue that a workload is scaled by.
type Queue struct {
	// Address is where the server is, as KEDA takes it, and AddressParameter the parameter of a
	// Secret that may hold it: "" where KEDA reads it as plain text only. There is none for the
	// queues of a cloud.
	Address          Text
	AddressParameter string
	// VHost is the virtual host of RabbitMQ that the resource names, where the author names none.
	VHost string
	// Credentials are in the order of those of the broker. An absent one has no pieces.
	Credentials []Text
	// Account is the provider of the account that KEDA has itself and reads the queue as.
	Account string
}
