// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package ignore tells which files of a folder the source-controller of Flux leaves out of the artifact
// that it makes of it.
//
// Its files are read in bounds, and it follows no links.
package ignore

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/ropewalk/ropewalk/source/rootfs"
)

// File names the files of a folder that are not part of its artifact.
const File = ".sourceignore"

// maxFile is how many bytes such a file may have.
const maxFile = 4 << 20

// vcsIgnored is what no artifact of a repository has unless a .sourceignore takes it back, and
// defaultIgnored what one without any .sourceignore has not, too.
// Source: https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
const (
	vcsIgnored     = ".git/,.gitignore,.gitmodules,.gitattributes"
	defaultIgnored = "*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip," +
		".github/,.circleci/,.travis.yml,.gitlab-ci.yml,appveyor.yml,.drone.yml,cloudbuild.yaml,codeship-services.yml,codeship-steps.yml," +
		"**/.goreleaser.yml,**/.sops.yaml,**/.flux.yaml"
)

// LeftOut returns the files that the source-controller leaves out of the artifact that it makes of
// a folder for a source of a kind: what is neither a file nor a folder, and what is ignored by the files
// in it or by more, the field spec.ignore of the source. A folder is in the artifact if anything below
// it is. The maker of an ExternalArtifact decides itself what is in it.
func LeftOut(root rootfs.Folder, kind, more string) (map[string]bool, error) {
	// The folder is read before any pattern counts.
	if kind == "ExternalArtifact" {
		return nil, nil
	}
	type found struct {
		fs.DirEntry
		name string
	}
	var all []found
	var own []gitignore.Pattern
	for left := []string{"."}; len(left) > 0; {
		dir := left[0]
		left = left[1:]
		entries, err := root.List(dir, math.MaxInt)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			all = append(all, found{e, name})
			switch {
			case e.IsDir() && !strings.HasPrefix(e.Name(), "."): // Hidden ones are in no source.
				left = append(left, name)
			case e.Name() == File && e.Type().IsRegular() && (kind != "Bucket" || dir == "."):
				patterns, err := patternsIn(root, dir)
				if err != nil {
					return nil, err
				}
				own = append(own, patterns...)
			}
		}
	}

	own = append(own, parse(more, nil)...)

	// A folder is left out if all in it is.
	matcher := gitignore.NewMatcher(slices.Concat(defaults(kind, len(own) > 0), own))
	gone := map[string]bool{}
	holds := map[string]bool{}
	for _, f := range slices.Backward(all) { // What is in a folder comes before it.
		switch {
		case !f.IsDir() && !f.Type().IsRegular(),
			!holds[f.name] && matcher.Match(strings.Split(f.name, "/"), f.IsDir()):
			gone[f.name] = true
		default:
			holds[path.Dir(f.name)] = true
		}
	}
	return gone, nil
}

// defaults returns the patterns below those of the .sourceignore files.
func defaults(kind string, overruled bool) (out []gitignore.Pattern) {
	patterns := vcsIgnored + "," + defaultIgnored
	switch {
	case kind == "Bucket":
		return nil
	case overruled:
		patterns = vcsIgnored
	}
	for _, p := range strings.Split(patterns, ",") {
		out = append(out, gitignore.ParsePattern(p, nil))
	}
	return out
}

// patternsIn returns the patterns of the .sourceignore of a folder.
func patternsIn(root rootfs.Folder, dir string) ([]gitignore.Pattern, error) {
	data, err := readIgnored(root, path.Join(dir, File))
	if err != nil {
		return nil, err
	}
	var domain []string
	if dir != "." {
		domain = strings.Split(dir, "/")
	}
	return parse(string(data), domain), nil
}

// parse returns the patterns of a text, which count below a folder.
func parse(text string, domain []string) (out []gitignore.Pattern) {
	for _, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			out = append(out, gitignore.ParsePattern(line, domain))
		}
	}
	return out
}

// readIgnored reads a .sourceignore of bounded size.
func readIgnored(root rootfs.Folder, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: %w: more than %d bytes", name, fs.ErrInvalid, maxFile)
	}
	return data, err
}
