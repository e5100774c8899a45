// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/test/servers"
)

// pod is an object that runs images.
func pod(id object.ID, line int, images ...string) *object.Node {
	var containers []any
	for _, image := range images {
		containers = append(containers, map[string]any{"image": image})
	}
	return &object.Node{
		ID: id, SpecPos: object.Pos{File: "shop.yaml", Line: line},
		Object: object.Object{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"containers": containers}},
	}
}

// everywhere is a registry that has the place of every other one, without TLS.
func everywhere(t *testing.T) (*servers.OCI, *remote.Registries) {
	t.Helper()
	server := servers.InProcess(t)
	proxy, err := url.Parse(server.URL)
	require.NoError(t, err)
	return server, &remote.Registries{PlainHTTP: func(string) bool { return true }, Proxy: http.ProxyURL(proxy), Attempts: 1}
}

// push pushes an index with a name of its own, as images for several platforms have one.
func push(t *testing.T, server *servers.OCI, repository, tag string) string {
	t.Helper()
	repo, err := (&remote.Registries{PlainHTTP: func(string) bool { return true }}).Repository(t.Context(), server.Host+"/"+repository, nil)
	require.NoError(t, err)
	text := `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[],"annotations":{"name":"` + repository + ":" + tag + `"}}`
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString(text), Size: int64(len(text))}
	require.NoError(t, repo.PushReference(t.Context(), desc, strings.NewReader(text), tag))
	return desc.Digest.String()
}

// TestImagesAreAskedForAsRuntimesDo names images of Docker Hub in several ways. Each is one request.
func TestImagesAreAskedForAsRuntimesDo(t *testing.T) {
	server, registries := everywhere(t)
	nginx, latest, redis := push(t, server, "library/nginx", "1.27"), push(t, server, "library/nginx", "latest"), push(t, server, "bitnami/redis", "latest")
	carried := "sha256:" + strings.Repeat("1", 64)
	used := Used{}
	used.Add("dev", []*object.Node{pod("a/pod", 1, "nginx:1.27", "docker.io/library/nginx:1.27", "nginx"), pod("b/pod", 2, "bitnami/redis", "nginx:1.27")})
	used.Add("prod", []*object.Node{pod("a/pod", 1, "index.docker.io/nginx", "auto", "ghcr.io/gone/app:v1@"+carried)})
	server.Reset()
	got, err := used.Resolve(t.Context(), registries)
	require.NoError(t, err)
	require.Equal(t, []lock.Image{
		{Image: "bitnami/redis", Digest: redis},
		{Image: "docker.io/library/nginx:1.27", Digest: nginx},
		{Image: "ghcr.io/gone/app:v1@" + carried, Digest: carried},
		{Image: "index.docker.io/nginx", Digest: latest},
		{Image: "nginx", Digest: latest},
		{Image: "nginx:1.27", Digest: nginx},
	}, got)
	var asked []string
	for _, r := range server.Requests() {
		require.Equal(t, http.MethodHead, r.Method)
		asked = append(asked, r.Path)
	}
	slices.Sort(asked)
	require.Equal(t, []string{"/v2/bitnami/redis/manifests/latest", "/v2/library/nginx/manifests/1.27", "/v2/library/nginx/manifests/latest"}, asked)

	server.Reset()
	got, err = used.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []lock.Image{{Image: "bitnami/redis"}, {Image: "docker.io/library/nginx:1.27"}, {Image: "ghcr.io/gone/app:v1@" + carried, Digest: carried}}, got[:3])
	require.Empty(t, server.Requests())
}

func TestMistakesAreAtTheFirstObjectOfAnImage(t *testing.T) {
	server, registries := everywhere(t)
	push(t, server, "library/nginx", "1.27")
	used := Used{}
	used.Add("", []*object.Node{pod("a/pod", 9, "nginx:1.27", "nginx:1.72"), pod("b/pod", 5, "nginx:1.72", "Nginx", "user:canary-9f@host/a", "a@sha512:"+strings.Repeat("0", 128))})
	used.Add("prod", []*object.Node{pod("a/pod", 9, "r.io/a"), pod("a/other", 7, "nginx:1.72")})
	server.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusServiceUnavailable, "UNAVAILABLE", "closed"), strings.HasPrefix(r.URL.Path, "/v2/a/")
	})
	_, err := used.Resolve(t.Context(), registries)
	var mistakes object.Errors
	require.ErrorAs(t, err, &mistakes)
	var lines []string
	for _, m := range mistakes {
		lines = append(lines, m.Error())
	}
	require.Equal(t, []string{
		`shop.yaml:5: resolve: b/pod: image "Nginx": it is no image: the parts of a repository are lower-case letters and digits, with ., _, __ or - between them`,
		`shop.yaml:5: resolve: b/pod: image "a@sha512:` + strings.Repeat("0", 128) + `": its digest is not a sha256: name the image by that`,
		`shop.yaml:5: resolve: b/pod: image: it holds an @ that no digest follows: write HOST/NAME:TAG or HOST/NAME@sha256:…`,
		`shop.yaml:9: resolve: a/pod: environment prod: image "r.io/a": oci://r.io/a:latest: "r.io": the server answers 503 service unavailable, 1 attempt: try again later`,
		`shop.yaml:9: resolve: a/pod: image "nginx:1.72", of 3 objects: oci://docker.io/library/nginx:1.72: not found in the registry: correct the name, or log in: some servers hide repositories without access`,
	}, lines)
	require.ErrorIs(t, mistakes[3].Err, source.ErrUnavailable)
	require.NotErrorIs(t, mistakes[4].Err, source.ErrAbsent, "a registry that answers is no environment that failed")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = used.Resolve(ctx, registries)
	require.ErrorIs(t, err, context.Canceled)
}

// TestImagesOfVolumesAndOfPodTemplatesAreUsed has images that no container of a pod names.
func TestImagesOfVolumesAndOfPodTemplatesAreUsed(t *testing.T) {
	spec := map[string]any{
		"containers": []any{map[string]any{"image": "web:1"}},
		"volumes":    []any{map[string]any{"image": map[string]any{"reference": "model:1"}}, map[string]any{"image": "no map"}, "no volume"},
	}
	used := Used{}
	used.Add("", []*object.Node{
		{ID: "a/pod", Object: object.Object{"apiVersion": "v1", "kind": "Pod", "spec": spec}},
		{ID: "a/template", Object: object.Object{"apiVersion": "v1", "kind": "PodTemplate", "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": "job:1"}}}}}},
	})
	got, err := used.Resolve(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []lock.Image{{Image: "job:1"}, {Image: "model:1"}, {Image: "web:1"}}, got)
}
