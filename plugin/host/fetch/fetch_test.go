// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	oras "oras.land/oras-go/v2/registry/remote"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/flux"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/test/servers"
)

// canary is a password that must not be anywhere.
const canary = "canary-7f3a-pass"

// module is a module with a folder of its own.
func module() map[string]string {
	return map[string]string{
		"cue.mod/module.cue": "module: \"example.com/web@v0\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n",
		"web.cue": `package web

import "example.com/web/parts"

ropewalk: apiVersion: "v1alpha1"
input: level: string
graph: nodes: config: object: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: "web"
	data: {level: input.level, team: parts.team}
}
`,
		"parts/parts.cue": "package parts\n\nteam: \"blue\"\n",
	}
}

// flat is the same without folders, as a ConfigMap can hold it.
func flat() map[string]string {
	return map[string]string{"web.cue": strings.NewReplacer(
		"import \"example.com/web/parts\"\n\n", "", "parts.team", `"blue"`).Replace(module()["web.cue"])}
}

func write(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	return dir
}

// cueBinary is the cue command of the tools module.
var cueBinary = sync.OnceValues(func() (string, error) {
	built, err := filepath.Abs("../../../.bin/cue")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	out, err := exec.Command("make", "-C", "../../..", built).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return built, err
})

// publish publishes a module with the cue command, with more of an environment.
func publish(t testing.TB, server *servers.OCI, version string, files map[string]string, environment ...string) {
	t.Helper()
	name, err := cueBinary()
	require.NoError(t, err)
	home := t.TempDir()
	cmd := exec.Command(name, "mod", "publish", version)
	cmd.Dir = write(t, t.TempDir(), files)
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CUE_REGISTRY=" + server.Host + "+insecure", "CUE_CACHE_DIR=" + home}, environment...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func tgz(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o600}))
		_, err := w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

// registries connects to servers of a test.
func registries() (*remote.Registries, error) {
	return &remote.Registries{PlainHTTP: func(string) bool { return true }}, nil
}

// repository is a repository of a server of a test.
func repository(t testing.TB, server *servers.OCI, name string) *oras.Repository {
	t.Helper()
	r, err := registries()
	require.NoError(t, err)
	repo, err := r.Repository(t.Context(), server.Host+"/"+name, nil)
	require.NoError(t, err)
	return repo
}

// timoni pushes a module as Timoni does: what is vendored first, then the rest. It is
// timoni/web under the tag; the digest is that of its manifest.
func timoni(t testing.TB, server *servers.OCI, files map[string]string, tag string, annotations map[string]string) digest.Digest {
	t.Helper()
	repo := repository(t, server, "timoni/web")
	push := func(mediaType string, data []byte, notes map[string]string) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
		require.NoError(t, repo.Push(t.Context(), d, bytes.NewReader(data)))
		d.Annotations = notes
		return d
	}
	vendor, rest := map[string]string{}, map[string]string{}
	for name, text := range files {
		if strings.HasPrefix(name, "cue.mod/") {
			vendor[name] = text
		} else {
			rest[name] = text
		}
	}
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: push("application/vnd.timoni.config.v1+json", []byte("{}"), nil), Annotations: annotations}
	m.SchemaVersion = 2
	const content = "application/vnd.timoni.content.v1.tar+gzip"
	m.Layers = []ocispec.Descriptor{
		push(content, tgz(t, vendor), map[string]string{"sh.timoni.content.type": "module/vendor"}),
		push(content, tgz(t, rest), map[string]string{"sh.timoni.content.type": "module"}),
	}
	data, err := json.Marshal(m)
	require.NoError(t, err)
	d := ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	require.NoError(t, repo.PushReference(t.Context(), d, bytes.NewReader(data), tag))
	return d.Digest
}

// fluxServer serves an artifact of a GitRepository.
func fluxServer(t testing.TB, files map[string]string) flux.Artifacts {
	t.Helper()
	data := tgz(t, files)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	t.Cleanup(server.Close)
	return flux.ArtifactsFunc(func(context.Context, string, string, string) (flux.Artifact, error) {
		return flux.Artifact{
			URL: server.URL + "/a.tar.gz", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Revision: "main@sha1:1", Ready: true,
		}, nil
	})
}

// spec is a document that uses a module.
func spec(cueRef string) string {
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: " + cueRef + "\n  input: {level: debug}\n"
}

// rendered loads and renders a project with fetchers.
func rendered(t testing.TB, dir string, o fetch.Options) (render.Result, error) {
	t.Helper()
	h := o.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()})
	evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
	loaded, err := h.Load(t.Context(), host.Options{Dir: dir, Evaluator: evaluator})
	if err != nil {
		return render.Result{}, err
	}
	return render.Renderer{Evaluator: evaluator}.Render(t.Context(), loaded.Request)
}

// configMap holds the module without folders.
func configMap() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  web.cue: |\n")
	for line := range strings.Lines(flat()["web.cue"]) {
		b.WriteString("    " + line)
	}
	return b.String()
}

// Everything that can hold the module gives the same tree and the same render.
func TestAModuleIsTheSameWhereverItComesFrom(t *testing.T) {
	registry := servers.Registry(t)
	publish(t, registry, "v0.1.0", module())
	timoni(t, registry, module(), "1.0.0", nil)

	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	repo.Commit(module(), "a module")
	repo.Commit(map[string]string{".gitignore": "*.tmp\n"}, "what no module has")
	repo.Tag("v1.2.0")
	var ca []byte
	https := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary), servers.WithGitTLS(&ca))
	ssh := servers.GitSSH(t, root)

	secrets := source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		switch name {
		case "https":
			return map[string][]byte{"username": []byte("alice"), "password": []byte(canary), "ca.crt": ca}, nil
		case "ssh":
			return map[string][]byte{"identity": ssh.ClientKey, "known_hosts": []byte(ssh.KnownHosts)}, nil
		}
		return nil, source.ErrNotFound
	})
	store, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	options := fetch.Options{
		Registries: registries, Secrets: secrets, Git: func() git.Fetcher { return git.Fetcher{Binary: git.FindBinary()} },
		Artifacts: fluxServer(t, module()), Store: func() (*cache.Store, error) { return store, nil },
	}
	for _, group := range []struct {
		files  map[string]string
		origin map[string]string
	}{
		{module(), map[string]string{
			"path":              "{type: path, ref: ./web}",
			"git over https":    "{type: git, ref: \"" + https + "/web.git?tag=v1.2.0\", pullSecretRef: {name: https}}",
			"git over ssh":      "{type: git, ref: \"" + ssh.URL("web.git") + "?semver=^1.0.0\", pullSecretRef: {name: ssh}}",
			"oci, published":    "{type: oci, ref: \"oci://" + registry.Host + "/example.com/web:v0.1.0\"}",
			"oci, by Timoni":    "{type: oci, ref: \"oci://" + registry.Host + "/timoni/web:1.0.0\"}",
			"artifact of Flux":  "{type: source, ref: GitRepository/flux-system/web}",
			"git by its commit": "{type: git, ref: \"" + https + "/web.git?commit=" + repo.Hash("main") + "\", pullSecretRef: {name: https}}",
		}},
		{flat(), map[string]string{"path": "{type: path, ref: ./web}", "configmap": "{type: configmap, ref: web}"}},
	} {
		var first render.Result
		for _, name := range slices.Sorted(maps.Keys(group.origin)) {
			dir := write(t, t.TempDir(), map[string]string{"web.yaml": spec(group.origin[name]), "config.yaml": configMap()})
			write(t, filepath.Join(dir, "web"), group.files)
			result, err := rendered(t, dir, options)
			require.NoError(t, err, name)
			again, err := rendered(t, dir, options)
			require.NoError(t, err, name)
			require.Equal(t, result.Sources, again.Sources, "%s: from the cache", name)
			if first.Files == nil {
				first = result
			}
			require.Equal(t, first.Sources[0].Digest, result.Sources[0].Digest, name)
			require.Equal(t, first.Files, result.Files, name)
			require.NotContains(t, fmt.Sprint(result.Sources), canary)
		}
	}
}

func TestARenderIsHeldToItsLock(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", module())
	dir := write(t, t.TempDir(), map[string]string{"web.yaml": spec("{type: oci, ref: \"oci://" + server.Host + "/example.com/web:v0.1.0\"}")})
	record := &lock.Recorder{}
	options := fetch.Options{Registries: registries, Record: record, Mode: lock.Update}
	_, err := rendered(t, dir, options)
	require.NoError(t, err)
	file := record.File()
	require.Len(t, file.Sources, 1)

	held := fetch.Options{Registries: registries, Lock: file, Mode: lock.Enforce}
	_, err = rendered(t, dir, held)
	require.NoError(t, err)

	// Someone publishes something else under the same tag.
	other := module()
	other["parts/parts.cue"] = "package parts\n\nteam: \"red\"\n"
	republished := servers.InProcess(t)
	publish(t, republished, "v0.1.0", other)
	move(t, republished, server, "example.com/web", "v0.1.0")
	_, err = rendered(t, dir, held)
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, "moved from v0.1.0@sha256:")
	require.ErrorContains(t, err, "web.yaml:5:28")

	preferred := fetch.Options{Registries: registries, Lock: file}
	result, err := rendered(t, dir, preferred)
	require.NoError(t, err)
	require.Contains(t, string(result.Files[0].Data), "blue", "what was locked is used as long as it is there")

	_, err = rendered(t, dir, fetch.Options{Registries: registries, Mode: lock.Enforce})
	require.ErrorIs(t, err, source.ErrLocked)
	require.ErrorContains(t, err, `run "ropewalk lock"`)
}

// move puts what a tag leads to in one registry under the tag in another.
func move(t testing.TB, from, to *servers.OCI, name, tag string) {
	t.Helper()
	old, now := repository(t, from, name), repository(t, to, name)
	d, content, err := old.FetchReference(t.Context(), tag)
	require.NoError(t, err)
	defer content.Close()
	var m ocispec.Manifest
	var data bytes.Buffer
	_, err = data.ReadFrom(content)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data.Bytes(), &m))
	for _, blob := range append(m.Layers, m.Config) {
		r, err := old.Fetch(t.Context(), blob)
		require.NoError(t, err)
		require.NoError(t, now.Push(t.Context(), blob, r))
		require.NoError(t, r.Close())
	}
	require.NoError(t, now.PushReference(t.Context(), d, bytes.NewReader(data.Bytes()), tag))
}
