// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/spec"
)

// isForeign reports whether the files of a folder with these entries, and those below it, are
// rendered or read by another tool, or belong to a CUE module.
func isForeign(names []string, depth int) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == chartFile || slices.Contains(kustomizationFiles(), name) ||
			name == "cue.mod" && depth > 0
	})
}

// markDeployed finds the files of the chart or of the kustomization in a folder that hold objects
// of a cluster alone: a Transform or a PivotCluster there is deployed, and is no spec to render.
func (d *Discovery) markDeployed(r *Root, rel string) {
	w, err := d.walkOnce(r, rel)
	if err != nil {
		return // The search reports it.
	}
	var below []string
	if isFile(r, path.Join(rel, chartFile)) {
		below = append(below, path.Join(rel, "templates"), path.Join(rel, "crds"))
	}
	for _, name := range kustomizationFiles() {
		data, err := r.read(path.Join(rel, name), spec.MaxFile)
		if err != nil {
			continue
		}
		k, _ := spec.ParseValue(spec.File{Name: name, Data: data}) // kustomize reports what it is.
		resources, _ := k.Get("resources")
		for _, item := range resources.Items {
			below = append(below, path.Join(rel, item.Text))
		}
	}
	for _, name := range w.files {
		if slices.ContainsFunc(below, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") }) && holdsObjects(r, name) {
			if d.deployed == nil {
				d.deployed = map[string]bool{}
			}
			d.deployed[r.Display(name)] = true
		}
	}
}

// holdsObjects reports whether all documents of Ropewalk in a file may be objects of a cluster.
func holdsObjects(r *Root, name string) bool {
	data, err := r.read(name, spec.MaxFile)
	if err != nil {
		return false
	}
	docs, err := spec.ParseManifests(spec.File{Name: name, Data: data}, spec.MaxFile)
	found := false
	for _, doc := range docs {
		version, _ := doc.Value.Get("apiVersion")
		kind, _ := doc.Value.Get("kind")
		deployed := kind.Text == spec.KindTransform || kind.Text == spec.KindPivotCluster
		if version.Text == spec.ScoreVersion || version.Text == spec.APIVersion && !deployed {
			return false
		}
		found = found || deployed
	}
	return err == nil && found
}

// manifestVersion and manifestKind match the lines of a manifest that say what it is.
var (
	manifestVersion = regexp.MustCompile(`(?m)^(?:apiVersion:[ \t]*["']?|[ \t{]*"apiVersion":[ \t]*")(?:v1|(?:apps|autoscaling|batch|policy|[\w-]+\.[\w.-]+)/v\d\w*)`)
	manifestKind    = regexp.MustCompile(`(?m)^(?:kind:|[ \t{]*"kind":)`)
)

// isManifest reports whether a file seems to be a manifest of Kubernetes, and no template of one.
func isManifest(data []byte) bool {
	return manifestVersion.Match(data) && manifestKind.Match(data) &&
		!bytes.Contains(data, []byte("{{")) && !bytes.Contains(data, []byte("kustomize.config.k8s.io/"))
}

// NotRendered returns the files of plain manifests that a search found beside specs, sorted. Files
// that components read, and the golden files of modules, are left out.
func (d *Discovery) NotRendered(docs spec.Documents, read map[string]bool) []string {
	ours := d.filesWithDocuments(docs)
	maps.Copy(ours, read)
	for _, m := range docs.ConfigMaps {
		ours[m.Pos.File] = ours[m.Pos.File] || m.Module
	}
	out := slices.DeleteFunc(slices.Clone(d.manifests), func(name string) bool { return ours[name] || strings.HasSuffix(name, spec.GoldenSuffix) })
	slices.Sort(out)
	return slices.Compact(out)
}

// Nested returns the files of the projects in folders below that a search left out, sorted.
func (d *Discovery) Nested() []string {
	out := slices.DeleteFunc(slices.Clone(d.nested), func(name string) bool { return d.locations[name] != (Location{}) })
	slices.Sort(out)
	return slices.Compact(out)
}

// NotApplied returns the project files beside files that a user named, sorted: such a file is
// rendered without its project.
func (d *Discovery) NotApplied() []string {
	var out []string
	for _, name := range d.given {
		at := d.locations[name]
		if beside := path.Join(at.Dir, spec.ProjectFile); isFile(at.Root, beside) && d.locations[at.Root.Display(beside)] == (Location{}) {
			out = append(out, at.Root.Display(beside))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
