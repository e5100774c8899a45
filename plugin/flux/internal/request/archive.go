// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// downloadTimeout is how long the download of a source may take.
const downloadTimeout = 2 * time.Minute

// fetch is all files of a source. Transforms that name the same one share it.
func (l *Loader) fetch(ctx context.Context, s Source) (source.Tree, error) {
	key := s.String() + "@" + s.Digest
	if tree, ok := l.Trees.Get(key); ok {
		return tree, nil
	}
	tree, _, err := l.downloads.Do(ctx, key, func(ctx context.Context) (source.Tree, error) {
		b := &source.Builder{Limits: l.Limits}
		n, err := l.download(ctx, s, b)
		if err != nil {
			return source.Tree{}, err
		}
		tree, err := b.Tree(s.String(), s.Revision)
		if err == nil {
			l.Trees.Put(key, tree, n)
		}
		return tree, err
	}, nil)
	return tree, err
}

// at is the URL of an artifact, at the host that the controller is to ask.
func (l *Loader) at(artifact string) string {
	u, err := url.Parse(artifact)
	if err != nil || l.SourceHost == "" {
		return artifact
	}
	u.Host = l.SourceHost
	return u.String()
}

// download reads an artifact into b, and checks its digest. It gives the bytes of
// the files.
func (l *Loader) download(ctx context.Context, s Source, b *source.Builder) (int64, error) {
	h, want, err := digester(s)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	body, host, err := l.get(ctx, s)
	if err != nil {
		return 0, err
	}
	defer func() { _ = body.Close() }()
	limits := l.Limits.WithDefaults()
	in := &counted{r: io.TeeReader(body, h), room: limits.Bytes + 1<<20 + 256*int64(limits.Files)}
	unpacked := tarball.Gzip(ctx, in, b, tarball.Options{Keep: tarball.Visible, SkipSymlinks: true})
	if errors.Is(unpacked, source.ErrLimit) {
		return 0, fault(source.ErrLimit, s, "%v: leave files out by spec.ignore of the source", unpacked)
	}
	// Whatever is wrong inside, a wrong digest is the reason.
	_, broken := io.Copy(io.Discard, in)
	switch {
	case errors.Is(broken, errRoom):
		return 0, fault(source.ErrLimit, s, "the artifact has more than %d bytes: leave files out by spec.ignore of the source", in.room)
	case broken != nil:
		return 0, fault(source.ErrUnavailable, s, "the artifact broke off after %d bytes: try again", in.n)
	case hex.EncodeToString(h.Sum(nil)) != want:
		return 0, fault(source.ErrDigest, s, "what %q sends is not the artifact with the digest %s", host, s.Digest)
	case unpacked != nil:
		return 0, fmt.Errorf("%s: %w", s, unpacked)
	}
	return in.n * 4, nil // what is compressed is larger in memory
}

// get asks for an artifact.
func (l *Loader) get(ctx context.Context, s Source) (io.ReadCloser, string, error) {
	u, err := url.Parse(l.at(s.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, "", fault(source.ErrReference, s, "the URL of its artifact is not one of http or https that has no credentials")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", fault(source.ErrReference, s, "the URL of its artifact cannot be asked for")
	}
	// What is hashed are the bytes of the artifact, so nobody unpacks them on the way.
	request.Header.Set("Accept-Encoding", "identity")
	client := http.Client{}
	if l.Client != nil {
		client = *l.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request) //nolint:gosec,bodyclose // the URL is that of the source, and its digest is known
	switch {
	case err != nil:
		return nil, "", fault(source.ErrUnavailable, s, "%q does not answer: %s", u.Host, cause(err))
	case response.StatusCode != http.StatusOK:
		_ = response.Body.Close()
		// Where it is gone the source has moved on, and says so by an event.
		return nil, "", fault(source.ErrUnavailable, s, "%q answers %d for its artifact", u.Host, response.StatusCode)
	}
	return response.Body, u.Host, nil
}

// cause is an error of a request without the URL.
func cause(err error) string {
	for e := (*url.Error)(nil); errors.As(err, &e); {
		err = e.Err
	}
	return err.Error()
}

func fault(is error, s Source, format string, args ...any) error {
	return source.Refuse(is, s.String()+": "+fmt.Sprintf(format, args...))
}

// digester is the hash of the digest of an artifact, and what it must come to.
func digester(s Source) (h hash.Hash, want string, err error) {
	algorithm, want, _ := strings.Cut(s.Digest, ":")
	switch algorithm {
	case "sha256":
		h = sha256.New()
	case "sha384":
		h = sha512.New384()
	case "sha512":
		h = sha512.New()
	default:
		return nil, "", fault(source.ErrDigest, s, "the digest of its artifact is none of sha256, sha384 and sha512")
	}
	return h, want, nil
}

// errRoom says that a body is longer than it may be.
var errRoom = errors.New("too large")

// counted is a body that is read no further than it may be long.
type counted struct {
	r       io.Reader
	n, room int64
}

// Read reads.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > c.room {
		return 0, errRoom
	}
	return n, err
}

// isThere refuses a path that the source does not have, and says whether it is that
// of a folder.
func isThere(files fs.FS, t *v1alpha1.Transform) (folder bool, err error) {
	name := folderOf(t)
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return false, mistake("spec.sourceRef.path", "hidden files and folders are left out", "there is no %q in the source", name)
	case !info.IsDir() && t.Spec.CueRef != nil:
		return false, mistake("spec.sourceRef.path", "", "%q is a file: expected the folder that spec.cueRef.ref is relative to", name)
	}
	return info.IsDir(), nil
}
