// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
)

func TestAReferenceToAnotherHashOfARenderedNameIsReported(t *testing.T) {
	const rendered = `
data: {apiVersion: v1, kind: ConfigMap, metadata: {name: app-117a33c5}}
keys: {apiVersion: v1, kind: Secret, metadata: {name: app-t8mbg4cf7d}}
plain: {apiVersion: v1, kind: ConfigMap, metadata: {name: app-settings}}
`
	const stale, secret = `refers to the ConfigMap "app-96f1ae9d", which is not rendered; "app-117a33c5" is`, `refers to the Secret "app-2456789bcd", which is not rendered; "app-t8mbg4cf7d" is`
	pod := func(spec string) string {
		return "pod: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}], " + spec + "}}"
	}
	for name, c := range map[string]struct{ text, want string }{
		"in a volume":               {pod("volumes: [{name: v, configMap: {name: app-96f1ae9d}}]"), "spec.volumes[0].configMap.name: " + stale},
		"in a projected volume":     {pod("volumes: [{name: v, projected: {sources: [{configMap: {name: app-96f1ae9d}}]}}]"), "spec.volumes[0].projected.sources[0].configMap.name: " + stale},
		"in envFrom":                {pod("initContainers: [{name: i, image: i, envFrom: [{configMapRef: {name: app-96f1ae9d}}]}]"), "spec.initContainers[0].envFrom[0].configMapRef.name: " + stale},
		"in valueFrom":              {pod("initContainers: [{name: i, image: i, env: [{name: A, valueFrom: {secretKeyRef: {name: app-2456789bcd, key: k}}}]}]"), "spec.initContainers[0].env[0].valueFrom.secretKeyRef.name: " + secret},
		"in a volume of a Secret":   {pod("volumes: [{name: v, secret: {secretName: app-2456789bcd}}]"), "spec.volumes[0].secret.secretName: " + secret},
		"in imagePullSecrets":       {pod("imagePullSecrets: [{name: app-2456789bcd}]"), "spec.imagePullSecrets[0].name: " + secret},
		"in a custom resource":      {"pod: {apiVersion: x.io/v1, kind: X, spec: {configMapRef: {name: app-96f1ae9d}}}", "spec.configMapRef.name: " + stale},
		"twice in one object":       {pod("volumes: [{name: v, configMap: {name: app-96f1ae9d}}, {name: w, configMap: {name: app-96f1ae9d}}]"), "spec.volumes[0].configMap.name: " + stale},
		"but not the rendered name": {pod("volumes: [{name: v, configMap: {name: app-117a33c5}}]"), ""},
		"nor another base":          {pod("volumes: [{name: v, configMap: {name: web-96f1ae9d}}]"), ""},
		"also a Secret by hex":      {pod("volumes: [{name: v, secret: {secretName: app-96f1ae9d}}]"), "spec.volumes[0].secret.secretName: refers to the Secret \"app-96f1ae9d\", which is not rendered; \"app-t8mbg4cf7d\" is"},
		"nor another namespace":     {"pod: {apiVersion: v1, kind: Pod, metadata: {namespace: q}, spec: {containers: [], volumes: [{name: v, configMap: {name: app-96f1ae9d}}]}}", ""},
		"nor a word":                {pod("volumes: [{name: v, configMap: {name: app-database}}]"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := graph.Build(objects(t, rendered+c.text), nil)
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, g.Warnings)
				return
			}
			require.Len(t, g.Warnings, 1)
			require.Equal(t, c.want, fmt.Sprintf("%s: %s", g.Warnings[0].Path, g.Warnings[0].Err))
		})
	}
}
