// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// Groups and kinds of the engines.
const (
	groupKustomize        = "kustomize.toolkit.fluxcd.io"
	groupHelm             = "helm.toolkit.fluxcd.io"
	kindKustomization     = "Kustomization"
	kindHelmRelease       = "HelmRelease"
	kindGitRepository     = "GitRepository"
	kindHelmRepository    = "HelmRepository"
	kindHelmChart         = "HelmChart"
	kindOCIRepository     = "OCIRepository"
	kindExternalArtifact  = "ExternalArtifact"
	kindArtifactGenerator = "ArtifactGenerator"
)

// isUnit reports whether an object becomes units.
func isUnit(w Written) bool {
	switch w.group() {
	case groupKustomize:
		return w.TextOf("kind") == kindKustomization
	case groupHelm:
		return w.TextOf("kind") == kindHelmRelease
	case groupOperator:
		return w.TextOf("kind") == kindResourceSet
	case groupArgo:
		return w.TextOf("kind") == kindApplication || w.TextOf("kind") == kindApplicationSet
	}
	return false
}

// folders returns the folders of the repository that an object renders, as far as its fields tell.
func (x *expanding) folders(w Written) []string {
	switch w.TextOf("kind") {
	case kindKustomization:
		if s := x.source(found{Written: w, cluster: x.clusterOf(w.Pos.File)}, w.at("spec", "sourceRef")); s.here {
			return []string{path.Join(s.folder, w.text("spec", "path"))}
		}
	case kindApplication:
		return x.applicationFolders(w)
	}
	return nil
}

// kustomization returns the unit of a Kustomization of Flux.
func (x *expanding) kustomization(f found) Unit {
	spec := f.at("spec")
	u := f.unit()
	u.Prunes = f.is("spec", "prune")
	u.Deletes = u.Prunes && !slices.Contains([]string{"Orphan", "WaitForTermination"}, spec.TextOf("deletionPolicy"))
	u.Suspended = f.is("spec", "suspend")
	u.Namespace = spec.TextOf("targetNamespace")
	for _, item := range f.at("spec", "dependsOn").Items {
		u.DependsOn = append(u.DependsOn, ID{f.cluster, kindKustomization, cmp.Or(item.TextOf("namespace"), u.ID.Namespace), item.TextOf("name")})
	}

	// The files are those of its source.
	source := x.source(f, f.at("spec", "sourceRef"))
	if source.problem != nil {
		u.Problem = source.problem
		return u
	}
	at := path.Join(source.folder, spec.TextOf("path"))
	if path.IsAbs(at) || strings.HasPrefix(at, "..") {
		u.Problem = mistake(f.at("spec", "path").Pos, "", "the path %q leaves the source", spec.TextOf("path"))
		return u
	}
	if source.here && (!isFolder(x.repo.FS, at) || source.gone[at]) {
		u.Problem = source.missing(x, cmp.Or(f.at("spec", "path").Pos, u.Pos), "there is no folder %q in the repository", at)
		return u
	}
	if module := x.repo.submoduleOf(at); source.here && source.noModules && module != "" {
		u.Warnings = append(u.Warnings, warning(f.at("spec", "path").Pos, "set spec.recurseSubmodules of the GitRepository", "%s: Flux does not read the submodule %q, and finds no folder %q", u.ID, module, at))
	}

	// What the Kustomization lays over the kustomization of the folder.
	members := []object.Member{member("path", object.TextAt(at, cmp.Or(f.at("spec", "path").Pos, u.Pos)))}
	// The controller lets kustomizations refer to all files of their source.
	members = append(members, member("loadRestrictor", object.TextAt("none", spec.Pos)))
	if v := f.at("spec", "targetNamespace"); v.Text != "" {
		members = append(members, member("namespace", v))
	}
	for _, name := range []string{"namePrefix", "nameSuffix", "patches", "images"} {
		members = append(members, member(name, f.at("spec", name)))
	}
	members = append(members, member("components", x.components(f, source, at)))
	if source.here {
		u.Files = x.generated(at, source.gone)
		u.gone = source.gone
		members = x.replaceInFolder(&u, at, members)
	}
	u.Overlays = commonMetadata(f.at("spec", "commonMetadata"))
	built := []object.Member{member("kustomize", mapOf(spec.Pos, members...))}
	if source.reference.Kind != object.KindNone {
		built = append(built, member("source", source.reference))
	}
	if variables, ok := x.variables(f, &u); ok {
		built = append(built, member("substitute", variables))
		if u.Unchecked {
			built = append(built, member("substituteUnknown", object.TextAt("keep", variables.Pos)))
		}
	}
	u.Components = []object.Value{mapOf(spec.Pos, built...)}
	noteFields(&u, f.Written, kustomizationFields())
	return u
}

// kustomizationFields returns the fields of a Kustomization that are read here, and those that say
// how it is applied and change no object.
func kustomizationFields() []string {
	return []string{
		"commonMetadata", "components", "decryption", "deletionPolicy", "dependsOn", "force", "healthCheckExprs", "healthChecks", "ignoreMissingComponents",
		"images", "interval", "kubeConfig", "namePrefix", "nameSuffix", "patches", "path", "postBuild", "prune", "retryInterval", "serviceAccountName",
		"sourceRef", "suspend", "targetNamespace", "timeout", "wait", "buildMetadata", "ignore",
	}
}

// unit returns the unit of an object, without what renders it.
func (f found) unit() Unit {
	return Unit{ID: f.named(f.cluster), Pos: f.Pos, Object: f.Value, Parents: f.parents}
}

// noteFields warns of the fields of a spec that are not known here.
func noteFields(u *Unit, w Written, known []string) {
	for _, m := range w.at("spec").Members {
		if !slices.Contains(known, m.Name) {
			u.Warnings = append(u.Warnings, warning(m.Pos, "", "%s: the field spec.%s is not carried over", u.ID, m.Name))
		}
	}
}

// components returns the components of a Kustomization, without those that may be missing and are.
func (x *expanding) components(f found, source fluxSource, at string) object.Value {
	list := f.at("spec", "components")
	mayMiss := source.here && f.is("spec", "ignoreMissingComponents")
	var items []object.Value
	for _, item := range list.Items {
		item.Text = path.Join(at, item.Text) // Flux counts from the folder, a component from the root.
		if !mayMiss || isFolder(x.repo.FS, item.Text) {
			items = append(items, item)
		}
	}
	return object.ListAt(list.Pos, items...)
}

// variables returns what a Kustomization replaces in its objects. It returns false if it replaces
// nothing.
func (x *expanding) variables(f found, u *Unit) (object.Value, bool) {
	out := object.Value{Kind: object.KindMap, Pos: f.at("spec", "postBuild").Pos}
	if out.Pos == (object.Pos{}) {
		return out, false
	}
	set := func(name string, v object.Value) {
		out.Members = slices.DeleteFunc(out.Members, func(m object.Member) bool { return m.Name == name })
		out.Members = append(out.Members, member(name, v))
	}
	for _, ref := range f.at("spec", "postBuild", "substituteFrom").Items {
		optional, _ := ref.Get("optional")
		data, known := x.dataOf(f, u, ref)
		for _, m := range data {
			set(m.Name, m.Value)
		}
		if !known && optional.Text != "true" {
			u.Unchecked = true
			u.Warnings = append(u.Warnings, warning(ref.Pos, "", "%s: the variables in %s %q are in the cluster alone: ${NAME} stays, and no schema is checked", u.ID, ref.TextOf("kind"), ref.TextOf("name")))
		}
	}
	for _, m := range f.at("spec", "postBuild", "substitute").Members {
		set(m.Name, m.Value)
	}
	// Flux replaces nothing if there is no variable at all, unless it is told to.
	always := f.text("spec", "postBuild", "substituteStrategy") == "Always"
	return out, always || len(out.Members) > 0 || u.Unchecked
}

// generated returns the kustomization that Flux writes into a folder without one: its manifests
// and the kustomizations below it.
func (x *expanding) generated(at string, gone map[string]bool) map[string][]byte {
	if len(gone) > 0 { // Another source may have other files there.
		return x.generate(at, gone)
	}
	if known, ok := x.kustomizations[at]; ok {
		return known
	}
	x.kustomizations[at] = x.generate(at, nil)
	return x.kustomizations[at]
}

// generate makes the kustomization of a folder; nil if it has one.
func (x *expanding) generate(at string, gone map[string]bool) map[string][]byte {
	for _, name := range kustomizationNames() {
		if isFile(x.repo.FS, path.Join(at, name)) && !gone[path.Join(at, name)] {
			return nil
		}
	}
	resources := x.resourcesBelow(at, "", gone)
	if resources == nil {
		resources = []string{}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": kindKustomization, "resources": resources})
	if err != nil {
		return nil
	}
	return map[string][]byte{path.Join(at, "kustomization.yaml"): text}
}

// kustomizationNames returns the names that the file of a kustomization may have.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}
