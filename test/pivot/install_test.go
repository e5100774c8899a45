// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// startBootstrap starts Flux and the controller on plane A. It serves no children: there is no
// address at which one could call it.
func (f *family) startBootstrap() {
	f.t.Helper()
	source, kustomize := f.Flux(f.t, f.A)
	f.install(f.A)
	f.parent = f.Controller(f.t, f.A, "ropewalk-controller", system, f.flags(f.A, "--workers=1", "--pivot-hold=1s",
		"--plain-http="+f.registry, "--registration-addr="+plane.Loopback+":0", "--link-addr="+plane.Loopback+":0")...)
	f.ofParent = []*harness.Process{source, kustomize, f.parent}
	f.says("plane a: the bootstrap cluster has Flux and the controller")
}

// installation is a run of the command.
type installation struct {
	out, said bytes.Buffer
	ended     chan error
}

// command runs it; what it says is in the timeline.
func (f *family) command(args ...string) *installation {
	f.t.Helper()
	i := &installation{ended: make(chan error, 1)}
	cmd := exec.CommandContext(f.t.Context(), f.Program(f.t, "ropewalk"), append([]string{"pivot", "install", "--kubeconfig=" + f.A.Kubeconfig, "--format=json", "--timeout=10m"}, args...)...) //nolint:gosec // a command of ours
	cmd.Env, cmd.Stdout, cmd.Stderr = f.Environment(), &i.out, io.MultiWriter(&i.said, saying{f})
	require.NoError(f.t, cmd.Start())
	go func() { i.ended <- cmd.Wait() }()
	return i
}

// saying is a writer of the timeline.
type saying struct{ *family }

func (s saying) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.says("ropewalk pivot install: %s", strings.Join(strings.Fields(line), " "))
	}
	return len(p), nil
}

// wait wants the command to end well, and returns what it printed.
func (i *installation) wait(t *testing.T) (out struct{ Cluster, Phase, Step string }) {
	t.Helper()
	select {
	case err := <-i.ended:
		require.NoError(t, err, "%s", i.out.String())
	case <-time.After(8 * time.Minute):
		require.Fail(t, "the command does not end")
	}
	require.NoError(t, json.Unmarshal(i.out.Bytes(), &out))
	return out
}

// TestABootstrapClusterInstallsTheFirstManagementCluster: plane A is thrown away after it has made
// a cluster that cannot call it. The controller of that is installed by a ClusterResourceSet, and
// reached by the kubeconfig of Cluster API.
//
// The API server of the in-memory cloud has no definitions: what is not about its machines goes
// to plane B, by a proxy that the Secret of the kubeconfig names (front_test.go).
func TestABootstrapClusterInstallsTheFirstManagementCluster(t *testing.T) {
	f := newFamily(t)
	f.startBootstrap()
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	base := f.push("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: {from: the bootstrap cluster}\n")
	out := filepath.Join(dir, "blue.kubeconfig")
	args := []string{"--file=" + write("blue.yaml", f.document(base)), "--manifest=" + write("management.yaml", f.kustomized(f.overlay())), "--out=" + out}
	first := f.command(args...)
	front := f.front()
	f.says("the Secret of the kubeconfig names a proxy: nodes and kubeadm are those of the in-memory cloud, all else is plane b")

	harness.Await(t, 4*time.Minute, "the Deployment of the controller is on the cluster", func() bool {
		return f.run(f.B, "", "get", "deployments", "--all-namespaces", "-o", "name") == "deployment.apps/ropewalk-controller"
	})
	f.says("plane b: the ClusterResourceSet has created %d objects", front.created.Load())
	f.Flux(t, f.B)
	f.agent = f.Controller(t, f.B, "ropewalk-controller", system, f.flags(f.B, "--workers=1", "--plain-http="+f.registry,
		"--registration-addr="+plane.Loopback+":0", "--link-addr="+plane.Loopback+":0")...)
	f.says("plane b: the Deployment runs, and Flux")
	f.cluster.AwaitAvailable(t, f.A)
	f.audited = audit.Start(t, f.World, f.cluster, f.A)
	done := first.wait(t)
	require.Equal(t, "Ready", done.Phase)
	require.Equal(t, "Done", done.Step)
	require.Equal(t, "the bootstrap cluster", f.run(f.B, "", "get", "configmap", "base", "-o", "jsonpath={.data.from}"))
	f.says("the command ends: %s", strings.Join(strings.Fields(first.out.String()), " "))
	report := f.audited.Stop(t)
	t.Logf("auditor: %s", report)
	report.Require(t)

	for _, p := range []*harness.Plane{f.A, f.B} {
		require.Empty(t, f.run(p, "", "get", "clusterresourcesets,clusterresourcesetbindings", "--all-namespaces", "-o", "name"), "plane %s", p.Name)
	}
	info, err := os.Stat(out)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	cmd := exec.CommandContext(t.Context(), f.kubectl, "--kubeconfig="+out, "get", "pivotclusters", "-o", "jsonpath={.items[*].status.phase}") //nolint:gosec // a program of the run
	phases, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", phases)
	require.Equal(t, "Ready", string(phases))
	began := time.Now()
	again := f.command(args...)
	require.Equal(t, "Ready", again.wait(t).Phase)
	f.says("the command, run again, ends after %s", time.Since(began).Round(10*time.Millisecond))
	for _, i := range []*installation{first, again} {
		f.keepsSecrets(out, i.out.String()+i.said.String())
	}

	f.destroyParent()
	f.lives()
}

// keepsSecrets fails where a text has a key of a kubeconfig.
func (f *family) keepsSecrets(kubeconfig, text string) {
	f.t.Helper()
	data, err := os.ReadFile(kubeconfig)
	require.NoError(f.t, err)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasSuffix(key, "-data") {
			require.NotContains(f.t, text, value, key)
		}
	}
}
