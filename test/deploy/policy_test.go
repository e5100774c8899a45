// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

func TestThePolicyThatIsInstalledAllowsEverything(t *testing.T) {
	name := folder + "/sidecar/pull-policy.yaml"
	p, err := pullpolicy.Parse(name, []byte(read(t, name)))
	require.NoError(t, err)
	for _, ref := range []source.Ref{
		{Type: source.TypeOCI, Ref: "oci://registry.example.com/modules/web:1.0.0"},
		{Type: source.TypeGit, Ref: "https://git.example.com/payments/modules.git"},
	} {
		signatures, err := p.Judge("any", ref)
		require.NoError(t, err)
		require.Empty(t, signatures)
	}
}
