// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Overlay is the project in an environment: its context with that of
// the environment on top, and the inputs that the environment merges over those
// of the specs. The environment "" is the project without an environment. specs are the names
// of all specs of the project; an overlay for another is an error, in every
// environment.
func (p Project) Overlay(environment string, specs []string) (Context, map[string]Input, error) {
	var errs object.Errors
	for _, name := range object.SortedKeys(p.Environments) {
		errs = append(errs, p.Environments[name].unknownInputs(specs)...)
	}
	if environment == "" {
		return p.Context, nil, errs.Sorted().Err()
	}
	env, ok := p.Environments[environment]
	if !ok {
		errs = append(errs, mistake(object.Pos{File: "--env " + environment}, nil,
			object.Suggest(environment, object.SortedKeys(p.Environments)), "environment %q is not known", environment))
	}
	return p.Context.Merge(env.Context), env.Inputs, errs.Sorted().Err()
}

// unknownInputs are the mistakes of the overlays for specs that do not exist.
func (e Environment) unknownInputs(specs []string) object.Errors {
	var errs object.Errors
	for _, name := range object.SortedKeys(e.Inputs) {
		if !slices.Contains(specs, name) {
			errs = append(errs, mistake(e.Inputs[name].Pos, object.Fields("spec", "environments", e.Name, "inputs", name),
				object.Suggest(name, specs), "there is no spec %q", name))
		}
	}
	return errs
}

// Merge is c with over on top.
func (c Context) Merge(over Context) Context {
	set := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	set(&c.Namespace, over.Namespace)
	set(&c.ClusterDomain, over.ClusterDomain)
	set(&c.KubeVersion, over.KubeVersion)
	set(&c.Engine, over.Engine)
	if over.Pos.IsValid() {
		c.Pos = over.Pos
	}
	return c
}
