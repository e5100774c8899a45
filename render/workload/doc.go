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
// Inside, a workload becomes a resolved value, in which no placeholder is left,
// and lower makes the input of that.
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
// provisioner made have that of the resource. Mistakes are told all at once, each
// once. The same project gives the same bytes in whatever order its files come.
//
// A Project does not change after Join: workloads can be compiled at the same
// time.
//
// # Sharing
//
// Resources with the same type, class and id are one. Workloads that share one
// do not wait for each other: evaluation has no side effects, so each of them
// asks for it with the same input, in the surroundings of the first by name,
// which owns it. Only the owner keeps the objects; the others depend on them as
// owner/node. Making shared resources first, for all, would be less work for the
// evaluator and a barrier for everything else. Params may come from one of the
// users or, if they are the same, from several; their placeholders are read in
// the workload that wrote them, the first by name. score-k8s takes the last one.
//
// Resources of type service are not shared: their id names the workload that is
// called, and each has a caller and a direction.
//
// # Decisions
//
// A placeholder in a param gives text, also where it is all of the text and the
// output is a number, as Score says. A module that wants a number says so with a
// disjunction.
//
// The target of a service is known before anything is made, so that the calls of
// a project can be compared first: params.workload may use the metadata and no
// outputs. A target is looked up by its name in the whole project, because names
// are unique in a project; a namespace before it must be the right one.
//
// A target that is not in the project is a warning where there is a project
// around, and where there are policies: it may be in the cluster, so that this
// side alone opens the way. Waiting for such a target is a mistake, because
// nothing would ever order it.
//
// The first workload with a resource makes the store of the environment, not the
// first with a secret: whether an output is one is known only after evaluation,
// and no workload shall have to wait for all others.
//
// A Secret of the cluster can be read in its own namespace only. Where a shared
// resource keeps one, users in other namespaces get an error rather than pods
// that never start.
//
// A host that a resource gives, with a port or in a URL, is let through: a policy
// that cut a workload off from its database would be found out only in
// production. Whether it is in the cluster is told by its name. redis.data is, as
// long as data is no end that names of the internet commonly have; a list of all
// of those would have namespaces such as shop and prod in it.
//
// What a route opens is read from its objects, not from its params: provisioners
// of others have params of their own, and all kinds of route write a backend in
// one of four ways.
//
// With the provider gatewayapi:v1 Flagger owns the HTTPRoute, so ours are left
// out and become part of the Canary. To keep them beside it and have Flagger use
// another name is not possible. Routes have no edge onto the canary: render/order
// lets no route hold up a wave, and puts it into the last one.
//
// Provisioners may change few parts of a workload: how many pods there are, and
// what is said about them in labels, annotations and the spec of the pods. What
// two of them want differently is a mistake, as the order of names would decide.
// Patches of any part, as score-k8s has them, would let a module take a workload
// over, and a list that is laid over another loses what the author wrote.
//
// A document with a mistake is looked at for others (Source.Partial), so that one
// run tells all. Warnings about it would be guesses and are left out.
//
// A mount that names ${resources.data} means the resource; the text that the
// placeholder stands for, its uid, is taken too, as Score wants.
package workload
