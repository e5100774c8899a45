// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linked are the packages that go into a program.
func linked(t *testing.T, program string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+program)
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// TestTheCommandLinksNothingOfTheController looks at all that the command links, where
// the rules for imports look at what one package imports.
func TestTheCommandLinksNothingOfTheController(t *testing.T) {
	foreign := []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "k8s.io/api", "github.com/fluxcd", module + "plugin/flux", module + "plugin/api"}
	for _, p := range linked(t, "cmd/ropewalk") {
		for _, f := range foreign {
			require.False(t, below(p, f), "the command links %s: it would start later, and grow by half", p)
		}
	}
	require.Contains(t, linked(t, "cmd/ropewalk-controller"), "sigs.k8s.io/controller-runtime", "otherwise this test looks at the wrong things")
}

// TestTheControllerLinksNoEngineOfOthers keeps out what serves other engines: a flaw in
// it would be one of the controller, which has rights in the cluster.
func TestTheControllerLinksNoEngineOfOthers(t *testing.T) {
	for _, p := range linked(t, "cmd/ropewalk-controller") {
		for _, f := range []string{module + "plugin/argocd", module + "plugin/krm", "github.com/argoproj", "google.golang.org/grpc", "github.com/spf13/cobra"} {
			require.False(t, below(p, f), "the controller links %s", p)
		}
	}
}
