// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/oci"
	"github.com/ropewalk/ropewalk/test/servers"
)

// publish has the real cue command publish files, and gives the repository.
func publish(t testing.TB, server *servers.OCI, dir, version string) string {
	t.Helper()
	name, err := filepath.Abs("../../.bin/cue")
	require.NoError(t, err)
	home := t.TempDir()
	if _, err := os.Stat(name); err != nil {
		name = filepath.Join(home, "cue")
		out, err := exec.Command("go", "-C", "../../test/tools", "build", "-o", name, "cuelang.org/go/cmd/cue").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	cmd := exec.Command(name, "mod", "publish", version)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CUE_REGISTRY=" + server.Host + "/cue+insecure", "DOCKER_CONFIG=" + home,
		"CUE_CACHE_DIR=" + filepath.Join(home, "cache"), "CUE_CONFIG_DIR=" + home,
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return server.Host + "/cue/example.com/web"
}

// folder writes files to a folder of the test.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func TestAModuleIsTheSameTreeHoweverItIsPublished(t *testing.T) {
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			server, files := start(t), module()
			dir := folder(t, files)
			want, err := local.Fetcher{Root: dir}.Fetch(t.Context(), source.Ref{Ref: "."})
			require.NoError(t, err)
			require.Equal(t, digestOf(t, files), want.Digest)

			vendor, rest := map[string]string{}, map[string]string{".gitignore": "x", "cue.mod/module.cue": "old"}
			for name, text := range files {
				if filepath.Dir(name) == "cue.mod" {
					vendor[name] = "old"
				}
				rest[name] = text
			}
			push(t, server, "timoni", "1.0.0", configTimoni, layer{layerTimoni, tgz(t, vendor)}, layer{layerTimoni, tgz(t, rest)})
			push(t, server, "flux", "1.0.0", configFlux, layer{layerFlux, tgz(t, files)})
			push(t, server, "oras", "1.0.0", ocispec.MediaTypeEmptyJSON, layer{layerFlux, tgz(t, files)})
			push(t, server, "ours", "1.0.0", configFlux, layer{ocispec.MediaTypeImageLayerGzip, tgz(t, files)})
			for published, ref := range map[string]string{
				"by cue mod publish":    "oci://" + publish(t, server, dir, "v0.1.0") + ":v0.1.0",
				"as Timoni does it":     "oci://" + server.Host + "/timoni:1.0.0",
				"as Flux does it":       "oci://" + server.Host + "/flux:1.0.0",
				"as Flux, by other use": "oci://" + server.Host + "/oras:1.0.0",
				"as we do it":           "oci://" + server.Host + "/ours:1.0.0",
			} {
				tree, err := fetcher(server).Fetch(t.Context(), source.Ref{Type: source.TypeOCI, Ref: ref})
				require.NoError(t, err, published)
				require.Equal(t, want.Digest, tree.Digest, published)
				require.Equal(t, ref, tree.Origin)
				require.Equal(t, ".", tree.Dir)
			}
		})
	}
}

func TestLinksInAnArtifactAreFollowedOrRefused(t *testing.T) {
	server := servers.InProcess(t)
	files := map[string]string{
		"a.cue": "a", "cue.mod/module.cue": "m", "cue.mod/gen": "-> ../vendor/gen", "vendor/gen/k8s/k.cue": "k", "b.cue": "-> a.cue", ".hidden": "-> /etc",
	}
	want := map[string]string{
		"a.cue": "a", "cue.mod/module.cue": "m", "cue.mod/gen/k8s/k.cue": "k", "vendor/gen/k8s/k.cue": "k", "b.cue": "a",
	}
	push(t, server, "flux", "v1", configFlux, layer{layerFlux, tgz(t, files)})
	push(t, server, "timoni", "v1", configTimoni, layer{layerTimoni, tgz(t, map[string]string{"cue.mod/module.cue": "old", "b.cue": "-> gone"})}, layer{layerTimoni, tgz(t, files)})
	for _, name := range []string{"flux", "timoni"} {
		tree, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/" + name + ":v1"})
		require.NoError(t, err, name)
		require.Equal(t, digestOf(t, want), tree.Digest, name)
	}
	for target, why := range map[string]string{
		"/etc/passwd": "leads out of the repository or project", "../../x": "leads out of the repository or project",
		"gone.cue": "leads to nothing", "b.cue": "leads to itself", ".": `leads to itself: "." is a folder around it`,
	} {
		push(t, server, "bad", "v1", configFlux, layer{layerFlux, tgz(t, map[string]string{"a.cue": "a", "b.cue": "-> " + target})})
		ref := "oci://" + server.Host + "/bad:v1"
		_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: ref})
		require.EqualError(t, err, fmt.Sprintf("%s: %q is a symlink to %q, which %s", ref, "b.cue", target, why))
		require.ErrorIs(t, err, source.ErrNotRegular)
	}
}

func TestAReferenceLeadsToADigest(t *testing.T) {
	for kind, start := range kinds() {
		t.Run(kind, func(t *testing.T) {
			server := start(t)
			artifact := func(tag, text string) string {
				return push(t, server, "a/b", tag, configFlux, layer{layerFlux, tgz(t, map[string]string{"cue.mod/module.cue": "m", "a.cue": text, "sub/s.cue": "s", "sub/s.txt": "s"})})
			}
			digests := map[string]string{}
			for _, tag := range []string{"latest", "v1.2.0", "1.2.0", "v1.9.3", "v1.10.1", "v2.0.0", "v2.1.0-rc.1", "1.11", "v1", "edge"} {
				digests[tag] = artifact(tag, tag)
			}
			host, f := "oci://"+server.Host+"/a/b", fetcher(server)
			for ref, want := range map[string]string{
				"":                               "latest",
				":edge":                          "edge",
				"?semver=^1.2":                   "v1.10.1",
				"?semver=>=1.0.0 <1.9.0":         "1.2.0",
				"?semver=%3E%3D1.0.0%20%3C1.9.0": "1.2.0",
				"?semver=*":                      "v2.0.0",
				"?semver=>=2.0.0-0":              "v2.1.0-rc.1",
				":v1.2.0@" + digests["v1.2.0"]:   "v1.2.0",
				":moved@" + digests["v1.2.0"]:    "moved",
				"@" + digests["v1.9.3"]:          "",
			} {
				server.Reset()
				resolved, err := f.Resolve(t.Context(), source.Ref{Type: source.TypeOCI, Ref: host + ref, Path: "sub", Secret: ""})
				require.NoError(t, err, ref)
				digest := digests[want]
				if want == "moved" {
					digest = digests["v1.2.0"]
				}
				if want == "" {
					digest = digests["v1.9.3"]
					require.Equal(t, digest, resolved.Revision)
				} else {
					require.Equal(t, want+"@"+digest, resolved.Revision, ref)
				}
				require.Equal(t, "sub", resolved.Ref.Path)
				immutable := len(server.Requests()) == 0
				require.Equal(t, immutable, resolved.Immutable)

				tree, err := f.Fetch(t.Context(), source.Ref{Ref: host + ref, Path: "sub"})
				require.NoError(t, err, ref)
				require.Equal(t, resolved.Revision, tree.Revision)
				require.Equal(t, host+"@"+digest, tree.Pinned)
				require.Equal(t, "sub", tree.Dir)
				again, err := f.Fetch(t.Context(), resolved.Ref)
				require.NoError(t, err)
				require.Equal(t, tree.Digest, again.Digest)
				require.Equal(t, tree.Pinned, again.Pinned)
			}
		})
	}
}

func TestWhatIsResolvedStays(t *testing.T) {
	server := servers.InProcess(t)
	f, ref := fetcher(server), source.Ref{Ref: "oci://" + server.Host + "/a"}
	artifact := func(text string) {
		push(t, server, "a", "latest", configFlux, layer{layerFlux, tgz(t, map[string]string{"a.cue": text})})
	}
	artifact("one")
	old, err := f.Resolve(t.Context(), ref)
	require.NoError(t, err)
	artifact("two")
	now, err := f.Resolve(t.Context(), ref)
	require.NoError(t, err)
	require.NotEqual(t, old.Revision, now.Revision)
	tree, err := f.Fetch(t.Context(), old.Ref)
	require.NoError(t, err)
	require.Equal(t, "one", read(t, tree, "a.cue"))
}

func TestFewRequestsAreNeeded(t *testing.T) {
	server := servers.Registry(t)
	digest := push(t, server, "a", "v1.0.0", configFlux, layer{layerFlux, tgz(t, module())})
	f, host := fetcher(server), "oci://"+server.Host+"/a"
	for ref, want := range map[string]int{":v1.0.0": 2, "@" + digest: 2, "?semver=^1": 3} {
		server.Reset()
		_, err := f.Fetch(t.Context(), source.Ref{Ref: host + ref})
		require.NoError(t, err)
		require.Len(t, server.Requests(), want, "%s: %v", ref, server.Lines())
	}
	for ref, want := range map[string]int{":v1.0.0": 1, "@" + digest: 0, "?semver=^1": 2} {
		server.Reset()
		_, err := f.Resolve(t.Context(), source.Ref{Ref: host + ref})
		require.NoError(t, err)
		require.Len(t, server.Requests(), want, "%s: %v", ref, server.Lines())
	}
}

func TestOtherArtifactsAreRefused(t *testing.T) {
	const takes = "; this takes modules that were pushed by cue mod publish, timoni, flux push artifact, oras (a folder) or ropewalk"
	server, files := servers.InProcess(t), module()
	flux := layer{layerFlux, tgz(t, files)}
	plain := layer{ocispec.MediaTypeImageLayerGzip, tgz(t, files)}
	push(t, server, "a", "image", ocispec.MediaTypeImageConfig, plain)
	push(t, server, "a", "unknown", "application/vnd.wasm.config.v0+json", layer{"application/wasm", []byte("w")})
	push(t, server, "a", "two", configFlux, flux, plain)
	push(t, server, "a", "none", configFlux)
	push(t, server, "a", "cue", configCUE, plain)
	push(t, server, "a", "timoni", configTimoni, flux)
	repo := open(t, server, "a")
	pushManifest(t, repo, "index", ocispec.MediaTypeImageIndex, ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}})
	pushManifest(t, repo, "both", ocispec.MediaTypeImageManifest, map[string]any{
		"schemaVersion": 2, "config": blob(t, repo, configFlux, []byte("{}")), "layers": []any{blob(t, repo, layerFlux, flux.data)}, "manifests": []any{}})
	for tag, want := range map[string]string{
		"image":   "it is a container image",
		"unknown": `it is an artifact with the config "application/vnd.wasm.config.v0+json" and the layer "application/wasm"`,
		"two":     `it is an artifact with the config "application/vnd.cncf.flux.config.v1+json" and 2 layers`,
		"none":    `it is an artifact with the config "application/vnd.cncf.flux.config.v1+json" and 0 layers`,
		"cue":     `it is a CUE module whose first layer is "application/vnd.oci.image.layer.v1.tar+gzip", and not a zip`,
		"timoni":  "it is a Timoni module without a layer of the type application/vnd.timoni.content.v1.tar+gzip",
		"index":   "it is an index of several manifests",
		"both":    "it is a manifest and an index at once",
	} {
		t.Run(tag, func(t *testing.T) {
			ref := "oci://" + server.Host + "/a:" + tag
			_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: ref})
			require.EqualError(t, err, ref+": "+want+takes)
			require.ErrorIs(t, err, source.ErrReference)
		})
	}
}

func TestWhatIsInALayerIsJudged(t *testing.T) {
	server := servers.InProcess(t)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	_, err := w.Create("../a.cue")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	push(t, server, "a", "zip", configCUE, layer{layerZip, archive.Bytes()})
	push(t, server, "a", "tar", configFlux, layer{layerFlux, tgz(t, map[string]string{"../a.cue": ""})})
	push(t, server, "a", "junk", configFlux, layer{layerFlux, []byte("junk")})
	push(t, server, "a", "large", configFlux, layer{layerFlux, tgz(t, map[string]string{"a.cue": string(make([]byte, 3000))})})
	for tag, c := range map[string]struct {
		want string
		is   error
	}{
		"zip":   {`path "../a.cue" leaves its root`, source.ErrPath},
		"tar":   {`path "../a.cue" leaves its root`, source.ErrPath},
		"large": {`the tree holds more than 2000 bytes, at "a.cue"`, source.ErrLimit},
		"junk":  {"the gzip cannot be read: unexpected EOF", nil},
		"none":  {"not found in the registry: correct the name", source.ErrNotFound},
	} {
		t.Run(tag, func(t *testing.T) {
			f := fetcher(server)
			f.Limits.Bytes = 2000
			ref := "oci://" + server.Host + "/a:" + tag
			_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
			require.ErrorContains(t, err, ref+": ")
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
	t.Run("a layer that is larger than a tree may be is not asked for", func(t *testing.T) {
		repo := open(t, server, "a")
		big := blob(t, repo, layerFlux, []byte("x"))
		big.Size = 1 << 30
		m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: blob(t, repo, configFlux, []byte("{}")), Layers: []ocispec.Descriptor{big}}
		pushManifest(t, repo, "big", m.MediaType, m)
		server.Reset()
		_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/a:big"})
		require.ErrorIs(t, err, source.ErrLimit)
		require.ErrorContains(t, err, "its layers have 1073741824 bytes and more, too many for a tree of 67108864 bytes")
		require.Len(t, server.Requests(), 1)
	})
}

func TestASignatureIsVerifiedBeforeALayerIsRead(t *testing.T) {
	server := servers.InProcess(t)
	digest := push(t, server, "a", "v1", configFlux, layer{layerFlux, tgz(t, module())})
	secrets := source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		switch name {
		case "keys":
			return map[string][]byte{"one.pub": []byte("1"), "two.pub": []byte("2"), "password": []byte("p")}, nil
		case "empty":
			return nil, nil
		}
		return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("there is no secret %q", name))
	})
	var saw map[string][]byte
	signed := func(result error) oci.Verifier {
		return oci.VerifierFunc(func(ctx context.Context, repo oci.Repository, m ocispec.Descriptor, keys map[string][]byte) error {
			saw = keys
			require.Equal(t, digest, m.Digest.String())
			require.Equal(t, ocispec.MediaTypeImageManifest, m.MediaType)
			require.Positive(t, m.Size)
			require.NoError(t, repo.Referrers(ctx, m, "", func([]ocispec.Descriptor) error { return nil }))
			return result
		})
	}
	for name, c := range map[string]struct {
		verify   source.Verify
		verifier oci.Verifier
		want     string
		is       error
	}{
		"signed":              {source.Verify{Provider: "cosign", Secret: "keys"}, signed(nil), "", nil},
		"not signed":          {source.Verify{Provider: "cosign", Secret: "keys"}, signed(errors.New("no signature by a known key")), "no signature by a known key", source.ErrSignature},
		"nobody knows":        {source.Verify{Provider: "cosign", Secret: "keys"}, signed(source.Refuse(source.ErrUnavailable, "try again")), "try again", source.ErrUnavailable},
		"no keys":             {source.Verify{Provider: "cosign", Secret: "empty"}, signed(nil), `the secret "empty" has no entry *.pub with a public key to verify with`, source.ErrSignature},
		"no secret":           {source.Verify{Provider: "cosign", Secret: "none"}, signed(nil), `there is no secret "none"`, source.ErrNotFound},
		"no verifier":         {source.Verify{Provider: "cosign", Secret: "keys"}, nil, "a signature is asked for, and there is nothing here to verify it with", source.ErrSignature},
		"an unknown provider": {source.Verify{Provider: "pgp", Secret: "keys"}, signed(nil), `artifacts are verified with "cosign", not with "pgp"`, source.ErrReference},
	} {
		t.Run(name, func(t *testing.T) {
			f := fetcher(server)
			f.Secrets, f.Verifier = secrets, c.verifier
			server.Reset()
			ref := "oci://" + server.Host + "/a:v1"
			_, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Verify: c.verify})
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, map[string][]byte{"one.pub": []byte("1"), "two.pub": []byte("2")}, saw)
				return
			}
			require.EqualError(t, err, ref+": "+c.want)
			require.ErrorIs(t, err, c.is)
			for _, line := range server.Lines() {
				require.NotContains(t, line, "/blobs/")
			}
		})
	}
}

func ExampleFetcher_Resolve() {
	f := oci.Fetcher{} // a digest needs no registry
	resolved, err := f.Resolve(context.Background(), source.Ref{
		Type: source.TypeOCI, Ref: "oci://ghcr.io/org/web:v1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	})
	fmt.Println(resolved.Immutable, resolved.Revision, err)
	// Output: true v1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef <nil>
}

func TestAChartIsTakenOutOfItsFolder(t *testing.T) {
	const config, content, signature = "application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/vnd.cncf.helm.chart.provenance.v1.prov"
	server := servers.Registry(t)
	chart := layer{content, tgz(t, map[string]string{"web/Chart.yaml": "name: web\n", "web/.helmignore": "*.md\n", "web/templates/x.yaml": "x: 1\n"})}
	digest := push(t, server, "charts/web", "1.2.0_b.7", config, chart, layer{signature, []byte("signed")})
	push(t, server, "charts/web", "1.3.0-rc.1", config, chart)
	for _, ref := range []string{":1.2.0_b.7", "?semver=%5E1.0", "?semver=*"} {
		tree, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/web" + ref})
		require.NoError(t, err, ref)
		require.Equal(t, "1.2.0_b.7@"+digest, tree.Revision)
		require.Equal(t, "1.2.0+b.7", tree.Version)
		for _, name := range []string{"Chart.yaml", ".helmignore", "templates/x.yaml"} {
			_, err := fs.Stat(tree.FS, name)
			require.NoError(t, err, name)
		}
	}
	push(t, server, "charts/none", "1.0.0", config, layer{signature, []byte("signed")})
	_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/none:1.0.0"})
	require.ErrorContains(t, err, "a chart without a layer")
	push(t, server, "charts/slip", "1.0.0", config, layer{content, tgz(t, map[string]string{"web/../../x": "x"})})
	_, err = fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/slip:1.0.0"})
	require.ErrorIs(t, err, source.ErrPath)
}
