// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"log"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/render/component/kustomize/library"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// TestMain lets the test program be the one that it tests.
func TestMain(m *testing.M) {
	if process.IsWorker() {
		var theirs library.Library
		log.SetOutput(&theirs)
		os.Exit(serve(faulty{&theirs}))
	}
	os.Exit(m.Run())
}

const object1 = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: {{ .Values.x | quote }}}\n"

// chart asks for a chart of one template.
func chart(text string) evaluate.Request {
	at := object.Pos{File: "shop.yaml", Line: 4, Column: 3}
	return evaluate.Request{
		Spec: "shop", Pos: at, Context: object.Context{Namespace: "apps", KubeVersion: "1.33"},
		Module: evaluate.Module{Digest: text, Label: "shop", FS: fstest.MapFS{
			"Chart.yaml":       {Data: []byte("apiVersion: v2\nname: toy\nversion: 1.0.0\n")},
			"values.yaml":      {Data: []byte("x: 1\n")},
			"templates/x.yaml": {Data: []byte(text)},
		}},
		Operation: evaluate.OpBuild, Component: &spec.Component{Pos: at, Helm: &spec.Helm{Chart: spec.Text{Text: ".", Pos: at}}},
	}
}

func TestChartsAreRenderedInWorkers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("ROPEWALK_COMPONENTS", self)
	charts := process.Components(nil, worker.Options{Size: 1, Timeout: 20 * time.Second, Strikes: -1})
	t.Cleanup(func() { require.NoError(t, charts.Close()) })
	result, err := charts.Evaluate(t.Context(), chart(object1))
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
	require.Equal(t, "1", result.Nodes[0].Object.Text("data", "x"))
	require.Equal(t, object.Pos{File: "shop/templates/x.yaml", Line: 2, Column: 1}, result.Nodes[0].Pos)

	// What a chart does to its worker is an error of that chart.
	_, err = charts.Evaluate(t.Context(), chart(`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`))
	require.EqualError(t, err, "shop/templates/x.yaml:1:29: evaluate: exceeded maximum template depth (100000)")
	_, err = charts.Evaluate(t.Context(), chart(`{{ $x := list }}{{ range until 100000 }}{{ $x = append $x (repeat 100000 "0123456789") }}{{ end }}`))
	require.ErrorIs(t, err, evaluate.ErrMemory)
	slow := chart(`{{ range until 60000 }}{{ range until 60000 }}{{ end }}{{ end }}`)
	slow.Limits.Timeout = time.Second
	_, err = charts.Evaluate(t.Context(), slow)
	require.ErrorIs(t, err, evaluate.ErrTimeout)
	_, err = charts.Evaluate(t.Context(), chart(object1))
	require.NoError(t, err)
}
