// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
)

// receipt is the first write of the receipt of one plane that says it is at a step. How many
// there are before depends on how long the move takes: a beat of the heart is one too.
func receipt(step string) func(faults.Request) bool {
	var seen atomic.Bool
	return func(r faults.Request) bool {
		return strings.Contains(r.Path, "/configmaps") && bytes.Contains(r.Body, []byte(step)) && seen.CompareAndSwap(false, true)
	}
}

// Steps at which moves are stopped.
const (
	staged    = "Staged"
	imported  = "Imported"
	committed = "Committed"
)

// command runs a subcommand of ropewalk pivot to its end.
func (r *rig) command(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	args[0] += " " + r.cluster.Namespace + "/" + r.cluster.Name
	argv := append([]string{"pivot"}, append(strings.Fields(args[0]), args[1:]...)...)
	cmd := exec.CommandContext(t.Context(), r.Program(t, "ropewalk"), argv...) //nolint:gosec // the product
	cmd.Env = r.Environment()
	out, err := cmd.CombinedOutput()
	t.Logf("ropewalk %s: %v\n%s", strings.Join(argv[:3], " "), err, out)
	return string(out), err
}

// stop kills a move after the receipt of the source says that it is at a step.
func (m *move) stop(t *testing.T, step string) {
	t.Helper()
	killed, err := m.killed(t, m.from, true, receipt(step))
	require.False(t, killed.IsZero(), "it ended before: %v", err)
	for _, p := range m.proxies {
		p.Reset()
	}
	said, err := m.command(t, "status", "--from="+m.from.Kubeconfig)
	require.NoError(t, err)
	require.Contains(t, said, "step "+step)
}

// TestAnAbortUndoesEverything before the commit, and is refused after it.
func TestAnAbortUndoesEverything(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, imported)
	_, err := m.command(t, "abort", "--from="+m.from.Kubeconfig, "--to="+m.to.Kubeconfig)
	require.NoError(t, err)
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Zero(t, report.Active(m.to.Name))
	require.Empty(t, own(m.to.Objects(t, r.cluster.Namespace)))
	r.cluster.AwaitAvailable(t, m.from)

	m = r.begin()
	m.stop(t, committed)
	said, err := m.command(t, "abort", "--from="+m.from.Kubeconfig, "--to="+m.to.Kubeconfig)
	require.Error(t, err)
	require.Contains(t, said, "Committed")
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	r.cluster.AwaitAvailable(t, m.to)
}

// TestATakeoverAfterTheSourceIsLost between its commit and the activation of the target: it is
// refused while the source answers, and a source that comes back hands over.
func TestATakeoverAfterTheSourceIsLost(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, committed)
	destroyed := []string{"takeover", "--to=" + m.to.Kubeconfig, "--parent-destroyed", "--reason=its disks are gone"}
	said, err := m.command(t, append([]string{}, destroyed...)...)
	require.Error(t, err)
	require.Contains(t, said, "answers")
	o, err := m.cluster.Get(t.Context(), m.to)
	require.NoError(t, err)
	require.Equal(t, true, o.Object["spec"].(map[string]any)["paused"])

	m.proxies[m.from].Close()
	_, err = m.command(t, append([]string{}, destroyed...)...)
	require.NoError(t, err)
	r.cluster.AwaitAvailable(t, m.to)

	m.proxies[m.from] = faults.New(t, m.from.Config)
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
}

// TestWhatStandsInTheWayIsNamedAndNothingIsTouched: the source stays in charge all the time.
func TestWhatStandsInTheWayIsNamedAndNothingIsTouched(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	refuses := func(t *testing.T, from, to string, words ...string) {
		t.Helper()
		said, err := m.command(t, "run", "--from="+from, "--to="+to)
		require.Error(t, err)
		for _, word := range words {
			require.Contains(t, said, word)
		}
	}
	refused := func(t *testing.T, to string, words ...string) {
		t.Helper()
		refuses(t, m.from.Kubeconfig, to, words...)
	}
	t.Run("a user of both planes who may only read", func(t *testing.T) {
		const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads}
subjects: [{kind: User, name: reader}]
`
		m.from.Apply(t, role)
		m.to.Apply(t, role)
		refuses(t, m.from.Certified(t, "reader"), m.to.Certified(t, "reader"),
			"user reader of the source plane may not delete, update clusters.cluster.x-k8s.io", "user reader of the source plane may not delete, update secrets",
			"user reader of the target plane may not create, delete, update clusters.cluster.x-k8s.io")
	})
	t.Run("the same plane twice", func(t *testing.T) {
		refused(t, m.from.Kubeconfig, "same")
	})
	t.Run("a foreign object of the same name", func(t *testing.T) {
		m.to.Ensure(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+r.cluster.Namespace+"}}")
		secret := m.to.Ensure(t, "{apiVersion: v1, kind: Secret, metadata: {name: shed-ca, namespace: "+r.cluster.Namespace+"}}")
		defer m.to.Remove(t, secret)
		refused(t, m.to.Kubeconfig, "Secret "+r.cluster.Namespace+"/shed-ca", "target")
	})
	t.Run("a definition that the target lacks", func(t *testing.T) {
		crd := m.to.Definition(t, "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io")
		m.to.Remove(t, crd)
		defer m.to.Restore(t, crd)
		refused(t, m.to.Kubeconfig, "KubeadmConfigTemplate", "target")
	})
	t.Run("a webhook that does not answer", func(t *testing.T) {
		m.to.Bootstrap.Kill()
		defer func() {
			m.to.Bootstrap.Restart(t)
			m.to.Ready(t)
		}()
		refused(t, m.to.Kubeconfig, "KubeadmConfig", "target")
	})
	report := m.auditor.Stop(t)
	report.Require(t)
	require.Zero(t, report.Frozen())
	require.Zero(t, report.Active(m.to.Name))
	require.Empty(t, own(m.to.Objects(t, r.cluster.Namespace)))

	r.cluster.Pause(t, m.from, true)
	refused(t, m.to.Kubeconfig, "is paused on the source plane already, by ")
	r.cluster.Pause(t, m.from, false)
	r.cluster.AwaitAvailable(t, m.from)
}
