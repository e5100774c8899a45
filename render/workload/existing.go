// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"maps"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// Existing describes something that a workload relies on and that no render makes: a server, a
// bucket, and the secret with its credentials.
type Existing struct {
	// Type of the resource, and Workload and Name of the first workload that has it.
	Type, Workload, Name string
	// Class is the class that the workload wrote, or "" for the default class;
	// Classes lists the other classes of the type.
	Class   string
	Classes []string
	// Address is its host and port, or its endpoint and bucket, or "".
	Address string
	// Secrets maps keys in the store, or with Kubernetes the Secrets in the namespace, to
	// the properties that outputs use.
	Secrets    map[string][]string
	Kubernetes bool
}

// typeExternal is the type of hosts that the author of the workload names.
const typeExternal = "external-service"

// existing returns the resources of the workload that exist already: they have no object, and an
// address or a secret. Of a resource with objects it returns the keys in the store of secrets,
// which no object of a render fills.
func (c *Compilation) existing() []Existing {
	var out []Existing
	for _, i := range c.owned() {
		r := c.result(i)
		kind := i.resource.Type.Value
		host, port, bucket := r.Outputs["host"], r.Outputs["port"], r.Outputs["bucket"]
		e := Existing{
			Type: kind, Workload: c.member.name(), Name: i.resource.Name,
			Class: i.resource.Class.Value, Classes: c.project.catalog.OtherClasses(i.resource),
			Secrets:    map[string][]string{},
			Kubernetes: c.project.config.Secrets.Backend == spec.BackendKubernetes,
		}

		// Find the address. The objects of a resource tell it themselves.
		switch {
		case len(r.Nodes) > 0:
		case host != "" && port != "":
			e.Address = host + ":" + port
		case bucket != "":
			e.Address = r.Outputs["endpoint"] + "/" + bucket
		}
		e.addSecrets(r)
		if len(r.Nodes) > 0 && e.Kubernetes { // Its objects make the Secret.
			continue
		}
		hasAddress := e.Address != "" && !network.IsCall(kind) && kind != typeExternal
		if len(e.Secrets) > 0 || hasAddress {
			out = append(out, e)
		}
	}
	return out
}

// addSecrets adds the references in the sensitive outputs of r.
func (e *Existing) addSecrets(r *resource.Result) {
	for _, name := range slices.Sorted(maps.Keys(r.Sensitive)) {
		for _, f := range r.Sensitive[name] {
			if f.Output == "" {
				continue
			}
			ref := f.Reference
			e.Kubernetes = e.Kubernetes || ref.Kubernetes
			if properties := e.Secrets[ref.Key]; !slices.Contains(properties, ref.Property) {
				e.Secrets[ref.Key] = append(properties, ref.Property)
			}
		}
	}
}

// Keys returns the keys of the secrets, sorted.
func (e Existing) Keys() []string { return object.SortedKeys(e.Secrets) }
