// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/config"

	"github.com/ropewalk/ropewalk/source"
)

// maxModules limits the depth of submodules in submodules.
const maxModules = 4

// modulesFile lists the submodules.
const modulesFile = ".gitmodules"

// openSubmodule opens the submodule at a path of a commit. Credentials are sent to the same
// host only.
func (g *get) openSubmodule(ctx context.Context, files *Files, name, commit string) (*Files, error) {
	switch {
	case !g.ref.submodules:
		return nil, source.Refuse(source.ErrNotRegular, fmt.Sprintf(
			"%q is a submodule, whose files are in another repository: add &submodules=true to the reference", name))
	case g.depth == maxModules:
		return nil, source.OverLimit("submodule %q is nested more than %d deep", name, maxModules)
	}

	// The URL may be relative, and the commit is always the one in the tree.
	written, err := moduleURL(ctx, files, name)
	if err != nil {
		return nil, err
	}
	url, err := resolveRelative(g.ref.url, written)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	ref, err := g.f.parse(url + "?submodules=true&commit=" + commit)
	if err != nil {
		return nil, fmt.Errorf("submodule %q at %q: %w", name, scrub(url), err)
	}

	// Credentials go to the host that they are for, and to no other host.
	inner := &get{f: g.f, ref: ref, depth: g.depth + 1}
	if g.ref.sameHost(ref.location) {
		inner.with = g.with
	}
	opened, _, err := inner.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("submodule %q at %s: %w", name, scrub(url), err)
	}
	return opened, nil
}

// moduleURL reads where the submodule at a path is.
func moduleURL(ctx context.Context, files *Files, name string) (string, error) {
	missing := source.Refuse(source.ErrNotFound, fmt.Sprintf("%q is a submodule without an entry in %s", name, modulesFile))
	_, e, err := files.find(modulesFile)
	isOther := err == nil && !e.isFile()
	if errors.Is(err, fs.ErrNotExist) || isOther {
		return "", missing
	}

	// The content of .gitmodules may not be here yet.
	if stored, ok := files.stored.(partial); ok && err == nil {
		err = stored.fetchBlobs(ctx, []string{e.id})
	}
	if err != nil {
		return "", err
	}
	text, err := files.stored.read(e.id, kindBlob, maxCommit)
	if err != nil {
		return "", err
	}

	modules := config.NewModules()
	if err := modules.Unmarshal(text); err != nil {
		return "", source.Refuse(source.ErrReference, modulesFile+" of the repository cannot be read")
	}
	for _, m := range modules.Submodules {
		if path.Clean(m.Path) == name {
			return m.URL, nil
		}
	}
	return "", missing
}

// resolveRelative returns the URL of a submodule, which may be relative to the URL of its
// repository; see gitmodules(5).
func resolveRelative(base, url string) (string, error) {
	if !strings.HasPrefix(url, "./") && !strings.HasPrefix(url, "../") {
		if strings.ContainsAny(url, "?#") {
			return "", bad("the URL %q of the submodule has a query or a fragment", scrub(url))
		}
		return url, nil
	}
	// What comes before the path stays: it ends at the third slash, or the colon.
	basePath, host := base, ""
	if i := strings.Index(base, "://"); i >= 0 {
		end := strings.IndexByte(base[i+3:], '/')
		host, basePath = base[:i+3+end+1], base[i+3+end+1:]
	} else if i := strings.IndexByte(base, ':'); i >= 0 {
		host, basePath = base[:i+1], base[i+1:]
	}
	joined := path.Join("/", basePath, url)
	if depth := strings.Count(path.Clean("/"+basePath), "/"); strings.Count(url, "../") > depth {
		return "", source.Refuse(source.ErrReference, fmt.Sprintf("the URL %q of the submodule leaves its server", url))
	}
	return host + strings.TrimPrefix(joined, "/"), nil
}
