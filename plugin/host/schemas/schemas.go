// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas gives the JSON Schema of each kind of document that users write, for
// editors and other tools. They are made of the tables that the decoders hold documents
// against ([document.Document.Schema]), and that of a PivotCluster of the definition that the
// cluster has.
package schemas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Tables returns the tables of all kinds, sorted by their names.
func Tables() []document.Document {
	all := slices.Concat(kinds.All(), frontend.Tables(), release.Tables(), []document.Document{gateway.Table(), pullPolicy(), locked()})
	slices.SortFunc(all, func(a, b document.Document) int { return strings.Compare(a.Kind, b.Kind) })
	return all
}

// pullPolicy returns the table of a pull policy, which source/pullpolicy reads.
func pullPolicy() document.Document {
	texts := document.Field{Kind: object.KindString, Full: true}
	verify := []document.Field{
		{Name: "provider", Kind: object.KindString, Need: true, Values: document.Choices("cosign", "pgp", "ssh")},
		{Name: "keys", Kind: object.KindList, Need: true, Least: 1, Each: &texts, Doc: "Files of public keys, relative to the policy."},
	}
	effects := document.Choices("Allow", "Deny")
	return kinds.Whole(pullpolicy.Kind, "Where modules may come from, and which must be signed.",
		document.Field{Name: "default", Kind: object.KindString, Values: effects, Doc: "What holds where no rule is about a source; Allow where it is absent."},
		document.Field{Name: "rules", Kind: object.KindList, Least: 1, Fields: []document.Field{
			{Name: "name", Kind: object.KindString, Need: true, Full: true},
			{Name: "effect", Kind: object.KindString, Need: true, Values: effects},
			{Name: "sources", Kind: object.KindList, Need: true, Least: 1, Each: &texts, Doc: "Patterns of sources, such as oci://registry.example/modules/**."},
			{Name: "projects", Kind: object.KindList, Least: 1, Each: &texts, Doc: "Patterns of projects; all where it is absent."},
			{Name: "verify", Kind: object.KindMap, Fields: verify, Doc: "The signature that is required."},
		}})
}

// locked returns the table of a lock, which source/lock reads and writes.
func locked() document.Document {
	return kinds.Whole(lock.Kind, "What references of modules led to, and what the render runs: ropewalk.lock.", release.Sources(), release.Modules(), release.Images())
}

// Kinds returns the kinds that have a schema, sorted. They are written down: each start of the
// command lists them in a help text, and to build all tables for that takes a quarter of it.
func Kinds() []string {
	return []string{
		"Apps", "ArtifactSync", "BuildPlan", "Component", "Compose", "DeployPlan", "Function",
		"Gateway", "Installation", "Lock", "PivotCluster", "PreviewPlan", "Project", "PullPolicy",
		"Score", "Transform", "Workload",
	}
}

// Of returns the JSON Schema of a kind, whose letters may be small. The error is that there is
// none.
func Of(kind string) ([]byte, error) {
	if strings.EqualFold(kind, spec.KindPivotCluster) {
		return pivotClusterSchema()
	}
	for _, d := range Tables() {
		if strings.EqualFold(d.Kind, kind) {
			return d.Schema()
		}
	}
	return nil, fmt.Errorf("there is no schema of %q", kind)
}
