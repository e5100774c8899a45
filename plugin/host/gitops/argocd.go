// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// The group and the kinds of Argo CD.
const (
	groupArgo          = "argoproj.io"
	kindApplication    = "Application"
	kindApplicationSet = "ApplicationSet"
)

// resourcesFinalizer deletes the objects of an Application when it is deleted.
const resourcesFinalizer = "resources-finalizer.argocd.argoproj.io"

// jsonnet is how files of Jsonnet end, which Argo CD evaluates.
const jsonnet = ".jsonnet"

// mostNamed is how many files a message names.
const mostNamed = 5

// sourcesOf returns the sources of an Application.
func sourcesOf(w Written) []object.Value {
	if list := w.at("spec", "sources"); len(list.Items) > 0 {
		return list.Items
	}
	if source := w.at("spec", "source"); source.Kind == object.KindMap {
		return []object.Value{source}
	}
	return nil
}

// applicationFolders returns the folders of the repository that an Application renders.
func (x *expanding) applicationFolders(w Written) []string {
	var out []string
	for _, source := range sourcesOf(w) {
		if source.TextOf("chart") == "" && source.TextOf("path") != "" && x.isOwnURL(source) {
			out = append(out, path.Clean(source.TextOf("path")))
		}
	}
	return out
}

// isOwnURL reports whether a source of an Application is this repository. If no URL of this
// repository is known, it is one whose folder is here.
func (x *expanding) isOwnURL(source object.Value) bool {
	own, known := x.isOwn(source.TextOf("repoURL"))
	if own || known {
		return own
	}
	at := path.Clean(source.TextOf("path"))
	if source.TextOf("ref") != "" && source.TextOf("path") == "" {
		return true
	}
	return !path.IsAbs(at) && !strings.HasPrefix(at, "..") && isFolder(x.repo.FS, at)
}

// application returns the unit of an Application of Argo CD.
func (x *expanding) application(f found) []Unit {
	u := f.unit()
	u.Namespace = f.text("spec", "destination", "namespace")
	u.Prunes = f.is("spec", "syncPolicy", "automated", "prune")
	u.Deletes = slices.ContainsFunc(f.at("metadata", "finalizers").Items, func(v object.Value) bool {
		return strings.HasPrefix(v.Text, resourcesFinalizer)
	})
	sources := sourcesOf(f.Written)
	if len(sources) == 0 {
		u.Problem = mistake(f.at("spec").Pos, "", "%s has no source", u.ID)
		return []Unit{u}
	}

	// Sources with a ref and no path are only read for values.
	for _, source := range sources {
		if source.TextOf("ref") != "" && source.TextOf("path") == "" && source.TextOf("chart") == "" {
			continue
		}
		component, problem := x.applicationSource(&u, source, sources)
		if problem != nil {
			u.Problem = problem
			u.Components = nil
			return []Unit{u}
		}
		u.Components = append(u.Components, component)
	}
	noteFields(&u, f.Written, []string{
		"destination", "ignoreDifferences", "info", "project", "revisionHistoryLimit", "source", "sourceHydrator", "sources", "syncPolicy",
	})
	return []Unit{u}
}

// applicationSource returns the component of a source of an Application.
func (x *expanding) applicationSource(u *Unit, source object.Value, all []object.Value) (object.Value, *object.Error) {
	at := source.Pos
	repo, _ := source.Get("repoURL")
	folder := cmp.Or(source.TextOf("path"), ".")

	// A chart of a repository has no folder.
	if chart, ok := source.Get("chart"); ok && chart.Text != "" {
		version := member("version", lookup(source, "targetRevision"))
		fields := []object.Member{member("chart", chart), member("repo", repo), version}
		if !strings.Contains(repo.Text, "://") || strings.HasPrefix(repo.Text, "oci://") { // Argo CD names registries without a scheme.
			fields = []object.Member{member("chart", object.TextAt("oci://"+strings.TrimPrefix(repo.Text, "oci://")+"/"+chart.Text, chart.Pos)), version}
		}
		return x.helmSource(u, source, "", fields, all, object.Value{})
	}

	// The files are here, or in another repository.
	var reference object.Value
	here := x.isOwnURL(source)
	if !here {
		reference = referenceOf("git", gitURL(repo.Text, source.TextOf("targetRevision")), repo.Pos)
	} else if !isFolder(x.repo.FS, path.Clean(folder)) {
		return object.Value{}, x.missing(lookup(source, "path").Pos, "there is no folder %q in the repository", folder)
	}
	if here {
		over, problem := x.withSourceFiles(u, source, folder)
		if problem != nil {
			return object.Value{}, problem
		}
		source = over
	}
	switch x.sourceKind(u, source, here, folder) {
	case "plugin":
		u.Project = path.Clean(folder)
		if here && isFile(x.repo.FS, path.Join(folder, "ropewalk.yaml")) {
			return object.Value{}, mistake(lookup(source, "plugin").Pos, "", "%s is a project of Ropewalk, which is rendered by itself", u.ID)
		}
		return object.Value{}, warning(lookup(source, "plugin").Pos, "", "%s is rendered by a plugin, which does not run here", u.ID)
	case "helm":
		return x.helmSource(u, source, folder, []object.Member{member("chart", object.TextAt(path.Clean(folder), at))}, all, reference)
	case "kustomize":
		return withSource(at, member("kustomize", x.kustomizeSource(u, source, folder, here)), reference), nil
	case "":
		return object.Value{}, warning(at, "take it from the cluster with kubectl get -o yaml, or add source.helm, kustomize or directory", "%s does not say of what its source in another repository is made", u.ID)
	}
	return x.directorySource(u, source, folder, here, reference)
}

// withSource returns a component with its source.
func withSource(at object.Pos, built object.Member, reference object.Value) object.Value {
	return mapOf(at, built, member("source", reference))
}

// gitURL returns the reference of a revision of Argo CD: a commit, a version, a tag or a branch.
func gitURL(repo, revision string) string {
	kind := "branch"
	switch {
	case revision == "" || revision == "HEAD":
		return repo
	case regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(revision):
		kind = "commit"
	case strings.ContainsAny(revision, "*<>=~^|") || regexp.MustCompile(`^v?[0-9.]+\.[xX](\.|$)`).MatchString(revision):
		kind = "semver"
	case regexp.MustCompile(`^v?[0-9]+\.[0-9]+`).MatchString(revision):
		kind = "tag"
	}
	return repo + "?" + kind + "=" + queryText(revision)
}

// sourceKind returns what renders the folder of a source, as Argo CD finds out: what the source
// says, and else what is in the folder, or what Argo CD has written into the status of the only
// source; "" if that is not here.
func (x *expanding) sourceKind(u *Unit, source object.Value, here bool, folder string) string {
	// The controller removes options of spec.source that say nothing, such as directory: {recurse: false},
	// and looks at the folder then. Those of spec.sources stay.
	isOnly := here && lookup(u.Object, "spec", "sources").Kind == object.KindNone
	for _, kind := range []string{"plugin", "helm", "kustomize", "directory"} {
		options := lookup(source, kind)
		isRemoved := isOnly && kind != "plugin" && saysNothing(options)
		if options.Kind == object.KindMap && !isRemoved {
			return kind
		}
	}
	switch {
	case !here:
		return strings.ToLower(lookup(u.Object, "status").TextOf("sourceType"))
	case isFile(x.repo.FS, path.Join(folder, chartFile)):
		return "helm"
	case x.hasKustomization(folder):
		return "kustomize"
	}
	return "directory"
}

// saysNothing reports whether all that a value holds is empty, false or null.
func saysNothing(v object.Value) bool {
	switch v.Kind {
	case object.KindMap:
		return !slices.ContainsFunc(v.Members, func(m object.Member) bool { return !saysNothing(m.Value) })
	case object.KindList:
		return len(v.Items) == 0
	case object.KindBool:
		return v.Text == "false"
	case object.KindNone, object.KindNull:
		return true
	default:
		return v.Text == ""
	}
}

// kustomizeSource returns the kustomization of a source of an Application.
func (x *expanding) kustomizeSource(u *Unit, source object.Value, folder string, here bool) object.Value {
	k, at := lookup(source, "kustomize"), source.Pos
	members := []object.Member{member("path", object.TextAt(path.Clean(folder), at))}
	for _, name := range []string{"namePrefix", "nameSuffix", "namespace", "patches", "replicas"} {
		members = append(members, member(name, lookup(k, name)))
	}
	var components []object.Value
	for _, item := range lookup(k, "components").Items {
		if !strings.Contains(item.Text, "://") {
			item.Text = path.Join(folder, item.Text)
			if here && lookup(k, "ignoreMissingComponents").Text == "true" && !isFolder(x.repo.FS, item.Text) {
				continue
			}
		}
		components = append(components, item)
	}
	members = append(members, member("components", object.ListAt(lookup(k, "components").Pos, components...)))
	// What kustomize.buildOptions of Argo CD allows is in its own ConfigMap, and not in the
	// repository: all that can be rendered is.
	members = append(members, member("enableHelm", object.BoolAt(true, at)), member("loadRestrictor", object.TextAt("none", at)))
	annotations := lookup(k, "commonAnnotations")
	if lookup(k, "commonAnnotationsEnvsubst").Text == "true" {
		annotations = allWithVariables(u, source, annotations)
	}
	members = append(members, member("commonAnnotations", annotations))
	if labels := lookup(k, "commonLabels"); labels.Kind == object.KindMap {
		selectors := object.BoolAt(lookup(k, "labelWithoutSelector").Text != "true", labels.Pos)
		members = append(members, member("labels", object.ListAt(labels.Pos, mapOf(labels.Pos,
			member("pairs", allWithVariables(u, source, labels)), member("includeSelectors", selectors), member("includeTemplates", lookup(k, "labelIncludeTemplates"))))))
	}
	var images []object.Value
	for _, item := range lookup(k, "images").Items {
		images = append(images, imageOf(withVariables(u, source, item)))
	}
	members = append(members, member("images", object.ListAt(lookup(k, "images").Pos, images...)))
	noteSource(u, k, "kustomize", "namePrefix", "nameSuffix", "namespace", "patches", "replicas", "components", "commonAnnotations", "commonLabels",
		"commonAnnotationsEnvsubst", "labelWithoutSelector", "labelIncludeTemplates", "images", "ignoreMissingComponents", "forceCommonLabels", "forceCommonAnnotations")
	if here {
		members = x.replaceInFolder(u, folder, members)
	}
	return mapOf(at, members...)
}

// noteSource warns of the fields of a source that are not known here. An empty one says nothing, such
// as directory.jsonnet: {} of an Application that was read from a cluster.
func noteSource(u *Unit, v object.Value, name string, known ...string) {
	for _, m := range v.Members {
		empty := m.Value.Kind == object.KindMap && len(m.Value.Members) == 0
		if !empty && !slices.Contains(known, m.Name) {
			u.Warnings = append(u.Warnings, warning(m.Pos, "", "%s: the field source.%s.%s is not carried over", u.ID, name, m.Name))
		}
	}
}

// imageOf returns an image of an Application, [NAME=]NEW[:TAG|@DIGEST], as kustomize has it.
func imageOf(v object.Value) object.Value {
	name, to, renamed := strings.Cut(v.Text, "=")
	if !renamed {
		to = name
	}
	var members []object.Member
	if base, digest, ok := strings.Cut(to, "@"); ok {
		to = base
		members = append(members, member("digest", object.TextAt(digest, v.Pos)))
	} else if i := strings.LastIndex(to, ":"); i > strings.LastIndex(to, "/") {
		members = append(members, member("newTag", object.TextAt(to[i+1:], v.Pos)))
		to = to[:i]
	}
	if !renamed {
		name = to
	} else {
		members = append(members, member("newName", object.TextAt(to, v.Pos)))
	}
	return mapOf(v.Pos, append(members, member("name", object.TextAt(name, v.Pos)))...)
}

// directorySource returns the manifests of a source of an Application.
func (x *expanding) directorySource(u *Unit, source object.Value, folder string, here bool, reference object.Value) (object.Value, *object.Error) {
	d := lookup(source, "directory")
	at := cmp.Or(d.Pos, source.Pos)
	noteSource(u, d, "directory", "recurse", "include", "exclude")
	recurse := lookup(d, "recurse").Text == "true"
	if !here {
		paths := object.TextAt(path.Join(folder, "*.[jy][ams]*[ln]"), at)
		if recurse {
			paths = object.TextAt(path.Clean(folder), at)
		}
		return withSource(at, member("manifests", mapOf(at, member("paths", object.ListAt(at, paths)))), reference), nil
	}

	// Patterns choose among the files.
	var paths []object.Value
	var programs []string
	for _, name := range x.manifestsIn(folder, recurse) {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(folder)), "/")
		isChosen := matchesAny(lookup(d, "include").Text, rel, true) && !matchesAny(lookup(d, "exclude").Text, rel, false)
		switch {
		case !isChosen:
		case path.Ext(name) == jsonnet:
			programs = append(programs, name)
		default:
			paths = append(paths, object.TextAt(name, at))
		}
	}

	// Argo CD evaluates Jsonnet beside manifests.
	where := cmp.Or(lookup(source, "path").Pos, at)
	switch {
	case len(paths) == 0 && len(programs) == 0:
		return object.Value{}, mistake(where, "", "there is no manifest in the folder %q of the repository", folder)
	case len(paths) == 0:
		return object.Value{}, warning(where, "", "%s is made by Jsonnet, which is not evaluated here: %s", u.ID, printable.List(programs, mostNamed))
	case len(programs) > 0:
		u.Warnings = append(u.Warnings, warning(where, "", "%s: the objects of Jsonnet are missing, which is not evaluated here: %s", u.ID, printable.List(programs, mostNamed)))
	}
	return withSource(at, member("manifests", mapOf(at, member("paths", object.ListAt(at, paths...)))), reference), nil
}
