// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

var (
	machines = planetest.ClusterAPI()[2]
	ref      = plane.Ref{Group: planetest.Core, Kind: "Machine", Namespace: "apps", Name: "m"}
)

func machine(name string) *unstructured.Unstructured {
	o := planetest.Object(planetest.Core+"/v1beta2", "Machine", "apps", name)
	o.Object["spec"] = map[string]any{"clusterName": "blue"}
	return o
}

// server has a namespace and a Machine.
func server() *planetest.Server {
	s := planetest.New("source", planetest.ClusterAPI()...)
	s.Put(machine("m"))
	return s
}

// sleeper is a plane that records how long it sleeps.
func sleeper(s *planetest.Server, patience time.Duration) (*plane.Plane, *[]time.Duration) {
	var slept []time.Duration
	return plane.New(s.Client(), plane.Options{Name: "source", Patience: patience, Sleep: func(ctx context.Context, d time.Duration) error {
		slept = append(slept, d)
		return ctx.Err()
	}}), &slept
}

// failing returns errors in turn, and then nil.
func failing(verb string, errs ...error) func(planetest.Request) error {
	return func(r planetest.Request) error {
		if r.Verb != verb || len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

var errInjected = errors.New("injected")
