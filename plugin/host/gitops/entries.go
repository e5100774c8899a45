// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/render/object"
)

// entry is an object of an engine that no unit renders: as its file has it, or as a kustomization
// of the repository renders it.
type entry struct {
	Written
	// at is the file that tells which cluster it is of: its own, or the kustomization.
	at string
}

// entries returns the objects of the engines that no unit renders, as far as that is known: those
// that lie in no folder of another one, nor are referred to by a kustomization there, or else the
// first that is left.
func (x *expanding) entries() []Written {
	var left []Written
	ignored := x.leftOut(kindGitRepository, ".", "")
	for _, w := range x.written.objects {
		isIgnored := ignored[w.Pos.File] && w.group() != groupArgo // Argo CD reads all files.
		if isUnit(w) && !x.read[w.Pos.File] && !isIgnored {
			left = append(left, w)
		}
	}
	// Releases without an entry are read last: a folder of bases holds what others render.
	all := left
	if units := slices.DeleteFunc(slices.Clone(left), func(w Written) bool { return w.TextOf("kind") == kindHelmRelease }); len(units) > 0 {
		left = units
	}
	owners := map[string][]object.Pos{}
	for _, w := range left {
		for _, folder := range x.folders(w) {
			owners[folder] = append(owners[folder], w.Pos)
		}
	}
	covered := func(w Written) bool {
		isOther := func(pos object.Pos) bool { return pos != w.Pos }
		for _, file := range append([]string{w.Pos.File}, x.overlays.above(w.Pos.File)...) {
			for folder := path.Dir(file); ; folder = path.Dir(folder) {
				if slices.ContainsFunc(owners[folder], isOther) {
					return true
				}
				if folder == "." {
					break
				}
			}
		}
		return false
	}
	out := slices.DeleteFunc(slices.Clone(left), covered)
	if len(out) == 0 && len(left) > 0 {
		out = left[:1] // Two that lie in the folders of each other.
	}
	out = x.withoutLater(out)
	for _, w := range out {
		x.read[w.Pos.File] = true
	}

	// Releases beside an entry are in a file that is not looked at again.
	return slices.DeleteFunc(all, func(w Written) bool {
		return !slices.ContainsFunc(out, func(o Written) bool {
			return o.Pos == w.Pos || o.Pos.File == w.Pos.File && w.TextOf("kind") == kindHelmRelease
		})
	})
}

// clustersOf returns the folders that tell entries of one name apart: in clusters/a/flux-system and
// clusters/b/flux-system they are clusters/a and clusters/b.
func clustersOf(entries []entry) []cluster {
	files := map[ID][]string{}
	for _, e := range entries {
		if isUnit(e.Written) {
			id := e.named("")
			files[id] = append(files[id], e.at)
		}
	}
	var out []cluster
	for _, same := range files {
		for _, file := range same {
			folder := ownFolder(file, same)
			if c := (cluster{folder, path.Base(folder)}); folder != "." && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b cluster) int { return strings.Compare(a.folder, b.folder) })
	return out
}

// ownFolder returns the first folder above a file that no other file is in; "." if there is none.
func ownFolder(file string, all []string) string {
	names := strings.Split(path.Dir(file), "/")
	for i := range names {
		folder := strings.Join(names[:i+1], "/")
		other := func(name string) bool { return name != file && subpath.Within(name, folder) }
		if len(all) > 1 && !slices.ContainsFunc(all, other) {
			return folder
		}
	}
	return "."
}

// clusterOf returns the name of the cluster that a file belongs to.
func (x *expanding) clusterOf(file string) string {
	for _, c := range x.clusters {
		if subpath.Within(file, c.folder) {
			return c.name
		}
	}
	return ""
}
