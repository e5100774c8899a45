// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Required is the variable of the environment that makes a missing binary a
// failure when it is "required".
const Required = "ROPEWALK_SERVERS"

// find is the path of a binary, which the package of Debian holds. It skips
// the test where there is none, or fails it where servers are required.
func find(t testing.TB, binary, debian string) string {
	t.Helper()
	for _, name := range []string{binary, filepath.Join("/usr/sbin", binary), filepath.Join("/usr/local/sbin", binary)} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	lack(t, binary+" is missing: install the package "+debian)
	return ""
}

// lack skips the test for a reason, or fails it where servers are required.
func lack(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv(Required) == "required" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// process is a server in a process group of its own.
type process struct {
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when it has ended and was waited for
}

// start runs cmd in a process group that ends with stop, and with this process
// where the system can see to it. What it says goes to the log.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: &output{}, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p.log
	}
	cmd.Stderr = p.log
	isolate(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // how it ended shows in what it did
	}()
	return p, nil
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop kills the process group and returns when the process is gone.
func (p *process) stop() {
	kill(p.cmd)
	<-p.done
}

// output keeps what a process says; it is written to from several goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps data.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(data)
}

// String is what was kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
