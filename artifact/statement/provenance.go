// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

const (
	// BuildType names the kind of build: a render of a project, for an environment and an engine.
	// Its external parameters are project, environment and dialect, and each policy that a spec
	// loosens, with its reason; its resolved dependencies are the sources of the modules.
	BuildType = "https://ropewalk.dev/provenance/render/v1"
	// ModuleType names the build of a published module: its files, as they are. Its external
	// parameters are project (the path of the module), version, and what was checked before.
	ModuleType = "https://ropewalk.dev/provenance/module/v1"
	// Builder is the default for the builder of a [Build].
	Builder = "https://ropewalk.dev/builder/v1"
)

// Build describes the making of an artifact.
type Build struct {
	// Project names the rendered project, as the user named it. It must not be "".
	Project string
	// Environment, Preview and Dialect describe the render; "" is left out.
	Environment, Preview, Dialect string
	// Inputs is the digest of what the specs gave to their modules, with everything
	// that was laid over them: sha256:<hex>, or "".
	Inputs string
	// Variables is the digest of the names and values of the variables that went in:
	// sha256:<hex>, or "".
	Variables string
	// Sources are all trees that went in, in any order.
	Sources []Source
	// Builder is the URI of the builder, such as a pipeline; Builder where "".
	Builder string
	// Version is the version of Ropewalk.
	Version string
	// Type is the URI of how it was made; BuildType where "".
	Type string
	// Parameters are further external parameters.
	Parameters map[string]string
}

// Source is a tree of files that went into a render.
type Source struct {
	// URI locates the source, as in source.Tree.Origin, with no password.
	URI string
	// Digest is sha256:<hex> of the tree, as in source.Tree.Digest, or "".
	Digest string
	// Revision is the target of a mutable reference, such as main@sha1:<hex>, or "". A commit in it
	// becomes a digest of its own, gitCommit.
	Revision string
}

// provenance is a predicate of SLSA 1.0 (slsa.dev/spec/v1.0/provenance).
type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []descriptor      `json:"resolvedDependencies,omitempty"`
}

type runDetails struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version,omitempty"`
}

// Provenance returns a statement of where an artifact comes from. The error is ErrPredicate,
// ErrSource or ErrSubject.
func Provenance(build Build, subjects ...Subject) ([]byte, error) {
	if build.Project == "" {
		return nil, fmt.Errorf("%w: a provenance must name the project", ErrPredicate)
	}

	// What is not set is left out, so that equal builds give equal statements.
	parameters := map[string]string{"project": build.Project}
	maps.Copy(parameters, build.Parameters)
	if build.Environment != "" {
		parameters["environment"] = build.Environment
	}
	if build.Preview != "" {
		parameters["preview"] = build.Preview
	}
	if build.Dialect != "" {
		parameters["dialect"] = build.Dialect
	}
	if build.Inputs != "" {
		parameters["inputs"] = build.Inputs
	}
	if build.Variables != "" {
		parameters["variables"] = build.Variables
	}

	// The sources of the render are its dependencies.
	dependencies, err := collectDependencies(build.Sources)
	if err != nil {
		return nil, err
	}
	out := provenance{
		BuildDefinition: buildDefinition{
			BuildType:            cmp.Or(build.Type, BuildType),
			ExternalParameters:   parameters,
			ResolvedDependencies: dependencies,
		},
		RunDetails: runDetails{Builder: builder{ID: cmp.Or(build.Builder, Builder)}},
	}

	// A builder that was built from a checkout has no version to state.
	if build.Version != "" {
		out.RunDetails.Builder.Version = map[string]string{"ropewalk": build.Version}
	}
	return state(PredicateProvenance, out, subjects)
}

// collectDependencies returns the descriptors of sources: sorted, and each once.
func collectDependencies(sources []Source) ([]descriptor, error) {
	sorted := slices.SortedFunc(slices.Values(sources), func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Digest, b.Digest))
	})
	var out []descriptor
	for _, s := range slices.Compact(sorted) {
		if s.URI == "" {
			return nil, fmt.Errorf("%w: one has no URI (its digest is %q)", ErrSource, s.Digest)
		}

		// Credentials in a URL would be published.
		if u, err := url.Parse(s.URI); err == nil && u.User != nil {
			if _, ok := u.User.Password(); ok {
				return nil, fmt.Errorf("%w: %q holds a password, and provenance is public: take it out", ErrSource, u.Redacted())
			}
		}

		// A statement has the hexadecimal digits of a digest, without the algorithm.
		d := descriptor{URI: s.URI, Digest: map[string]string{}}
		if s.Digest != "" {
			hex, ok := sha256Hex(s.Digest)
			if !ok {
				return nil, fmt.Errorf("%w: the tree of %q has the digest %q: sha256: and 64 lower-case hexadecimal digits are wanted",
					ErrSource, s.URI, s.Digest)
			}
			d.Digest["sha256"] = hex
		}

		// A revision of Git names its commit also in the form that verifiers of SLSA look for.
		if _, commit, ok := strings.Cut("@"+s.Revision, "@sha1:"); ok && isHex(commit, 40) {
			d.Digest["gitCommit"] = commit
		}
		if s.Revision != "" {
			d.Annotations = map[string]string{"revision": s.Revision}
		}
		out = append(out, d)
	}
	return out, nil
}
