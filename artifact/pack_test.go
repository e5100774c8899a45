// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/artifacts"
)

// The whole manifest is pinned, with the digest of the compressed layer: both
// may change only with the encoder in go.mod, and then every artifact does.
const golden = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
	`"config":{"mediaType":"application/vnd.cncf.flux.config.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},` +
	`"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"LAYER","size":SIZE}],` +
	`"annotations":{"dev.ropewalk.tree":"TREE",` +
	`"org.opencontainers.image.created":"1970-01-01T00:00:00Z","org.opencontainers.image.revision":"main@sha1:4f0c8ae1","org.opencontainers.image.source":"https://git.example/shop/a=1&b=<2>"}}`

func TestTheBytesOfAnArtifactArePinned(t *testing.T) {
	t.Parallel()
	files := artifacts.Tree("b.yaml", "kind: B\n", "a.yaml", "kind: A\n")
	a, err := artifact.Pack(files, artifact.Options{Source: "https://git.example/shop/a=1&b=<2>", Revision: "main@sha1:4f0c8ae1"})
	require.NoError(t, err)
	const (
		layer = "sha256:a985fe87deaa21738159fa839a0746b90b48d4cd82c60cafc34ee76910719376"
		tree  = "sha256:75a67885c3dfdaec509967549655b0a60f5790ac8c680fde5ace6f183e4813f7"
	)
	require.Equal(t, tree, a.Tree)
	require.Equal(t, layer, a.Layer.Digest.String())
	require.Equal(t, strings.NewReplacer("LAYER", layer, "SIZE", "117", "TREE", tree).Replace(golden), string(a.Manifest))
	sum := sha256.Sum256(a.Manifest)
	require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), a.Descriptor.Digest.String())
	require.Equal(t, 2, a.Files)
	require.EqualValues(t, 16, a.Bytes)
	// The header of gzip holds no name, no time and no system.
	require.Equal(t, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, a.Content[:10])
}

func TestTheTreeDigestIsThatOfPackageSource(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 180) + ".yaml" // it does not fit USTAR
	files := artifacts.Tree("b.yaml", "kind: B\n", "a.yml", "", long, "kind: C\n", "ü.yaml", "kind: D\n")
	a, err := artifact.Pack(files, artifact.Options{})
	require.NoError(t, err)
	hash := sha256.New()
	require.NoError(t, source.WriteTar(hash, files))
	require.Equal(t, "sha256:"+hex.EncodeToString(hash.Sum(nil)), a.Tree)
}

func TestModesAndTimesDoNotCount(t *testing.T) {
	t.Parallel()
	one := fstest.MapFS{"a.yaml": {Data: []byte("a"), Mode: 0o600, ModTime: at}}
	two := fstest.MapFS{"a.yaml": {Data: []byte("a"), Mode: 0o755}}
	a, err := artifact.Pack(one, artifact.Options{})
	require.NoError(t, err)
	b, err := artifact.Pack(two, artifact.Options{})
	require.NoError(t, err)
	require.Equal(t, a.Manifest, b.Manifest)
	require.Equal(t, a.Content, b.Content)
}

func TestAnEmptyArtifactIsPackedWhereItIsAllowed(t *testing.T) {
	t.Parallel()
	a, err := artifact.Pack(fstest.MapFS{}, artifact.Options{Empty: true})
	require.NoError(t, err)
	store, err := layout.Open(t.TempDir(), true)
	require.NoError(t, err)
	pushed, err := artifact.Push(t.Context(), store, artifact.Set{Complete: a}, []string{"v1"}, artifact.PushOptions{})
	require.NoError(t, err)
	pulled, err := artifact.Pull(t.Context(), store, pushed.Digest, artifact.PullOptions{})
	require.NoError(t, err)
	require.Empty(t, pulled.Files)
}

func TestPackRefusesWhatAnEngineWouldTakeForSomethingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files fs.FS
		want  string
	}{
		"nothing":             {fstest.MapFS{}, "there are no files to pack: an engine would delete everything that the previous artifact contained"},
		"a folder":            {artifacts.Tree("apps/a.yaml", ""), `"apps" cannot be packed: it is a directory, and Argo CD reads only files at the root: put the manifests there`},
		"a kustomization":     {artifacts.Tree("kustomization.yaml", ""), `"kustomization.yaml" cannot be packed: Argo CD would run kustomize: leave it out`},
		"another spelling":    {artifacts.Tree("Kustomization.yml", ""), `Argo CD would run kustomize`},
		"a chart":             {artifacts.Tree("Chart.yaml", ""), `Argo CD would run Helm`},
		"a file for Argo CD":  {artifacts.Tree(".argocd-source.yaml", ""), `files with a dot at the front configure the engines`},
		"JSON":                {artifacts.Tree("a.json", ""), `Argo CD would apply it and Flux would not: write it as YAML`},
		"something else":      {artifacts.Tree("README.md", ""), `only manifests can be packed, as .yaml or .yml: attach other files as referrers`},
		"a symlink":           {fstest.MapFS{"a.yaml": {Mode: fs.ModeSymlink}}, `it is not a regular file`},
		"control characters":  {artifacts.Tree("a\n.yaml", ""), `its name contains control characters, a backslash or invalid UTF-8`},
		"a backslash":         {artifacts.Tree(`a\b.yaml`, ""), `its name contains control characters, a backslash or invalid UTF-8`},
		"a layer without one": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.files == nil {
				_, err := artifact.PackSet(artifacts.Tree("a.yaml", ""), []artifact.Layer{{FS: artifacts.Tree("a.yaml", "")}}, artifact.Options{})
				require.ErrorIs(t, err, artifact.ErrShape)
				return
			}
			_, err := artifact.Pack(c.files, artifact.Options{})
			require.ErrorIs(t, err, artifact.ErrShape)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := artifact.Pack(artifacts.Tree("a.yaml", "123456"), artifact.Options{Limits: artifact.Limits{Bytes: 5}})
	require.ErrorIs(t, err, artifact.ErrLimit)
	_, err = artifact.Pack(artifacts.Tree("a.yaml", "", "b.yaml", ""), artifact.Options{Limits: artifact.Limits{Files: 1}})
	require.ErrorIs(t, err, artifact.ErrLimit)
	_, err = artifact.Pack(artifacts.Tree("a.yaml", ""), artifact.Options{Annotations: map[string]string{artifact.AnnotationTree: "x"}})
	require.ErrorIs(t, err, artifact.ErrShape)
	for _, labels := range []map[string]string{{artifact.AnnotationRevision: "x"}, {"a": "x\n"}, {"a\t": "x"}} {
		_, err = artifact.Pack(artifacts.Tree("a.yaml", ""), artifact.Options{Labels: labels})
		require.ErrorIs(t, err, artifact.ErrShape)
	}
}

func TestAWholeNamesItsLayers(t *testing.T) {
	t.Parallel()
	set := artifacts.Layered(t, "kind: A\n", "kind: B\n", "main@sha1:1")
	var m struct{ Annotations map[string]string }
	require.NoError(t, json.Unmarshal(set.Complete.Manifest, &m))
	var refs []artifact.LayerRef
	require.NoError(t, json.Unmarshal([]byte(m.Annotations[artifact.AnnotationLayers]), &refs))
	require.Equal(t, []artifact.LayerRef{
		{Name: "base", Digest: set.Layers[0].Descriptor.Digest.String(), Tree: set.Layers[0].Tree},
		{Name: "apps", Digest: set.Layers[1].Descriptor.Digest.String(), Tree: set.Layers[1].Tree},
	}, refs)
	require.Contains(t, string(set.Layers[0].Manifest), `"dev.ropewalk.layer":"base"`)
	again := artifacts.Layered(t, "kind: A\n", "kind: B\n", "main@sha1:1")
	require.True(t, bytes.Equal(set.Complete.Manifest, again.Complete.Manifest))
}

func TestASourceWithCredentialsIsRefused(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"a.yaml": {Data: []byte("a: 1\n")}}
	for source, refused := range map[string]bool{
		"https://u:canary@git.example/shop":               true,
		"https://canary@git.example/shop":                 true,
		"https://git.example/shop?access_token=canary":    true,
		"https://git.example/shop?X-Amz-Signature=canary": true,
		"ssh://git@git.example/shop":                      false,
		"git@git.example:shop.git":                        false,
		"https://git.example/shop?ref=main":               true,
		"https://git.example/shop#canary":                 true,
		"ssh://u:canary@git.example/shop":                 true,
		"u:canary@git.example:shop.git":                   true,
		"u:can/ary@git.example:shop.git":                  true,
		"https://git.example/shop":                        false,
	} {
		_, err := artifact.Pack(files, artifact.Options{Source: source})
		require.Equal(t, refused, err != nil, source)
		if err != nil {
			require.NotContains(t, err.Error(), "canary")
		}
	}
	_, err := artifact.Pack(files, artifact.Options{Revision: "a\nb"})
	require.ErrorIs(t, err, artifact.ErrShape)
}
