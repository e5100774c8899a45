// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	pivot "github.com/ropewalk/ropewalk/plugin/pivot/controller"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// TestMain makes the test a program that serves workers, as the controller is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Arg {
		os.Exit(serveWorker())
	}
	os.Exit(m.Run())
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out, diagnostics bytes.Buffer
	t.Setenv("HOSTNAME", "")
	t.Setenv("ROPEWALK_CACHE", "")
	require.Equal(t, Good, Run(t.Context(), []string{"--help"}, &out, &diagnostics))
	require.Empty(t, diagnostics.String())
	golden := filepath.Join("testdata", "help.txt")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "regenerate with ROPEWALK_UPDATE=1")
}

func TestVersionIsOneLine(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, Good, Run(t.Context(), []string{"--version"}, &out, &out))
	require.True(t, strings.HasPrefix(out.String(), "ropewalk-controller "))
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
}

func TestMistakesOnTheCommandLineAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a flag that there is not":             {[]string{"--conncurrent=3"}, "unknown flag: --conncurrent"},
		"a word that is no flag":               {[]string{"start"}, `"start": expected flags only`},
		"no work at all":                       {[]string{"--concurrent=0"}, "--concurrent 0: expected 1 or more"},
		"no worker":                            {[]string{"--workers=0"}, "--workers 0: expected 1 or more"},
		"a memory that is none":                {[]string{"--memory-total=lots"}, "expected a size such as 256MiB"},
		"a memory that holds nothing":          {[]string{"--memory-total=128MiB"}, "give it at least 384MiB, or fewer --workers"},
		"a level that logs do not have":        {[]string{"--log-level=loud"}, `--log-level "loud": expected one of: trace debug info error`},
		"an encoding that logs do not have":    {[]string{"--log-encoding=xml"}, `--log-encoding "xml"`},
		"a gate that there is not":             {[]string{"--feature-gates=Magic=true"}, "expected NAME=true or NAME=false, of ExternalArtifact"},
		"a gate that is neither on nor off":    {[]string{"--feature-gates=ExternalArtifact"}, "expected NAME=true or NAME=false"},
		"a selector that selects nothing":      {[]string{"--watch-label-selector=a in"}, "--watch-label-selector"},
		"retries that become shorter":          {[]string{"--min-retry-delay=1h"}, "the second not less than the first"},
		"jitter of more than the interval":     {[]string{"--interval-jitter-percentage=100"}, "expected 0 to 99"},
		"a lease in no namespace":              {[]string{"--enable-leader-election"}, "RUNTIME_NAMESPACE says in which namespace the lease is"},
		"work in no namespace":                 {[]string{"--watch-all-namespaces=false"}, "RUNTIME_NAMESPACE says in which namespace to work"},
		"artifacts that nobody finds":          {[]string{"--storage-path=data", "--storage-adv-addr="}, "--storage-adv-addr says where others find"},
		"less than no requests":                {[]string{"--kube-api-qps=-1"}, "expected 0 or more"},
		"a part that there is not":             {[]string{"--parts=pivots"}, "expected some of: transforms pivot agent"},
		"no part":                              {[]string{"--parts="}, "--parts: expected some of"},
		"clusters without transforms":          {[]string{"--parts=pivot"}, "pivot needs transforms"},
		"a pivot in no namespace":              {[]string{"--parts=transforms,pivot"}, "RUNTIME_NAMESPACE says in which namespace the Secrets"},
		"a hold in the past":                   {[]string{"--pivot-hold=-1s"}, "expected 0 or more"},
		"a file of authorities without a name": {[]string{"--ca"}, "flag needs an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RUNTIME_NAMESPACE", "")
			var out, diagnostics bytes.Buffer
			require.Equal(t, Usage, Run(t.Context(), c.args, &out, &diagnostics), "%s", &diagnostics)
			require.Contains(t, diagnostics.String(), c.says)
			require.Empty(t, out.String())
		})
	}
}

func TestChildrenNeedAnAgent(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "ropewalk-system")
	var out, diagnostics bytes.Buffer
	require.Equal(t, Usage, Run(t.Context(), []string{"--parts=transforms,pivot", "--cell-host=parent.test"}, &out, &diagnostics))
	require.Contains(t, diagnostics.String(), "--cell-host: --child-manifest is missing, the file that installs the agent of a child")
}

func TestClustersBelongToTheControllerWithoutAShard(t *testing.T) {
	t.Setenv("RUNTIME_NAMESPACE", "ropewalk-system")
	noCluster(t)
	for selector, code := range map[string]int{"": Failed, "!sharding.fluxcd.io/key": Failed, "sharding.fluxcd.io/key=shard1": Usage} {
		var out, diagnostics bytes.Buffer
		require.Equal(t, code, Run(t.Context(), []string{"--parts=transforms,pivot", "--watch-label-selector=" + selector}, &out, &diagnostics), selector)
		require.Equal(t, code == Usage, strings.Contains(diagnostics.String(), `--watch-label-selector "sharding.fluxcd.io/key=shard1" does not select`), "%s", &diagnostics)
	}
}

func TestItEndsWithoutTheFIPSModuleWhereThatIsRequired(t *testing.T) {
	var out, diagnostics bytes.Buffer
	noCluster(t)
	require.Equal(t, Failed, Run(t.Context(), []string{"--require-fips"}, &out, &diagnostics))
	// make fips builds the tests with the module too; test/deploy has both programs.
	if err := pivot.RequireFIPS(); err != nil {
		require.Contains(t, diagnostics.String(), "--require-fips: "+err.Error())
	} else {
		require.NotContains(t, diagnostics.String(), "--require-fips")
	}
}

// noCluster sets the environment of a machine without one.
func noCluster(t *testing.T) {
	t.Helper()
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
}

func TestItEndsWhereThereIsNoCluster(t *testing.T) {
	noCluster(t)
	var out, diagnostics bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.Equal(t, Failed, Run(ctx, nil, &out, &diagnostics))
	require.Contains(t, diagnostics.String(), "KUBECONFIG")
}

// parsed are flags as a user gives them.
func parsed(t *testing.T, args ...string) *flags {
	t.Helper()
	f, set := newFlags(func(string) string { return "" })
	require.NoError(t, f.parse(set, args))
	return f
}

func TestModulesAreEvaluatedInWorkers(t *testing.T) {
	p, err := parsed(t, "--workers=1").newParts(logr.Discard())
	require.NoError(t, err)
	request := evaluate.Request{
		Spec: "web", Module: evaluate.Module{
			Digest: "sha256:test",
			FS:     fstest.MapFS{"m.cue": {Data: []byte("package m\n\na: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}\n")}},
		},
	}
	result, err := p.pool.Evaluate(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
	require.Equal(t, 1, p.pool.Stats().Started)
	require.NoError(t, p.close())
	require.Positive(t, p.pool.Stats().PeakMemory, "the process of the worker has ended")
}

func TestAPlaceThatIsNotThereIsSaidAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("default: Perhaps"), 0o600))
	for flag, says := range map[string]string{
		"--cache-dir=" + filepath.Join(file, "cache"):   "--cache-dir: ",
		"--storage-path=" + filepath.Join(file, "data"): "--storage-path: ",
		"--pull-policy=" + file:                         "--pull-policy: ",
		"--ca=" + file:                                  "the file contains no PEM certificate",
		"--ca=" + file + ".pem":                         "--ca: ",
	} {
		_, err := parsed(t, flag, "--storage-adv-addr=here").newParts(logr.Discard())
		require.ErrorContains(t, err, says)
	}
	_, err := parsed(t, "--pull-policy="+file).newParts(logr.Discard())
	require.ErrorIs(t, err, pullpolicy.ErrPolicy)
}

func TestFlagsReachTheReconciler(t *testing.T) {
	dir := t.TempDir()
	f := parsed(t, "--cache-dir="+dir, "--storage-path="+dir, "--storage-adv-addr=here", "--artifact-retention-ttl=1h",
		"--default-service-account=ropewalk", "--no-cross-namespace-refs", "--concurrent=3", "--workers=1", "--timeout=5s",
		"--argocd-namespaces=argocd,apps", "--argocd-projects=shop", "--requeue-dependency=5s", "--fetch-timeout=7s", "--plain-http=Registry.test:5000")
	p, err := f.newParts(logr.Discard())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	o := f.options(p)
	require.Equal(t, "ropewalk", o.DefaultServiceAccount)
	require.False(t, o.WorkloadIdentity)
	require.True(t, o.NoCrossNamespaceRefs)
	require.Equal(t, 3, o.Concurrent)
	require.Equal(t, 5*time.Second, o.DependencyRequeue)
	require.Equal(t, 7*time.Second, o.FetchTimeout)
	require.Equal(t, evaluate.Limits{Timeout: 5 * time.Second, Memory: p.shares.worker}, o.Limits)
	require.Equal(t, []string{"argocd", "apps"}, o.ArgoCD.Namespaces)
	require.Equal(t, []string{"shop"}, o.ArgoCD.Projects)
	require.Equal(t, "here", o.Storage.URL)
	require.Equal(t, time.Hour, o.Storage.TTL)
	require.NotNil(t, o.Modules.Store)
	require.Nil(t, o.Modules.Policy)
	require.NotEmpty(t, o.Version)

	strict, err := o.Modules.Registries(false)
	require.NoError(t, err)
	require.True(t, strict.PlainHTTP("registry.test:5000"))
	require.False(t, strict.PlainHTTP("other.test"))
	plain, err := o.Modules.Registries(true)
	require.NoError(t, err)
	require.True(t, plain.PlainHTTP("other.test"))

	require.Nil(t, parsed(t, "--storage-path="+dir, "--storage-adv-addr=here", "--feature-gates=ExternalArtifact=false").options(p).Storage)
	require.Nil(t, parsed(t).options(p).Storage)
	require.True(t, parsed(t, "--feature-gates=ObjectLevelWorkloadIdentity=true").options(p).WorkloadIdentity)
}
