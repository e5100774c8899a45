// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// ignoreFile names the files of a folder that are not part of its artifact.
const ignoreFile = ".sourceignore"

// defaultIgnored is what no artifact has unless a .sourceignore takes it back.
// Source: https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
const defaultIgnored = ".git/,.gitignore,.gitmodules,.gitattributes,*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip," +
	".github/,.circleci/,.travis.yml,.gitlab-ci.yml,appveyor.yml,.drone.yml,cloudbuild.yaml,codeship-services.yml,codeship-steps.yml," +
	"**/.goreleaser.yml,**/.sops.yaml,**/.flux.yaml"

// ignores reports whether the source-controller makes the artifact of a source. What makes an
// ExternalArtifact decides itself what is in it.
func ignores(name string) bool { return !strings.HasPrefix(name, "ExternalArtifact/") }

// ignoredIn is what the source-controller leaves out of the artifact of a folder: its defaults,
// and over them the .sourceignore of each folder. spec.ignore of the source is in the cluster.
func ignoredIn(root rootfs.Folder) (gitignore.Matcher, error) {
	var patterns []gitignore.Pattern
	for _, p := range strings.Split(defaultIgnored, ",") {
		patterns = append(patterns, gitignore.ParsePattern(p, nil))
	}
	for left := []string{"."}; len(left) > 0; {
		dir := left[0]
		left = left[1:]
		entries, err := root.List(dir, math.MaxInt)
		if err != nil {
			return nil, err
		}
		var domain []string
		if dir != "." {
			domain = strings.Split(dir, "/")
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && e.Name() != ".git":
				left = append(left, name)
			case e.Name() == ignoreFile && e.Type().IsRegular():
				data, err := readIgnored(root, name)
				if err != nil {
					return nil, err
				}
				for _, line := range strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n") {
					if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
						patterns = append(patterns, gitignore.ParsePattern(line, domain))
					}
				}
			}
		}
	}
	return gitignore.NewMatcher(patterns), nil
}

func readIgnored(root rootfs.Folder, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(f, spec.MaxFile+1))
	if err == nil && len(data) > spec.MaxFile {
		err = fmt.Errorf("%s: %w: more than %d bytes", name, fs.ErrInvalid, spec.MaxFile)
	}
	return data, err
}
