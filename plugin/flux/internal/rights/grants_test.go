// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/render/emit"
)

func TestWhatARenderGrantsItselfIsKnownLater(t *testing.T) {
	objects := []delivery.ObjectRef{
		object("", "ConfigMap", "shop", "a"), object("", "ConfigMap", "other", "a"), object("", "Namespace", "", "shop"),
	}
	for about, c := range map[string]struct {
		binding string
		left    int
	}{
		"nothing is bound":               {"kind: ConfigMap\nmetadata: {name: a}\ndata: {RoleBinding: deployer}\n", 3},
		"a RoleBinding of another one":   {"kind: RoleBinding\nmetadata: {namespace: shop}\nsubjects: [{kind: ServiceAccount, name: x, namespace: apps}, {kind: User, name: deployer}]\n", 3},
		"of another namespace":           {"kind: RoleBinding\nmetadata: {namespace: shop}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: x}]\n", 3},
		"a RoleBinding of the account":   {"kind: RoleBinding\nmetadata: {namespace: shop}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: apps}]\n", 2},
		"one for all of the cluster":     {"kind: ClusterRoleBinding\nmetadata: {name: a}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: apps}]\n", 0},
		"what is no YAML grants nothing": {"kind: [RoleBinding deployer", 3},
	} {
		t.Run(about, func(t *testing.T) {
			layers := []delivery.Layer{{Objects: objects[:2]}, {Objects: objects[2:], Files: []emit.File{{Data: []byte(c.binding)}}}}
			require.Len(t, Known(layers, "apps", "deployer"), c.left)
			require.Len(t, layers[0].Objects, 2)
		})
	}
}
