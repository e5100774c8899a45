// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// Bounds of a mounted Secret: Kubernetes takes a megabyte.
const (
	maxEntry   = 1 << 20
	maxEntries = 64
)

// Mounted is a folder of Secrets as Kubernetes mounts them: NAME/ENTRY is the value
// of an entry. It is read each time, so that a Secret that changes counts at once.
type Mounted string

var _ source.Secrets = Mounted("")

// Of is the folder of a project in a folder of folders. A project without a name, or
// with one that is no name of a folder, has no Secrets.
func (m Mounted) Of(project string) Mounted {
	if m == "" || !isFolder(project) {
		return ""
	}
	return Mounted(path.Join(string(m), project))
}

// Secret reads a Secret. Errors are source.ErrNotFound, source.ErrLimit and those of
// the file system; none holds a value, or names a file that is not there.
func (m Mounted) Secret(_ context.Context, name string) (map[string][]byte, error) {
	missing := source.Refuse(source.ErrNotFound, fmt.Sprintf("no Secret is called %q here", name))
	if m == "" || !isFolder(name) {
		return nil, missing
	}
	root, err := os.OpenRoot(path.Join(string(m), name))
	if err != nil {
		return nil, missing
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("secret %q: %w", name, err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		// Kubernetes has its own folders there, and links that lead into them.
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		data, ok, err := entry(root, e.Name())
		switch {
		case err != nil:
			return nil, fmt.Errorf("secret %q: entry %q: %w", name, e.Name(), err)
		case ok && len(out) == maxEntries:
			return nil, source.Refuse(source.ErrLimit, fmt.Sprintf("secret %q has more than %d entries", name, maxEntries))
		case ok:
			out[e.Name()] = data
		}
	}
	return out, nil
}

// entry is the value of an entry; ok is false for what is no file.
func entry(root *os.Root, name string) (data []byte, ok bool, err error) {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err = io.ReadAll(io.LimitReader(f, maxEntry+1))
	if len(data) > maxEntry {
		return nil, false, source.Refuse(source.ErrLimit, fmt.Sprintf("more than %d bytes", maxEntry))
	}
	return data, err == nil, err
}

// isFolder reports whether a name can be that of a Secret, a project or a host, and
// of a folder.
func isFolder(name string) bool {
	return name != "" && len(name) <= 253 && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00")
}

// hostPrefix begins what the credentials of a host are called. No Secret of
// Kubernetes can have such a name.
const hostPrefix = "credentials of the host "

// byHost has Secrets by name, and those for hosts of Git.
type byHost struct{ named, hosts source.Secrets }

// Secret gets a Secret.
func (b byHost) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	if host, ok := strings.CutPrefix(name, hostPrefix); ok {
		return b.hosts.Secret(ctx, host)
	}
	return b.named.Secret(ctx, name)
}

// own is a reference with the credentials of its host, where it names no Secret and
// there are any.
func (r *remembering) own(ctx context.Context, ref source.Ref) (source.Ref, error) {
	host := hostOf(ref.Ref)
	if r.hosts == nil || ref.Secret != "" || host == "" {
		return ref, nil
	}
	switch _, err := r.hosts.Secret(ctx, host); {
	case errors.Is(err, source.ErrNotFound):
		return ref, nil
	case err != nil:
		return ref, err
	}
	ref.Secret = hostPrefix + host
	return ref, nil
}

// Resolve says where a reference leads, with the credentials of its host.
func (r *remembering) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	with, err := r.own(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	resolved, err := r.Fetcher.Resolve(ctx, with)
	resolved.Ref.Secret = ref.Secret
	return resolved, err
}

// hostOf is the host of a reference of Git, with its port where it has one.
func hostOf(ref string) string {
	base, _, _ := strings.Cut(ref, "?")
	if !strings.Contains(base, "://") {
		where, _, ok := strings.Cut(base, ":")
		if !ok {
			return ""
		}
		return strings.ToLower(where[strings.LastIndexByte(where, '@')+1:])
	}
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
