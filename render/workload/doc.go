// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package workload compiles workloads: from what an author wrote, a Score file
// or a Workload document that render/workload/score decoded, to the input of the
// CUE module that makes the objects. It evaluates nothing and reads nothing.
//
// [Join] relates the workloads of a project: which provisioner makes which
// resource, which resources are shared, what refers to what, which workload calls
// which. Then each workload is compiled by itself: [Compilation.Next] returns the
// resources to make, the caller evaluates their modules and records the results
// with [Compilation.Answer], until nothing is left and [Compilation.Finish]
// returns the input and the objects of the resources.
//
//	project, errs := workload.Join(sources, config, catalog)
//	c := project.Compile("api")
//	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
//		for _, r := range requests {
//			errs = append(errs, c.Answer(r, evaluate(r))...)
//		}
//	}
//	compiled, more := c.Finish()
//
// # Invariants
//
// A secret is a Go type, never a mark in a text: what an author or a provisioner
// types stays literal. Text that contains a secret is tainted entirely. The result
// of a placeholder is not read again. The value of a secret is never seen here,
// and no message repeats what a provisioner declares as sensitive.
//
// Every part of the result has the position of what the user wrote; parts that a
// provisioner made have the position of the resource. Mistakes are reported all at once,
// each once. The same project gives the same bytes in any order of its files. A
// Project does not change after Join, so that workloads can be compiled
// concurrently.
//
// # Packages
//
// Imports go one way, from each of these to those above it:
//
//	placeholder  reads ${resources.db.host}
//	score        decodes Score files and documents of kind Workload
//	compose      turns the services of compose files into documents of kind Workload
//	function     turns functions into documents of kind Workload
//	resource     the catalog of provisioners, and what they make of a resource
//	network      calls between workloads, what resources lead to, routes
//	generate     the input of the module that makes the objects
//	gateway      documents of kind Gateway, which lead requests to workloads
package workload
