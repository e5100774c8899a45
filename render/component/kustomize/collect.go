// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// TypeHTTP is the type of a remote file; see [Remote].
const TypeHTTP = "http"

// Remote is a reference to elsewhere.
type Remote struct {
	// URL is the reference as written, the key of it in spec.Kustomize.Remotes.
	URL string
	Pos object.Pos
	// Type is "git", for a folder of a repository, or [TypeHTTP], for a file.
	Type string
	// Refs are references of source/git to try in order, or the URL of the file: in a
	// reference of kustomize a tag and a branch are written alike.
	Refs []string
	// Path is the folder of the kustomization in the repository. The value in Remotes ends
	// with it: other folders of the repository may be referred to from there.
	Path string
}

// Chart is a chart of a repository.
type Chart struct {
	// Repo, Name and Version are the arguments of [spec.ChartKey].
	Repo, Name, Version string
	Pos                 object.Pos
}

// Collected lists what a build needs.
type Collected struct {
	// Files are the paths that a build reads, sorted.
	Files []string
	// Remotes and Charts are not in the tree yet. More of them may be found in them.
	Remotes []Remote
	Charts  []Chart
}

// Collect finds all that a build of the kustomization of c reads; dir is the folder of fsys that
// paths in c are relative to, and at as in component.Request. The error is an object.Errors.
func Collect(fsys fs.FS, dir string, c spec.Component, posOf func(name string, line, column int) object.Pos) (Collected, error) {
	w := newWalker(fsys, *c.Kustomize, posOf)
	w.walkAll(dir, c)
	if err := w.errs.Sorted().Err(); err != nil {
		return Collected{}, err
	}
	slices.SortFunc(w.remotes, func(a, b Remote) int { return strings.Compare(a.URL, b.URL) })
	return Collected{Files: slices.Sorted(maps.Keys(w.files)), Remotes: w.remotes, Charts: w.charts}, nil
}

// parseRemote reads a reference to elsewhere as kustomize does. It reports false for a path.
// kustomize asks the server of a URL without a mark of Git, and takes what is YAML for a file.
func parseRemote(text string) (r Remote, ok bool) {
	// The reference may be one of Git by its prefix.
	bare := text
	if len(bare) > 5 && strings.EqualFold(bare[:5], "git::") {
		bare = bare[5:]
	}
	rest, query, _ := strings.Cut(bare, "?")
	u, err := url.Parse(bare)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")

	// The library shows its reader of such references only by Origin.
	origin := (&resource.Origin{}).Append(bare)
	if web && (origin.Repo == "" || !marked(u, rest)) {
		return Remote{URL: text, Type: TypeHTTP, Refs: []string{bare}}, true
	}
	if origin.Repo == "" || strings.HasPrefix(origin.Repo, "file:") {
		return Remote{}, false
	}

	// The reference is written in the form of this project.
	repo := origin.Repo
	if host, in, scp := strings.Cut(repo, ":"); scp && host == "github.com" && !strings.HasPrefix(in, "//") {
		repo = "git@" + repo
	}
	submodules := "&submodules=true"
	if values, err := url.ParseQuery(query); err == nil && values.Get("submodules") != "" {
		if on, err := strconv.ParseBool(values.Get("submodules")); err == nil && !on {
			submodules = ""
		}
	}

	// The folder and the ref are those that the library reads.
	r = Remote{URL: text, Type: reftype.Git, Path: origin.Path}
	if r.Path == "notCloned" { // The reader has this for the root of a repository.
		r.Path = ""
	}
	if origin.Ref == "" {
		r.Refs = []string{strings.Replace(repo+submodules, "&", "?", 1)}
		return r, true
	}

	// A ref is a tag or a branch, unless it looks like a commit.
	by := []string{"tag", "branch"}
	if n := len(origin.Ref); (n == 40 || n == 64) && strings.Trim(strings.ToLower(origin.Ref), "0123456789abcdef") == "" {
		by = []string{"commit"}
	}
	for _, kind := range by {
		r.Refs = append(r.Refs, repo+"?"+kind+"="+url.PathEscape(origin.Ref)+submodules)
	}
	return r, true
}

// marked reports whether a URL of the web belongs to a repository.
func marked(u *url.URL, rest string) bool {
	_, after, _ := strings.Cut(rest, "://")
	ext := path.Ext(u.Path)
	switch {
	case strings.Contains(after, "//") || strings.Contains(after, ".git/") || strings.Contains(after, "_git/") || ext == ".git":
		return true
	case ext == ".yaml" || ext == ".yml" || ext == ".json" || u.Host == "raw.githubusercontent.com" || strings.Contains(u.Path, "/releases/"):
		return false
	}
	hosts := []string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}
	return u.Query().Has("ref") || u.Query().Has("version") || slices.Contains(hosts, u.Host)
}
