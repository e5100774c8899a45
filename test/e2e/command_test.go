// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// installed is what the kustomization of deploy/flux gives; test/kustomize writes it.
const installed = "../kustomize/testdata/flux.yaml"

// system is the namespace of the controller there.
const system = "ropewalk-system"

// install applies deploy/flux but for the pod: the controller is a process here, with
// the rights of its ServiceAccount.
func install(t *testing.T, c *Cluster) {
	t.Helper()
	data, err := os.ReadFile(installed)
	require.NoError(t, err)
	c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: flux-system}\n")
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		if !strings.Contains(document, "\nkind: Deployment\n") {
			c.Apply(t, document)
		}
	}
	c.Await(t, startup, "Transforms are known", func() bool {
		return c.Client.List(t.Context(), &v1alpha1.TransformList{}) == nil
	})
}

// replica is one controller, with the addresses that it listens at.
type replica struct {
	*Process
	metrics, health, storage string
}

// startReplica starts one, with the arguments of deploy/flux but for what is of a pod. It
// is killed at the end of the test, and would leave a lease that the controller of the
// next test waits for: that goes with it. Who cannot renew the lease in time ends: the
// time is long, so that a machine that halts for some seconds ends nobody.
func startReplica(t *testing.T, c *Cluster, name string, more ...string) replica {
	t.Helper()
	r := replica{metrics: "127.0.0.1:" + FreePort(t), health: "127.0.0.1:" + FreePort(t), storage: "127.0.0.1:" + FreePort(t)}
	dir := t.TempDir()
	argv := append([]string{
		c.Program(t, "ropewalk-controller"), "--enable-leader-election",
		"--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s", "--leader-election-retry-period=1s",
		"--metrics-addr=" + r.metrics, "--health-addr=" + r.health, "--cache-dir=" + filepath.Join(dir, "cache"),
		"--storage-path=" + filepath.Join(dir, "data"), "--storage-addr=" + r.storage, "--storage-adv-addr=" + r.storage,
	}, more...)
	t.Cleanup(func() {
		// The context of the test is done by now, and the process is gone.
		_ = c.Client.DeleteAllOf(c.run.Context(), &coordinationv1.Lease{}, client.InNamespace(system)) // the next one waits then
	})
	r.Process = c.Process(t, name, argv, "KUBECONFIG="+c.KubeconfigFor(t, system, "ropewalk-controller"), "RUNTIME_NAMESPACE="+system)
	c.Await(t, startup, name+" lives", func() bool { _, ok := page(t.Context(), r.health, "/healthz"); return ok })
	return r
}

// page is what a server answers; ok where it is well.
func page(ctx context.Context, address, path string) (text string, ok bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return string(data), err == nil && answer.StatusCode == http.StatusOK
}

// leads reports whether a controller says that it is the leader.
func (r replica) leads(t *testing.T) bool {
	text, ok := page(t.Context(), r.metrics, "/metrics")
	return ok && strings.Contains(text, `leader_election_master_status{name="ropewalk-controller-leader-election"} 1`)
}

func TestTheControllerRunsWithTheRightsOfItsAccount(t *testing.T) {
	c := Shared(t)
	install(t, c)
	started := time.Now()
	first := startReplica(t, c, "controller-1")
	c.Await(t, startup, "it leads", func() bool { return first.leads(t) })
	c.Await(t, startup, "it is Ready", func() bool { _, ok := page(t.Context(), first.health, "/readyz"); return ok })
	t.Logf("ready and leading after %s", time.Since(started).Round(time.Millisecond))

	text, ok := page(t.Context(), first.metrics, "/metrics")
	require.True(t, ok)
	for _, name := range []string{"ropewalk_workers_total", "ropewalk_cache_reads_total", "ropewalk_memory_limit_bytes", "leader_election_master_status", "rest_client_requests_total"} {
		require.Contains(t, text, "\n"+name+"{", name)
	}
	_, ok = page(t.Context(), first.metrics, "/debug/pprof/cmdline")
	require.True(t, ok)

	// A second one waits, and takes over when the first ends as a pod does.
	second := startReplica(t, c, "controller-2")
	require.Never(t, func() bool {
		_, ready := page(t.Context(), second.health, "/readyz")
		return ready || second.leads(t)
	}, 3*time.Second, 200*time.Millisecond, "Flux would ask it for artifacts that it does not have")
	first.Interrupt()
	require.NoError(t, first.Wait(soon), "it ends by itself, and well")
	ended := time.Now()
	c.Await(t, startup, "the second leads", func() bool { return second.leads(t) })
	t.Logf("the next one leads %s after", time.Since(ended).Round(time.Millisecond))

	// Who is killed gives nothing back: the lease has to expire.
	third := startReplica(t, c, "controller-3")
	second.Kill()
	ended = time.Now()
	c.Await(t, startup, "the third leads", func() bool { return third.leads(t) })
	t.Logf("after a kill the next one leads %s after", time.Since(ended).Round(time.Millisecond))

	var lease coordinationv1.Lease
	require.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "ropewalk-controller-leader-election"}, &lease))
	for _, r := range []replica{first, second, third} {
		allowed(t, r)
		neverSaid(t, r, `"level":"error"`)
	}
}

// TestAnAPIServerTakesTheInstallationAndItsExamples asks the real one, which knows the
// rules of the definition too.
func TestAnAPIServerTakesTheInstallationAndItsExamples(t *testing.T) {
	c := Shared(t)
	install(t, c)
	c.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-k", "../../deploy/flux")
	files, err := filepath.Glob("../../deploy/flux/examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range []string{"apps", "hello", "previews", "shop"} {
		c.Apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	}
	// The Flux Operator does not run here: its kinds are known, and what they hold is free.
	for kind, plural := range map[string]string{"ResourceSet": "resourcesets", "ResourceSetInputProvider": "resourcesetinputproviders"} {
		c.Apply(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "+plural+".fluxcd.controlplane.io}\n"+
			"spec: {group: fluxcd.controlplane.io, scope: Namespaced, names: {kind: "+kind+", plural: "+plural+"}, versions: [{name: v1, served: true, storage: true, "+
			"schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n")
	}
	c.awaitDefinitions()
	for _, file := range files {
		c.Kubectl(t, "apply", "--server-side", "--dry-run=server", "-f", file)
	}
	wrong := &v1alpha1.Transform{}
	wrong.Name, wrong.Namespace = "wrong", "apps"
	require.ErrorContains(t, c.Client.Create(t.Context(), wrong), "one of sourceRef, source, cueRef and component is needed")

	// Who may edit a namespace may write its Transforms, by the roles of Kubernetes.
	c.Apply(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: editor, namespace: apps}\n")
	c.Apply(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: editor, namespace: apps}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [{kind: ServiceAccount, name: editor, namespace: apps}]\n")
	editor, right := c.ClientFor(t, "apps", "editor"), &v1alpha1.Transform{}
	right.Name, right.Namespace, right.Spec.Suspend = "right", "apps", true
	right.Spec.CueRef = &v1alpha1.CueReference{Type: "embedded", Ref: "webservice"}
	c.Await(t, startup, "the roles are joined", func() bool { return editor.Create(t.Context(), right) == nil })
	require.NoError(t, editor.Delete(t.Context(), right))
}
