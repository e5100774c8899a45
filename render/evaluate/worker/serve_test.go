// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

// startServe runs a worker in this process, without limits.
func startServe(t *testing.T) (to io.WriteCloser, from *bufio.Reader, ended <-chan error) {
	t.Helper()
	in, to := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(context.Background(), in, answers, "", inprocess.Options{}, func(int64) error { return nil })
		_, _ = in.Close(), answers.Close()
		done <- err
	}()
	t.Cleanup(func() { _, _ = to.Close(), out.Close() })
	return to, bufio.NewReader(out), done
}

func send(t *testing.T, to io.Writer, v any) {
	t.Helper()
	c, err := newCodec()
	require.NoError(t, err)
	require.NoError(t, c.send(to, v))
}

func receive[T any](t *testing.T, from *bufio.Reader) (v T) {
	t.Helper()
	c, err := newCodec()
	require.NoError(t, err)
	require.NoError(t, c.receive(from, maxFrame, &v))
	return v
}

func greet(t *testing.T, to io.Writer, from *bufio.Reader) {
	t.Helper()
	send(t, to, hello{})
	require.Equal(t, greeting, receive[string](t, from))
}

func treeOf(t *testing.T, req evaluate.Request) message {
	t.Helper()
	packed, err := pack(req.Module.FS)
	require.NoError(t, err)
	return message{Tree: &packedTree{ID: 1, Zip: packed}}
}

func TestAWorkerAnswersUntilItsInputEnds(t *testing.T) {
	to, from, ended := startServe(t)
	greet(t, to, from)
	req := ask(goodModule)
	send(t, to, treeOf(t, req))
	for range 2 {
		send(t, to, message{Call: &call{Request: req, Trees: []treeID{1}}})
		r := receive[reply](t, from)
		require.Empty(t, r.Mistakes)
		require.Len(t, r.Result.Nodes, 1)
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
	send(t, to, treeOf(t, req))
	send(t, to, message{Call: &call{Request: req, Trees: []treeID{1}}})
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
		greet bool
		body  any
		want  string
	}{
		"a greeting of another kind": {false, "hello", "the caller is not a pool"},
		"a field of another version": {true, map[string]any{"Other": 1}, "unknown field"},
		"an empty message":           {true, message{}, "neither a tree nor a complete call"},
		"a call without its tree":    {true, message{Call: &call{}}, "neither a tree nor a complete call"},
		"a tree that is none":        {true, message{Tree: &packedTree{ID: 1, Zip: []byte("abc")}}, "module: zip"},
		"text":                       {true, "abc", "message: cbor"},
	} {
		t.Run(name, func(t *testing.T) {
			to, from, ended := startServe(t)
			if c.greet {
				greet(t, to, from)
			}
			send(t, to, c.body)
			require.ErrorContains(t, <-ended, c.want)
		})
	}
}

func TestAResultThatIsTooLargeIsAMistakeOfTheModule(t *testing.T) {
	var out bytes.Buffer
	c, err := newCodec()
	require.NoError(t, err)
	c.max = 1000
	w := &worker{out: &out, codec: c}
	node := &object.Node{Object: object.Object{"text": strings.Repeat("x", 1000)}}
	require.NoError(t, w.write(&reply{Retire: true, Result: resultFrame{Result: evaluate.Result{Nodes: []*object.Node{node}}}}))
	r := receive[reply](t, bufio.NewReader(&out))
	require.True(t, r.Retire)
	require.Contains(t, r.Mistakes[0].Err.Text, "and 1000 are allowed")
}

func TestAPanicOfTheEvaluatorIsAnAnswer(t *testing.T) {
	w := &worker{evaluator: panics{}}
	r := w.answer(t.Context(), &call{Trees: []treeID{0}})
	require.Regexp(t, `^ropewalk panicked, please report it: a value of type string \(.+serve_test.go:\d+\)$`, r.Crash)
}

type panics struct{ evaluate.Evaluator }

func (panics) Evaluate(context.Context, evaluate.Request) (evaluate.Result, error) {
	panic("index out of everything\ngoroutine 1")
}

func TestAWorkerIsFullByItsHeapAndWhatItHasDone(t *testing.T) {
	const mib = 1 << 20
	w := &worker{memory: 256 * mib, trees: map[treeID]fs.FS{1: nil}}
	require.False(t, w.isFull(65*mib), "one large module is not compiled for every call")
	w.calls = callsOfAFullWorker
	require.True(t, w.isFull(65*mib))
	require.False(t, w.isFull(63*mib))
	w.calls, w.trees[2] = 1, nil
	require.True(t, w.isFull(65*mib), "several modules leave too little for an evaluation")
	w.memory = 0
	require.False(t, w.isFull(65*mib))
}

// FuzzServe sends anything to a worker: it ends, and never panics.
func FuzzServe(f *testing.F) {
	c, err := newCodec()
	require.NoError(f, err)
	packed, err := pack(ask(goodModule).Module.FS)
	require.NoError(f, err)
	var b bytes.Buffer
	require.NoError(f, c.send(&b, hello{}))
	require.NoError(f, c.send(&b, message{Tree: &packedTree{ID: 1, Zip: packed}}))
	f.Add(b.Bytes())
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = serve(context.Background(), bytes.NewReader(data), io.Discard, "", inprocess.Options{}, func(int64) error { return nil })
	})
}
