// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/e2e/programs"
	"github.com/ropewalk/ropewalk/test/servers"
)

// Cluster is a Kubernetes API server with all that makes it a cluster but
// kubelets, both controllers of Flux, a registry and a Git server.
type Cluster struct {
	// Config is that of an administrator, without a limit of its rate.
	Config *rest.Config
	// Client is that of an administrator; see newScheme for what it knows.
	Client client.Client
	// Dir is a folder of the run, which is removed after it.
	Dir string
	// Kubeconfig is the path of the configuration of an administrator.
	Kubeconfig string
	// Registry is host:port of a docker-registry that speaks plain http, without
	// credentials. It is OCI.Host.
	Registry string
	// OCI is the registry: what was asked of it, and faults.
	OCI *servers.OCI
	// GitURL is the URL of a repository of the Git server, by name.
	GitURL func(repo string) string

	// Etcd and those after it are the programs, which tests may kill and restart;
	// who does that leaves them running.
	Etcd, APIServer, ControllerManager, Scheduler, Kwok *Process
	// SourceController and KustomizeController run with Flux's default flags. Tests
	// that need others use Flags.
	SourceController, KustomizeController *Process

	run     *plane.Run
	modules programs.Modules
	plane   *plane.Plane
	logs    string
	gitRoot string

	mu                       sync.Mutex
	processes                []*Process // those of the run
	namespaces, repositories int
	built                    map[string]string
	told                     map[testing.TB]bool
	argocd                   *ArgoCD
	argocdOnce               sync.Once
	argocdErr                error
}

// Process is a program that ends with the test that started it.
type Process = plane.Process

const (
	loopback = plane.Loopback
	startup  = plane.Startup
)

// FreePort is a port of the loopback that nothing listens on.
func FreePort(t testing.TB) string { //nolint:thelper // it fails as plane.FreePort does
	return plane.FreePort(t)
}

// shared is the cluster of this test binary.
type shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

var theOne shared //nolint:gochecknoglobals // a run has one cluster, which its tests share

// Run runs the tests and ends the cluster that they have started. TestMain of each
// package with tests of the cluster is os.Exit(e2e.Run(m)).
func Run(m *testing.M) int {
	code := m.Run()
	if c := theOne.cluster; c != nil {
		c.run.End()
		if os.Getenv("ROPEWALK_E2E_KEEP") == "" {
			_ = os.RemoveAll(c.Dir) // it is a temporary folder
		}
	}
	return code
}

// Shared is the cluster of the run, which the first call starts. When the test
// fails, the end of what the programs have said during it is printed.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	theOne.once.Do(func() {
		start := time.Now()
		theOne.cluster, theOne.err = newCluster()
		if theOne.err == nil {
			fmt.Fprintf(os.Stderr, "e2e: the cluster took %s to start, in %s\n", time.Since(start).Round(10*time.Millisecond), theOne.cluster.Dir)
		}
	})
	lacking(t, theOne.err)
	c := theOne.cluster
	c.tell(t)
	return c
}

// lacking fails the test for an error of a start, or skips it where something is
// not installed.
func lacking(t testing.TB, err error) {
	t.Helper()
	if f, ok := errors.AsType[plane.Failure](err); ok && f.Skips() {
		t.Skip(f.Error())
	}
	require.NoError(t, err)
}

// tell prints at the end of a test that fails what programs have said since now.
func (c *Cluster) tell(t testing.TB) {
	c.mu.Lock()
	_, told := c.told[t]
	c.told[t] = true
	c.mu.Unlock()
	if told {
		return
	}
	before := map[*Process]int64{}
	for _, p := range c.all() {
		before[p] = p.Said()
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, p := range c.all() {
			if text := p.Tail(before[p]); text != "" {
				t.Logf("%s said:\n%s", p.Name, text)
			}
		}
	})
}

func (c *Cluster) all() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Process{}, c.processes...)
}

// newCluster starts one. What was started is ended where it fails.
func newCluster() (*Cluster, error) {
	dir, err := os.MkdirTemp("", "rw") // short, for paths of sockets
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Dir: dir, run: plane.NewRun(dir),
		logs: filepath.Join(dir, "logs"), built: map[string]string{}, told: map[testing.TB]bool{},
	}
	err = plane.Attempt(func() {
		for _, name := range []string{c.logs, filepath.Join(dir, "home")} {
			require.NoError(c.run, os.MkdirAll(name, 0o750))
		}
		root, err := moduleRoot()
		require.NoError(c.run, err)
		c.modules = programs.Modules{Root: root, Log: os.Stderr}
		c.install()
		c.startServers()
		c.startControlPlane()
		c.startFlux()
	})
	if err != nil {
		c.run.End()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// moduleRoot is the folder of this module, wherever in it the tests are.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
}

// startServers starts the registry and the Git server.
func (c *Cluster) startServers() {
	c.OCI = servers.Registry(c.run)
	c.Registry = c.OCI.Host
	c.gitRoot = c.run.TempDir()
	git := servers.GitHTTP(c.run, c.gitRoot)
	c.GitURL = func(repo string) string { return git + "/" + repo }
}

// install has every program there before the first one starts.
func (c *Cluster) install() {
	for _, name := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd", "kwok", "source-controller", "kustomize-controller",
	} {
		c.program(c.run, name)
	}
}

// program is the path of a program of others.
func (c *Cluster) program(t testing.TB, name string) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.built[name] == "" {
		path, err := c.modules.Install(t.Context(), name)
		require.NoError(t, err)
		c.built[name] = path
	}
	return c.built[name]
}

// launch starts a program of the run.
func (c *Cluster) launch(name string, argv []string, env ...string) *Process {
	p := plane.NewProcess(c.logs, name, argv, c.environment(env...))
	require.NoError(c.run, p.Start())
	c.run.Cleanup(p.Kill)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
	return p
}

// Process starts a program for the time of a test, in an environment of its own
// with further variables. The end of what it said is printed when the test fails.
func (c *Cluster) Process(t testing.TB, name string, argv []string, env ...string) *Process {
	t.Helper()
	p := plane.NewProcess(t.TempDir(), name, argv, c.environment(env...))
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.Name, p.Tail(0))
		}
	})
	return p
}

// environment is what programs know of this machine.
func (c *Cluster) environment(more ...string) []string {
	home := filepath.Join(c.Dir, "home")
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LC_ALL=C", "TZ=UTC"}, more...)
}

// Program is the path of a command of this project, such as ropewalk, built from
// this tree once in a run. A variable such as ROPEWALK_BIN or
// ROPEWALK_CONTROLLER_BIN names one that is built already.
func (c *Cluster) Program(t testing.TB, name string) string {
	t.Helper()
	if binary := os.Getenv(strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_BIN"); binary != "" {
		path, err := filepath.Abs(binary)
		require.NoError(t, err)
		return path
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.built[name] == "" {
		binary := filepath.Join(c.Dir, "bin", name)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/"+name) //nolint:gosec // a command of ours
		cmd.Dir = filepath.Join(c.modules.Root, "..", "..")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		c.built[name] = binary
	}
	return c.built[name]
}
