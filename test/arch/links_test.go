// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linked are the packages that go into a program.
func linked(t *testing.T, program string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(importsOf(t, program)))
}

// TestTheCommandLinksNothingOfTheController looks at all that the command links, where
// the rules for imports look at what one package imports.
func TestTheCommandLinksNothingOfTheController(t *testing.T) {
	// The CEL library of the API server, by which custom resources are checked, comes with
	// these types, and with 9 ms of CPU at every start (6.5 to 15.5) and 11 MB.
	const types = "k8s.io/api/core/v1"
	// A Transform is decoded from its manifest into the type that the controller has, so that both
	// make one request of it: 0.3 MB, and nothing at a start. Its conditions are those of Flux.
	transform := []string{module + "plugin/api/v1alpha1", "github.com/fluxcd/pkg/apis/meta"}
	// Variables in the objects of a component are replaced as Flux does it: 1,000 lines of its own.
	variables := []string{"github.com/fluxcd/pkg/envsubst", "github.com/fluxcd/pkg/envsubst/parse", "github.com/fluxcd/pkg/envsubst/path"}
	// Of client-go there is the dynamic client, for the pivot: 1 ms and 3 MB. The typed clients
	// come with all types of the API.
	foreign := []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/client-go/discovery",
		"k8s.io/client-go/tools/cache", "k8s.io/client-go/tools/leaderelection", "k8s.io/api", "github.com/fluxcd", module + "plugin/flux", module + "plugin/api"}
	for _, p := range linked(t, "cmd/ropewalk") {
		if p == types || slices.Contains(transform, p) || slices.Contains(variables, p) {
			continue
		}
		for _, f := range foreign {
			require.False(t, below(p, f), "the command links %s: it would start later, and grow by half", p)
		}
	}
	require.Contains(t, linked(t, "cmd/ropewalk-controller"), "sigs.k8s.io/controller-runtime", "otherwise this test looks at the wrong things")
}

// TestOnlyTheProgramOfComponentsLinksKustomizeAndHelm looks at all that the others link: their
// engines write to variables, the log and stderr of the process, and may end it.
func TestOnlyTheProgramOfComponentsLinksKustomizeAndHelm(t *testing.T) {
	engines := []string{"sigs.k8s.io/kustomize/api/krusty", "sigs.k8s.io/kustomize/api/internal/target", "helm.sh/helm"}
	for _, program := range []string{"cmd/ropewalk", "cmd/ropewalk-controller"} {
		for _, p := range linked(t, program) {
			require.False(t, slices.ContainsFunc(engines, func(e string) bool { return below(p, e) }), "%s links %s", program, p)
		}
	}
	require.Subset(t, linked(t, "cmd/ropewalk-components"), engines[:2], "otherwise this test looks at the wrong things")
}

// TestTheControllerLinksNoEngineOfOthers keeps out what serves other engines: a flaw in
// it would be one of the controller, which has rights in the cluster.
func TestTheControllerLinksNoEngineOfOthers(t *testing.T) {
	imports := importsOf(t, "cmd/ropewalk-controller")
	for p := range imports {
		for _, f := range []string{module + "plugin/argocd", module + "plugin/krm", "github.com/argoproj", "connectrpc.com"} {
			require.False(t, below(p, f), "the controller links %s", p)
		}
		// The CEL library of the API server comes with this package, for its feature flags.
		if p != "k8s.io/component-base/cli/flag" {
			require.NotContains(t, imports[p], "github.com/spf13/cobra", "%s imports it: the controller has no commands", p)
		}
	}
}

// TestOnlyTheLinkIsServedAndDialedByGRPC lets the controller link gRPC for no more than the
// link of a pivot and what it comes with: to log in at gcp, it has the library that Flux has,
// and Google's own below that can ask an agent on the node for mutual TLS, by gRPC, where one is
// configured. What else imports it would serve or dial by it: a flaw of it would then be in
// reach of others.
func TestOnlyTheLinkIsServedAndDialedByGRPC(t *testing.T) {
	const grpc = "google.golang.org/grpc"
	const link = module + "plugin/pivot/internal/link"
	known := []string{link, grpc, "cloud.google.com/go", "google.golang.org/api", "github.com/google/s2a-go", "github.com/googleapis"}
	imports := importsOf(t, "cmd/ropewalk-controller")
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if slices.ContainsFunc(imports[p], func(i string) bool { return below(i, grpc) }) {
			require.True(t, slices.ContainsFunc(known, func(k string) bool { return below(p, k) }), "the controller links %s, which imports %s", p, grpc)
		}
	}
	require.Contains(t, importsOf(t, strings.TrimPrefix(link, module))[link], grpc, "otherwise this test looks at the wrong things")
	for _, p := range linked(t, "cmd/ropewalk") {
		require.False(t, below(p, grpc) || below(p, link), "the command links %s: it logs in at no cloud, and both ends of its pivots are in one process", p)
	}
}

// importsOf is what the packages that go into a program import.
func importsOf(t *testing.T, program string) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./"+program)
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 0 {
			imports[fields[0]] = fields[1:]
		}
	}
	return imports
}
