// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
)

// process is a running worker. It has one user at a time; only kill may be called by others.
type process struct {
	memory   int64
	cmd      *exec.Cmd
	requests *os.File
	replies  *os.File
	reader   *bufio.Reader
	stderr   *beginning

	codec    codec
	release  string
	greeting []byte            // the hello frame, until it was sent
	ready    bool              // the worker has answered it
	used     bool              // it has evaluated something
	trees    map[string]treeID // by digest: what the worker has got
	lastTree treeID

	done   chan struct{} // closed when the process is gone
	mu     sync.Mutex
	killed error // why we killed it, nil where we did not
}

// stderrSize limits the bytes of stderr that are kept of a worker: the message
// comes before the stack.
const stderrSize = 4 << 10

// startProcess starts a worker with a memory limit. The worker gets nothing
// of this process but three streams: no environment, no folder, no files.
func startProcess(opts Options, c codec, memory int64) (*process, error) {
	p := &process{
		memory: memory, release: opts.Release, trees: map[string]treeID{}, done: make(chan struct{}),
		stderr: &beginning{}, codec: c,
	}

	// The greeting holds what all requests share.
	first := hello{Memory: memory, Release: opts.Release, Schemas: map[string][]byte{}}
	var err error
	for importPath, fsys := range opts.Schemas {
		first.Schemas[importPath], err = pack(fsys)
		if err != nil {
			return nil, fmt.Errorf("evaluation workers: schema %q: %w", importPath, err)
		}
	}
	p.greeting, err = c.marshal(first)
	if err != nil {
		return nil, fmt.Errorf("evaluation workers: schemas: %w", err)
	}

	// Both ends of the pipes are open until the process has started.
	childIn, requests, err := os.Pipe()
	if err != nil {
		return nil, diagnose.Because(errors.Join(evaluate.ErrWorker, err), "the evaluation worker did not start: %v", err)
	}
	replies, childOut, err := os.Pipe()
	if err != nil {
		_ = childIn.Close()
		_ = requests.Close()
		return nil, diagnose.Because(errors.Join(evaluate.ErrWorker, err), "the evaluation worker did not start: %v", err)
	}
	p.requests = requests
	p.replies = replies
	p.reader = bufio.NewReaderSize(replies, 64<<10)
	p.cmd = &exec.Cmd{
		Path: opts.Command[0], Args: opts.Command, Env: []string{}, Dir: workerDir(),
		Stdin: childIn, Stdout: childOut, Stderr: p.stderr,
		SysProcAttr: workerAttributes(), WaitDelay: time.Second,
	}
	err = p.cmd.Start()
	_ = childIn.Close()
	_ = childOut.Close()
	if err != nil {
		p.close()
		return nil, diagnose.Because(errors.Join(evaluate.ErrWorker, err), "the evaluation worker did not start: %v", err)
	}
	return p, nil
}

// reap waits until the process has ended and returns the largest size that it had. There is one
// reaper for each process, so that no process becomes a zombie.
func (p *process) reap() (peak int64) {
	_ = p.cmd.Wait() // how it ended is in its state
	close(p.done)
	return peakMemory(p.cmd.ProcessState)
}

// kill ends the process at once and wakes its user. The first reason counts.
func (p *process) kill(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed == nil {
		p.killed = why
	}
	_ = p.cmd.Process.Kill() // it may have ended already
	// A reader need not wait until the kernel has taken the memory back.
	_ = p.replies.SetReadDeadline(time.Unix(1, 0))
	_ = p.requests.SetWriteDeadline(time.Unix(1, 0))
}

// close closes the streams.
func (p *process) close() {
	_ = p.requests.Close()
	_ = p.replies.Close()
}

// ended reports whether the process is gone, or about to be.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed != nil
}

// knows reports whether the worker has the module.
func (p *process) knows(m evaluate.Module) bool { return m.Digest != "" && p.trees[m.Digest] != 0 }

// call sends j and waits for its reply, its deadline or the end of ctx. After
// a loss the process is of no use, unless nothing was sent.
func (p *process) call(ctx context.Context, j job, remaining time.Duration) (*reply, *loss) {
	frames, err := p.encode(j)
	if err != nil {
		return nil, &loss{unsent: true, cause: fmt.Errorf("the request cannot be sent to an evaluation worker: %w", err)}
	}
	timer := time.AfterFunc(remaining, func() { p.kill(evaluate.ErrTimeout) })
	defer timer.Stop()
	stop := context.AfterFunc(ctx, func() { p.kill(ctx.Err()) })
	defer stop()
	r, err := p.exchange(frames)
	usedBefore := p.used
	p.used = true
	switch {
	case err == nil && r.Crash != "":
		return nil, &loss{
			cause: diagnose.Because(evaluate.ErrCrashed, "the evaluator crashed: %s", r.Crash),
			hint:  "this is a fault of ropewalk or of CUE: please report it with the module",
		}
	case err == nil:
		return r, nil
	}
	p.mu.Lock()
	why := p.killed
	p.mu.Unlock()
	if why == nil {
		return nil, p.lost(err, usedBefore)
	}
	return nil, &loss{cause: why}
}

// releaseError reports a worker of another release.
type releaseError struct{ worker, pool string }

func (e *releaseError) Error() string {
	return fmt.Sprintf("the program is of release %q, and this one of %q", e.worker, e.pool)
}

// lost returns how a process ended that the pool did not kill.
func (p *process) lost(err error, usedBefore bool) *loss {
	var release *releaseError
	if errors.As(err, &release) {
		return &loss{
			cause: diagnose.Because(evaluate.ErrWorker, "%q cannot be used: %v", p.cmd.Path, release),
			hint:  "install both of the same release",
		}
	}
	select {
	case <-p.done:
	case <-time.After(time.Second):
		// It lives and talks nonsense.
		p.kill(evaluate.ErrWorker)
		<-p.done
		return &loss{cause: diagnose.Because(evaluate.ErrWorker, "the program that was started is not an evaluation worker: %v", err)}
	}
	return autopsy(p.cmd.ProcessState, p.stderr.text(), usedBefore, p.ready)
}

// encode writes the request and the trees that the worker lacks, as frames.
func (p *process) encode(j job) ([][]byte, error) {
	// The greeting comes before the first request.
	var frames [][]byte
	if p.greeting != nil {
		frames = append(frames, p.greeting)
	}

	// A tree with a digest is sent once, and named by its id after that.
	c := &call{Request: j.req, Trace: j.trace, Queries: j.queries}
	lastTree := p.lastTree
	sent := map[string]treeID{}
	for _, m := range j.req.Modules() {
		id := max(p.trees[m.Digest], sent[m.Digest])
		if id == 0 && m.FS != nil {
			packed, err := pack(m.FS)
			if err != nil {
				return nil, err
			}
			lastTree++
			id = lastTree
			if m.Digest != "" {
				sent[m.Digest] = id
			}
			frame, err := p.codec.marshal(message{Tree: &packedTree{ID: id, Zip: packed}})
			if err != nil {
				return nil, err
			}
			frames = append(frames, frame)
		}
		c.Trees = append(c.Trees, id)
	}

	// The call names the trees before it.
	frame, err := p.codec.marshal(message{Call: c})
	if err != nil {
		return nil, err
	}
	p.lastTree = lastTree
	maps.Copy(p.trees, sent)
	return append(frames, frame), nil
}

// exchange sends frames and reads the reply to the last.
func (p *process) exchange(frames [][]byte) (*reply, error) {
	p.greeting = nil
	for _, f := range frames {
		if _, err := p.requests.Write(f); err != nil {
			return nil, err
		}
	}
	if !p.ready {
		var text string
		if err := p.codec.receive(p.reader, 1<<10, &text); err != nil {
			return nil, err
		}
		switch release, ok := strings.CutPrefix(text, greeting); {
		case !ok:
			return nil, errors.New("no greeting of an evaluation worker")
		case release != p.release:
			return nil, &releaseError{worker: release, pool: p.release}
		}
		p.ready = true
	}
	var r reply
	if err := p.codec.receive(p.reader, maxFrame, &r); err != nil {
		return nil, fmt.Errorf("read its reply: %w", err)
	}
	return &r, nil
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	mu  sync.Mutex
	buf []byte
}

var _ io.Writer = (*beginning)(nil)

// Write never fails.
func (b *beginning) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, data[:min(len(data), stderrSize-len(b.buf))]...)
	return len(data), nil
}

func (b *beginning) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf)
}
