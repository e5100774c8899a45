// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNearestName(t *testing.T) {
	known := []string{"replicas", "template", "selector", "imagePullPolicy", "port", "env"}
	for name, want := range map[string]string{
		"replica": "replicas", "repilcas": "replicas", "Selector": "selector", "imagepullpolicy": "imagePullPolicy",
		"prot": "port", "portNumber": "port", "nothing": "", "x": "", "": "", strings.Repeat("port", 30): "port",
	} {
		require.Equal(t, want, Nearest(name, known), name)
	}
}
