// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package storage is the output of Transforms in clusters without a registry: a folder with
// archives, a server of them, and the ExternalArtifacts of Flux that lead to them. Storage keeps
// files, Store is the part of a Transform (publish.Store), and Server and Sweeper run beside the
// reconciler in the manager.
//
// # The shape
//
// Each Transform has a folder, transform/NAMESPACE/NAME, with archives that are named by their own
// SHA-256, <hex>.tar.gz: the complete artifact, each layer, and artifacts that a hand-over needs in
// between. Beside a complete artifact lies its plan, <hex>.json, which a rollback reads. The digest
// of an artifact is the digest of its archive; the revision by which Flux sees a change is
// UNIT@DIGEST. An ExternalArtifact is written after its archive, by server-side apply:
// spec.sourceRef names the Transform.
//
// # Invariants
//
// The same files make the same archive, so the same digest and URL, on every machine and after a
// volume was lost: package artifact packs them.
//
// A name in a request or in an object becomes a path only where it is the name of a
// Kubernetes object or a SHA-256, and all paths are below an os.Root.
//
// A file gets its name when it is complete and synced. A file that is read is checked against its
// digest. A sweep removes the unfinished files of a process that was killed when they are old, since
// the leader before may still be writing.
//
// A file is needed, and never removed, while the status of a Transform, its rollback or an
// ExternalArtifact in the cluster names it. A file that is not needed is marked by an empty file
// <hex>.unused, whose time says since when, and removed after the TTL, because a client that has
// read an object before it was changed still asks for the file. So that time outlives the process,
// and publishing removes the mark.
//
// Only the leader writes and serves. A replica that takes over has an empty folder, or the folder of
// the volume. Each Transform is reconciled then, which makes missing artifacts again: Desired
// returns delivery.ErrGone for them.
package storage
