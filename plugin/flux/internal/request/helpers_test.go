// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/lru"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/source"
)

// archive is a tar.gz as source-controller writes it. A text that begins with "-> " is the
// target of a symlink.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if target, ok := strings.CutPrefix(files[name], "-> "); ok {
			require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}))
			continue
		}
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := w.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

// gitRepository is a GitRepository whose artifact a server has.
func gitRepository(t testing.TB, name string, files map[string]string) *sourcev1.GitRepository {
	t.Helper()
	data := archive(t, files)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }))
	t.Cleanup(server.Close)
	o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}}
	o.Spec.URL = "https://git.example/shop.git"
	o.Status.ObservedGeneration = 1
	o.Status.Artifact = &meta.Artifact{
		URL: server.URL + "/x.tar.gz", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Revision: "main@sha1:abc",
	}
	return o
}

// cluster has objects for who reads them. No server is needed for that, and what one does
// beside reading is for the tests of test/e2e.
func cluster(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(s))
	require.NoError(t, sourcev1.AddToScheme(s))
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
}

func loader() *Loader {
	return &Loader{
		Modules:     Modules{Embedded: cue.Module, EmbeddedNames: cue.Names(), Trees: lru.New[string, source.Tree](1 << 20)},
		KubeVersion: func(context.Context) (string, error) { return "1.36", nil },
	}
}

// transformOf is one that is written as YAML: its spec.
func transformOf(t testing.TB, spec string) *v1alpha1.Transform {
	t.Helper()
	out := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 1, UID: "u"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &out.Spec))
	return out
}

func load(t testing.TB, tf *v1alpha1.Transform, objects ...client.Object) (Loaded, error) {
	t.Helper()
	evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
	return loader().Load(t.Context(), Identity{Client: cluster(t, objects...), Scope: "shop/", Dialect: dialect.Flux, Evaluator: evaluator}, tf)
}

// rendered loads and renders.
func rendered(t testing.TB, tf *v1alpha1.Transform, objects ...client.Object) (render.Result, error) {
	t.Helper()
	loaded, err := load(t, tf, objects...)
	if err != nil {
		return render.Result{}, err
	}
	r := render.Renderer{Evaluator: inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})}
	out, err := r.Render(t.Context(), loaded.Request)
	return out, loaded.Explain(err)
}

// data is that of the only ConfigMap of a render.
func data(t testing.TB, tf *v1alpha1.Transform, objects ...client.Object) map[string]any {
	t.Helper()
	out, err := rendered(t, tf, objects...)
	require.NoError(t, err)
	require.Len(t, out.Plan.Graph.Nodes, 1)
	data, _ := out.Plan.Graph.Nodes[0].Object.Get("data").(map[string]any)
	return data
}

// inline is a module with one ConfigMap; its lines are those of a Transform.
const inline = `cueRef:
  type: inline
  ref: |
    package m

    ropewalk: apiVersion: "v1alpha1"
    #Input: {
    	text: string | *"none"
    	num:  int & >0 | *1
    	db?: {name: string, key?: string}
    }
    input: #Input
    context: {namespace: string, kubeVersion: string, ...}
    graph: nodes: config: object: {
    	apiVersion: "v1"
    	kind:       "ConfigMap"
    	metadata: name: "config"
    	data: {
    		text:      input.text
    		num:       "\(input.num)"
    		namespace: context.namespace
    		version:   context.kubeVersion
    		if input.db != _|_ {
    			db: input.db.name
    			if input.db.key != _|_ {key: input.db.key}
    		}
    	}
    }
`
