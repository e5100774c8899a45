// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/ropewalk/ropewalk/test/servers"
)

// packed is files as a layer.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// pushed is the reference, with the digest, of an artifact that the client of another tool
// would push: a config and layers of these media types.
func pushed(t *testing.T, server *servers.OCI, name, config string, layers map[string]map[string]string) string {
	t.Helper()
	repo, err := remote.NewRepository(server.Host + "/" + name)
	require.NoError(t, err)
	repo.PlainHTTP = true
	of, err := oras.PushBytes(t.Context(), repo, config, []byte("{}"))
	require.NoError(t, err)
	opts := oras.PackManifestOptions{ConfigDescriptor: &of}
	for kind, files := range layers {
		layer, err := oras.PushBytes(t.Context(), repo, kind, packed(t, files))
		require.NoError(t, err)
		opts.Layers = append(opts.Layers, layer)
	}
	m, err := oras.PackManifest(t.Context(), repo, oras.PackManifestVersion1_1, "application/vnd.example.manifests.v1", opts)
	require.NoError(t, err)
	return "oci://" + server.Host + "/" + name + "@" + m.Digest.String()
}

const (
	fluxConfig  = "application/vnd.cncf.flux.config.v1+json"
	fluxContent = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Artifacts as Flux, Argo CD and Ropewalk push them are components; what is not whole, not
// signed or not there is refused at its line.
func TestAnArtifactIsAComponent(t *testing.T) {
	alone(t)
	server := servers.Registry(t)
	plain := []string{"--plain-http", server.Host}
	object := func(kind, rest string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: held}\n" + rest
	}
	files := map[string]string{"a.yaml": object("ConfigMap", "data: {a: b}\n")}
	const image = "application/vnd.oci.image.layer.v1.tar+gzip"

	ours := filepath.Join(t.TempDir(), "ours")
	require.NoError(t, os.MkdirAll(ours, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(ours, "a.yaml"), []byte(files["a.yaml"]), 0o600))
	good(t, append([]string{"build", ours, "--to", "oci://" + server.Host + "/ours:v1"}, plain...)...)

	flux := pushed(t, server, "flux", fluxConfig, map[string]map[string]string{fluxContent: files})
	gone := flux[:strings.Index(flux, "@")] + "@sha256:" + strings.Repeat("0", 64)
	render := func(artifact string, more ...string) (int, string, string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "app.yaml"), []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Component\n"+
			"metadata: {name: app}\nspec:\n  artifact: "+artifact+"\n"), 0o600))
		return call(t, append(append([]string{"render", dir}, plain...), more...)...)
	}
	for name, ref := range map[string]string{
		"ours": "oci://" + server.Host + "/ours:v1", "flux": flux,
		"argocd": pushed(t, server, "argocd", ocispec.MediaTypeEmptyJSON, map[string]map[string]string{image: files}),
	} {
		code, out, diagnostics := render(fmt.Sprintf("{ref: %q}", ref))
		require.Zero(t, code, "%s: %s", name, diagnostics)
		require.Equal(t, "---\napiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  name: held\n", out, name)
	}

	key := filepath.Join(t.TempDir(), "release")
	good(t, "artifact", "keygen", key)
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	secrets := filepath.Join(t.TempDir(), "keys.yaml")
	require.NoError(t, os.WriteFile(secrets, []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData:\n  release.pub: |\n    "+
		strings.ReplaceAll(strings.TrimSpace(string(public)), "\n", "\n    ")+"\n"), 0o600))
	two := pushed(t, server, "two", fluxConfig, map[string]map[string]string{fluxContent: files, image: {"b.yaml": object("Service", "")}})
	secret := pushed(t, server, "secret", fluxConfig, map[string]map[string]string{fluxContent: {"a.yaml": object("Secret", "stringData: {a: canary-7d1e}\n")}})
	container := pushed(t, server, "image", ocispec.MediaTypeImageConfig, map[string]map[string]string{image: files})
	for artifact, want := range map[string]string{
		fmt.Sprintf("{ref: %q}", container):                                                 "it is a container image",
		fmt.Sprintf("{ref: %q}", gone):                                                      "app.yaml:5:19: spec.artifact.ref: " + gone + ": not found in the registry",
		fmt.Sprintf("{ref: %q, path: nope}", flux):                                          `has no folder "nope"`,
		fmt.Sprintf("{ref: %q, verify: {provider: cosign, secretRef: {name: keys}}}", flux): "app.yaml:5:19: spec.artifact.ref: " + flux + ": " + flux[strings.Index(flux, "sha256:"):] + " has no signature",
		fmt.Sprintf("{ref: %q, verify: {provider: cosign}}", flux):                          "app.yaml:5:",
		fmt.Sprintf("{ref: %q}", two):                                                       "layers",
		fmt.Sprintf("{ref: %q}", secret):                                                    "app/secret-held: holds 1 secret value, which a render must not contain",
	} {
		code, out, diagnostics := render(artifact, "--secrets", secrets)
		require.NotEqual(t, 0, code, artifact)
		require.Empty(t, out, artifact)
		require.Contains(t, diagnostics, want, artifact)
		require.NotContains(t, diagnostics, "canary-7d1e")
	}

	good(t, append([]string{"artifact", "sign", flux, "--key", key + ".key"}, plain...)...)
	code, _, diagnostics := render(fmt.Sprintf("{ref: %q, verify: {provider: cosign, secretRef: {name: keys}}}", flux), "--secrets", secrets)
	require.Zero(t, code, diagnostics)
}
