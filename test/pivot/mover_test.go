// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// all reports whether the kills, faults and repetitions are all that there are: make pivot.
func all() bool { return os.Getenv("ROPEWALK_FAULTS") == "1" }

// program is one that moves a Cluster.
type program struct {
	name string
	// argv and env are for a move between two kubeconfigs, again where the run before did not
	// end well.
	argv func(c *harness.Cluster, from, to string, again bool) []string
	env  []string
}

// clusterctl is the peer.
func clusterctl(t *testing.T, w *harness.World) program {
	t.Helper()
	binary := w.Program(t, "clusterctl")
	return program{
		name: "clusterctl", env: []string{"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME=" + t.TempDir()},
		argv: func(c *harness.Cluster, from, to string, _ bool) []string {
			return []string{binary, "move", "--namespace=" + c.Namespace, "--kubeconfig=" + from, "--to-kubeconfig=" + to}
		},
	}
}

// ropewalk is the product. It goes on by --resume, and takes a second instead of a minute of
// the target in charge for enough.
func ropewalk(t *testing.T, w *harness.World) program {
	t.Helper()
	binary := w.Program(t, "ropewalk")
	return program{name: "ropewalk", argv: func(c *harness.Cluster, from, to string, again bool) []string {
		argv := []string{binary, "pivot", "run", c.Namespace + "/" + c.Name, "--from=" + from, "--to=" + to, "--hold=1s"}
		if again {
			argv = append(argv, "--resume")
		}
		return argv
	}}
}

// kept reports whether an object is one that the product keeps: the receipt of the last move.
func kept(name string) bool { return strings.HasPrefix(name, "ConfigMap/pivot-") }

// rig is the standing Cluster with a proxy before each plane and a program that moves it.
type rig struct {
	*harness.World

	t       *testing.T
	cluster *harness.Cluster
	program program
	proxies map[*harness.Plane]*faults.Proxy
}

func newRig(t *testing.T, of func(*testing.T, *harness.World) program) *rig {
	t.Helper()
	w := harness.Start(t)
	c, _ := w.Standing(t)
	return &rig{
		World: w, t: t, cluster: c, program: of(t, w),
		proxies: map[*harness.Plane]*faults.Proxy{w.A: faults.New(t, w.A.Config), w.B: faults.New(t, w.B.Config)},
	}
}

// move is one move of the standing Cluster, over several runs of the program where it has to be.
type move struct {
	*rig

	from, to *harness.Plane
	auditor  *audit.Auditor
	began    time.Time
	runs     int
	// afresh: nothing was begun by the run that was killed.
	afresh bool
}

// begin has the auditor observe the Cluster.
func (r *rig) begin() *move {
	r.t.Helper()
	_, from := r.Standing(r.t)
	for _, p := range r.proxies {
		p.Reset()
	}
	return &move{
		rig: r, from: from, to: r.Other(from), began: time.Now(),
		auditor: audit.Start(r.t, r.World, r.cluster, from, r.proxies[r.A].Token, r.proxies[r.B].Token),
	}
}

// start starts the program once. What it says is looked through by the auditor.
func (m *move) start(t *testing.T) *harness.Process {
	t.Helper()
	m.runs++
	argv := m.program.argv(m.cluster, m.proxies[m.from].Kubeconfig, m.proxies[m.to].Kubeconfig, m.runs > 1 && !m.afresh)
	p := m.Process(t, m.program.name, argv, m.program.env...)
	m.auditor.Watch(audit.Log{Name: m.program.name, Text: p.Log})
	return p
}

// patience is how long one run may take.
const patience = 4 * time.Minute

// run runs the program once, to its end.
func (m *move) run(t *testing.T) (said string, err error) {
	t.Helper()
	p := m.start(t)
	err = p.Wait(patience)
	return p.Log(), err
}

// settled is why the move is not at its end: the target is in charge with all that the source
// had, and the source has nothing. It is empty when it is.
func (m *move) settled(t *testing.T) string {
	t.Helper()
	if left := m.left(m.from.Objects(t, m.cluster.Namespace)); len(left) > 0 {
		return fmt.Sprintf("the source still has %d objects, such as %s", len(left), left[0])
	}
	there := map[string]bool{}
	for _, name := range m.to.Objects(t, m.cluster.Namespace) {
		there[name] = true
	}
	for _, id := range m.auditor.Set() {
		if !there[id.String()] {
			return "the target lacks " + id.String()
		}
	}
	o, err := m.cluster.Get(t.Context(), m.to)
	require.NoError(t, err)
	if spec, ok := o.Object["spec"].(map[string]any); !ok || spec["paused"] == true {
		return "the target is paused"
	}
	return ""
}

// left is what was moved and is there still.
func (m *move) left(names []string) []string {
	moved := map[string]bool{}
	for _, id := range m.auditor.Set() {
		moved[id.String()] = true
	}
	var out []string
	for _, name := range names {
		if moved[name] {
			out = append(out, name)
		}
	}
	return out
}
