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

// format is how documents of a kind are recognized that become workloads. What they become
// is said in render/workload/frontend, which has one front end for each of them.
type format struct {
	kind string
	// one says that a document is one workload, over which environments are laid as it
	// stands; of the others front ends make any number.
	one bool
	// file reports whether a document without apiVersion and kind is of this format; it is nil
	// if there are none. Only files that a user named are looked at: those that a search
	// finds are mostly for other tools.
	file func(v object.Value) bool
	// again says that the front end reads such a file again, and reports what is no YAML in it.
	again bool
	// nameless says that there are only such files, and no kind of Ropewalk.
	nameless bool
}

// formats returns the formats of all front ends.
func formats() []format {
	return []format{
		{kind: KindWorkload, one: true},
		{kind: KindFunction, one: true},
		{kind: KindCompose, file: isCompose, again: true},
		{kind: KindFuncYAML, file: isFuncYAML, nameless: true},
		{kind: KindApps, file: isApps},
	}
}

// formatOf returns the format of a kind, or of a document without one.
func formatOf(is func(f format) bool) (format, bool) {
	all := formats()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return format{}, false
}

// isCompose reports whether a document is a compose file.
func isCompose(v object.Value) bool {
	services, _ := v.Get("services")
	include, _ := v.Get("include")
	own := len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m object.Member) bool {
		return !slices.Contains([]string{"services", "version", "name", "networks", "volumes", "configs", "secrets"}, m.Name)
	}) && services.Kind != object.KindNone
	return own || services.Kind == object.KindMap || include.Kind == object.KindList
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

// transforms are the decoders of the kinds that are sent through a module, or are built
// without one.
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

// isRelease reports whether documents of a kind are for releases, of package
// plugin/host/release: a search passes over them.
func isRelease(kind string) bool {
	return slices.Contains([]string{"ArtifactSync", "BuildPlan", "DeployPlan", "Installation", "PreviewPlan"}, kind)
}
