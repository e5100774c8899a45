// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
)

// clusterOf returns a cluster with these answers by path, whose context has the namespace apps.
// What is not there may not be read.
func clusterOf(t *testing.T, answers map[string]string) *cluster.Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			text = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(`{apiVersion: v1, kind: Config, current-context: a, users: [{name: a, user: {}}],
contexts: [{name: a, context: {cluster: a, user: a, namespace: apps}}], clusters: [{name: a, cluster: {server: "`+server.URL+`"}}]}`), 0o600))
	c, err := cluster.Open(file, "")
	require.NoError(t, err)
	return c
}

func TestQuotasAreComparedInTheWordsOfTheController(t *testing.T) {
	pods := func(name, namespace string) *object.Node {
		meta := map[string]any{"name": name}
		if namespace != "" {
			meta["namespace"] = namespace
		}
		return &object.Node{ID: object.MakeID("s", name), Object: object.Object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
			"spec": map[string]any{"replicas": 3, "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a"}}}}},
		}}
	}
	bare := pods("bare", "")
	g := &graph.Graph{Nodes: []*object.Node{bare, pods("web", "shop"), pods("other", "hidden")}}
	quotas := func(namespace string) string {
		return `{"kind": "ResourceQuotaList", "apiVersion": "v1", "items": [{"metadata": {"name": "small", "namespace": "` + namespace + `"}, "spec": {"hard": {"pods": "2"}}}]}`
	}
	const none = `{"kind": "LimitRangeList", "apiVersion": "v1", "items": []}`
	c := clusterOf(t, map[string]string{
		"/api/v1/namespaces/apps/resourcequotas": quotas("apps"), "/api/v1/namespaces/apps/limitranges": none,
		"/api/v1/namespaces/shop/resourcequotas": quotas("shop"), "/api/v1/namespaces/shop/limitranges": none,
	})
	var notes bytes.Buffer
	a := Commands{&command.App{Streams: command.Streams{Err: &notes}}}
	var out needs
	require.NoError(t, a.compareQuotas(t.Context(), c, g, &out))
	require.Equal(t, []string{
		"ResourceQuota apps/small allows 2 of pods, and the pods of this render ask for 3",
		"ResourceQuota shop/small allows 2 of pods, and the pods of this render ask for 3",
	}, out.OverQuota)
	require.Equal(t, "ropewalk: quotas are not compared in full: the user of the kubeconfig may not list ResourceQuotas or LimitRanges in hidden\n", notes.String())
	require.Equal(t, "OVER QUOTA\n"+strings.Join(out.OverQuota, "\n")+"\n", out.text(true))
	require.Empty(t, bare.Object.Namespace(), "the render stays as it is")
}
