// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cue"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/transform/manifest"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/spec"
)

// TestAManifestIsRenderedAsInACluster renders Transforms here as the command does, from folders
// and manifests, and wants the same bytes.
func TestAManifestIsRenderedAsInACluster(t *testing.T) {
	for name, text := range map[string]string{
		"a module":  inline + "input: {text: own}\ninputsFrom:\n- {kind: ConfigMap, name: settings}\n- {kind: Secret, name: db, key: password, targetPath: db}\ninterval: 1m\n",
		"a project": "sourceRef: {kind: GitRepository, name: shop, path: shop, environment: prod}\nadopt: Never\n",
		"a bundle":  "sourceRef: {kind: GitRepository, name: bundle, path: shop/bundle.cue, environment: b}\ntags: {VERSION: '1.2'}\n",
	} {
		t.Run(name, func(t *testing.T) {
			tf := transformOf(t, text)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
			settings := configMap("settings", map[string]string{"values.yaml": "num: 7\n"})
			want, err := rendered(t, tf, secret, settings, gitRepository(t, "shop", projectFiles()), gitRepository(t, "bundle", bundleFiles()))
			require.NoError(t, err)
			require.NotEmpty(t, want.Files)
			require.Equal(t, want.Files, renderedHere(t, tf))
		})
	}
}

// renderedHere renders a Transform as the command does.
func renderedHere(t *testing.T, tf *v1alpha1.Transform) []emit.File {
	t.Helper()
	tf.APIVersion, tf.Kind = spec.APIVersion, spec.KindTransform
	data, err := yaml.Marshal(tf)
	require.NoError(t, err)
	m, err := manifest.Find(spec.File{Name: "transform.yaml", Data: data}, true)
	require.NoError(t, err)
	files := fstest.MapFS{"settings.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  values.yaml: |\n    num: 7\n")}}
	for dir, of := range map[string]map[string]string{"project": projectFiles(), "bundle": bundleFiles()} {
		for name, text := range of {
			files["src/"+dir+"/"+name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	evaluator := inprocess.New(inprocess.Options{Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()}})
	loaded, err := m.Load(t.Context(), manifest.Options{
		Host: host.Options{Evaluator: evaluator, Context: spec.Context{KubeVersion: "1.36"}, Emit: emit.Options{Repository: repository}}, FS: files,
		Sources: manifest.Sources{"GitRepository/shop/shop": "src/project", "GitRepository/shop/bundle": "src/bundle", "ConfigMap/shop/settings": "settings.yaml"},
		Connect: func(host.Options) (host.Host, error) {
			return fetch.Options{}.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}), nil
		},
	})
	require.NoError(t, err)
	out, err := render.Renderer{Evaluator: evaluator}.Render(t.Context(), loaded.Request)
	require.NoError(t, err)
	return out.Files
}
