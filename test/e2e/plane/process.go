// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Startup is how long a program may take to answer, on the busiest machine.
const Startup = 2 * time.Minute

// Process is a program that runs in a process group of its own, with what it says
// in a file. It ends with the test that started it, and with the test binary
// however that ends.
type Process struct {
	// Name is that of the file with what it says.
	Name string
	// URL is where it says that it is ready, "" where it does not.
	URL string
	// Argv and Env are what it is started with.
	Argv, Env []string

	logFile string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and was waited for
	err  error         // how it ended, once done is closed
}

// NewProcess is a process that was not started yet. What it says is in NAME.log of dir.
func NewProcess(dir, name string, argv, env []string) *Process {
	return &Process{Name: name, Argv: argv, Env: env, logFile: filepath.Join(dir, name+".log")}
}

// Start starts the program, and adds what it says to what is there.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                             //nolint:errcheck // the process has its own
	cmd := exec.Command(p.Argv[0], p.Argv[1:]...) //nolint:gosec // tests say what runs
	cmd.Env, cmd.Stdout, cmd.Stderr = p.Env, log, log
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	done := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.done = cmd, done
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

func (p *Process) now() (*exec.Cmd, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd, p.done
}

// Pid is the process.
func (p *Process) Pid() int {
	cmd, _ := p.now()
	return cmd.Process.Pid
}

// Running reports whether it has not ended.
func (p *Process) Running() bool {
	_, done := p.now()
	select {
	case <-done:
		return false
	default:
		return true
	}
}

// Kill ends the process group as kill -9 does, and returns when it is gone.
func (p *Process) Kill() {
	cmd, done := p.now()
	killGroup(cmd)
	<-done
}

// Pause stops the process group where it is (SIGSTOP), until Resume.
func (p *Process) Pause() {
	cmd, _ := p.now()
	stop(cmd)
}

// Resume lets a paused process group go on.
func (p *Process) Resume() {
	cmd, _ := p.now()
	resume(cmd)
}

// Interrupt asks the process to end (SIGTERM), as a kubelet does.
func (p *Process) Interrupt() {
	cmd, _ := p.now()
	terminate(cmd)
}

// Wait waits until the process has ended, and says how: nil is exit code 0. The
// error is also that it runs longer than given.
func (p *Process) Wait(within time.Duration) error {
	_, done := p.now()
	select {
	case <-done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-time.After(within):
		return fmt.Errorf("%s still runs after %s", p.Name, within)
	}
}

// Peak is the most memory that the process had, once it has ended.
func (p *Process) Peak() int64 {
	cmd, done := p.now()
	<-done
	return peak(cmd)
}

// Restart starts the program again, with other arguments after the first ones
// where some are given, and kills what runs of it.
func (p *Process) Restart(t testing.TB, more ...string) {
	t.Helper()
	p.Kill()
	before := p.Argv
	p.Argv = append(p.Argv[:len(p.Argv):len(p.Argv)], more...)
	err := p.Start()
	p.Argv = before
	require.NoError(t, err)
}

// Log is all that the program has said, over all its starts.
func (p *Process) Log() string {
	data, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Said is how much it has said.
func (p *Process) Said() int64 {
	if info, err := os.Stat(p.logFile); err == nil {
		return info.Size()
	}
	return 0
}

// Tail is the end of what was said after the first bytes, of a length that can be
// read.
func (p *Process) Tail(after int64) string {
	const most = 2000
	text := p.Log()
	text = text[min(int(after), len(text)):]
	return text[max(0, len(text)-most):]
}

// Await waits until the program answers, by a function that is asked again and
// again. It fails when the program ends.
func (p *Process) Await(t testing.TB, is func() bool) {
	t.Helper()
	p.await(t, is, 0)
}

// AwaitOther is Await for a program of others. When it ends it is started again, at
// most twice and a second later, as a kubelet does: one that asks another server at
// its start ends where that one is too busy.
func (p *Process) AwaitOther(t testing.TB, is func() bool) {
	t.Helper()
	p.await(t, is, 2)
}

func (p *Process) await(t testing.TB, is func() bool, restarts int) {
	t.Helper()
	for deadline := time.Now().Add(Startup); !is(); time.Sleep(20 * time.Millisecond) {
		if !p.Running() {
			how := fmt.Sprintf("%s ended (%v): %s", p.Name, p.Wait(time.Second), p.Tail(0))
			require.Positive(t, restarts, how)
			restarts--
			fmt.Fprintln(os.Stderr, "started again:", how)
			time.Sleep(time.Second)
			require.NoError(t, p.Start())
		}
		require.True(t, time.Now().Before(deadline), "%s does not answer: %s", p.Name, p.Tail(0))
	}
}

// ports are the locks of those that this process has got, which it keeps to its end.
var ports struct { //nolint:gochecknoglobals // they are those of the process

	sync.Mutex
	locks []*os.File
}

// FreePort is a port of the loopback that nothing listens on. It is none of those
// that the system gives to clients, so that no connection takes it before the
// program does that it is for; and no other caller of this gets it before this
// process ends, in whatever process it is.
func FreePort(t testing.TB) string {
	t.Helper()
	const lowest, count = 20000, 12000
	ports.Lock()
	defer ports.Unlock()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("ropewalk-ports-%d", os.Getuid()))
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var last error
	for range 100 {
		port := strconv.Itoa(lowest + rand.IntN(count))                                  //nolint:gosec // any will do
		lock, err := os.OpenFile(filepath.Join(dir, port), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the name is a number
		require.NoError(t, err)
		l, err := net.Listen("tcp", net.JoinHostPort(Loopback, port))
		if err == nil {
			require.NoError(t, l.Close())
			if err = exclusive(lock); err == nil {
				ports.locks = append(ports.locks, lock)
				return port
			}
		}
		last = errors.Join(last, err, lock.Close())
	}
	require.NoError(t, last)
	return ""
}

// Loopback is the one address that anything listens on.
const Loopback = "127.0.0.1"
