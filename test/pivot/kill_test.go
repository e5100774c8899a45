// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// point is a place in a move at which the program is killed: before or after the durable
// write with a number, of one plane.
type point struct {
	source bool
	write  int
	after  bool
}

// String is how the table names it.
func (p point) String() string {
	plane, when := "target", "before"
	if p.source {
		plane = "source"
	}
	if p.after {
		when = "after"
	}
	return fmt.Sprintf("%s %3d %s", plane, p.write, when)
}

// outcome is what became of a move that was killed.
type outcome struct {
	point
	request  string        // the write
	killed   bool          // it ran long enough
	runs     int           // of the program, with the one that was killed
	took     time.Duration // from the kill until the program ended well
	stuck    string        // why it did not converge
	said     string        // the last words of the last run
	violated []string
}

// kill moves the Cluster with a kill at a point, and runs the program again until it ends well.
func (r *rig) kill(t *testing.T, at point) (out outcome) {
	t.Helper()
	m := r.begin()
	out.point = at
	side := m.to
	if at.source {
		side = m.from
	}
	killed, err := m.killed(t, side, at.after, func(w faults.Request) bool { return w.Write == at.write })
	if writes := m.proxies[side].Writes(); len(writes) >= at.write {
		out.request = writes[at.write-1].String()
	}
	for _, p := range r.proxies {
		p.Reset()
	}
	if out.killed = !killed.IsZero(); out.killed {
		err = m.again(t, &out)
		out.took = time.Since(killed)
	} else {
		require.NoError(t, err)
	}
	out.runs = m.runs
	if out.stuck = m.settled(t); err != nil {
		out.stuck = err.Error() + ": " + out.stuck
	}
	report := m.auditor.End(t)
	if out.violated = report.Violated(); out.stuck != "" || len(out.violated) > 0 {
		t.Logf("%s: %s", at, report)
	}
	return out
}

// killed runs the program and kills it at a write, and returns when that was; it is zero where
// the program ended before, and the error is that of its end.
func (m *move) killed(t *testing.T, side *harness.Plane, after bool, at func(faults.Request) bool) (when time.Time, _ error) {
	t.Helper()
	started := make(chan struct{})
	var process *harness.Process
	m.proxies[side].Set(faults.KillAt(at, after, func() {
		<-started
		when = time.Now()
		process.Kill()
	}))
	process = m.start(t)
	close(started)
	err := process.Wait(patience)
	return when, err
}

// again runs the program until it ends well, which the first run after a kill does.
func (m *move) again(t *testing.T, out *outcome) error {
	t.Helper()
	var err error
	for range 2 {
		if out.said, err = m.run(t); err == nil {
			return nil
		}
		t.Logf("run %d: %v: %s", m.runs, err, out.said)
		m.afresh = strings.Contains(out.said, "run it without --resume")
	}
	return err
}

// table is the kill matrix for people.
func table(outcomes []outcome) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "killed at\twrite\truns\tconverged after\tI1-I4\t")
	for _, o := range outcomes {
		converged, held := o.took.Round(10*time.Millisecond).String(), "held"
		if !o.killed {
			converged = "it was at its end"
		}
		if o.stuck != "" {
			converged = "NO: " + o.stuck
		}
		if len(o.violated) > 0 {
			held = strings.Join(o.violated, ", ") + " VIOLATED"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t\n", o.point, o.request, o.runs, converged, held)
	}
	_ = w.Flush() // into memory
	return text.String()
}
