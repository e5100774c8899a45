// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/emit"
)

// TestMoreFilesThanAnArtifactUsuallyHasArePacked: what a render may have.
func TestMoreFilesThanAnArtifactUsuallyHasArePacked(t *testing.T) {
	var files []emit.File
	for i := range 10_001 {
		name := fmt.Sprintf("c%d", i)
		files = append(files, emit.File{Path: name + ".yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n")})
	}
	set, err := pack(Render{Files: files})
	require.NoError(t, err)
	require.NotEmpty(t, set.Complete.Descriptor.Digest)
}
