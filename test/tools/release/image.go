// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func imagePlatforms() []string { return []string{"linux/amd64", "linux/arm64"} }

func imagePrograms() []string {
	return []string{"ropewalk", "ropewalk-components", "ropewalk-controller"}
}

// writeImage writes the image of all platforms as the layout image/, under the version as its tag,
// and returns the digest of its index.
func (r *release) writeImage(ctx context.Context) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex) //nolint:forcetypeassert // as it is given
	for _, platform := range imagePlatforms() {
		if !slices.Contains(r.Platforms, platform) {
			continue
		}
		image, err := r.image(ctx, platform)
		if err != nil {
			return "", fmt.Errorf("image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: strings.TrimPrefix(platform, "linux/")}},
		})
	}
	to, err := layout.Write(filepath.Join(r.Out, "image"), empty.Index)
	if err != nil {
		return "", err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.Version})); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// labels are those of the image, and the annotations of its index.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "ropewalk",
		"org.opencontainers.image.version":  r.Version,
		"org.opencontainers.image.revision": r.revision,
		"org.opencontainers.image.source":   repository,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  r.time.Format("2006-01-02T15:04:05Z"),
	}
}

// image makes the image of one platform: a layer of Debian packages and one of the programs, with
// the configuration that the Dockerfile has.
func (r *release) image(ctx context.Context, platform string) (v1.Image, error) {
	arch := strings.TrimPrefix(platform, "linux/")
	packages, snapshot, err := readLock(debianLock, arch)
	if err != nil {
		return nil, err
	}
	base, err := baseFiles(ctx, packages, mirrorOf(ctx, r.Mirror), snapshot)
	if err != nil {
		return nil, err
	}
	if err := r.writeImageSBOM(platform, packages); err != nil {
		return nil, err
	}
	var programs []entry
	for _, name := range imagePrograms() {
		data, err := os.ReadFile(r.programs[platform+" "+name])
		if err != nil {
			return nil, err
		}
		programs = append(programs, entry{name: "usr/local/bin/" + name, mode: 0o755, data: data})
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for i, files := range [][]entry{base, programs} {
		layer, err := r.layer(files)
		if err != nil {
			return nil, err
		}
		by := []string{"Debian packages of debian.lock", "programs of Ropewalk " + r.Version}[i]
		history := v1.History{Created: v1.Time{Time: r.time}, CreatedBy: by}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/usr/local/bin/ropewalk"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Labels: r.labels(),
	}
	return mutate.ConfigFile(image, config)
}

func (r *release) layer(files []entry) (v1.Layer, error) {
	data, err := tarOf(files, r.time)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// baseFiles are the files of the packages, and those that their installation would write.
func baseFiles(ctx context.Context, packages []debianPackage, mirror, snapshot string) ([]entry, error) {
	files := map[string]entry{}
	for _, p := range packages {
		deb, err := fetchPackage(ctx, p, mirror, snapshot)
		if err != nil {
			return nil, err
		}
		unpacked, err := unpack(deb, p.name)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.name, err)
		}
		for _, f := range unpacked {
			files[f.name] = f
		}
	}
	var out []entry
	for _, f := range files {
		out = append(out, f)
	}
	out = append(out, authorities(out))
	for _, f := range []entry{
		// ssh refuses a user without an entry: 999 is that of the sidecar of Argo CD.
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0::/root:/usr/sbin/nologin\nropewalk:x:65532:65532::/tmp:/usr/sbin/nologin\nargocd:x:999:999::/tmp:/usr/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nropewalk:x:65532:\nargocd:x:999:\n")},
		{name: "etc/nsswitch.conf", mode: 0o644, data: []byte("passwd: files\ngroup: files\nhosts: files dns\n")},
	} {
		if _, ok := files[f.name]; !ok {
			out = append(out, f)
		}
	}
	for _, top := range []string{"bin", "lib", "lib64", "sbin"} {
		if _, ok := files[top]; !ok || files[top].kind == tar.TypeDir {
			out = slices.DeleteFunc(out, func(f entry) bool { return f.name == top })
			out = append(out, entry{name: top, mode: 0o777, kind: tar.TypeSymlink, link: "usr/" + top})
		}
	}
	return out, nil
}
