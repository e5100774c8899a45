// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
)

// The kinds of documents that become workloads, and the name of the file of a function of
// knative's func, which has no kind.
const (
	KindWorkload = "Workload"
	KindFunction = "Function"
	KindCompose  = "Compose"
	KindApps     = "Apps"
	KindFuncYAML = "func.yaml"
)

// format recognizes the documents of a kind that become workloads. render/workload/frontend has a
// front end for each kind.
type format struct {
	kind string
	// isWorkload is set if a document is one workload, over which environments are merged as it
	// stands; front ends make any number of workloads of the others.
	isWorkload bool
	// isFile reports whether a document without apiVersion and kind has this format; it is nil
	// if no such document has. It applies only to files that a user named: most files that a
	// search finds belong to other tools.
	isFile func(v object.Value) bool
	// rereads is set if the front end reads such a file again, and reports its syntax errors.
	rereads bool
	// nameless is set if the format has only such files, and no kind of Ropewalk.
	nameless bool
}

// formats returns the formats of all front ends.
func formats() []format {
	return []format{
		{kind: KindWorkload, isWorkload: true},
		{kind: KindFunction, isWorkload: true},
		{kind: KindCompose, isFile: isCompose, rereads: true},
		{kind: KindFuncYAML, isFile: isFuncYAML, nameless: true},
		{kind: KindApps, isFile: isApps},
	}
}

// formatOf returns the first format that matches.
func formatOf(matches func(f format) bool) (format, bool) {
	known := formats()
	if i := slices.IndexFunc(known, matches); i >= 0 {
		return known[i], true
	}
	return format{}, false
}

// isCompose reports whether a document is a compose file.
func isCompose(v object.Value) bool {
	services, _ := v.Get("services")
	include, _ := v.Get("include")
	names := []string{"services", "version", "name", "networks", "volumes", "configs", "secrets"}
	foreign := func(m object.Member) bool { return !slices.Contains(names, m.Name) }
	onlyCompose := services.Kind != object.KindNone && !slices.ContainsFunc(v.Members, foreign)
	return onlyCompose || services.Kind == object.KindMap || include.Kind == object.KindList
}

// isFuncYAML reports whether a document is the func.yaml of a function of knative's func,
// of any version.
func isFuncYAML(v object.Value) bool {
	return v.TextOf("runtime") != "" && slices.ContainsFunc(v.Members, func(m object.Member) bool {
		return slices.Contains([]string{"specVersion", "created", "builder", "builders"}, m.Name)
	})
}

// isApps reports whether a document is an apps.yaml.
func isApps(v object.Value) bool {
	apps, _ := v.Get("apps")
	return apps.Kind == object.KindList
}

// transforms are the decoders of the kinds that a module renders, or that are built without a
// module.
var transforms = sync.OnceValue(func() map[string]func(d *decoder, v object.Value) Transform { //nolint:gochecknoglobals // a constant
	return map[string]func(d *decoder, v object.Value) Transform{
		KindTransform:    (*decoder).decodeTransform,
		KindPivotCluster: (*decoder).decodePivotCluster,
		KindGateway:      (*decoder).decodeGateway,
		KindComponent:    (*decoder).decodeComponent,
	}
})

// SpecKinds returns the sorted kinds of documents that are rendered.
func SpecKinds() []string {
	return slices.DeleteFunc(slices.Clone(knownKinds()), func(kind string) bool { return kind == KindProject })
}

// knownKinds are the kinds that this version reads, sorted.
var knownKinds = sync.OnceValue(func() []string { //nolint:gochecknoglobals // a constant
	out := append(object.SortedKeys(transforms()), KindProject)
	for _, f := range formats() {
		if !f.nameless {
			out = append(out, f.kind)
		}
	}
	slices.Sort(out)
	return out
})

func isKnown(kind string) bool { return slices.Contains(knownKinds(), kind) }

// isRelease reports whether documents of a kind are for releases, which package
// plugin/host/release reads: a search skips them.
func isRelease(kind string) bool {
	return slices.Contains([]string{"ArtifactSync", "BuildPlan", "DeployPlan", "Installation", "PreviewPlan"}, kind)
}
