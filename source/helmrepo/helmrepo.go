// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmrepo fetches charts of HTTP repositories. A reference is
// https://HOST/PATH?chart=NAME&version=RANGE: the version is in the index, or is a range that
// selects its highest version, without prereleases; * if it is missing. A pinned reference has
// &digest=sha256:<hex> of the archive.
//
// # Invariants
//
// An archive must have the digest of the index, and of a pinned reference. Of index.yaml, which may
// be large, only the entry of the chart is decoded. Credentials are sent to the host of the
// repository only.
package helmrepo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
	"github.com/ropewalk/ropewalk/source/version"
	"github.com/ropewalk/ropewalk/source/web"
)

// Bounds of a repository.
const (
	maxIndex = 64 << 20
	maxEntry = 16 << 20
)

// Fetcher gets charts.
type Fetcher struct {
	Get web.Get
	// Secrets has the Secrets that references name; nil has no Secrets.
	Secrets source.Secrets
	Limits  source.Limits
}

var _ source.Resolver = Fetcher{}

// reference is a chart of a repository.
type reference struct {
	repo                   *url.URL
	chart, version, digest string
}

// entry is a version of a chart in an index.
type entry struct {
	Version string   `yaml:"version"`
	Digest  string   `yaml:"digest"`
	URLs    []string `yaml:"urls"`
}

// parse reads a reference.
func parse(ref string) (r reference, err error) {
	r.repo, err = web.Parse(ref)
	if err != nil {
		return r, err
	}
	query := r.repo.Query()
	r.chart, r.version, r.digest = query.Get("chart"), query.Get("version"), query.Get("digest")
	for _, key := range []string{"chart", "version", "digest"} {
		query.Del(key)
	}
	r.repo.RawQuery = ""
	switch {
	case r.chart == "" || strings.ContainsAny(r.chart, "\n\r:\"'#"):
		return r, source.Refuse(source.ErrReference, "the reference names no chart: write https://HOST/PATH?chart=NAME&version=RANGE")
	case len(query) > 0:
		return r, source.Refuse(source.ErrReference, "the reference has more than chart, version and digest after its ?")
	case r.digest != "" && !digests.Is(r.digest):
		return r, source.Refuse(source.ErrReference, fmt.Sprintf("%q is no digest: write sha256: and 64 hex digits", r.digest))
	}
	return r, nil
}

// String returns the reference for messages.
func (r reference) String() string {
	out := r.repo.String() + "?chart=" + url.QueryEscape(r.chart)
	if r.version != "" {
		out += "&version=" + url.QueryEscape(r.version)
	}
	return out
}

func (r reference) pinned(version, digest string) string {
	r.version = version
	return r.String() + "&digest=" + digest
}

func fault(is error, r reference, format string, args ...any) error {
	return source.Refuse(is, r.String()+": "+fmt.Sprintf(format, args...))
}

// Resolve reads the index, and the archive too if the index has no digest of it.
func (f Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	r, err := parse(ref.Ref)
	if err != nil {
		return source.Resolved{}, err
	}
	if r.digest != "" {
		return source.Resolved{Ref: ref, Revision: r.version + "@" + r.digest, Immutable: true}, nil
	}
	secret, err := web.Secret(ctx, f.Secrets, ref.Secret)
	if err != nil {
		return source.Resolved{}, err
	}
	e, err := f.choose(ctx, r, secret)
	if err != nil {
		return source.Resolved{}, err
	}
	if e.Digest == "" {
		_, e.Digest, err = f.getArchive(ctx, r, e, secret)
		if err != nil {
			return source.Resolved{}, err
		}
	}
	ref.Ref = r.pinned(e.Version, e.Digest)
	return source.Resolved{Ref: ref, Revision: e.Version + "@" + e.Digest}, nil
}

// Fetch gets the tree of a chart, with Chart.yaml in its root.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	r, err := parse(ref.Ref)
	if err != nil {
		return source.Tree{}, err
	}
	if ref.Verify.Provider != "" {
		return source.Tree{}, fault(source.ErrReference, r, "charts of HTTP repositories have no signatures that are verified here: "+
			"take the chart from a registry, or pin its digest in ropewalk.lock")
	}

	// The index says which version is meant, and where its archive is.
	secret, err := web.Secret(ctx, f.Secrets, ref.Secret)
	if err != nil {
		return source.Tree{}, err
	}
	e, err := f.choose(ctx, r, secret)
	if err != nil {
		return source.Tree{}, err
	}
	data, digest, err := f.getArchive(ctx, r, e, secret)
	if err != nil {
		return source.Tree{}, err
	}

	// The index and the reference may both have a digest.
	for _, want := range []string{e.Digest, r.digest} {
		if want != "" && want != digest {
			return source.Tree{}, fault(source.ErrDigest, r,
				"the archive of version %s has the digest %s, and not %s: it was published again, or altered", e.Version, digest, want)
		}
	}

	// The tree has the files of the archive without its outer folder.
	b := &source.Builder{Limits: f.Limits}
	if err := tarball.Gzip(ctx, bytes.NewReader(data), b, tarball.Options{Strip: true}); err != nil {
		return source.Tree{}, fmt.Errorf("%s: %w", r, err)
	}
	tree, err := b.Tree(r.String(), e.Version+"@"+digest)
	if err != nil {
		return source.Tree{}, fmt.Errorf("%s: %w", r, err)
	}
	tree.Pinned, tree.Version = r.pinned(e.Version, digest), e.Version
	tree.Dir = "."
	if ref.Path == "" {
		return tree, nil // Templates may read hidden files.
	}
	return tarball.Narrow(ctx, tree, ref.Path, f.Limits)
}

// getArchive returns the archive of a version, with its digest. The Secret is not sent to
// another host.
func (f Fetcher) getArchive(ctx context.Context, r reference, e entry, secret map[string][]byte) (data []byte, digest string, err error) {
	if len(e.URLs) == 0 {
		return nil, "", fault(source.ErrAbsent, r, "version %s has no archive in the index", e.Version)
	}
	archive, err := url.Parse(e.URLs[0])
	if err == nil {
		archive, err = web.Parse(index(r).ResolveReference(archive).String())
	}
	if err != nil {
		return nil, "", fault(source.ErrReference, r, "the index names an archive that is no URL of https")
	}
	if archive.Host != r.repo.Host || archive.Scheme != r.repo.Scheme {
		secret = nil
	}
	if r.repo.Scheme == "https" && archive.Scheme != "https" {
		return nil, "", fault(source.ErrHostKey, r, "the index leads from https to http")
	}
	return web.Read(ctx, f.Get, archive.String(), secret, f.Limits.WithDefaults().Bytes)
}

func index(r reference) *url.URL { return r.repo.JoinPath("index.yaml") }

// choose finds the version of a reference in the index.
func (f Fetcher) choose(ctx context.Context, r reference, secret map[string][]byte) (entry, error) {
	data, _, err := web.Read(ctx, f.Get, index(r).String(), secret, maxIndex)
	if err != nil {
		return entry{}, err
	}
	text, err := cutChart(data, r.chart)
	if err != nil {
		return entry{}, fault(source.ErrReference, r, "%v", err)
	}

	// Only the entry of the chart is decoded: an index may have thousands of others.
	var entries []entry
	if text == nil {
		return entry{}, fault(source.ErrAbsent, r, "the repository has no chart %q", r.chart)
	}
	if yaml.Unmarshal(text, &entries) != nil {
		return entry{}, fault(source.ErrReference, r, "its entry in index.yaml is no list of versions")
	}

	// A version that is written exactly goes before the range that it is too.
	wanted := r.version
	if wanted == "" {
		wanted = "*"
	}
	versions, err := version.ParseRange(wanted)
	if err != nil {
		return entry{}, fault(source.ErrReference, r, "%v", err)
	}
	highest := versions.Highest()
	for _, e := range entries {
		highest.Add(e.Version)
	}
	chosen, ok := highest.Tag()
	for _, e := range entries {
		if e.Version == r.version || e.Version == "v"+r.version {
			chosen, ok = e.Version, true
		}
	}
	if !ok {
		return entry{}, fault(source.ErrAbsent, r, "none of the %d versions of the chart is in this range", len(entries))
	}

	// The digest gets the form that all digests here have.
	for _, e := range entries {
		if e.Version == chosen {
			if e.Digest != "" {
				e.Digest = "sha256:" + strings.TrimPrefix(e.Digest, "sha256:")
			}
			return e, nil
		}
	}
	return entry{}, fault(source.ErrAbsent, r, "there is no version %s", chosen)
}

// cutChart returns the list of versions of a chart in an index, as Helm writes one: entries have
// one indent, and their lists begin there or deeper. It returns nil where the index has no such
// chart.
func cutChart(data []byte, name string) ([]byte, error) {
	var out bytes.Buffer
	inside, found := false, false
	depth := -1
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxEntry)

	// The index is read line by line: decoded as a whole it would take much more memory than one
	// entry.
	for lines.Scan() {
		line := lines.Bytes()
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		switch {
		case len(body) == 0 || body[0] == '#':
			continue
		case indent == 0 && body[0] != '-':
			inside = bytes.HasPrefix(body, []byte("entries:"))
			found = false
			depth = -1
			continue
		case !inside:
			continue
		case depth < 0:
			depth = indent
		}

		// A key at the depth of the entries is the name of a chart.
		if indent == depth && body[0] != '-' {
			key, _, _ := strings.Cut(string(body), ":")
			found = strings.Trim(strings.TrimSpace(key), "\"'") == name
			continue
		}
		if found {
			if out.Len()+len(line) > maxEntry {
				return nil, fmt.Errorf("its entry in index.yaml has more than %d bytes", maxEntry)
			}
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), lines.Err()
}
