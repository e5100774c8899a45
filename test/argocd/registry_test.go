// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// registry is a docker-registry that wants credentials. It can be stopped, and
// started again with all that it holds.
type registry struct {
	host, dir string
	p         *process
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{dir: t.TempDir()}
	r.host, _ = free(t)
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "htpasswd"), fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "config.yaml"), fmt.Appendf(nil, `version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  maintenance: {uploadpurging: {enabled: false}}
http: {addr: %s, secret: test}
auth:
  htpasswd: {realm: test, path: %q}
`, filepath.Join(r.dir, "data"), r.host, filepath.Join(r.dir, "htpasswd")), 0o600))
	r.start(t)
	return r
}

func (r *registry) start(t *testing.T) {
	t.Helper()
	r.p = start(t, []string{"HOME=" + r.dir}, need(t, "docker-registry"), "serve", filepath.Join(r.dir, "config.yaml"))
	r.p.ready(t, func() bool {
		response, err := http.Get("http://" + r.host + "/v2/") //nolint:noctx // the loopback
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusUnauthorized
	})
}

func (r *registry) stop() { r.p.kill() }

// source is a repository of the registry as the repo-server takes it, with the
// credentials.
func (r *registry) source(name string) *v1alpha1.Repository {
	return &v1alpha1.Repository{
		Repo: "oci://" + r.host + "/" + name, Type: "oci", InsecureOCIForceHttp: true, Username: user, Password: password,
	}
}

// docker is a folder with a configuration of docker that holds the credentials.
func (r *registry) docker(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	login := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, r.host, login), 0o600))
	return dir
}

// fluxConfig marks artifacts of flux push artifact, which are taken for modules.
const fluxConfig = "application/vnd.cncf.flux.config.v1+json"

// push pushes a folder under the tag v1 and returns the digest. Argo CD takes it
// for its layer, and a render takes it for its config.
func (r *registry) push(t *testing.T, name, dir string) string {
	t.Helper()
	to, err := remote.NewRepository(r.host + "/" + name)
	require.NoError(t, err)
	to.PlainHTTP = true
	to.Client = &auth.Client{Credential: auth.StaticCredential(r.host, auth.Credential{Username: user, Password: password})}
	layer, err := oras.PushBytes(t.Context(), to, ocispec.MediaTypeImageLayerGzip, pack(t, dir))
	require.NoError(t, err)
	config, err := oras.PushBytes(t.Context(), to, fluxConfig, []byte("{}"))
	require.NoError(t, err)
	manifest, err := oras.PackManifest(t.Context(), to, oras.PackManifestVersion1_1, "",
		oras.PackManifestOptions{ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer}})
	require.NoError(t, err)
	require.NoError(t, to.Tag(t.Context(), manifest, "v1"))
	return manifest.Digest.String()
}

// pack is a folder as a gzipped tar.
func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)
	require.NoError(t, archive.AddFS(os.DirFS(dir)))
	require.NoError(t, archive.Close())
	require.NoError(t, zip.Close())
	return b.Bytes()
}
