// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops keeps the GitOps of a parent from writing what moves, and for good from
// making it again. The delivery of a PivotCluster is a Transform of its name in its namespace;
// what that is delivered by are Kustomizations and OCIRepositories of Flux, or an Application of
// Argo CD, with the labels of the Transform.
//
//	Freeze     Transform, then Kustomizations or Application: off, and seen by their controllers
//	Thaw       Application or Kustomizations, then Transform: as they were
//	Tombstone  artifact in the registry ── policy in the API server ── all that is frozen: deleted
//	Lookup     artifact, policy: is the cluster in charge of itself?
//
// # Invariants
//
// An annotation has what a field was before Freeze, and Thaw restores exactly that: what a user
// has suspended stays so.
//
// Freeze ends when nothing is applied any more. A controller that has read an object before it
// was suspended goes on with what it read. So the write that suspends also asks the controller
// for an answer, which one that sees it suspended gives as well, and which comes after all that
// was begun before, because a controller works on one object once at a time: Flux and the
// controller of Transforms write status.lastHandledReconcileAt, and Argo CD takes the annotation
// of a refresh away. Then the Application must have no operation.
//
// What is deleted by Tombstone deletes nothing that was applied, by two guards: it is suspended,
// which lets the finalizer of a Transform and of a Kustomization go at once, and a Kustomization
// orphans. The finalizers by which an Application deletes are taken away. The guards are in the
// object at the resourceVersion that is deleted.
//
// The artifact is first and the policy second, both read back, and the Transform is deleted
// before what it delivers by. So at each moment either the delivery is frozen, or it cannot come
// back: a process that is killed anywhere is followed by one that calls the same function. Each
// function reads the receipt of the pivot first, and writes nothing where another process has
// taken the pivot further.
//
// An Application is frozen before the Cluster is paused: of one that is paused Argo CD says that
// it is Suspended, for which a sync with several waves waits without end.
//
// A registry that cannot be asked is an error of Lookup, and never "no tombstone". A tombstone
// is never replaced by that of another pivot.
//
// A parent that is rebuilt has other UIDs, so that a tombstone of another parent with the name of
// the cluster is taken for that of the cluster. One of this parent with another UID is
// [ErrAnother]: the name was used again. How that is allowed is in deploy/pivot/README.md.
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
