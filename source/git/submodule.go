// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/config"

	"github.com/ropewalk/ropewalk/source"
)

// maxModules is how deep submodules may lie in submodules.
const maxModules = 4

// modulesFile lists the submodules.
const modulesFile = ".gitmodules"

// submodules is what gets the submodules of a commit into its tree. They count
// to the same limits. Credentials go to the same host only.
func (g *get) submodules(w *walk) func(ctx context.Context, at item, commit string) error {
	if !g.ref.submodules {
		return nil
	}
	var urls map[string]string
	return func(ctx context.Context, at item, commit string) error {
		var err error
		if urls == nil {
			if urls, err = w.moduleURLs(ctx); err != nil {
				return err
			}
		}
		where, ok := urls[at.real]
		if !ok {
			return source.Refuse(source.ErrNotFound, fmt.Sprintf("%q is a submodule without an entry in %s", at.name, modulesFile))
		}
		if g.depth == maxModules {
			return source.Refuse(source.ErrLimit, fmt.Sprintf("submodule %q is nested more than %d deep", at.name, maxModules))
		}
		url, err := relative(g.ref.url, where)
		if err != nil {
			return naming(at.name, err)
		}
		ref, err := g.f.parse(url + "?submodules=true&commit=" + commit)
		if err != nil {
			return fmt.Errorf("submodule %q at %q: %w", at.name, scrub(url), err)
		}
		inner := &get{f: g.f, ref: ref, out: g.out, depth: g.depth + 1, under: path.Join(w.under, at.name)}
		if g.ref.sameHost(ref.location) {
			inner.with = g.with
		}
		if _, err := inner.all(ctx); err != nil {
			return fmt.Errorf("submodule %q at %s: %w", at.name, scrub(url), err)
		}
		return nil
	}
}

// moduleURLs reads where submodules are, by path.
func (w *walk) moduleURLs(ctx context.Context) (map[string]string, error) {
	e, ok, err := w.entry(w.root, modulesFile)
	if err != nil || !ok || !e.isFile() {
		return map[string]string{}, err
	}
	if err := w.from.need(ctx, []string{e.id}); err != nil {
		return nil, err
	}
	text, err := w.from.read(e.id, only(kindBlob, maxCommit))
	if err != nil {
		return nil, err
	}
	modules := config.NewModules()
	if err := modules.Unmarshal(text); err != nil {
		return nil, source.Refuse(source.ErrReference, modulesFile+" of the repository cannot be read")
	}
	urls := map[string]string{}
	for _, m := range modules.Submodules {
		urls[path.Clean(m.Path)] = m.URL
	}
	return urls, nil
}

// relative is the URL of a submodule, which may be relative to that of its
// repository; see gitmodules(5).
func relative(base, url string) (string, error) {
	if !strings.HasPrefix(url, "./") && !strings.HasPrefix(url, "../") {
		if strings.ContainsAny(url, "?#") {
			return "", bad("the URL %q of the submodule has a query or a fragment", scrub(url))
		}
		return url, nil
	}
	// What comes before the path stays: it ends at the third slash, or the colon.
	rest, host := base, ""
	if i := strings.Index(base, "://"); i >= 0 {
		end := strings.IndexByte(base[i+3:], '/')
		host, rest = base[:i+3+end+1], base[i+3+end+1:]
	} else if i := strings.IndexByte(base, ':'); i >= 0 {
		host, rest = base[:i+1], base[i+1:]
	}
	joined := path.Join("/", rest, url)
	if depth := strings.Count(path.Clean("/"+rest), "/"); strings.Count(url, "../") > depth {
		return "", source.Refuse(source.ErrReference, fmt.Sprintf("the URL %q of the submodule leaves its server", url))
	}
	return host + strings.TrimPrefix(joined, "/"), nil
}
