// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Project is all workloads of a project with the resources that they share and their calls. It
// does not change after [Join], so that workloads can be compiled at the same time.
type Project struct {
	config  spec.Workloads
	catalog resource.Catalog
	cluster network.Cluster
	// members are sorted by name.
	members []*member
	byName  map[string]*member
	// broken names workloads that are not here because of their mistakes.
	broken []string
}

// member is a workload of a project.
type member struct {
	source Source
	// instances holds one instance for each of source.Spec.Resources.
	instances []*instance
	// network is the view that other workloads have of it; its calls beside its peers are
	// known only when its resources are made.
	network   *network.Workload
	ownsStore bool
	// pulls are the Secrets to pull images with that this workload makes.
	pulls  map[string]resource.Reference
	config *spec.Workloads
}

// instance is a resource that is made once: a resource of one workload, or a resource that
// several workloads share.
type instance struct {
	// owner keeps the objects: the workload that declares the resource, and of several
	// the first by name that does not depend on the others. resource is its declaration.
	owner    *member
	resource *score.Resource
	shared   bool
	// entry is the provisioner that makes it.
	entry resource.Provisioner
	// external is the service of the project that the resource names and the provisioner of
	// Ropewalk makes, nil for others.
	external *spec.ExternalService
	// params are written by the first workload that gives any. Their placeholders
	// are read in its scope: writer and written identify it.
	params  object.Value
	writer  *member
	written *score.Resource
	// references lists the outputs of other resources that params refer to.
	references []reference
	// broken is set if a mistake that is reported already keeps it from being
	// made.
	broken bool
}

func (m *member) name() string { return m.source.Spec.Name.Value }

// resource returns the index of a resource in the spec of m, or false if it has none of this
// name.
func (m *member) resource(name string) (int, bool) {
	return slices.BinarySearchFunc(m.source.Spec.Resources, name,
		func(r score.Resource, name string) int { return strings.Compare(r.Name, name) })
}

// lacksResources reports whether a mistake in the document may hide all of its resources.
func (m *member) lacksResources() bool { return m.source.Partial && len(m.source.Spec.Resources) == 0 }

func (m *member) resourceNames() []string {
	out := make([]string, 0, len(m.source.Spec.Resources))
	for _, r := range m.source.Spec.Resources {
		out = append(out, r.Name)
	}
	return out
}

// path returns the path of a part of the spec from the root of the document. The root of a Score
// file is the spec.
func (m *member) path(fields ...string) object.Path {
	if m.source.Spec.Score {
		return object.Fields(fields...)
	}
	return object.Fields(append([]string{"spec"}, fields...)...)
}

func (m *member) resourcePath(r *score.Resource, fields ...string) string {
	return m.path(append([]string{"resources", r.Name}, fields...)...).String()
}

func (m *member) containerPath(c score.Container, fields ...string) string {
	return m.path(append([]string{"containers", c.Name}, fields...)...).String()
}

func (m *member) paramsPath(r *score.Resource) object.Path {
	return m.path("resources", r.Name, "params")
}

// id returns the id of the resource for its provisioner.
func (i *instance) id() string {
	if i.shared {
		return i.resource.ID.Value
	}
	return i.owner.name() + "-" + i.resource.Name
}

// namespace returns the namespace of the objects of the resource.
func (i *instance) namespace() string { return i.owner.source.Context.Namespace }

// uid returns the text that replaces a placeholder without an output.
func (i *instance) uid() string {
	kind := i.resource.Type.Value + "." + resource.Class(i.resource) + "#"
	if i.shared {
		return kind + i.resource.ID.Value
	}
	return kind + i.owner.name() + "." + i.resource.Name
}

// reference is a placeholder in the params of a resource that needs an output of another
// resource.
type reference struct {
	to *instance
	// name is the name of the other resource in the workload that wrote the params.
	name string
	pos  object.Pos
}

// extra returns the path of a field that Score does not have.
func (m *member) extra(fields ...string) object.Path {
	if m.source.Spec.Score {
		return append(object.Fields("metadata"), object.Fields(fields...)...)
	}
	return m.path(fields...)
}
