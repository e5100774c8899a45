// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"time"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// Options control how to write. The zero value writes the plain dialect.
type Options struct {
	Dialect dialect.Name
	// Name is the name of the project; it names what is written for Flux.
	Name string
	// Repository is the OCI repository that a Flux cluster will pull the render
	// from, such as oci://registry.example/team/shop; where it is "", the flux
	// dialect writes the folders of its layers only.
	Repository string
	// Reference is the tag or the digest (sha256:…) in Repository; latest where
	// it is "".
	Reference string
	// Insecure is set if Repository is reached without TLS.
	Insecure bool
	// FluxNamespace is the namespace of the Flux objects; flux-system where it is "".
	FluxNamespace string
	// Interval is the interval of the Flux objects; an hour where it is zero.
	Interval time.Duration
	// HealthConfigured is set if the argocd-cm of the cluster holds the checks of
	// [HealthConfig]. Where it is false, every kind whose readyWhen needs
	// them is named in a warning.
	HealthConfigured bool
	// DecryptionConfigured is set if the caller configures spec.decryption for what SOPS
	// encrypted. Where it is false, and Repository is not "", each such object is named
	// in a warning.
	DecryptionConfigured bool
	// Awaited is set if the controller of Transforms delivers the render with Flux: it waits
	// for what nodes need. Where it is false, what an engine does not wait for is named in a
	// warning.
	Awaited bool
}

// File is one file of a render. Paths are slash-separated and relative.
type File struct {
	Path string
	Data []byte
	// Node is the node that the file holds, "" for any other file.
	Node object.ID
	// Wave is the wave of the node.
	Wave int
}

// Output is a written render.
type Output struct {
	// Files are in the order of the stream: wave by wave.
	Files []File
	// Warnings name every intent that the engine cannot express.
	Warnings object.Errors
	// Layers are the barrier layers of the flux dialect, one for each wave.
	Layers []Layer
}

// Layer is one barrier layer of the flux dialect.
type Layer struct {
	// Name is the name of its Kustomization.
	Name string
	// Dir is its folder.
	Dir string
	// Waves are the numbers of its waves.
	Waves []int
}
