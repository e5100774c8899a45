// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package application delivers by Argo CD: Engine puts the complete artifact of a Transform
// into one Application, with an OCI source that is pinned by its digest, and reads back
// its state. The order inside is that of the waves, which the argocd dialect has written on
// the objects; so there is one layer.
//
// # Invariants
//
// An Application is written only into namespaces and projects that the controller
// allows, and never over another one of its name. It is called NAMESPACE.NAME: no
// namespace has a dot, so that two Transforms never mean the same one.
//
// All that is done follows from the cluster's state. An Application that is as
// it should be is not written. Its deletion finalizer is set when it is withdrawn, and not
// before, so that deleting it by mistake deletes nothing that it applied.
//
// Ready means: compared with the desired digest, nothing left to apply, healthy, and no
// operation in progress or failed at that digest.
package application
