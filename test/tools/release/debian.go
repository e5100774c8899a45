// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ulikunitz/xz"
)

// maxPackage bounds a package, compressed and unpacked.
const maxPackage = 256 << 20

// fetchPackage returns a package from the user's cache, a mirror, or the snapshot of the time of
// the lock, since mirrors have the newest versions only; its SHA-256 is that of the lock.
func fetchPackage(ctx context.Context, p debianPackage, mirror, snapshot string) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(cache, "ropewalk", "debian", p.sha256+".deb")
	check := func(data []byte) bool { return fmt.Sprintf("%x", sha256.Sum256(data)) == p.sha256 }
	if data, err := os.ReadFile(file); err == nil && check(data) { //nolint:gosec // named by a digest
		return data, nil
	}
	var errs []error
	archive, below, _ := strings.Cut(p.path, "/")
	for _, url := range []string{mirror + "/" + p.path, debianMirror + "/" + p.path, snapshots + "/" + archive + "/" + snapshot + "/" + below} {
		data, err := get(ctx, url)
		if err == nil && !check(data) {
			err = fmt.Errorf("%s: the SHA-256 is not %s", url, p.sha256)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return nil, err
		}
		return data, os.WriteFile(file, data, 0o600)
	}
	return nil, fmt.Errorf("package %s: %w\nwhere it is gone: make release-lock", p.name, errors.Join(errs...))
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // the mirror of the caller
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxPackage))
}

// unpack returns the files of a package, and its control file, as the image has them.
func unpack(deb []byte, name string) ([]entry, error) {
	members, err := readAr(deb)
	if err != nil {
		return nil, err
	}
	var out []entry
	for member, data := range members {
		kind, compression, _ := strings.Cut(member, ".tar")
		if kind != "control" && kind != "data" {
			continue
		}
		files, err := readTar(data, compression)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member, err)
		}
		for _, f := range files {
			switch {
			case kind == "data" && kept(f.name):
				out = append(out, f)
			case kind == "control" && (f.name == "control" || f.name == "md5sums"):
				// Where images without dpkg have it, so that scanners know the packages.
				f.name = "var/lib/dpkg/status.d/" + name + strings.TrimPrefix("."+f.name, ".control")
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// kept reports whether a file of a package gets into the image: no manuals, translations or
// completions; licences stay.
func kept(name string) bool {
	for _, folder := range []string{"man", "info", "locale", "lintian", "bash-completion", "zsh", "bug", "perl5", "gitweb"} {
		if strings.HasPrefix(name+"/", "usr/share/"+folder+"/") {
			return false
		}
	}
	return !strings.HasPrefix(name, "usr/share/doc/") || path.Base(name) == "copyright"
}

// readAr reads the members of an archive of ar: a package is one (deb(5)).
func readAr(data []byte) (map[string][]byte, error) {
	rest, ok := bytes.CutPrefix(data, []byte("!<arch>\n"))
	out := map[string][]byte{}
	for ok && len(rest) >= 60 {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || size < 0 || 60+size > len(rest) {
			return nil, fmt.Errorf("member %q: bad size", name)
		}
		out[name] = rest[60 : 60+size]
		rest = rest[min(len(rest), 60+size+size%2):]
	}
	if !ok || out["debian-binary"] == nil {
		return nil, errors.New("not a Debian package")
	}
	return out, nil
}

// readTar reads a compressed tar. Names are relative, and below usr where a merged /usr has them.
func readTar(data []byte, compression string) ([]entry, error) {
	var from io.Reader
	var err error
	switch compression {
	case ".xz":
		from, err = xz.NewReader(bytes.NewReader(data))
	case ".gz":
		from, err = gzip.NewReader(bytes.NewReader(data))
	default:
		err = fmt.Errorf("unknown compression %q", compression)
	}
	if err != nil {
		return nil, err
	}
	var out []entry
	for r := tar.NewReader(io.LimitReader(from, maxPackage)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		// No program of the image runs as another user than its caller.
		e := entry{name: merged(h.Name), mode: h.Mode & 0o1777, kind: h.Typeflag, link: h.Linkname}
		if e.kind == tar.TypeLink {
			return nil, fmt.Errorf("%s: a hard link", h.Name)
		}
		if e.data, err = io.ReadAll(r); err != nil {
			return nil, err
		}
		if e.name != "" {
			out = append(out, e)
		}
	}
}

// merged cleans the name of a file, and moves /bin, /lib, /lib64 and /sbin below /usr, where
// links lead to them.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if top, _, below := strings.Cut(name, "/"); below && slices.Contains([]string{"bin", "lib", "lib64", "sbin"}, top) {
		return "usr/" + name
	}
	return name
}

// authorities joins the certificates of ca-certificates, as its installation does.
func authorities(files []entry) entry {
	out := entry{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644}
	slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		if strings.HasPrefix(f.name, "usr/share/ca-certificates/mozilla/") && path.Ext(f.name) == ".crt" {
			out.data = append(out.data, f.data...)
		}
	}
	return out
}
