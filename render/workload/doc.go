// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package workload compiles workloads: from what an author wrote, a Score file
// or a Workload document that render/workload/score decoded, to the input of the
// CUE module that makes the objects. render is its caller; this package evaluates
// nothing and reads nothing.
//
// [Join] looks at the whole project: which provisioner makes which resource,
// which resources are one, what refers to what, who calls whom. Then each
// workload is compiled by itself: [Compilation.Next] says which resources to
// make, the caller has their modules evaluated and hands what came out to
// [Compilation.Answer], until nothing is left and [Compilation.Finish] gives the
// input and the objects of the resources.
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
// A workload whose placeholders are resolved is a generate.Resolved, from which
// render/workload/generate makes the input.
//
// # Invariants
//
// A secret is a Go type, never a mark in a text: what an author or a provisioner
// types can look like anything and stays literal. Text that touches a secret is
// tainted as a whole. What comes out of a placeholder is not read again.
//
// No value of a secret is ever seen here, and no message repeats what a
// provisioner declares as sensitive, because it may hold a value by mistake.
//
// Every part of what goes out has the place of what the user wrote; parts that a
// provisioner made have that of the resource. Mistakes are reported all at once, each
// once. The same project gives the same bytes in whatever order its files come.
//
// A Project does not change after Join: workloads can be compiled at the same
// time.
package workload
