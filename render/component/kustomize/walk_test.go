// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/component/kustomize"
)

func TestMoreObjectsThanAComponentMayHaveAreRefusedBeforeTheyAreBuilt(t *testing.T) {
	t.Parallel()
	objects := func(name string, n int) string {
		var b strings.Builder
		for i := range n {
			_, _ = fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d}\n", name, i)
		}
		return b.String()
	}
	fsys := tree(map[string]string{
		"k/kustomization.yaml": "resources: [a.yaml, b.yaml, c.yaml]\n",
		"k/a.yaml":             objects("a", component.MaxObjects), "k/b.yaml": objects("b", 1), "k/c.yaml": objects("c", 1),
	})
	_, err := kustomize.Collect(fsys, ".", request(fsys, nil).Component, request(fsys, nil).At)
	require.EqualError(t, err, "k/b.yaml:1: evaluate: the files up to this one hold more than 20000 objects (make several components of it)")
}
