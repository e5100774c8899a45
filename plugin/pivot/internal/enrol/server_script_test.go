// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// machine is one of the control plane: the files of the cluster module, the real curl, and a
// kubectl that records what it is given. Every program is started by way of a record of its
// arguments and its environment.
type machine struct {
	*testing.T
	dir, token string
}

const record = `#!/bin/sh
# A record of the processes, and what a program does here.
for p in $$ $PPID; do tr '\0' '\n' </proc/$p/cmdline >>"$RECORD/argv"; tr '\0' '\n' </proc/$p/environ >>"$RECORD/environ"; done
echo "$(basename "$0") $*" >>"$RECORD/calls"
`

const fakeKubectl = record + `
[ -e "$RECORD/hangs" ] && sleep 30
[ -e "$RECORD/fails" ] && { echo "the server is not there" >&2; exit 1; }
case $1 in
get) [ -e "$RECORD/enrolled" ] && cat "$RECORD/enrolled" || true ;;
apply) cat >"$RECORD/applied" ;;
*) exit 64 ;;
esac
`

const realCurl = record + `
exec curl "$@"
`

func (w *world) machine(name string) *machine {
	w.Helper()
	m := &machine{T: w.T, dir: w.TempDir(), token: w.token(name)}
	m.write("token", m.token, 0o600)
	m.write("endpoint", "https://"+w.address+"\n", 0o600)
	m.write("ca.crt", string(w.endpoint.Authority().Trust().PEM()), 0o600)
	m.write("kubectl", fakeKubectl, 0o700)
	m.write("curl", realCurl, 0o700)
	m.write("tmp/.", "", 0o700)
	return m
}

func (m *machine) write(name, text string, mode os.FileMode) {
	m.Helper()
	if dir, ok := strings.CutSuffix(name, "/."); ok {
		require.NoError(m, os.MkdirAll(filepath.Join(m.dir, dir), mode))
		return
	}
	require.NoError(m, os.WriteFile(filepath.Join(m.dir, name), []byte(text), mode))
}

// read is a file; "" where there is none.
func (m *machine) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(m.dir, name))
	return string(text)
}

func (m *machine) calls() int { return strings.Count(m.read("calls"), "\n") }

// run runs the script, within some seconds. It wants what is always so: it exits with 0 in
// time, the token is in a file only, and no file is left.
func (m *machine) run(shell string, seconds int) string {
	m.Helper()
	before := time.Now()
	c := exec.Command(shell, "enrol.sh")
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + m.dir + "/tmp", "RECORD=" + m.dir, "ROPEWALK_DIR=" + m.dir, "KUBECONFIG=/dev/null",
		"KUBECTL=" + m.dir + "/kubectl", "CURL=" + m.dir + "/curl", fmt.Sprint("ROPEWALK_TIMEOUT=", seconds), "ROPEWALK_PAUSE=1",
	}
	out, err := c.CombinedOutput()
	m.Logf("%s", out)
	require.NoError(m, err, "it exits with 0")
	require.Less(m, time.Since(before), time.Duration(seconds+15)*time.Second)
	quiet(m.T, m.token, string(out), m.read("argv"), m.read("environ"), m.read("calls"))
	require.Contains(m, m.read("argv"), "kubectl")
	left, err := os.ReadDir(m.dir + "/tmp")
	require.NoError(m, err)
	require.Empty(m, left)
	return string(out)
}

func TestTheScriptAppliesTheManifestOnce(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash"} {
		w := newWorld(t)
		m := w.machine("blue")
		require.Contains(t, m.run(shell, 20), "the agent is applied")
		require.Equal(t, "kind: Secret\nmetadata:\n  name: blue\nstringData:\n  token: "+m.token+"\n", m.read("applied"))
		calls := strings.Split(m.read("calls"), "\n")
		require.Contains(t, calls[0], "kubectl get secret ropewalk-agent --namespace ropewalk-system")
		require.Contains(t, calls[1], "curl -q ")
		require.Contains(t, calls[1], " --capath "+m.dir+"/tmp/", "the authorities of the system are not trusted")
		require.Contains(t, calls[2], "kubectl apply --server-side ")

		// The second machine comes before the agent is enrolled, the third one after that.
		require.NoError(t, os.Remove(m.dir+"/applied"))
		require.Contains(t, m.run(shell, 20), "the agent is applied")
		m.write("enrolled", "LS0tLS1CRUdJTg==", 0o600)
		require.NoError(t, os.Remove(m.dir+"/applied"))
		at := m.calls()
		require.Contains(t, m.run(shell, 20), "nothing to do")
		require.Equal(t, at+1, m.calls(), "the parent is not asked")
		require.NoFileExists(t, m.dir+"/applied")
	}
}

func TestTheScriptEndsWithoutAParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	m.write("endpoint", "https://"+l.Addr().String(), 0o600)
	require.Contains(t, m.run("sh", 3), "does not answer with the manifest of the agent (curl exits with 124)", "it hangs")
	require.NoError(t, l.Close())
	out := m.run("sh", 4)
	require.Contains(t, out, "(curl exits with 7)")
	require.Greater(t, strings.Count(out, "curl exits"), 1, "it asks again")
	require.Contains(t, out, "the agent is not applied within 4 seconds")
	require.NoFileExists(t, m.dir+"/applied")
}

// TestTheScriptOfAnInstalledClusterDoesNothing: a management cluster has no parent.
func TestTheScriptOfAnInstalledClusterDoesNothing(t *testing.T) {
	t.Parallel()
	m := newWorld(t).machine("blue")
	for _, file := range []string{"token", "endpoint", "ca.crt"} {
		m.write(file, "", 0o600)
	}
	m.write("argv", "kubectl is not run", 0o600)
	require.Contains(t, m.run("sh", 20), "this cluster has no parent: nothing to do")
	require.Zero(t, m.calls())
}

func TestTheScriptWaitsForAParentThatCannotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *Server) { s.Limits = Limits{PerSecond: 0.2, Burst: 1} })
	m := w.machine("blue")
	w.manifest(m.token)
	out := m.run("sh", 60)
	require.Contains(t, out, "(HTTP 429)")
	require.Contains(t, out, "the agent is applied")
}

func TestTheScriptGivesUpWhereItIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	w.store.change("blue", func(c *v1alpha1.PivotCluster) {
		c.Status.Enrolment.Expires = new(metav1.NewTime(time.Now().Add(-time.Second)))
	})
	out := m.run("sh", 60)
	require.Contains(t, out, "refuses the manifest of the agent (HTTP 401)")
	require.Equal(t, 2, m.calls())
	require.NoFileExists(t, m.dir+"/applied")
	lines := w.log.take()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `"reason"="TokenExpired"`)
}

func TestTheScriptTrustsItsParentOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	other, err := NewAuthority(w.now())
	require.NoError(t, err)
	m.write("ca.crt", string(other.Trust().PEM()), 0o600)
	require.Contains(t, m.run("sh", 3), "(curl exits with 60)")
	require.NoFileExists(t, m.dir+"/applied")
	m.write("ca.crt", "", 0o600)
	require.Contains(t, m.run("sh", 3), "curl exits with ")
	require.NoFileExists(t, m.dir+"/applied")
}

func TestTheScriptTrustsAParentWhoseAuthorityWasRotated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	a := w.endpoint.Authority()
	require.NoError(t, a.AddNext(w.now()))
	require.NoError(t, a.Promote(w.now()))
	w.endpoint.Use(a)
	require.Contains(t, m.run("sh", 20), "the agent is applied")
}

func TestTheScriptEndsWithoutItsOwnAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	m.write("fails", "", 0o600)
	require.Contains(t, m.run("sh", 3), "the API server of this cluster does not answer")
	m.write("hangs", "", 0o600)
	require.Contains(t, m.run("sh", 3), "the API server of this cluster does not answer")
	require.NotContains(t, m.read("calls"), "curl")
}

func TestTheScriptEndsWithoutItsFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	require.NoError(t, os.Remove(m.dir+"/endpoint"))
	require.Contains(t, m.run("sh", 3), "the agent is not applied")
	m = w.machine("green")
	require.NoError(t, os.Remove(m.dir+"/token"))
	require.Contains(t, m.run("sh", 3), "(HTTP 401)")
}

func TestTheScriptEndsWithItsMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.machine("blue")
	m.write("fails", "", 0o600)
	c := exec.Command("sh", "enrol.sh")
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + m.dir + "/tmp", "RECORD=" + m.dir, "ROPEWALK_DIR=" + m.dir,
		"KUBECTL=" + m.dir + "/kubectl", "CURL=" + m.dir + "/curl", "ROPEWALK_TIMEOUT=60", "ROPEWALK_PAUSE=1",
	}
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return m.calls() > 0 }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	require.NoError(t, c.Wait())
	left, err := os.ReadDir(m.dir + "/tmp")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTheScriptIsNoTemplateOfCloudInit(t *testing.T) {
	text, err := os.ReadFile("enrol.sh")
	require.NoError(t, err)
	require.Less(t, len(text), 8<<10, "user data of a machine is 16 KiB at most")
	for _, mark := range []string{"{{", "}}", "{%", "%}", "{#", "#}", "\r"} {
		require.NotContains(t, string(text), mark)
	}
}

// TestTheScriptIsThatOfTheClusterModule reads the text of the module, whose lines are indented
// by a tab.
func TestTheScriptIsThatOfTheClusterModule(t *testing.T) {
	const module = "../../../../cue/modules/cluster/script.cue"
	text, err := os.ReadFile(module)
	require.NoError(t, err)
	_, text, found := bytes.Cut(text, []byte("_script: #\"\"\"\n"))
	require.True(t, found)
	text, _, found = bytes.Cut(text, []byte("\n\t\"\"\"#"))
	require.True(t, found)
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimPrefix(line, "\t"))
	}
	script, err := os.ReadFile("enrol.sh")
	require.NoError(t, err)
	require.Equal(t, string(script), strings.Join(lines, ""), "copy enrol.sh to "+module)
}
