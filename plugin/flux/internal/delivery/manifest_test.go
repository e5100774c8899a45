// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/emit"
)

func TestAMarkIsTakenAwayWithoutATrace(t *testing.T) {
	for name, text := range map[string]string{
		"without annotations":         "apiVersion: v1\ndata:\n  x: \"1\"\n  \"y\": |\n    yes\n    2024-01-01\nkind: ConfigMap\nmetadata:\n  name: a\n",
		"with annotations":            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    b: c\n  name: a\n",
		"where the author forbids it": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n  name: a\n",
	} {
		l := library{}
		c, err := l.add([]emit.File{{Path: "a.yaml", Data: []byte(text)}})
		require.NoError(t, err, name)
		m := c["/ConfigMap//a"]
		m.mark = marked
		files, err := l.files(content{"/ConfigMap//a": m})
		require.NoError(t, err, name)
		require.Contains(t, string(files[0].Data), "kustomize.toolkit.fluxcd.io/prune")
		require.Contains(t, string(files[0].Data), annotationHandOver)
		again, err := library{}.add(files)
		require.NoError(t, err, name)
		require.Equal(t, content{"/ConfigMap//a": m}, again, name)
		m.mark = plain
		files, err = l.files(content{"/ConfigMap//a": m})
		require.NoError(t, err, name)
		require.Equal(t, text, string(files[0].Data), name)
	}
}

func TestTwoFilesOfOneNameAreToldApart(t *testing.T) {
	l := library{}
	c, err := l.add([]emit.File{{Path: "x.yaml", Data: manifestOf("ConfigMap", "a")}})
	require.NoError(t, err)
	other, err := l.add([]emit.File{{Path: "x.yaml", Data: manifestOf("ConfigMap", "b")}})
	require.NoError(t, err)
	for k, m := range other {
		c[k] = m
	}
	files, err := l.files(c)
	require.NoError(t, err)
	require.NotEqual(t, files[0].Path, files[1].Path)
}

func TestInventoriesAreRead(t *testing.T) {
	k := &kustomizev1.Kustomization{}
	k.Status.Inventory = &kustomizev1.ResourceInventory{Entries: []kustomizev1.ResourceRef{
		{ID: "ns_web_apps_Deployment", Version: "v1"},
		{ID: "_system__reader_rbac.authorization.k8s.io_ClusterRole", Version: "v1"},
		{ID: "ns_a__b", Version: "v1"},
		{ID: "ns_a__ConfigMap", Version: "v1"},
		{ID: "nonsense"},
	}}
	require.Equal(t, []ObjectRef{
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: "web"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "system:reader"},
		{Version: "v1", Kind: "b", Namespace: "ns", Name: "a"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a"},
	}, Inventory(k))
}

func TestUnitsAreOrderedByTheirNumbers(t *testing.T) {
	require.Equal(t, []string{"layer-01", "layer-01-2", "layer-01-10", "layer-02", "layer-100"},
		ordered(map[string]bool{"layer-100": true, "layer-02": true, "layer-01-10": true, "layer-01": true, "layer-01-2": true}))
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {}\n"))
	f.Add([]byte("metadata: &a\n  name: *a\n"))
	f.Add([]byte("{apiVersion: a/b, kind: C, metadata: {name: d, annotations: [1]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := library{}
		c, err := l.add([]emit.File{{Path: "a.yaml", Data: data}})
		if err != nil {
			return
		}
		for k, m := range c {
			m.mark = marked
			c[k] = m
		}
		files, err := l.files(c)
		require.NoError(t, err)
		again, err := l.add(files)
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
