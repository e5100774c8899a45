// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
)

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
