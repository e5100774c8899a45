// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// stockWorkdir is the folder in which argocd-cmp-server unpacks repositories, each
// into a folder of its own.
const stockWorkdir = "_cmp_server"

// Checkout returns the repository that argocd-cmp-server runs a command in, on disk: its root, and
// the path of the application in it. The argument dir is the working directory, and source the
// path that the Application names (ARGOCD_APP_SOURCE_PATH).
//
// Source may lead over symlinks, so that dir does not end in it: the root is the
// nearest folder at or above dir from which source leads to dir, without leaving it.
// A repo-server that sends only a part of a repository (manifest-generate-paths)
// leaves the first folders of source out; dir alone is the repository where all of
// them are. A root is never found above what a repository was unpacked into.
func Checkout(dir, source string) (root, app string, err error) {
	dir, err = filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", "", err
	}

	// The folder of the application is the same file by each of its paths.
	mine, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", "", err
	case !mine.IsDir():
		return "", "", fmt.Errorf("%q is not a folder", dir)
	}
	source = path.Clean(strings.Trim(source, "/"))
	if !fs.ValidPath(source) {
		return "", "", fmt.Errorf("the path %q leaves the repository", source)
	}

	// The first folders of source may be missing, so it gets shorter until one fits.
	for source != "." {
		for _, at := range candidates(dir) {
			if leads(at, source, mine) {
				return at, source, nil
			}
		}
		_, rest, more := strings.Cut(source, "/")
		if !more {
			break
		}
		source = rest
	}
	return dir, ".", nil
}

// candidates returns the folders above dir that may be the root of the repository, the nearest
// first, and dir itself. The root of the file system is never a candidate.
func candidates(dir string) []string {
	var out []string
	for folder := dir; filepath.Base(filepath.Dir(folder)) != stockWorkdir; {
		folder = filepath.Dir(folder)
		if folder == filepath.Dir(folder) {
			break
		}
		out = append(out, folder)
	}
	return append(out, dir)
}

// leads reports whether a path in a folder leads to mine. Links that leave the folder are not
// followed: /proc/self/cwd leads everywhere.
func leads(folder, source string, mine os.FileInfo) bool {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(filepath.FromSlash(source))
	return err == nil && os.SameFile(info, mine)
}
