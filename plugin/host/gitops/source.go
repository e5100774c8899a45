// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/flux/ignore"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// fluxSource is where the files of a unit of Flux come from.
type fluxSource struct {
	// here is set if they are those of this repository, in folder.
	here   bool
	folder string
	// gone are the files and folders of the repository that Flux leaves out of it.
	gone map[string]bool
	// noModules is set if Flux leaves the submodules out.
	noModules bool
	// reference is that of a component whose files come from elsewhere.
	reference object.Value
	problem   *object.Error
}

// source returns the source that a unit names. One that is in no file is this repository: the one
// that flux bootstrap makes is only in the cluster.
func (x *expanding) source(f found, ref object.Value) fluxSource {
	kind := cmp.Or(ref.TextOf("kind"), kindGitRepository)
	id := ID{f.cluster, kind, cmp.Or(ref.TextOf("namespace"), f.named("").Namespace), ref.TextOf("name")}
	if folder, ok := x.localFolder(id); ok {
		return x.sourceHere(id.Kind, folder, "")
	}
	w, known := x.lookup(id)
	url := w.text("spec", "url")
	bootstrap := !known && (kind == kindGitRepository || kind == kindOCIRepository)
	switch {
	case bootstrap || kind == kindGitRepository && known && x.isHere(url, w, f):
		here := x.sourceHere(kind, x.rootOf(f), w.text("spec", "ignore"))
		here.noModules = known && !w.is("spec", "recurseSubmodules")
		return here
	case kind == kindExternalArtifact:
		return x.externalArtifact(id, ref)
	case !known:
	case kind == kindGitRepository:
		return fluxSource{reference: gitReference(url, w.at("spec", "ref"), ref.Pos)}
	case kind == kindOCIRepository:
		folder := x.rootOf(f)
		if own, known := x.isOwn(url); own || !known && folder != "" {
			return x.sourceHere(kind, folder, w.text("spec", "ignore"))
		}
		return fluxSource{reference: referenceOf("oci", ociURL(url, w.at("spec", "ref")), ref.Pos)}
	}
	return fluxSource{problem: warning(ref.Pos, "name a folder for it with --local-sources "+id.source()+"=DIR", "the files of %s %q are in the cluster alone", kind, id.Name)}
}

// sourceHere returns a folder of the repository as a source of a kind, whose spec.ignore is given.
func (x *expanding) sourceHere(kind, folder, ignored string) fluxSource {
	return fluxSource{here: true, folder: folder, gone: x.leftOut(kind, folder, ignored)}
}

// leftOut returns the files and folders of the repository that Flux leaves out of the source that it
// makes of a folder. What it ignores by default is seldom a manifest: without patterns of the user
// nothing is looked for.
func (x *expanding) leftOut(kind, folder, ignored string) map[string]bool {
	key := strings.Join([]string{kind, folder, ignored}, "\x00")
	if out, known := x.gone[key]; known || ignored == "" && !x.written.ignores {
		return out
	}
	out := map[string]bool{}
	x.gone[key] = out
	root, err := rootfs.Of(x.repo.FS, path.Clean(folder))
	if err != nil {
		return out // It is told where a file of the folder is read.
	}
	names, err := ignore.LeftOut(root, kind, ignored)
	if err != nil {
		x.warn(object.Pos{File: path.Join(folder, ignore.File)}, "", "what Flux leaves out of the source is not known: %w", err)
	}
	for name := range names {
		out[path.Join(folder, name)] = true
	}
	return out
}

// missing returns why a file or a folder is not in a source.
func (s fluxSource) missing(x *expanding, pos object.Pos, format, name string) *object.Error {
	if s.gone[name] {
		return mistake(pos, "take it back with a line such as !/"+name, "Flux leaves %q out of the source, by %s or spec.ignore of the source", name, ignore.File)
	}
	return x.missing(pos, format, name)
}

// source returns the name of a source as flags have it: KIND/NAMESPACE/NAME.
func (id ID) source() string { return strings.Join([]string{id.Kind, id.Namespace, id.Name}, "/") }

// localFolder returns the folder that stands for a source, which counts as used then.
func (x *expanding) localFolder(id ID) (string, bool) {
	folder, ok := x.repo.Local[id.source()]
	if ok {
		x.local[id.source()] = true
	}
	return folder, ok
}

// externalArtifact returns the source that an ArtifactGenerator makes of this repository. It is a
// folder if each part of it lies at the same place below that folder.
func (x *expanding) externalArtifact(id ID, ref object.Value) fluxSource {
	for _, w := range x.written.objects {
		if w.TextOf("kind") != kindArtifactGenerator || w.named("").Namespace != id.Namespace {
			continue
		}
		for _, artifact := range w.at("spec", "artifacts").Items {
			if artifact.TextOf("name") != id.Name || x.clusterOf(w.Pos.File) != id.Cluster {
				continue
			}
			if folder, ok := x.artifactFolder(w, artifact); ok {
				return fluxSource{here: true, folder: folder}
			}
			return fluxSource{problem: warning(ref.Pos, "", "the files of ExternalArtifact %q are put together from several places", id.Name)}
		}
	}
	return fluxSource{problem: warning(ref.Pos, "name a folder for it with --local-sources "+id.source()+"=DIR",
		"the files of ExternalArtifact %q are in the cluster alone", id.Name)}
}

// artifactFolder returns the folder that an artifact of a generator has the files of.
func (x *expanding) artifactFolder(w Written, artifact object.Value) (string, bool) {
	var first, folder string
	for i, item := range lookup(artifact, "copy").Items {
		_, from, _ := strings.Cut(strings.TrimPrefix(item.TextOf("from"), "@"), "/")
		from = path.Clean(strings.TrimSuffix(from, "**"))
		to := path.Clean(strings.TrimPrefix(strings.TrimPrefix(item.TextOf("to"), "@artifact"), "/"))
		above := from
		if to != "." {
			rest, ok := strings.CutSuffix("/"+from, "/"+to)
			if !ok {
				return "", false
			}
			above = strings.TrimPrefix(rest, "/")
		}
		if i == 0 {
			first, folder = from, above
		}
		if above != folder {
			return "", false
		}
	}

	// The source may be a folder of the repository itself: the nearest one with the first part.
	for at := path.Dir(w.Pos.File); first != ""; at = path.Dir(at) {
		if isFolder(x.repo.FS, path.Join(at, first)) {
			return path.Join(at, folder), true
		}
		if at == "." {
			break
		}
	}
	return "", false
}

// rootOf returns the folder of the repository that is the root of a source: the nearest one above the
// Kustomization in which its path is a folder. Some publish a folder of their repository and not
// all of it. It is "" if there is none.
func (x *expanding) rootOf(f found) string {
	at := f.text("spec", "path")
	if at == "" || isFolder(x.repo.FS, path.Clean(at)) {
		return ""
	}
	for folder := path.Dir(f.Pos.File); folder != "."; folder = path.Dir(folder) {
		if full := path.Join(folder, at); strings.HasPrefix(full, folder) && isFolder(x.repo.FS, full) {
			return folder
		}
	}
	return ""
}

// isHere reports whether a source is this repository, by its URL. If no URL of this repository is
// known, it is the source beside the Kustomization that reads it. The source that flux bootstrap
// writes is this repository under any URL: the file that it is in lies in it.
func (x *expanding) isHere(url string, source Written, f found) bool {
	own, known := x.isOwn(url)
	return own || source.named("").Name == "flux-system" || !known && source.Pos.File == f.Pos.File
}

// referenceOf returns the source of a component.
func referenceOf(kind, ref string, at object.Pos) object.Value {
	return mapOf(at, member("type", object.TextAt(kind, at)), member("ref", object.TextAt(ref, at)))
}

// gitReference returns the source of a component in another Git repository, at the most exact
// revision that the ref of Flux names.
func gitReference(url string, ref object.Value, at object.Pos) object.Value {
	for _, by := range []string{"commit", "semver", "tag", "branch"} {
		if text := ref.TextOf(by); text != "" {
			url += "?" + by + "=" + queryText(text)
			break
		}
	}
	return referenceOf("git", url, at)
}

// queryText returns a revision as the query of a reference has it.
func queryText(revision string) string {
	return strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", "#", "%23", " ", "%20").Replace(revision)
}

// ociURL returns the reference of an artifact at the ref of Flux.
func ociURL(url string, ref object.Value) string {
	switch {
	case ref.TextOf("digest") != "":
		return url + "@" + ref.TextOf("digest")
	case ref.TextOf("semver") != "":
		return url + "?semver=" + queryText(ref.TextOf("semver"))
	case ref.TextOf("tag") != "":
		return url + ":" + ref.TextOf("tag")
	}
	return url
}

// resourcesBelow returns the manifests and the kustomizations in a folder, as Flux lists them in the
// kustomization that it writes: each folder with a kustomization counts as a whole.
func (x *expanding) resourcesBelow(at, below string, gone map[string]bool) []string {
	entries, err := fs.ReadDir(x.repo.FS, path.Join(at, below))
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		switch {
		case isExcluded(entry.Name()) || gone[path.Join(at, name)]:
		case entry.IsDir() && x.hasKustomization(path.Join(at, name)):
			out = append(out, name)
		case entry.IsDir():
			out = append(out, x.resourcesBelow(at, name, gone)...)
		case entry.Type().IsRegular() && project.IsDocument(name) && path.Ext(name) != ".json":
			out = append(out, name)
		}
	}
	return out
}

// isExcluded reports whether a file or folder is in no source of Flux by default: what belongs to Git,
// to pipelines and to tools. Other hidden files are read.
// Source: https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
func isExcluded(name string) bool {
	return slices.Contains([]string{
		".git", ".github", ".circleci", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml",
		"codeship-services.yml", "codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
	}, name)
}

// hasKustomization reports whether a folder holds the file of a kustomization.
func (x *expanding) hasKustomization(folder string) bool {
	for _, name := range kustomizationNames() {
		if isFile(x.repo.FS, path.Join(folder, name)) {
			return true
		}
	}
	return false
}
