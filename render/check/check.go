// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/ropewalk/ropewalk/render/check/custom"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// Finding is one thing wrong with one rendered object.
type Finding = finding.Finding

// Schemas is a cache of parsed and compiled schemas, to share between Checkers.
// It is safe for concurrent use; the zero value is ready.
type Schemas = custom.Schemas

// Options say what to check against. The zero value checks against the
// built-in schemas.
type Options struct {
	// CRDs are CustomResourceDefinitions beside the definitions of the render
	// itself and the built-in set; they win over the built-in definitions.
	CRDs []object.Object
	// KubeVersion is the version of the target cluster, such as 1.36.
	KubeVersion string
	// AllowSecrets names, for each spec, the Secrets that may hold data, by patterns of
	// path.Match.
	AllowSecrets map[string][]string
	// Engine is plain, argocd or flux: an encrypted Secret suits Flux only.
	Engine string
	// Schemas is a cache to share between Checkers; nil makes a cache of its own.
	Schemas *Schemas
	// SkipSchemas leaves out the schema check; secrets are checked all the same.
	SkipSchemas bool
}
