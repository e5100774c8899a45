// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// startServe runs a worker in this process, without limits.
func startServe(t *testing.T) (to io.WriteCloser, from *bufio.Reader, ended <-chan error) {
	t.Helper()
	in, to := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(context.Background(), in, answers, Options{}, func(int64) error { return nil })
		_, _ = in.Close(), answers.Close()
		done <- err
	}()
	t.Cleanup(func() { _, _ = to.Close(), out.Close() })
	return to, bufio.NewReader(out), done
}

func send(t *testing.T, to io.Writer, kind frameKind, write func(e *encoder)) {
	t.Helper()
	e := newEncoder()
	write(e)
	require.NoError(t, e.err)
	require.NoError(t, writeFrame(to, kind, e, maxRequestSize))
}

func greet(t *testing.T, to io.Writer, from *bufio.Reader) {
	t.Helper()
	send(t, to, frameHello, func(e *encoder) { e.hello(hello{}) })
	f, err := readFrame(from, 100)
	require.NoError(t, err)
	require.Equal(t, frameReady, f.kind)
}

func TestAWorkerAnswersUntilItsInputEnds(t *testing.T) {
	to, from, ended := startServe(t)
	greet(t, to, from)
	req := ask(goodModule)
	send(t, to, frameTree, func(e *encoder) { e.uint(1); e.tree(req.Module.FS) })
	for range 2 {
		send(t, to, frameEvaluate, func(e *encoder) { e.request(req, []treeID{1}) })
		f, err := readFrame(from, maxReplySize)
		require.NoError(t, err)
		d := &decoder{data: f.payload}
		r := d.reply()
		require.NoError(t, d.finish())
		require.Empty(t, r.mistakes)
		require.Len(t, r.result.Nodes, 1)
	}
	require.NoError(t, to.Close())
	require.NoError(t, <-ended)
}

func TestAWorkerEndsWithItsPoolInTheMiddleOfAnEvaluation(t *testing.T) {
	to, from, ended := startServe(t)
	greet(t, to, from)
	// The evaluation runs on in this process, so it is one that ends some time.
	req := ask(`import "list"
x: [for i in list.Range(0, 1000000, 1) if i < 0 {i}]`)
	send(t, to, frameTree, func(e *encoder) { e.uint(1); e.tree(req.Module.FS) })
	send(t, to, frameEvaluate, func(e *encoder) { e.request(req, []treeID{1}) })
	require.NoError(t, to.Close())
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		require.Fail(t, "the worker outlives its pool")
	}
}

func TestAWorkerTellsWhatItDoesNotUnderstand(t *testing.T) {
	for name, c := range map[string]struct {
		first frameKind
		kind  frameKind
		body  string
		want  string
	}{
		"a greeting of another kind": {frameReply, frameReply, "", "the caller is no pool"},
		"a frame of an unknown kind": {frameHello, 99, "", "request"},
		"a tree that is none":        {frameHello, frameTree, "\x01\x01\x03abc", "module: zip"},
		"a request that ends early":  {frameHello, frameEvaluate, "\x01", "message ends early"},
	} {
		t.Run(name, func(t *testing.T) {
			to, from, ended := startServe(t)
			if c.first == frameHello {
				greet(t, to, from)
			}
			send(t, to, c.kind, func(e *encoder) { e.buf = append(e.buf, c.body...) })
			require.ErrorContains(t, <-ended, c.want)
		})
	}
}

func TestAResultThatIsTooLargeIsAMistakeOfTheModule(t *testing.T) {
	var out bytes.Buffer
	w := &worker{out: &out}
	node := &object.Node{Object: object.Object{"text": strings.Repeat("x", maxReplySize)}}
	require.NoError(t, w.write(&reply{retire: true, result: Result{Nodes: []*object.Node{node}}}))
	f, err := readFrame(bufio.NewReader(&out), maxReplySize)
	require.NoError(t, err)
	d := &decoder{data: f.payload}
	r := d.reply()
	require.NoError(t, d.finish())
	require.True(t, r.retire)
	require.ErrorContains(t, r.mistakes, fmt.Sprintf("and %d are allowed", maxReplySize))
}

func TestAPanicOfTheEvaluatorIsAnAnswer(t *testing.T) {
	w := &worker{evaluator: panics{}, heap: newHeap(0)}
	r := w.answer(t.Context(), frameEvaluate, Request{}, nil)
	require.Equal(t, "index out of everything", r.crash)
}

type panics struct{ Evaluator }

func (panics) Evaluate(context.Context, Request) (Result, error) {
	panic("index out of everything\ngoroutine 1")
}

func TestAHeapTellsModulesFromLeaks(t *testing.T) {
	const mib = 1 << 20
	h := &heap{limit: 256 * mib}
	h.settle = 1
	_, retire := h.leaks(40 * mib)
	require.False(t, retire, "the first module takes what it takes")
	require.Zero(t, h.leak)
	_, retire = h.leaks(60 * mib)
	require.False(t, retire)
	require.Equal(t, int64(20*mib), h.leak)
	h.settle = 9
	_, retire = h.leaks(75 * mib)
	require.False(t, retire, "another module is no leak")
	require.Equal(t, int64(20*mib), h.leak)
	_, retire = h.leaks(30 * mib)
	require.False(t, retire)
	require.Zero(t, h.leak, "less than before means that a module was dropped")

	h.trees = 1
	require.False(t, h.crowded(200*mib), "one module is never too many")
	h.trees = 2
	require.False(t, h.crowded(60*mib))
	require.True(t, h.crowded(65*mib))
	h.packed = 65 * mib
	require.True(t, h.crowded(0), "the files themselves count")
}

// FuzzServe sends anything to a worker: it ends, and never panics.
func FuzzServe(f *testing.F) {
	var b bytes.Buffer
	e := newEncoder()
	e.hello(hello{})
	require.NoError(f, writeFrame(&b, frameHello, e, maxRequestSize))
	f.Add(b.Bytes())
	e = newEncoder()
	e.uint(1)
	e.tree(ask(goodModule).Module.FS)
	require.NoError(f, writeFrame(&b, frameTree, e, maxRequestSize))
	f.Add(b.Bytes())
	f.Add([]byte("\x01\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = serve(context.Background(), bytes.NewReader(data), io.Discard, Options{}, func(int64) error { return nil })
	})
}
