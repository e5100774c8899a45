// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/render/spec"
)

func parse(t *testing.T, text string) []spec.Manifest {
	t.Helper()
	docs, err := spec.ParseManifests(spec.File{Name: "a.yaml", Data: []byte(text)}, 1<<20)
	require.NoError(t, err)
	return docs
}

// hook is a ConfigMap that is a hook of events.
func hook(name, events string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", annotations: {helm.sh/hook: \"" + events + "\"}}}\n"
}

func TestWithoutHooks(t *testing.T) {
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n"
	for name, c := range map[string]struct {
		text, kept string
		names      []string
		warnings   int
	}{
		"text without hooks stays":              {"# a\n---\n" + plain, "# a\n---\n" + plain, nil, 0},
		"a test is cut with its comments":       {"---\n# T\n" + hook("t", "test") + "---\n" + plain, "---\n" + plain, []string{`ConfigMap "t"`}, 1},
		"one on the line of a separator is cut": {plain + "--- " + hook("d", "pre-delete, post-rollback"), plain, []string{`ConfigMap "d"`}, 1},
		"a hook of installations stays":         {hook("i", "Pre-Install,test"), hook("i", "Pre-Install,test"), nil, 1},
		"one of a list stays":                   {"apiVersion: v1\nkind: List\nitems:\n- " + plain + "- " + hook("t", "test"), "apiVersion: v1\nkind: List\nitems:\n- " + plain + "- " + hook("t", "test"), nil, 1},
		"text of hooks alone leaves nothing":    {hook("t", "test-success"), "", []string{`ConfigMap "t"`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kept, names, warnings := imports.WithoutHooks([]byte(c.text), parse(t, c.text))
			require.Equal(t, c.kept, string(kept))
			require.Equal(t, c.names, names)
			require.Len(t, warnings, c.warnings)
		})
	}
}

func TestWithoutExport(t *testing.T) {
	const commented = "# kept\n{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}\n"
	for name, c := range map[string]struct {
		text, kept string
		left       []string
	}{
		"text without it stays, with its comments": {commented, commented, nil},
		"a creationTimestamp that is null": {
			commented + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null}, data: {k: \"1\"}}\n",
			commented + "---\napiVersion: v1\ndata:\n  k: \"1\"\nkind: ConfigMap\nmetadata:\n  name: a\n", []string{"metadata.creationTimestamp of 1 object: a cluster writes it"},
		},
		"a list of an export": {
			"apiVersion: v1\nkind: List\nitems:\n" +
				"- {apiVersion: v1, kind: Service, metadata: {name: a, uid: u, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}, spec: {clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}}\n" +
				"- {apiVersion: v1, kind: Service, metadata: {name: b, uid: u, annotations: {k: v}}, spec: {clusterIP: None}, status: {loadBalancer: {}}}\n",
			"---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec: {}\n---\napiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    k: v\n  name: b\nspec:\n  clusterIP: None\n",
			[]string{
				"metadata.annotations.kubectl.kubernetes.io/last-applied-configuration of 1 object: a cluster writes it",
				"metadata.uid of 2 objects: a cluster writes it", "spec.clusterIP of 1 object: a cluster writes it", "status of 2 objects: a cluster writes it",
			},
		},
		"what may be meant": {
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}, status: {conditions: [{type: x}]}}\n",
			"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1}, status: {conditions: [{type: x}]}}\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kept, left := imports.WithoutExport([]byte(c.text), parse(t, c.text))
			require.Equal(t, c.kept, string(kept))
			require.Equal(t, c.left, left)
		})
	}
}

func TestAloneNamesTheOthers(t *testing.T) {
	text := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		text += "---\n" + hook(name, "x")
	}
	objects, at, err := imports.Objects(parse(t, text))
	require.NoError(t, err)
	require.NoError(t, imports.Alone(objects, at, 0, 1, 2, 3, 4, 5, 6))
	require.ErrorContains(t, imports.Alone(objects, at, 1), `ConfigMap "a" in line 2, ConfigMap "c" in line 6, ConfigMap "d" in line 8, ConfigMap "e" in line 10, ConfigMap "f" in line 12 and 1 more`)
}
