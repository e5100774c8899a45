// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of the hostile corpus. The slack over the memory limit is the text of
// the program itself, which all workers share, and what a single large block
// can take before it is noticed (see limitWorker).
const (
	// hostileDeadline is for what a limit must stop, and patientDeadline for all that
	// comes to an end by itself, however busy the machine is.
	hostileDeadline = time.Second
	patientDeadline = 30 * time.Second
	hostileGrace    = 2 * time.Second
	hostileSlack    = 40<<20 + 64<<20
)

// hostile tells what becomes of each file of testdata/hostile.
type hostile struct {
	// limit is which limit stops it: any of them, where it needs both time and
	// memory without end; nil where CUE itself finds the mistake.
	limit []error
	// want is part of the message.
	want string
	// short says that it is also run by go test -short.
	short bool
}

func hostileCorpus() map[string]hostile {
	either := []error{evaluate.ErrTimeout, evaluate.ErrMemory}
	return map[string]hostile{
		"billion-laughs":      {limit: either},
		"comprehension-cycle": {want: "not allowed as field set was already referenced"},
		"deep-recursion":      {want: "structural cycle"},
		"doubled-string":      {limit: either, short: true},
		"doubling-map":        {limit: either},
		"inline-cycle":        {want: "object"},
		"large-power":         {want: "exponent out of range"},
		"long-range":          {limit: either, short: true},
		"nested-for":          {limit: either},
		"one-block":           {limit: either},
		"panic":               {want: "nil pointer", short: true},
		"recursive-match":     {limit: either},
		"recursive-union":     {limit: either, short: true},
		"regex-repeats":       {want: "invalid repeat count"},
		"repeated-string":     {want: "exceeds limit", short: true},
		"structural-cycle":    {want: "structural cycle", short: true},
		"unified-unions":      {limit: either},
	}
}

func TestEveryHostileModuleEndsInAClearErrorAndHarmsNoOther(t *testing.T) {
	corpus := hostileCorpus()
	files, err := filepath.Glob("testdata/hostile/*.cue")
	require.NoError(t, err)
	require.Len(t, files, len(corpus), "each file has its expectation")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".cue")
		h, ok := corpus[name]
		require.True(t, ok, name)
		if testing.Short() && !h.short {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) { attack(t, string(text), h) })
	}
	t.Run("a million terms", func(t *testing.T) {
		attack(t, "x: "+strings.Repeat("1+", 1_000_000)+"1\n", hostile{want: "too deep"})
	})
	// With two million, a collector that came late let the limit of memory be the first one.
	t.Run("half a million open brackets", func(t *testing.T) {
		attack(t, "x: "+strings.Repeat("[", 500_000), hostile{want: "too deep to be evaluated"})
	})
}

// TestMemoryEndsAModuleBeforeItsDeadlineDoes has much time and little memory, so
// that the limit which stops the module is known.
func TestMemoryEndsAModuleBeforeItsDeadlineDoes(t *testing.T) {
	if !hardLimit {
		t.Logf("this build has no memory limit that the kernel holds")
		return
	}
	for _, name := range []string{"doubled-string", "long-range", "one-block"} {
		t.Run(name, func(t *testing.T) {
			const limit = 64 << 20
			p, err := NewPool(Options{Size: 1, Timeout: time.Minute, Memory: limit})
			require.NoError(t, err)
			requireGood(t, p)
			_, err = p.Evaluate(t.Context(), ask(hostileFile(t, name)))
			require.ErrorIs(t, err, evaluate.ErrMemory)
			require.ErrorContains(t, err, "specs/web.yaml:4:3: evaluate: evaluation exceeded 64 MiB of memory")
			require.Equal(t, 1, p.Stats().Retried, "a used worker is no judge of memory")
			requireGood(t, p)
			require.NoError(t, p.Close())
			if exactLimit {
				require.Less(t, p.Stats().PeakMemory, int64(limit+hostileSlack))
			}
		})
	}
}

// attack evaluates a hostile module while a good one is rendered by the same
// pool again and again.
func attack(t *testing.T, text string, h hostile) {
	p, err := NewPool(Options{Size: 2, Timeout: patientDeadline})
	require.NoError(t, err)
	warm(t, p)
	stop, renders := renderMeanwhile(t, p)
	req := ask(text)
	if h.limit != nil {
		req.Limits.Timeout = hostileDeadline
	}
	began := time.Now()
	_, err = p.Evaluate(t.Context(), req)
	took := time.Since(began)
	stop()
	require.NoError(t, p.Close())

	require.Error(t, err)
	mistakes := object.AsErrors(err, object.StageEvaluate)
	require.NotContains(t, err.Error(), "goroutine ", "a Go stack is no message")
	for _, m := range mistakes {
		require.True(t, m.Pos.IsValid(), "%v has no position", m)
	}
	if h.limit != nil {
		require.Less(t, took, hostileDeadline+hostileGrace)
		require.Len(t, mistakes, 1)
		require.Equal(t, "specs/web.yaml", mistakes[0].Pos.File)
		require.NotEmpty(t, mistakes[0].Hint)
		ok := false
		for _, target := range h.limit {
			ok = ok || errors.Is(err, target)
		}
		require.True(t, ok, err)
	} else {
		require.ErrorContains(t, err, h.want)
		require.NotErrorIs(t, err, evaluate.ErrTimeout)
	}
	stats := p.Stats()
	t.Logf("%6.2f s, %3d MiB, %d good renders meanwhile: %s", took.Seconds(), stats.PeakMemory>>20, renders(), diagnose.FirstLine(err.Error()))
	if exactLimit {
		require.Less(t, stats.PeakMemory, int64(evaluate.DefaultMemory+hostileSlack))
	}
}

// warm has every slot start its worker, so that what is measured is not how long that
// takes.
func warm(t *testing.T, p *Pool) {
	t.Helper()
	for i := 0; p.Stats().Started < len(p.slots); i++ {
		// Each module belongs to one of the slots.
		_, err := p.Evaluate(t.Context(), ask(fmt.Sprintf("%s// %d\n", goodModule, i)))
		require.NoError(t, err)
	}
}

// renderMeanwhile renders the good module until stop is called, and once more;
// stop fails the test if a single render went wrong.
func renderMeanwhile(t *testing.T, p *Pool) (stop func(), renders func() int64) {
	t.Helper()
	requireGood(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var count atomic.Int64
	go func() {
		for again := true; again; again = ctx.Err() == nil {
			result, err := p.Evaluate(context.Background(), ask(goodModule))
			if err == nil && len(result.Nodes) != 1 {
				err = errors.New("the result of the good module changed")
			}
			if err != nil {
				done <- err
				return
			}
			count.Add(1)
			time.Sleep(5 * time.Millisecond)
		}
		done <- nil
	}()
	return func() {
		cancel()
		require.NoError(t, <-done)
		require.Positive(t, count.Load())
	}, count.Load
}
