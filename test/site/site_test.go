// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// build writes the site into a directory.
func build(t *testing.T) string {
	out := t.TempDir()
	log, err := exec.CommandContext(t.Context(), "go", "tool", "hugo", "--source", "../../docs/site", "--destination", out, "--cacheDir", t.TempDir(), "--noBuildLock", "--panicOnWarning").CombinedOutput()
	require.NoError(t, err, string(log))
	return out
}

// TestEveryLinkOfTheSiteLeadsToAPage reads all pages as a browser does, and follows what leads to
// others: every page works from a disk, so that every target is a file.
func TestEveryLinkOfTheSiteLeadsToAPage(t *testing.T) {
	out := build(t)
	pages := 0
	index, err := os.ReadFile(filepath.Join(out, "search-index.js"))
	require.NoError(t, err)
	target := regexp.MustCompile(`(?:href|src)="?([^">\s]+)`)
	name := regexp.MustCompile(`id="?([^">\s]+)`)
	ids := func(file string) (found []string) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
		return found
	}
	require.NoError(t, filepath.WalkDir(out, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".html" {
			return err
		}
		pages++
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		inSite, err := filepath.Rel(out, file)
		require.NoError(t, err)
		require.Contains(t, string(index), `"url":"`+strings.TrimSuffix(filepath.ToSlash(inSite), "index.html"), "what is searched")
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			require.NoError(t, err, file)
			if u.IsAbs() {
				continue
			}
			to := file
			if u.Path != "" {
				to = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
			}
			require.FileExists(t, to, "%s: %s", file, m[1])
			if u.Fragment != "" {
				require.True(t, slices.Contains(ids(to), u.Fragment), "%s: %s has no such heading", file, m[1])
			}
		}
		return nil
	}))
	require.Greater(t, pages, 30)
}
