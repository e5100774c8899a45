// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// Defaults of [Limits].
const (
	DefaultFiles = 10_000
	DefaultBytes = 64 << 20
)

// gzipLevel is part of what a digest of a layer depends on, with the version of
// the encoder in go.mod. Above 6, renders get 1 % smaller in twice the time.
const gzipLevel = 6

// Limits bound a tree. The zero value means the defaults.
type Limits struct {
	// Files limits the number of files; 10,000 where zero.
	Files int
	// Bytes limits the size of all files together; 64 MiB where zero.
	Bytes int64
}

func (l Limits) withDefaults() Limits {
	if l.Files == 0 {
		l.Files = DefaultFiles
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	return l
}

// Options say what is written about a tree. The zero value writes nothing but
// what the tree gives.
type Options struct {
	// Source is a URL of where the spec comes from.
	Source string
	// Revision is the revision there, such as main@sha1:<hex>.
	Revision string
	// Expires is from when on [Prune] may delete what is pushed, in whole seconds; the zero
	// time is never. Barrier layers, which several pushes share, do not have it.
	Expires time.Time
	// Annotations are added to the annotations of this package, and must not replace them.
	Annotations map[string]string
	// Labels are annotations too, such as component: shop. Barrier layers, which several
	// pushes share, do not have them.
	Labels map[string]string
	// Folders takes the folders at the root too, which hold manifests only. Flux applies a folder
	// where a Kustomization names its path; Argo CD looks into folders only if its spec sets
	// directory.recurse.
	Folders bool
	// Empty allows a tree without files, from which an engine that prunes deletes all
	// that it applied before.
	Empty bool
	// Limits bound the tree.
	Limits Limits
}

// Layer is a barrier layer to pack.
type Layer struct {
	Name string
	FS   fs.FS
}

// Pack packs the manifests at the root of fsys. The same files and options give the same bytes. The
// error is ErrShape or ErrLimit, or comes from fsys. At most one file is in memory, beside the
// packed tree.
func Pack(fsys fs.FS, opts Options) (*Artifact, error) { return pack(fsys, opts, "") }

// PackSet packs a complete render and, if layers are given, each of them.
func PackSet(complete fs.FS, layers []Layer, opts Options) (Set, error) {
	var (
		set  Set
		refs []LayerRef
		seen = map[string]bool{}
	)
	for _, l := range layers {
		if l.Name == "" || seen[l.Name] {
			return Set{}, manifest.Refuse(ErrShape, "layer %q: each layer needs a name of its own", l.Name)
		}
		seen[l.Name] = true

		// A layer is shared by the pushes that have it, so it does not expire with one of them, and
		// has no labels.
		shared := opts
		shared.Expires = time.Time{}
		shared.Labels = nil
		a, err := pack(l.FS, shared, l.Name)
		if err != nil {
			return Set{}, fmt.Errorf("layer %q: %w", l.Name, err)
		}
		set.Layers = append(set.Layers, NamedArtifact{Name: l.Name, Artifact: a})
		refs = append(refs, LayerRef{Name: l.Name, Digest: a.Descriptor.Digest.String(), Tree: a.Tree})
	}

	// The complete artifact names its layers, so it is packed after them.
	a, err := Pack(complete, opts)
	if err != nil {
		return Set{}, err
	}
	if len(refs) > 0 {
		a, err = a.withLayers(refs)
		if err != nil {
			return Set{}, err
		}
	}
	set.Complete = a
	return set, nil
}

func pack(fsys fs.FS, opts Options, layer string) (*Artifact, error) {
	annotations, err := annotate(opts)
	if err != nil {
		return nil, err
	}
	names, err := listFiles(fsys, opts)
	if err != nil {
		return nil, err
	}
	a := &Artifact{annotations: annotations, Files: len(names)}
	if err := a.compress(fsys, names, opts.Limits.withDefaults().Bytes); err != nil {
		return nil, err
	}
	annotations[AnnotationTree] = a.Tree
	if layer != "" {
		annotations[AnnotationLayer] = layer
	}
	return a, a.seal()
}

// isOwn reports whether the packer writes an annotation itself.
func isOwn(name string) bool {
	switch name {
	case AnnotationCreated, AnnotationSource, AnnotationRevision, AnnotationTree, AnnotationLayer, AnnotationLayers, AnnotationExpires:
		return true
	}
	return false
}

// Check refuses a source, a revision and annotations that cannot be written into an artifact
// (ErrShape). Packing refuses them too; a caller that checks first fails before it renders.
func (o Options) Check() error {
	for _, more := range []map[string]string{o.Annotations, o.Labels} {
		for _, name := range slices.Sorted(maps.Keys(more)) {
			if isOwn(name) {
				return manifest.Refuse(ErrShape, "annotation %q is written by the packer: choose another name", name)
			}
			if strings.ContainsFunc(name+more[name], unicode.IsControl) {
				return manifest.Refuse(ErrShape, "annotation %q contains control characters", name)
			}
		}
	}
	for _, text := range []string{o.Source, o.Revision} {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return manifest.Refuse(ErrShape, "the source or the revision contains control characters")
		}
	}
	if hasMore(o.Source) {
		return manifest.Refuse(ErrShape, "the source is more than the URL of a repository, which every client that may pull could read: "+
			"remove the user, the password, the query and the fragment; credentials belong in the credential helper of Git, or in a Secret")
	}
	return nil
}

func annotate(opts Options) (map[string]string, error) {
	out := map[string]string{AnnotationCreated: Created}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	maps.Copy(out, opts.Labels)
	maps.Copy(out, opts.Annotations)
	if opts.Source != "" {
		out[AnnotationSource] = opts.Source
	}
	if opts.Revision != "" {
		out[AnnotationRevision] = opts.Revision
	}
	if !opts.Expires.IsZero() {
		out[AnnotationExpires] = opts.Expires.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	return out, nil
}

// hasMore reports whether a source has more than a URL, or than the form of scp without a
// password: a query, a fragment, a user that is a token, as https URLs have, or a user with a
// password. The user of ssh://git@host and of git@host:path does not count.
func hasMore(text string) bool {
	scheme, address, ok := strings.Cut(text, "://")
	if !ok {
		scheme, address = "", text
	}
	user := ""
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		user = address[:at]
	}
	isToken := user != "" && strings.HasPrefix(scheme, "http")
	return strings.ContainsAny(text, "?#") || isToken || strings.ContainsAny(user, ":/")
}

// listFiles returns the sorted names of the files at the root and, with opts.Folders, of the
// files in the folders there.
func listFiles(fsys fs.FS, opts Options) ([]string, error) {
	limits := opts.Limits.withDefaults()
	names, folders, err := listFolder(fsys, ".", opts.Folders)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		more, _, err := listFolder(fsys, folder, false)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	if len(names) > limits.Files {
		return nil, manifest.OverLimit("there are %d files and at most %d may be packed: render fewer objects", len(names), limits.Files)
	}
	if len(names) == 0 && !opts.Empty {
		return nil, manifest.Refuse(ErrShape,
			"there are no files to pack: an engine would delete everything that the previous artifact contained")
	}
	slices.Sort(names)
	return names, nil
}

// listFolder returns the files of a folder and, if wanted is set, the folders in it.
func listFolder(fsys fs.FS, dir string, wanted bool) (names, folders []string, _ error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if wanted && e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, name)
			continue
		}
		if err := checkFile(e); err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	return names, folders, nil
}

// checkFile refuses files that an engine would not take for manifests, and files that only
// one of the engines would read.
func checkFile(e fs.DirEntry) error {
	name := e.Name()
	bad := func(why string) error { return manifest.Refuse(ErrShape, "%q cannot be packed: %s", name, why) }
	if e.IsDir() {
		return bad("it is a directory, and Argo CD reads only files at the root: put the manifests there")
	}
	if !e.Type().IsRegular() {
		return bad("it is not a regular file")
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return bad("its name contains control characters, a backslash or invalid UTF-8")
	}

	// Files that change the behaviour of an engine are refused by their names.
	switch lower := strings.ToLower(name); {
	case strings.HasPrefix(name, "."):
		return bad("files with a dot at the front configure the engines: leave it out")
	case lower == "kustomization.yaml", lower == "kustomization.yml":
		return bad("Argo CD would run kustomize: leave it out")
	case lower == "chart.yaml":
		return bad("Argo CD would run Helm: leave it out")
	}

	// Flux and Argo CD must read the same files.
	switch path.Ext(name) {
	case ".yaml", ".yml":
		return nil
	case ".json":
		return bad("Argo CD would apply it and Flux would not: write it as YAML")
	}
	return bad("only manifests can be packed, as .yaml or .yml: attach other files as referrers")
}

// compress streams the canonical tar through the digests and gzip.
func (a *Artifact) compress(fsys fs.FS, names []string, limit int64) error {
	var (
		content bytes.Buffer
		tree    = sha256.New()
		blob    = sha256.New()
	)
	zipped, err := gzip.NewWriterLevel(io.MultiWriter(&content, blob), gzipLevel)
	if err != nil {
		return err
	}
	// A header without a time would have the year 1, cut to 32 bits.
	zipped.ModTime = time.Unix(0, 0)
	t := tar.NewWriter(io.MultiWriter(tree, zipped))

	// The limit is on the sum of the files, so each of them has what the others left.
	for _, name := range names {
		data, err := readFile(fsys, name, limit-a.Bytes)
		if err != nil {
			return err
		}
		a.Bytes += int64(len(data))
		if err := writeEntry(t, name, data); err != nil {
			return err
		}
	}

	// The digests are complete when the tar and the stream of gzip are closed, in this order.
	if err := t.Close(); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	a.Content, a.Tree = content.Bytes(), sum(tree)
	a.Layer = ocispec.Descriptor{MediaType: TypeLayer, Digest: digest.Digest(sum(blob)), Size: int64(content.Len())}
	return nil
}

// writeEntry writes a file as the canonical tar has it: times and owners zero, mode 0644. The
// header is USTAR where the values fit.
func writeEntry(t *tar.Writer, name string, data []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// readFile reads a file of at most room bytes.
func readFile(fsys fs.FS, name string, room int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := manifest.OverLimit("the files are larger than the limit, at %q: render fewer objects", name)
	if info.Size() > room {
		return nil, tooLarge
	}
	data := make([]byte, 0, info.Size()+bytes.MinRead)
	b := bytes.NewBuffer(data)
	if _, err := io.Copy(b, io.LimitReader(f, room+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > room {
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

func sum(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }
