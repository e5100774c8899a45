// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// during calls f once, at the first request to either plane after the receipt of the source says
// that it is at a step.
func (m *move) during(step string, f func()) {
	at := receipt(step)
	var armed atomic.Bool
	var once sync.Once
	of := func(source bool) faults.Rule {
		return func(r faults.Request) faults.Fault {
			switch {
			case armed.Load():
				once.Do(f)
			case source && r.Write > 0 && at(r):
				armed.Store(true)
			}
			return faults.Fault{}
		}
	}
	m.proxies[m.from].Set(of(true))
	m.proxies[m.to].Set(of(false))
}

// doom deletes the namespace of the target. Kubernetes deletes what is in it some seconds later.
func (m *move) doom(t *testing.T) {
	t.Helper()
	require.NoError(t, kubernetesOf(t, m.to).CoreV1().Namespaces().Delete(t.Context(), m.cluster.Namespace, metav1.DeleteOptions{}))
}

// awaitGone waits until the target has no such namespace.
func (m *move) awaitGone(t *testing.T) {
	t.Helper()
	harness.Await(t, 2*time.Minute, "the namespace of the target is gone", func() bool {
		_, err := kubernetesOf(t, m.to).CoreV1().Namespaces().Get(t.Context(), m.cluster.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// released runs the commands of the guide for what holds a namespace.
func (m *move) released(t *testing.T) {
	t.Helper()
	guide, err := os.ReadFile("../../deploy/pivot/README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(guide), "What holds a namespace of the target")
	require.True(t, found)
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, _ := strings.Cut(rest, "```")
	cmd := exec.CommandContext(t.Context(), "sh", "-ex")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(block, "-n apps", "-n "+m.cluster.Namespace))
	cmd.Env = m.Environment("KUBECONFIG="+m.to.Kubeconfig, "PATH="+filepath.Dir(m.Program(t, "kubectl"))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("the commands of the guide:\n%s", out)
	require.NoError(t, err)
}

// machines counts those of the cloud.
func (m *move) machines(t *testing.T) int {
	t.Helper()
	there, err := m.Cloud.Of(t.Context(), m.cluster.Namespace, m.cluster.Name)
	require.NoError(t, err)
	return len(there.Machines)
}

// TestTheNamespaceOfTheTargetIsDeletedBeforeTheCommit: the move is undone.
func TestTheNamespaceOfTheTargetIsDeletedBeforeTheCommit(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	before := m.machines(t)
	m.during(imported, func() { m.doom(t) })
	said, err := m.run(t)
	require.Error(t, err, "%s", said)
	require.Contains(t, said, "is being deleted from the target plane")
	require.Contains(t, said, "the pivot was undone")
	m.awaitGone(t)
	r.cluster.AwaitAvailable(t, m.from)
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Zero(t, report.Active(m.to.Name))
	require.Equal(t, before, m.machines(t))
}

// TestTheNamespaceOfTheTargetIsDeletedAfterTheCommit: nothing is activated, by a run or a takeover,
// and nothing deleted from the source. Once it is gone the run goes on.
func TestTheNamespaceOfTheTargetIsDeletedAfterTheCommit(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	before := m.machines(t)
	m.stop(t, committed)
	m.doom(t)
	m.proxies[m.from].Close()
	said, err := m.command(t, "takeover", "--to="+m.to.Kubeconfig, "--parent-destroyed", "--reason=a test")
	require.Error(t, err)
	require.Contains(t, said, "is being deleted from the target plane")
	m.proxies[m.from] = faults.New(t, m.from.Config)
	for range 2 { // The namespace is as it was, and then its objects are being deleted too.
		said, err = m.run(t)
		require.Error(t, err)
		require.Contains(t, said, "is being deleted from the target plane")
		require.Contains(t, said, "go on with `ropewalk pivot run --resume`")
		time.Sleep(15 * time.Second)
	}
	require.Equal(t, before, m.machines(t))
	m.released(t)
	m.awaitGone(t)
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	require.Equal(t, before, m.machines(t))
	r.cluster.AwaitAvailable(t, m.to)
}

// TestAnObjectOfTheTargetIsDeletedWhileItIsActivated: it is imported again.
func TestAnObjectOfTheTargetIsDeletedWhileItIsActivated(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.during(committed, func() {
		m.to.Apply(t, refusing)
		time.Sleep(2 * time.Second) // The API server reads its policies now and then.
	})
	said, err := m.run(t)
	require.Error(t, err)
	require.Contains(t, said, "company policy 42 says no")
	for _, resource := range []string{"validatingadmissionpolicybindings", "validatingadmissionpolicies"} {
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		require.NoError(t, m.to.Client.Resource(gvr).Delete(t.Context(), "refuses", metav1.DeleteOptions{}))
	}
	time.Sleep(2 * time.Second)
	require.NoError(t, kubernetesOf(t, m.to).CoreV1().Secrets(r.cluster.Namespace).Delete(t.Context(), r.cluster.Name+"-kubeconfig", metav1.DeleteOptions{}))
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	r.cluster.AwaitAvailable(t, m.to)
}

const refusing = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuses}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [cluster.x-k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [clusters]}]}
  validations: [{expression: "false", message: "company policy 42 says no"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuses}
spec: {policyName: refuses, validationActions: [Deny]}
`

// TestTheClusterOfTheTargetIsDeletedAfterTheCommit: once its finalizers are removed, it is imported
// again, with all that the garbage collector has deleted with it.
func TestTheClusterOfTheTargetIsDeletedAfterTheCommit(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, committed)
	clusters := m.to.Client.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}).Namespace(r.cluster.Namespace)
	require.NoError(t, clusters.Delete(t.Context(), r.cluster.Name, metav1.DeleteOptions{}))
	said, err := m.run(t)
	require.Error(t, err)
	require.Contains(t, said, "is being deleted from the target plane")
	_, err = clusters.Patch(t.Context(), r.cluster.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	time.Sleep(5 * time.Second) // The garbage collector sees that the owner is gone.
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	r.cluster.AwaitAvailable(t, m.to)
}

// TestTheNamespaceOfTheSourceIsDeletedBeforeTheCommit: the takeover of the last complete copy is
// offered, and the source is cleared without a machine.
func TestTheNamespaceOfTheSourceIsDeletedBeforeTheCommit(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	before := m.machines(t)
	m.stop(t, imported)
	require.NoError(t, kubernetesOf(t, m.from).CoreV1().Namespaces().Delete(t.Context(), r.cluster.Namespace, metav1.DeleteOptions{}))
	said, err := m.run(t)
	require.Error(t, err)
	require.Contains(t, said, "`ropewalk pivot takeover")
	_, err = m.command(t, "takeover", "--from="+m.from.Kubeconfig, "--to="+m.to.Kubeconfig, "--parent-destroyed", "--reason=its namespace was deleted")
	require.NoError(t, err)
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	require.Equal(t, before, m.machines(t))
	require.Empty(t, m.auditor.End(t).Violated())
	r.cluster.AwaitAvailable(t, m.to)
}

// TestAnAbortOfARunThatIsAlive wins, or says that the commit was before it.
func TestAnAbortOfARunThatIsAlive(t *testing.T) {
	r := newRig(t, ropewalk)
	for _, step := range []string{"Frozen", staged, imported, "Verified"} {
		m := r.begin()
		slow := func(faults.Request) faults.Fault { return faults.Fault{Delay: 40 * time.Millisecond} }
		m.proxies[m.to].Set(slow)
		reached, at := make(chan struct{}), receipt(step)
		var once sync.Once
		m.proxies[m.from].Set(func(f faults.Request) faults.Fault {
			if f.Write > 0 && at(f) {
				once.Do(func() { close(reached) })
			}
			return slow(f)
		})
		run := m.start(t)
		<-reached
		said, err := m.command(t, "abort", "--from="+m.from.Kubeconfig, "--to="+m.to.Kubeconfig)
		ran := run.Wait(patience)
		if err != nil {
			require.Contains(t, said, "is committed")
			require.NoError(t, ran, "%s", run.Log())
			require.Empty(t, m.settled(t))
			r.cluster.AwaitAvailable(t, m.to)
		} else {
			require.Error(t, ran)
			require.Contains(t, run.Log(), "another process goes on with a pivot of this Cluster, or has ended it")
			require.Empty(t, own(m.to.Objects(t, r.cluster.Namespace)))
			r.cluster.AwaitAvailable(t, m.from)
		}
		m.auditor.Stop(t).Require(t)
	}
}
