// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package application delivers by Argo CD: Engine puts the whole of a Transform into
// one Application, with an OCI source that is pinned by its digest, and reads back
// what Argo CD makes of it. The order inside is that of the waves, which the
// argocd dialect of the render has written on the objects; so there is one layer.
//
// # Invariants
//
// An Application is written only into namespaces and projects that the controller
// allows, and over no other one that has its name. What may be applied where is
// then the business of that project.
//
// All that is done follows from the cluster's state. An Application that is as
// it should be is not written.
//
// Ready means: compared with the digest that is wanted, nothing left to apply,
// healthy, and no operation under way or failed at that digest.
//
// Callers: the reconciler in plugin/flux.
//
// # Decisions
//
// Applications are written by the controller's own account, since they lie in the
// namespace of Argo CD, where the accounts of tenants have no rights and should have
// none. The lists of Allow stand in for them. An entry of a project may be bound to
// Transforms of one namespace, as NAMESPACE/PROJECT.
//
// The name of an Application is NAMESPACE.NAME of its Transform: no namespace has
// a dot, so that two Transforms never mean the same one.
//
// The finalizer by which Argo CD deletes all that it applied is put on an Application
// when it is withdrawn, and not before. Somebody who deletes it by mistake, with
// kubectl or with its namespace, loses nothing: it is made again and finds its
// objects.
//
// A sync that waits for an earlier digest is ended when another digest is wanted.
// Argo CD itself would let it wait for the health that the new digest is to bring.
// Syncs by hand are left alone. A sync that failed is tried again by Argo CD a few
// times, and then by us from time to time, as Flux does; Argo CD alone would wait for
// somebody to press a button.
//
// The types of Argo CD are not imported: its module pulls in half of Kubernetes at
// versions of its own. What is read of a status stands in observe.go.
package application
