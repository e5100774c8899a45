// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/e2e/programs"
)

// Process is a program that runs.
type Process = plane.Process

// World is management clusters, and the cloud that all of them make machines in.
type World struct {
	A, B *Plane
	// C is nil but in a world of NewOfThree.
	C     *Plane
	Cloud *Cloud
	// Dir is a folder of the run, which is removed after it unless ROPEWALK_E2E_KEEP is set.
	Dir string

	run     *plane.Run
	modules programs.Modules

	mu         sync.Mutex
	processes  []*Process
	built      map[string]string
	told       map[testing.TB]bool
	namespaces int
	standing   *Cluster
}

// shared is the world of this test binary.
type shared struct {
	once  sync.Once
	world *World
	err   error
}

var theOne shared //nolint:gochecknoglobals // a run has one world, which its tests share

// Run runs the tests and ends the world that they have started.
func Run(m *testing.M) int {
	code := m.Run()
	if w := theOne.world; w != nil {
		w.run.End()
		if os.Getenv("ROPEWALK_E2E_KEEP") == "" {
			_ = os.RemoveAll(w.Dir) // it is a temporary folder
		}
	}
	return code
}

// Start is the world of the run, which the first call starts. When the test fails, the end
// of what the programs have said during it is printed.
func Start(t testing.TB) *World {
	t.Helper()
	theOne.once.Do(func() {
		start := time.Now()
		theOne.world, theOne.err = newWorld("a", "b")
		if theOne.err == nil {
			fmt.Fprintf(os.Stderr, "pivot: both planes took %s to start, in %s\n", time.Since(start).Round(10*time.Millisecond), theOne.world.Dir)
		}
	})
	require.NoError(t, theOne.err)
	theOne.world.tell(t)
	return theOne.world
}

// New is a world of a test's own, for one that destroys a plane.
func New(t testing.TB) *World {
	t.Helper()
	return own(t, "a", "b")
}

// NewOfThree is New with a third plane.
func NewOfThree(t testing.TB) *World {
	t.Helper()
	return own(t, "a", "b", "c")
}

func own(t testing.TB, planes ...string) *World {
	t.Helper()
	w, err := newWorld(planes...)
	require.NoError(t, err)
	t.Cleanup(func() {
		w.run.End()
		if os.Getenv("ROPEWALK_E2E_KEEP") == "" {
			_ = os.RemoveAll(w.Dir) // it is a temporary folder
		}
	})
	w.tell(t)
	return w
}

// newWorld starts one. What was started is ended where it fails.
func newWorld(planes ...string) (*World, error) {
	dir, err := os.MkdirTemp("", "rw") // short, for paths of sockets
	if err != nil {
		return nil, err
	}
	w := &World{
		Dir: dir, run: plane.NewRun(dir), built: map[string]string{}, told: map[testing.TB]bool{},
		modules: programs.Modules{Root: filepath.Join("..", "e2e"), Log: os.Stderr},
	}
	if err := w.start(planes); err != nil {
		said := ""
		for _, p := range w.processes {
			said += fmt.Sprintf("\n%s said:\n%s", p.Name, p.Tail(0))
		}
		w.run.End()
		return nil, errors.Join(fmt.Errorf("%w%s", err, said), os.RemoveAll(dir))
	}
	return w, nil
}

// start starts the planes at once, and then the cloud, for which all must be there.
func (w *World) start(names []string) error {
	err := plane.Attempt(func() {
		require.NoError(w.run, os.MkdirAll(filepath.Join(w.Dir, "home"), 0o750))
		for _, name := range []string{
			"etcd", "kube-apiserver", "kube-controller-manager", "capi-core", "capi-bootstrap", "capi-control-plane", "capi-cloud",
		} {
			w.Program(w.run, name)
		}
	})
	if err != nil {
		return err
	}
	bundle, err := readBundle(w.run.Context(), w.modules)
	if err != nil {
		return err
	}
	var started sync.WaitGroup
	errs := make([]error, len(names))
	for i, set := range []**Plane{&w.A, &w.B, &w.C}[:len(names)] {
		started.Go(func() {
			errs[i] = plane.Attempt(func() { *set = w.startPlane(names[i], bundle) })
		})
	}
	started.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return plane.Attempt(func() {
		w.startCloud(bundle)
		for _, p := range w.planes() {
			p.Ready(w.run)
		}
	})
}

func (w *World) planes() []*Plane {
	return slices.DeleteFunc([]*Plane{w.A, w.B, w.C}, func(p *Plane) bool { return p == nil })
}

// Rebuild is a third plane, which knows nothing of the others, until the test ends.
func (w *World) Rebuild(t testing.TB) *Plane {
	t.Helper()
	b, err := readBundle(t.Context(), w.modules)
	require.NoError(t, err)
	p := w.startPlane("c", b)
	t.Cleanup(func() { p.Destroy(t) })
	p.Ready(t)
	return p
}

// Other is the plane that p is not.
func (w *World) Other(p *Plane) *Plane {
	if p == w.A {
		return w.B
	}
	return w.A
}

// Program is the path of a program of others, or of a command of this project, which is
// built from this tree once in a run unless ROPEWALK_BIN or ROPEWALK_CONTROLLER_BIN names it.
func (w *World) Program(t testing.TB, name string) string {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.built[name] != "" {
		return w.built[name]
	}
	var path string
	var err error
	variable := map[string]string{"ropewalk": "ROPEWALK_BIN", "ropewalk-controller": "ROPEWALK_CONTROLLER_BIN"}[name]
	switch binary := os.Getenv(variable); {
	case variable == "":
		path, err = w.modules.Install(t.Context(), name)
	case binary != "":
		path, err = filepath.Abs(binary)
	default:
		path = filepath.Join(w.Dir, name)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/"+name) //nolint:gosec // a command of ours
		cmd.Dir = filepath.Join("..", "..")
		var out []byte
		out, err = cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, err)
	w.built[name] = path
	return path
}

// launch starts a program of the run; its log is NAME.log in the folder of logs.
func (w *World) launch(logs, name string, args ...string) *Process {
	program := w.Program(w.run, name)
	p := plane.NewProcess(logs, name, append([]string{program}, args...), w.Environment())
	require.NoError(w.run, p.Start())
	w.run.Cleanup(p.Kill)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes = append(w.processes, p)
	return p
}

// Process starts a program for the time of a test, in an environment of its own with
// further variables. The end of what it said is printed when the test fails.
func (w *World) Process(t testing.TB, name string, argv []string, env ...string) *Process {
	t.Helper()
	p := plane.NewProcess(t.TempDir(), name, argv, w.Environment(env...))
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.Name, p.Tail(0))
		}
	})
	return p
}

// Environment is what programs know of this machine.
func (w *World) Environment(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.Dir, "home"), "TMPDIR=" + os.TempDir(), "LC_ALL=C", "TZ=UTC",
	}, more...)
}

// Context ends with the run, so that it serves after the end of a test.
func (w *World) Context() context.Context { return w.run.Context() }

// tell prints at the end of a test that fails what programs have said since now.
func (w *World) tell(t testing.TB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.told[t] {
		return
	}
	w.told[t] = true
	before := map[*Process]int64{}
	for _, p := range w.processes {
		before[p] = p.Said()
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for p, said := range before {
			if text := p.Tail(said); text != "" {
				t.Logf("%s (%s) said:\n%s", p.Name, p.Argv[len(p.Argv)-1], text)
			}
		}
	})
}

// Await waits until is says so. The test fails after a time, with what was waited for.
func Await(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "not within %s: %s", within, what)
	}
}
