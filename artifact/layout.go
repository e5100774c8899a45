// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Layout is an OCI image layout: a folder or an archive that is a [Store]. All
// that is read is checked against its digest. Tags are the annotation
// org.opencontainers.image.ref.name, and referrers are found by their subjects.
//
// It may be used by many goroutines. A folder may be used by many processes too,
// and one that is killed leaves it whole: the folder is as before the write that
// was under way, or as after it.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
type Layout struct {
	files layoutFiles

	mu sync.Mutex
	// subjects are what manifests refer to, by digest; they never change.
	subjects map[string]*subjectOf
}

var _ Store = (*Layout)(nil)

// layoutFiles is where a layout lies.
type layoutFiles interface {
	// open is a blob, ErrNotFound where there is none.
	open(digest string) (io.ReadCloser, error)
	// has says whether a blob of that size is there.
	has(digest string, size int64) (bool, error)
	// write writes a blob, which is checked while it is read.
	write(ctx context.Context, digest string, content io.Reader) error
	// index is index.json, nil where there is none yet.
	index() ([]byte, error)
	// update replaces index.json while nobody else does; change may remove blobs
	// after that by the function that it gives.
	update(ctx context.Context, change func(old []byte) (data []byte, after func() error, err error)) error
	// remove removes a blob.
	remove(digest string) error
	close() error
	// abandon takes away what was written to a layout that was made for it.
	abandon(ctx context.Context) error
}

// layoutIndex is index.json.
type layoutIndex struct {
	SchemaVersion int                  `json:"schemaVersion"`
	MediaType     string               `json:"mediaType"`
	Manifests     []ocispec.Descriptor `json:"manifests"`
	Annotations   map[string]string    `json:"annotations,omitempty"`
}

const (
	layoutFile    = "oci-layout"
	indexFile     = "index.json"
	blobsDir      = "blobs"
	layoutContent = `{"imageLayoutVersion":"1.0.0"}`
	maxIndex      = 64 << 20
)

// Close ends the use of the layout. An archive is written only now.
func (l *Layout) Close() error { return l.files.close() }

// Abandon is for who made the layout and failed: a folder that [OpenLayout] made
// is removed, unless others have written to it meanwhile, and an archive is not
// written. A layout that was there before keeps what it has. It is still to be
// closed.
func (l *Layout) Abandon(ctx context.Context) error { return l.files.abandon(ctx) }

func parseIndex(data []byte) (layoutIndex, error) {
	index := layoutIndex{SchemaVersion: 2, MediaType: ocispec.MediaTypeImageIndex}
	if data == nil {
		return index, nil
	}
	if json.Unmarshal(data, &index) != nil || index.SchemaVersion != 2 {
		return layoutIndex{}, refuse(ErrNotLayout, "%s is no index of an image layout", indexFile)
	}
	for _, d := range index.Manifests {
		if !isDigest(d.Digest.String()) || d.Size < 0 {
			return layoutIndex{}, refuse(ErrNotLayout, "%s names %.100q: only sha256 digests are read", indexFile, d.Digest)
		}
	}
	return index, nil
}

// bytes are the index as it is written: the same content gives the same bytes.
func (x layoutIndex) bytes() ([]byte, error) {
	slices.SortStableFunc(x.Manifests, func(a, b ocispec.Descriptor) int {
		return strings.Compare(a.Annotations[ocispec.AnnotationRefName]+"\n"+a.Digest.String(), b.Annotations[ocispec.AnnotationRefName]+"\n"+b.Digest.String())
	})
	if x.Manifests == nil {
		x.Manifests = []ocispec.Descriptor{}
	}
	return encode(x)
}

// find is the entry of a tag or a digest.
func (x layoutIndex) find(reference string) (ocispec.Descriptor, bool) {
	i := slices.IndexFunc(x.Manifests, func(d ocispec.Descriptor) bool {
		if isDigest(reference) {
			return d.Digest.String() == reference
		}
		return d.Annotations[ocispec.AnnotationRefName] == reference
	})
	if i < 0 {
		return ocispec.Descriptor{}, false
	}
	d := x.Manifests[i]
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}, true
}

// add enters a manifest, under a tag where that is not "".
func (x *layoutIndex) add(d ocispec.Descriptor, tag string) {
	d = ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
	if tag == "" {
		if _, known := x.find(d.Digest.String()); !known {
			x.Manifests = append(x.Manifests, d)
		}
		return
	}
	replaced, had := x.find(tag)
	x.Manifests = slices.DeleteFunc(x.Manifests, func(o ocispec.Descriptor) bool {
		name := o.Annotations[ocispec.AnnotationRefName]
		return name == tag || name == "" && o.Digest == d.Digest
	})
	if had && replaced.Digest != d.Digest {
		// What lost its tag stays, as in a registry.
		x.add(replaced, "")
	}
	d.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	x.Manifests = append(x.Manifests, d)
}

func (l *Layout) readIndex() (layoutIndex, error) {
	data, err := l.files.index()
	if err != nil {
		return layoutIndex{}, err
	}
	return parseIndex(data)
}

// change changes the index; after, where it is not nil, runs when it is written.
func (l *Layout) change(ctx context.Context, f func(x *layoutIndex) (after func() error, err error)) error {
	return l.files.update(ctx, func(old []byte) ([]byte, func() error, error) {
		x, err := parseIndex(old)
		if err != nil {
			return nil, nil, err
		}
		after, err := f(&x)
		if err != nil {
			return nil, nil, err
		}
		data, err := x.bytes()
		return data, after, err
	})
}

// Resolve is the descriptor of the manifest at a tag or a digest.
func (l *Layout) Resolve(_ context.Context, reference string) (ocispec.Descriptor, error) {
	x, err := l.readIndex()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, ok := x.find(reference)
	if !ok {
		return ocispec.Descriptor{}, refuse(ErrNotFound, "the layout has nothing at %.200q: correct the tag or the digest", reference)
	}
	return d, nil
}

// Fetch is a manifest or a blob. The digest is checked at its end.
func (l *Layout) Fetch(_ context.Context, target ocispec.Descriptor) (io.ReadCloser, error) {
	if !isDigest(target.Digest.String()) {
		return nil, refuse(ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", target.Digest)
	}
	rc, err := l.files.open(target.Digest.String())
	if err != nil {
		return nil, err
	}
	return verify(rc, target), nil
}

// FetchReference is the manifest at a tag or a digest.
func (l *Layout) FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error) {
	d, err := l.Resolve(ctx, reference)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	rc, err := l.Fetch(ctx, d)
	return d, rc, err
}

// Exists says whether a manifest or a blob of that size is there.
func (l *Layout) Exists(_ context.Context, target ocispec.Descriptor) (bool, error) {
	return l.exists(target)
}

func (l *Layout) exists(target ocispec.Descriptor) (bool, error) {
	if !isDigest(target.Digest.String()) {
		return false, refuse(ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", target.Digest)
	}
	return l.files.has(target.Digest.String(), target.Size)
}

// Push writes a manifest or a blob. A manifest is refused where what it names is
// not there.
func (l *Layout) Push(ctx context.Context, expected ocispec.Descriptor, content io.Reader) error {
	return l.push(ctx, expected, content, "")
}

// PushReference writes a manifest and puts it under a tag.
func (l *Layout) PushReference(ctx context.Context, expected ocispec.Descriptor, content io.Reader, reference string) error {
	if isDigest(reference) {
		reference = ""
	} else if err := checkRefName(reference); err != nil {
		return err
	}
	return l.push(ctx, expected, content, reference)
}

// checkRefName refuses names that the image specification does not allow.
func checkRefName(name string) error {
	bad := name == "" || len(name) > 255 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:@/+", r)
	})
	if bad {
		return refuse(ErrReference, "%.200q is no name for a tag of a layout: letters, digits and -._:@/+ are wanted", name)
	}
	return nil
}

func (l *Layout) push(ctx context.Context, d ocispec.Descriptor, content io.Reader, tag string) error {
	if !isDigest(d.Digest.String()) {
		return refuse(ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", d.Digest)
	}
	checked := verify(io.NopCloser(content), d)
	if !isManifest(d.MediaType) {
		return l.files.write(ctx, d.Digest.String(), checked)
	}
	if d.Size > maxManifest {
		return refuse(ErrLimit, "%s: a manifest of %d bytes; at most %d are taken", d.Digest, d.Size, maxManifest)
	}
	data, err := drain(checked, d.Size)
	if err != nil {
		return err
	}
	m, err := parseManifest(d.MediaType, data)
	if err != nil {
		return err
	}
	if err := l.files.write(ctx, d.Digest.String(), bytes.NewReader(data)); err != nil {
		return err
	}
	return l.change(ctx, func(x *layoutIndex) (func() error, error) {
		// While the index is ours nobody can remove what the manifest names.
		for _, part := range append(m.parts(), d) {
			if ok, err := l.exists(part); err != nil || !ok {
				return nil, cmpError(err, refuse(ErrNotFound, "the layout has no %s, which the manifest %s names: push again", part.Digest, d.Digest))
			}
		}
		x.add(d, tag)
		return nil, nil
	})
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// parts are what a manifest names and must be there.
func (m manifest) parts() []ocispec.Descriptor {
	parts := append(slices.Clone(m.Layers), m.Manifests...)
	if m.Config.Digest != "" {
		parts = append(parts, m.Config)
	}
	return parts
}

// Tags calls fn with the tags after last, sorted.
func (l *Layout) Tags(_ context.Context, last string, fn func(tags []string) error) error {
	x, err := l.readIndex()
	if err != nil {
		return err
	}
	var tags []string
	for _, d := range x.Manifests {
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag > last {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return fn(slices.Compact(tags))
}

// Referrers calls fn with the manifests whose subject is desc. A manifest that
// is named and not there is ErrDamaged: it may be one of them.
func (l *Layout) Referrers(ctx context.Context, desc ocispec.Descriptor, artifactType string, fn func([]ocispec.Descriptor) error) error {
	x, err := l.readIndex()
	if err != nil {
		return err
	}
	var out []ocispec.Descriptor
	seen := map[string]bool{}
	for _, d := range x.Manifests {
		if seen[d.Digest.String()] || !isManifest(d.MediaType) {
			continue
		}
		seen[d.Digest.String()] = true
		r, err := l.subject(ctx, d)
		if missing(err) {
			// Nobody knows what it was about: that it is gone must not look like that
			// nothing is attached.
			return refuse(ErrDamaged, "%s names the manifest %s, which is not there: the layout is damaged, and what was attached may be lost; push again into a new one",
				indexFile, d.Digest)
		}
		if err != nil {
			return about(d.Digest.String(), err)
		}
		if r.subject == desc.Digest.String() && (artifactType == "" || artifactType == r.referrer.ArtifactType) {
			out = append(out, r.referrer)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return fn(out)
}

// subjectOf is a manifest as a referrer, and what it refers to.
type subjectOf struct {
	referrer ocispec.Descriptor
	subject  string // "" where it refers to nothing
}

func (l *Layout) subject(ctx context.Context, d ocispec.Descriptor) (*subjectOf, error) {
	l.mu.Lock()
	known, ok := l.subjects[d.Digest.String()]
	l.mu.Unlock()
	if ok {
		return known, nil
	}
	m, _, err := readManifest(ctx, l, d)
	if err != nil {
		return nil, err
	}
	known = &subjectOf{referrer: ocispec.Descriptor{
		MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, ArtifactType: m.artifactType(), Annotations: m.Annotations,
	}}
	if m.Subject != nil {
		known.subject = m.Subject.Digest.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects[d.Digest.String()] = known
	return known, nil
}
