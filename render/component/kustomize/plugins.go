// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// builtinPlugins returns the generators and transformers that the library has.
func builtinPlugins() []string {
	return []string{
		"AnnotationsTransformer", "ConfigMapGenerator", "HashTransformer", "HelmChartInflationGenerator", "IAMPolicyGenerator", "ImageTagTransformer",
		"LabelTransformer", "NamespaceTransformer", "PatchJson6902Transformer", "PatchStrategicMergeTransformer", "PatchTransformer", "PrefixSuffixTransformer",
		"PrefixTransformer", "ReplacementTransformer", "ReplicaCountTransformer", "SecretGenerator", "SuffixTransformer", "ValueAddTransformer",
	}
}

// checkConfigured checks the configurations of plugins of k in a file, or in a folder with a
// kustomization, whose own fields would change them after they were checked.
func (w *walker) checkConfigured(k *kustomization, name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	owner := w.made[name]
	if owner == nil {
		w.rules[name] = true
		for _, d := range w.docs[name] {
			w.checkPlugin(k, d, w.posOf(name, d.line, d.column))
		}
		return
	}
	for _, m := range owner.value.Members {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "resources", "bases", "buildMetadata"}, m.Name) {
			w.fail(owner, object.Fields(m.Name))("write it into the files that resources names", "a folder of generators, transformers or validators has resources alone")
		}
	}
	for _, ref := range owner.types.Resources {
		w.checkConfigured(k, path.Join(owner.dir, ref), seen)
	}
}

// checkPlugin checks the configuration of a plugin of k, and walks what it refers to, relative to k.
func (w *walker) checkPlugin(k *kustomization, d document, pos object.Pos) {
	// Only plugins of the library are run, and no charts.
	annotations := get(get(d.node, "metadata"), "annotations")
	function := get(annotations, "config.kubernetes.io/function") != nil || get(annotations, "config.k8s.io/function") != nil
	if !function && d.apiVersion == "builtin" && !slices.Contains(builtinPlugins(), d.kind) {
		w.errs = append(w.errs, component.Fail(pos, nil, object.Suggest(d.kind, builtinPlugins()), "kustomize has no builtin plugin %q", d.kind))
		return
	}
	if function || d.apiVersion != "builtin" {
		w.errs = append(w.errs, component.Fail(pos, nil, "use patches, replacements or a builtin plugin", "%s %q starts a program, which a build does not do", d.kind, d.name))
		return
	}
	if d.kind == "HelmChartInflationGenerator" {
		w.errs = append(w.errs, component.Fail(pos, nil, "write it in helmCharts of the kustomization", "a chart is not read from generators"))
		return
	}

	// A plugin refers to files by any of these fields.
	var refers struct {
		types.KvPairSources `yaml:",inline"`
		Path                string
		Paths               []string
		Replacements        []struct {
			types.Replacement `yaml:",inline"`
			Path              string
		}
		Target  *types.Selector
		Options *types.PatchArgs
		Patch   string
	}
	if d.node.Decode(&refers) != nil {
		return // The library says what is wrong.
	}

	// Paths are relative to k, and places are places of the plugin.
	plugin := *k
	plugin.name = ""
	plugin.value = object.Value{Kind: object.KindMap, Pos: pos}
	paths := refers.Paths
	if refers.Path != "" {
		paths = append(paths, refers.Path)
	}
	for _, r := range refers.Replacements {
		if r.Path != "" {
			paths = append(paths, r.Path)
		}
	}
	for _, ref := range paths {
		if !strings.ContainsAny(ref, "\n{") {
			w.readLocal(&plugin, &ref, nil)
		}
	}
	w.readSources(&plugin, &refers.KvPairSources, nil, w.readLocal)

	// Secrets are known once all files are read.
	w.later = append(w.later, func() {
		w.reportUnmade(pos, nil, k, types.Patch{Patch: refers.Patch, Path: refers.Path, Target: refers.Target, Options: refers.Options})
		for _, r := range refers.Replacements {
			list := []types.Replacement{r.Replacement}
			if r.Path != "" {
				list = w.replacementsOf(k, r.Path)
			}
			w.reportReplaced(pos, nil, list)
		}
	})
}
