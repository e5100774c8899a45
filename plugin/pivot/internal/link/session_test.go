// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

func TestASessionCarriesEverything(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.sees("blue: ready v1")
	p.sees("blue: heartbeat AGENT_STATE_WAITING")
	p.sees("blue: health 2/3")
	require.True(t, a.Connected())
	require.NoError(t, a.Healthy())

	require.NoError(t, p.Bootstrap(t.Context(), "blue", &wire.Bootstrap{Id: "1"}))
	p.sees("blue: bootstrap 1")
	require.NoError(t, p.Reconcile(t.Context(), "blue"))
	a.did(t, "reconcile")
	a.PivotComplete(&wire.PivotComplete{PivotId: "p"})
	p.sees("blue: pivot p")
	before := p.count("blue: health 2/3")
	require.NoError(t, p.StatusRequest(t.Context(), "blue"))
	require.Eventually(t, func() bool { return p.count("blue: health 2/3") > before }, 10*time.Second, time.Millisecond)

	require.ErrorIs(t, p.Reconcile(t.Context(), "green"), ErrAway)
	require.ErrorContains(t, p.Bootstrap(t.Context(), "blue", &wire.Bootstrap{PivotCluster: make([]byte, maxMessage)}), "at most 1048576")
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, "blue: ready v1", p.seen[0], "a session begins with it")
}

// TestAChildKnowsTheAuthoritiesOfItsParent, and begins another session at once when it has renewed
// its certificate.
func TestAChildKnowsTheAuthoritiesOfItsParent(t *testing.T) {
	var pins atomic.Pointer[[]string]
	pins.Store(&[]string{"one"})
	p := newParent(t, func(o *ServerOptions) { o.Pins = func() []string { return *pins.Load() } })
	a := p.join(p.address, p.agent("blue", time.Hour), func(o *ClientOptions) { o.Backoff, o.MaxBackoff = time.Hour, time.Hour })
	a.Renewed() // There is no session yet, or there is.
	p.connected("blue")
	require.Eventually(t, a.Connected, 10*time.Second, time.Millisecond)
	require.Equal(t, []string{"one"}, a.Pins())
	pins.Store(&[]string{"one", "two"})
	// The session that was first may be the one that ends, and what is sent in it is lost.
	require.Eventually(t, func() bool {
		return p.Reconcile(t.Context(), "blue") == nil && slices.Equal(a.Pins(), []string{"one", "two"})
	}, 10*time.Second, 10*time.Millisecond)
	a.did(t, "reconcile")

	before := p.count("blue: ready v1")
	pins.Store(&[]string{"two"})
	a.Renewed()
	require.Eventually(t, func() bool { return p.count("blue: ready v1") > before && slices.Equal(a.Pins(), []string{"two"}) }, 10*time.Second, time.Millisecond)
}

func TestLevelsAreSentAgainInEachSession(t *testing.T) {
	p := newParent(t, nil)
	between := newProxy(t, p.address)
	a := p.join(between.address, p.agent("blue", time.Hour))
	a.BootstrapComplete(&wire.BootstrapComplete{Id: "1"})
	a.PivotComplete(&wire.PivotComplete{PivotId: "old"})
	a.PivotComplete(&wire.PivotComplete{PivotId: "p"})
	for n := 1; n <= 3; n++ {
		for _, event := range []string{"blue: ready v1", "blue: bootstrap 1", "blue: pivot p", "blue: health 2/3"} {
			require.Eventually(t, func() bool { return p.count(event) >= n }, 10*time.Second, time.Millisecond, "%s in session %d", event, n)
		}
		between.cut()
	}
}

// TestRequestsAndAnswersOfAllSizes sends what fits in a message, and what does not.
func TestRequestsAndAnswersOfAllSizes(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	a.carries(func(_ context.Context, r state.Request) state.Response {
		if r.Op == "Huge" {
			return state.Response{Message: strings.Repeat("x", maxPayload)}
		}
		return state.Response{Message: string(r.Chunk.Data)}
	})
	for _, size := range []int{0, 1, inline, partSize, snapshot.ChunkSize, 3 << 20, maxPayload / 2} {
		data := []byte(strings.Repeat("x", size))
		out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Stage, Chunk: &snapshot.Chunk{Data: data}})
		require.NoError(t, err)
		require.Empty(t, out.Refused, out.Message)
		require.Equal(t, string(data), out.Message)
	}
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: "Huge"})
	require.NoError(t, err)
	require.Equal(t, state.Failed, out.Refused)
	require.Contains(t, out.Message, "the answer has")
	out, err = p.Link("blue").Call(t.Context(), state.Request{Op: state.Stage, Chunk: &snapshot.Chunk{Data: make([]byte, maxPayload)}})
	require.NoError(t, err)
	require.Equal(t, state.Failed, out.Refused)
	require.Contains(t, out.Message, "the request has")
	require.Equal(t, 1, len(p.sessionsOf()), "all in one session")
}

// sessionsOf are the clusters with a session, each with the number of it.
func (p *parent) sessionsOf() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int64{}
	for cluster, n := range p.sessions {
		out[cluster] = n
	}
	return out
}

func TestCallsOfAChildThatIsAwayAreRefused(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Patience = 20 * time.Millisecond })
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err, "it is known that it was not carried out")
	require.Equal(t, state.Unavailable, out.Refused)
	require.Equal(t, `Hello of cluster "blue": not connected for 20ms`, out.Message)

	// The next one is sent, and the child goes away.
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	entered := make(chan struct{})
	a.carries(func(ctx context.Context, _ state.Request) state.Response {
		close(entered)
		<-ctx.Done()
		return state.Response{}
	})
	go func() {
		<-entered
		a.stop()
	}()
	_, err = p.Link("blue").Call(t.Context(), state.Request{Op: state.Import})
	require.ErrorIs(t, err, ErrAway, "it is not known whether it was carried out")
	require.ErrorContains(t, err, `Import of cluster "blue" was sent, and not answered`)
}

func TestACallEndsInTime(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Answer = 100 * time.Millisecond })
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	go1 := make(chan struct{})
	a.carries(func(ctx context.Context, _ state.Request) state.Response {
		select {
		case <-go1:
		case <-ctx.Done():
		}
		return state.Response{}
	})
	_, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Confirm})
	require.ErrorIs(t, err, errUnanswered)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Link("blue").Call(ctx, state.Request{Op: state.Confirm})
	require.NoError(t, err)
	close(go1)
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err)
	require.Empty(t, out.Refused, "the child goes on with the next one")
	require.GreaterOrEqual(t, a.handled(), 2)
}

// TestOneRequestAtATime has two callers, and more requests than a child takes.
func TestOneRequestAtATime(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Answer = 200 * time.Millisecond })
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	a.carries(func(context.Context, state.Request) state.Response {
		entered <- struct{}{}
		<-leave
		return state.Response{}
	})
	errs := make(chan error, 1)
	go func() {
		_, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Import})
		errs <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	out, err := p.Link("blue").Call(ctx, state.Request{Op: state.Hello})
	require.NoError(t, err)
	require.Equal(t, state.Unavailable, out.Refused)
	require.Contains(t, out.Message, "another request is under way")
	require.ErrorIs(t, <-errs, errUnanswered)
	for i := range maxOperations {
		out, err = p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
		if i < maxOperations-1 {
			require.ErrorIs(t, err, errUnanswered)
		}
	}
	require.NoError(t, err)
	require.Equal(t, state.Unavailable, out.Refused, "a child keeps no more")
	require.Equal(t, 1, a.handled(), "the others wait")
	close(leave)
	require.Eventually(t, func() bool { return a.handled() == maxOperations }, 10*time.Second, time.Millisecond)
}

func TestRequestsThatTheAgentCannotCarryOut(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	a.carries(func(_ context.Context, r state.Request) state.Response {
		_ = r.Chunk.Index
		return state.Response{}
	})
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Stage})
	require.NoError(t, err)
	require.Equal(t, state.Failed, out.Refused)
	require.Contains(t, out.Message, "panic")
	out = a.answer(t.Context(), []byte("{"))
	require.Equal(t, state.Failed, out.Refused)
	require.Contains(t, out.Message, "cannot be read")
}

func TestOptionsThatAreMissing(t *testing.T) {
	_, err := NewServer(ServerOptions{})
	require.ErrorContains(t, err, "needs TLS")
	_, err = NewClient(ClientOptions{})
	require.ErrorContains(t, err, "needs Parent")
	p := newParent(t, func(o *ServerOptions) { o.Events = Events{} })
	broken := errors.New("no certificate yet")
	a := p.join(p.address, p.agent("blue", time.Hour), func(o *ClientOptions) {
		parent := o.Parent
		failures := 0
		o.Parent = func(ctx context.Context) (Parent, error) {
			if failures++; failures < 3 {
				return Parent{}, broken
			}
			return parent(ctx)
		}
		ready := o.Ready
		o.Ready = func(ctx context.Context) (*wire.AgentReady, error) {
			if failures < 5 {
				return nil, broken
			}
			return ready(ctx)
		}
		o.State = nil
	})
	a.PivotComplete(&wire.PivotComplete{})
	a.BootstrapComplete(&wire.BootstrapComplete{})
	p.connected("blue")
	_, err = p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err, "events that are not wanted are skipped")
}
