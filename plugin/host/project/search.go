// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Limits of a search.
const (
	maxEntries = 50_000
	maxDepth   = 32
)

// walk finds the YAML and JSON files below a folder, sorted by path.
type walk struct {
	root  *Root
	files []string
	// projects are folders below that are projects of their own.
	projects []string
	entries  int
}

// folder walks the folder rel; depth is 0 where the walk begins.
func (w *walk) folder(rel string, depth int) error {
	entries, err := w.list(rel)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if slices.Contains(names, output.MarkerFile) {
		return nil
	}
	if depth > 0 && slices.Contains(names, spec.ProjectFile) {
		w.projects = append(w.projects, rel)
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%q is nested more than %d folders deep", rel, maxDepth)
	}
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && e.Name() != "cue.mod" && e.Name() != "node_modules":
			if err := w.folder(name, depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular() && IsDocument(e.Name()):
			w.files = append(w.files, name)
		}
	}
	return nil
}

func (w *walk) list(rel string) ([]fs.DirEntry, error) {
	entries, err := w.root.folder.List(rel, maxEntries-w.entries+1)
	if err != nil {
		return nil, bare(err)
	}
	if w.entries += len(entries); w.entries > maxEntries {
		return nil, fmt.Errorf("more than %d files and folders to search, at %q", maxEntries, rel)
	}
	return entries, nil
}

// IsDocument reports whether a file is YAML or JSON, by its name.
func IsDocument(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// matches reports whether a path matches a pattern, in which ** is any number
// of folders and the rest is as in path.Match.
func matches(pattern, name string) (bool, error) {
	first, rest, more := strings.Cut(pattern, "/")
	if first == "**" {
		if !more {
			return true, nil
		}
		for {
			if ok, err := matches(rest, name); ok || err != nil {
				return ok, err
			}
			_, tail, deeper := strings.Cut(name, "/")
			if !deeper {
				return false, nil
			}
			name = tail
		}
	}
	part, tail, deeper := strings.Cut(name, "/")
	ok, err := path.Match(first, part)
	if !ok || err != nil || more != deeper {
		return false, err
	}
	if !more {
		return true, nil
	}
	return matches(rest, tail)
}

// literal is the last folder that a pattern names without wildcards, or the pattern
// itself where it has none.
func literal(pattern string) string {
	if meta := strings.IndexAny(pattern, "*?["); meta >= 0 {
		return path.Dir(pattern[:meta] + "x")
	}
	return pattern
}
