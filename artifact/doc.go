// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact packs a render as one OCI artifact that Flux and Argo CD both
// take as it is, and pushes, pulls, tags, copies, inspects, signs, verifies and
// prunes it: in registries, and in image layouts on disk.
//
// # The shape
//
// An artifact is an image manifest with the config type of Flux, one layer that
// is a tar.gz of the plain OCI type, and annotations. The tar has the manifests
// flat at its root, sorted, with mode 0644, without times and owners. The tree
// digest is that of the uncompressed tar and stands in an annotation: by it, and
// not by the digest of the compressed layer, a push knows that nothing changed.
// [Set] is a render with barrier layers: a whole, and one artifact of the same
// shape for each layer, which the whole names in an annotation.
//
// # Invariants
//
// The same files and options give the same bytes, on every machine. The encoder
// of gzip is pinned by go.mod, the time is the epoch, nothing ranges a map.
//
// Nothing that was read is used before its digest is known to be right, and all
// reads are bounded. Referrers are believed only where they name their subject.
//
// Tags move last. What is cut short leaves blobs that nobody sees, and the next
// try is as good as the first. Every digest keeps a retention tag, see retain.go.
//
// The package asks no clock and no environment, and never writes outside of a
// [Store]. Times, which are in tags only, come from the caller.
//
// Callers: the command line and the adapters. Package source does not know it;
// [Verifier] is handed to its fetcher of OCI sources.
//
// # Decisions
//
// The manifest is written here, field by field. The packers of oras-go were not
// taken: they set the time, and their bytes may change with a version.
//
// The config is the empty object, under the type of Flux. Neither engine reads
// it; one blob then serves artifacts and referrers, and need not be fetched.
//
// Names ending in .json are refused, since Argo CD applies them and Flux does not.
//
// Referrers hang on a manifest and not on a tag, so who asks two registries for
// what a tag leads to cannot know whether something was attached since, nor whether
// the content is still there. [Copy] trusts that what has the tag is complete, two
// requests, because that is what a copy that runs each hour nearly always finds;
// with CopyOptions.Check it asks for the lists of both sides and for the content,
// six requests, and two for each referrer, whose manifest and content may be gone
// though a list names it. To ask always was not chosen: three times the requests and
// more, for what whoever signs late knows. Nor was an index of all referrers under a tag: what
// cosign attaches would not be in it.
//
// A push asks for the manifest under the tag with GET and not with HEAD, so that
// its second request can ask for the content, and a blob that a registry lost is
// pushed again. HEAD counts less against the limits of some registries, but then
// an unchanged tag would be believed over what is gone. A copy asks its source with
// GET too, for it needs the manifest unless nothing is to be done. Of barrier layers
// in a registry an unchanged push asks nothing, because each would be a request
// more: a layer whose content a registry lost is found by verify, which reads all
// of it, and made good by [Copy] with Check and by the next push that changes
// something, which ask for each layer. What is attached is not asked for either,
// unless it is attached again: [Attach] reads back what it finds there, so that
// whoever signs again has a signature that can be read.
//
// Where a list of referrers is a manifest under a tag, who writes it stays until
// it was quiet for half a second, see settle.go; only a copy that knows that it is
// alone does not wait, see alone.go. A tag for each referrer, from which the list
// could be made again, would lose nothing at all; it was not chosen, because every
// signature would be a tag that people see, for a loss that needs a writer who
// sleeps for that long between its read and its write.
//
// Retention tags hold the whole digest and the time of the push, so that pruning
// needs one listing, and a copy sees others at work. A time in the artifact was not
// chosen, because the digest would change with it.
//
// An archive is written when it is closed. Who finds then that others have
// written to it does its changes once more to what is there now, under a lock
// beside the file. A lock from the opening on was not chosen, because a copy from
// a slow registry would hold it for minutes; and to refuse, as was done before,
// leaves it to everybody to try again.
//
// The image layout is ours. That of oras-go writes index.json in place, where a
// process that is killed cuts it, and knows no other processes.
package artifact
