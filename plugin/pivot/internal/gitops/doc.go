// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops keeps the GitOps of a parent from writing the objects that move, and for good from
// creating them again. The delivery of a PivotCluster is a Transform of its name in its namespace;
// its output is delivered by Kustomizations and OCIRepositories of Flux, or by an Application of
// Argo CD, with the labels of the Transform.
//
//	Freeze     Transform, then Kustomizations or Application: off, and seen by their controllers
//	Thaw       Application or Kustomizations, then Transform: as they were
//	Tombstone  artifact in the registry ── policy in the API server ── all that is frozen: deleted
//	Lookup     artifact, policy: is the cluster in charge of itself?
//
// # Invariants
//
// An annotation keeps the value of a field before Freeze, and Thaw restores exactly that value: an
// object that a user has suspended stays suspended.
//
// Freeze ends when nothing is applied any more. A controller that has read an object before it
// was suspended goes on with the old version. So the write that suspends also requests an answer of
// the controller. A controller answers also for a suspended object, and after all earlier work,
// because it works on an object only once at a time: Flux and the controller of Transforms write
// status.lastHandledReconcileAt, and Argo CD removes the annotation of a refresh. Then the
// Application must have no operation.
//
// Tombstone deletes objects whose deletion deletes no applied objects, by two guards: a suspended
// Transform or Kustomization loses its finalizer at once, and a Kustomization orphans. An
// Application loses the finalizers by which it deletes. The guards are in the object at the
// resourceVersion that is deleted.
//
// The artifact is written first and the policy second, and both are read back. The Transform is
// deleted before the objects that deliver its output. So at each moment either the delivery is
// frozen, or it cannot come back, and a process that was killed can be followed by another that
// calls the same function. Each function reads the receipt of the pivot first, and writes nothing
// if another process has taken the pivot further.
//
// An Application is frozen before the Cluster is paused: Argo CD reports a paused Cluster as
// Suspended, and a sync with several waves would wait for it without end.
//
// A registry that does not answer is an error of Lookup, and never "no tombstone". A tombstone is
// never replaced by the tombstone of another pivot.
//
// A parent that is rebuilt has other UIDs, so that a tombstone of another parent with the name of
// the cluster counts as the tombstone of the cluster. A tombstone of this parent with another UID is
// [ErrAnother]: the name was used again. deploy/pivot/README.md describes how to allow that.
//
// # Rights on the parent
//
//	ropewalk.dev transforms                                                    get update delete
//	kustomize.toolkit.fluxcd.io kustomizations                                 list get update delete
//	source.toolkit.fluxcd.io ocirepositories                                   list get delete
//	argoproj.io applications (in the namespaces of --argocd-namespaces)        list get update delete
//	admissionregistration.k8s.io validatingadmissionpolicies (cluster)         get create update
//	admissionregistration.k8s.io validatingadmissionpolicybindings (cluster)   get create update
//	configmaps                                                                 get create (a dry run)
//	namespaces kube-system (cluster)                                           get
//
// The Transform must be written by its controller without spec.suspend, and not be created again
// once the receipt says Committed, or Lookup finds a tombstone.
package gitops
