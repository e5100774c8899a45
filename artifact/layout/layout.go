// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package layout reads and writes OCI image layouts: directories and archives that are
// stores of package artifact.
//
// # Invariants
//
// All content is checked against its digest when it is read. Tags are the annotation
// org.opencontainers.image.ref.name, and referrers are found by their subjects. The same
// content gives the same index.json, and the same archive.
//
// A directory may be used by several processes at once: index.json is changed under a
// lock of the directory, written aside and renamed, so that a process that is killed
// leaves the layout as before its write or as after it. Blobs are stored by oras-go. Of
// an index.json that other programs wrote nothing is trusted: it is bounded, and a
// manifest that it names and that is missing is an error only for what needs it.
//
// The format follows https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md.
package layout

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// Layout is an image layout. It is safe for concurrent use.
type Layout struct {
	*directory
	archive *archive // nil for a directory

	mu sync.Mutex
	// subjects has the subject of each manifest, by digest; they never change.
	subjects map[string]*subjectOf
}

// indexChange changes index.json. It returns what is done after that is written, which
// may be nil.
type indexChange func(x *index) (after func() error, err error)

// index is index.json.
type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     descriptors       `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// descriptors are the entries of an index.
type descriptors []ocispec.Descriptor

// UnmarshalJSON reads one descriptor after the other, up to the first malformed entry: entries
// without a digest are so short that all of them would take fifty times their text.
func (ds *descriptors) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	start, err := d.Token()
	switch {
	case err != nil || start == nil:
		return err
	case start != json.Delim('['):
		return manifest.Refuse(manifest.ErrNotLayout, "%s: manifests is not a list", ocispec.ImageIndexFile)
	}
	for d.More() {
		var entry ocispec.Descriptor
		if err := d.Decode(&entry); err != nil {
			return err
		}
		if !digests.Is(entry.Digest.String()) || entry.Size < 0 {
			return manifest.Refuse(manifest.ErrNotLayout, "%s names %.100q: only sha256 digests are read", ocispec.ImageIndexFile, entry.Digest)
		}
		*ds = append(*ds, entry)
	}
	return nil
}

const (
	blobsDir      = ocispec.ImageBlobsDir + "/sha256"
	layoutContent = `{"imageLayoutVersion":"1.0.0"}`
	maxIndex      = 64 << 20
)

func parseIndex(data []byte) (index, error) {
	x := index{SchemaVersion: 2, MediaType: ocispec.MediaTypeImageIndex}
	if data == nil {
		return x, nil
	}
	err := json.Unmarshal(data, &x)
	switch {
	case errors.Is(err, manifest.ErrNotLayout):
		return index{}, err
	case err != nil || x.SchemaVersion != 2:
		return index{}, manifest.Refuse(manifest.ErrNotLayout, "%s is not the index of an image layout", ocispec.ImageIndexFile)
	}
	return x, nil
}

// encode returns the index as it is written: the same content gives the same bytes.
func (x index) encode() ([]byte, error) {
	slices.SortStableFunc(x.Manifests, func(a, b ocispec.Descriptor) int {
		byTag := strings.Compare(a.Annotations[ocispec.AnnotationRefName], b.Annotations[ocispec.AnnotationRefName])
		return cmp.Or(byTag, strings.Compare(a.Digest.String(), b.Digest.String()))
	})
	if x.Manifests == nil {
		x.Manifests = []ocispec.Descriptor{}
	}
	return manifest.Encode(x)
}

// find returns the descriptor at a tag or a digest; false if nothing is there.
func (x index) find(reference string) (ocispec.Descriptor, bool) {
	i := slices.IndexFunc(x.Manifests, func(d ocispec.Descriptor) bool {
		if digests.Is(reference) {
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
func (x *index) add(d ocispec.Descriptor, tag string) {
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
		return name == tag || (name == "" && o.Digest == d.Digest)
	})
	if had && replaced.Digest != d.Digest {
		// What lost its tag stays, as in a registry.
		x.add(replaced, "")
	}
	d.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	x.Manifests = append(x.Manifests, d)
}

// Resolve returns the descriptor of the manifest at a tag or a digest.
func (l *Layout) Resolve(_ context.Context, reference string) (ocispec.Descriptor, error) {
	x, err := l.readIndex()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, ok := x.find(reference)
	if !ok {
		return ocispec.Descriptor{}, manifest.Refuse(manifest.ErrNotFound,
			"the layout has nothing at %.200q: correct the tag or the digest", reference)
	}
	return d, nil
}

// Fetch opens a manifest or a blob. Its digest is checked at the end of the content.
func (l *Layout) Fetch(ctx context.Context, target ocispec.Descriptor) (io.ReadCloser, error) {
	if err := checkDigest(target); err != nil {
		return nil, err
	}
	rc, err := l.read.Fetch(ctx, target)
	switch {
	case errors.Is(err, errNotRegular):
		return nil, manifest.Refuse(manifest.ErrNotFound, "the layout %q has no %s: %v", l.name, target.Digest, errNotRegular)
	case manifest.Missing(err):
		return nil, manifest.Refuse(manifest.ErrNotFound, "the layout %q has no %s", l.name, target.Digest)
	case err != nil:
		return nil, err
	}
	return manifest.Verify(rc, target), nil
}

func checkDigest(d ocispec.Descriptor) error {
	if digests.Is(d.Digest.String()) {
		return nil
	}
	return manifest.Refuse(manifest.ErrDigest, "%.100q is not sha256: and 64 hexadecimal digits", d.Digest)
}

// FetchReference opens the manifest at a tag or a digest, and returns its descriptor.
func (l *Layout) FetchReference(ctx context.Context, reference string) (ocispec.Descriptor, io.ReadCloser, error) {
	d, err := l.Resolve(ctx, reference)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	rc, err := l.Fetch(ctx, d)
	return d, rc, err
}

// Exists reports whether a manifest or a blob is there and undamaged. It reads the content.
func (l *Layout) Exists(ctx context.Context, target ocispec.Descriptor) (bool, error) {
	if err := checkDigest(target); err != nil {
		return false, err
	}
	if !l.stored(target) {
		return false, nil
	}
	rc, err := l.Fetch(ctx, target)
	if err == nil {
		_, err = io.Copy(io.Discard, rc)
		if closeErr := rc.Close(); err == nil {
			err = closeErr
		}
	}
	if manifest.Missing(err) || errors.Is(err, manifest.ErrDigest) {
		return false, nil
	}
	return err == nil, err
}

// stored reports whether there is content of the right size.
func (l *Layout) stored(d ocispec.Descriptor) bool {
	size, ok := l.size(d.Digest.String())
	return ok && size == d.Size
}

// Push writes a manifest or a blob. A manifest is refused where what it names is
// not there.
func (l *Layout) Push(ctx context.Context, expected ocispec.Descriptor, content io.Reader) error {
	return l.push(ctx, expected, content, "")
}

// PushReference writes a manifest and puts it under a tag.
func (l *Layout) PushReference(ctx context.Context, expected ocispec.Descriptor, content io.Reader, reference string) error {
	if digests.Is(reference) {
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
		return manifest.Refuse(manifest.ErrReference, "%.200q is not a valid tag of a layout: letters, digits and -._:@/+ are allowed", name)
	}
	return nil
}

func (l *Layout) push(ctx context.Context, d ocispec.Descriptor, content io.Reader, tag string) error {
	if err := checkDigest(d); err != nil {
		return err
	}

	// A blob needs no entry in the index.
	if !manifest.Is(d.MediaType) {
		return l.write(ctx, d, manifest.Verify(io.NopCloser(content), d))
	}
	if d.Size > manifest.MaxSize {
		return manifest.OverLimit("%s: a manifest of %d bytes; at most %d are taken", d.Digest, d.Size, manifest.MaxSize)
	}

	// A manifest is parsed before it is written: what is no manifest gets no place in the index.
	data, err := manifest.Drain(manifest.Verify(io.NopCloser(content), d), d.Size)
	if err != nil {
		return err
	}
	m, err := manifest.Parse(d.MediaType, data)
	if err != nil {
		return err
	}
	if err := l.write(ctx, d, bytes.NewReader(data)); err != nil {
		return err
	}
	return l.change(ctx, func(x *index) (func() error, error) {
		// Under the lock no other process removes what the manifest names.
		for _, part := range append(m.Parts(), d) {
			if !l.stored(part) {
				return nil, manifest.Refuse(manifest.ErrNotFound, "the layout has no %s, which the manifest %s names: push again",
					part.Digest, d.Digest)
			}
		}
		x.add(d, tag)
		return nil, nil
	})
}

// write writes content that is not there, or damaged.
func (l *Layout) write(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	if _, there := l.size(d.Digest.String()); there {
		exists, err := l.Exists(ctx, d)
		if err != nil {
			return err
		}
		if exists {
			_, err = io.Copy(io.Discard, content) // which must be the same
			return err
		}
		if err := l.remove(d.Digest.String()); err != nil {
			return err
		}
	}
	return l.store(ctx, d, content)
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

// Referrers calls fn with the manifests whose subject is desc. The error is
// manifest.ErrDamaged if a manifest that the index names is missing: it may be a referrer.
func (l *Layout) Referrers(ctx context.Context, desc ocispec.Descriptor, artifactType string, fn func([]ocispec.Descriptor) error) error {
	x, err := l.readIndex()
	if err != nil {
		return err
	}

	// A manifest has an entry for each tag, and is looked at once.
	var out []ocispec.Descriptor
	seen := map[string]bool{}
	for _, d := range x.Manifests {
		if seen[d.Digest.String()] || !manifest.Is(d.MediaType) {
			continue
		}
		seen[d.Digest.String()] = true
		r, err := l.readSubject(ctx, d)
		if manifest.Missing(err) {
			// Its subject is unknown: that it is gone must not look like that
			// nothing is attached.
			return manifest.Refuse(manifest.ErrDamaged, "%s names the manifest %s, which is not there: "+
				"the layout is damaged, and what was attached may be lost; push again into a new one",
				ocispec.ImageIndexFile, d.Digest)
		}
		if err != nil {
			return manifest.About(d.Digest.String(), err)
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

// readSubject reads the manifest d, and returns what it refers to. The result is kept for later
// calls.
func (l *Layout) readSubject(ctx context.Context, d ocispec.Descriptor) (*subjectOf, error) {
	l.mu.Lock()
	cached, ok := l.subjects[d.Digest.String()]
	l.mu.Unlock()
	if ok {
		return cached, nil
	}
	m, _, err := manifest.Read(ctx, l, d)
	if err != nil {
		return nil, err
	}
	cached = &subjectOf{referrer: ocispec.Descriptor{
		MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, ArtifactType: m.Type(), Annotations: m.Annotations,
	}}
	if m.Subject != nil {
		cached.subject = m.Subject.Digest.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subjects[d.Digest.String()] = cached
	return cached, nil
}
