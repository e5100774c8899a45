// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistakesOfOperationsAndNumbersAreAtTheirLine(t *testing.T) {
	t.Parallel()
	const patch = "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  "
	for name, tt := range map[string]struct{ kustomization, file, want string }{
		"an unknown op of a block": {
			patch + "patch: |2-\n\n      - {op: test, path: /a}\n      - op: ad\n        path: /b\n", "",
			"k/kustomization.yaml:7:13: evaluate: patches[0]: unknown op \"ad\" (did you mean \"add\"?)",
		},
		"an unknown op of a text": {
			patch + "patch: '[{\"op\": \"ad\", \"path\": \"/b\"}]'\n", "",
			"k/kustomization.yaml:4:10: evaluate: patches[0]: unknown op \"ad\" (did you mean \"add\"?)",
		},
		"a file without ops and paths": {
			patch + "path: p.yaml\n", "# c\n- path: /a\n- op: remove\n- {op: move, path: /a}\n",
			"k/p.yaml:2:3: evaluate: patches[0]: the operation has no op (known: add, copy, move, remove, replace, test)\n" +
				"k/p.yaml:3:3: evaluate: patches[0]: the operation has no path (write path: /spec/…)\n" +
				"k/p.yaml:4:3: evaluate: patches[0]: the operation has no from (write from: /spec/…)",
		},
		"a count in words": {
			"resources: [web.yaml]\nreplicas:\n- {name: web, count: 1}\n- {name: web, count: five}\n", "",
			"k/kustomization.yaml:4:22: evaluate: replicas[1].count: expected an integer, got a string",
		},
		"a field whose nearest one is deprecated": {
			"image: [a]\ncommonLabel: {a: b}\n", "",
			"k/kustomization.yaml:1:8: evaluate: image: kustomize knows no field \"image\" here (did you mean \"images\"?)\n" +
				"k/kustomization.yaml:2:14: evaluate: commonLabel: kustomize knows no field \"commonLabel\" here (write it as labels, with includeSelectors: true)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tree(map[string]string{"k/kustomization.yaml": tt.kustomization, "k/web.yaml": deployment, "k/p.yaml": tt.file})
			_, err := engine(nil)(t.Context(), request(files, nil))
			require.EqualError(t, err, tt.want)
		})
	}
	merged := patch + "patch: |-\n    - &a {op: add, path: /metadata/labels, value: {a: b}}\n    - *a\n    - {<<: *a, path: /metadata/annotations}\n"
	files := tree(map[string]string{"k/kustomization.yaml": merged, "k/web.yaml": deployment})
	out, err := engine(nil)(t.Context(), request(files, nil))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, out.Objects[0].Object.Annotations())
}
