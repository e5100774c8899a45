// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TestAnOperationOutlivesItsSession cuts the connection while a request is carried out: the
// answer comes in the next session, and the request is not carried out again.
func TestAnOperationOutlivesItsSession(t *testing.T) {
	for name, size := range map[string]int{"inline": 10, "bulk": snapshot.ChunkSize} {
		t.Run(name, func(t *testing.T) {
			p := newParent(t, nil)
			between := newProxy(t, p.address)
			a := p.join(between.address, p.agent("blue", time.Hour))
			p.connected("blue")
			entered, leave := make(chan struct{}), make(chan struct{})
			a.carries(func(_ context.Context, r state.Request) state.Response {
				close(entered)
				<-leave
				return state.Response{Message: string(r.Chunk.Data)}
			})
			data := make([]byte, size)
			for i := range data {
				data[i] = 'x'
			}
			type answer struct {
				state.Response
				err error
			}
			answers := make(chan answer, 1)
			go func() {
				out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Stage, Chunk: &snapshot.Chunk{Data: data}})
				answers <- answer{out, err}
			}()
			<-entered
			for n := range 3 { // Once it is carried out, and twice while it waits for its answer.
				between.cut()
				require.Eventually(t, func() bool { return p.count("blue: ready v1") >= n+2 }, 10*time.Second, time.Millisecond)
			}
			between.cut()
			close(leave)
			out := <-answers
			require.NoError(t, out.err)
			require.Equal(t, string(data), out.Message)
			require.Equal(t, 1, a.handled())
		})
	}
}

// TestAnAnswerThatIsLostIsSentAgain cuts after the request was carried out.
func TestAnAnswerThatIsLostIsSentAgain(t *testing.T) {
	p := newParent(t, nil)
	between := newProxy(t, p.address)
	a := p.join(between.address, p.agent("blue", time.Hour))
	p.connected("blue")
	a.carries(func(context.Context, state.Request) state.Response {
		between.hold() // Nothing arrives any more.
		return state.Response{Message: "once"}
	})
	time.AfterFunc(200*time.Millisecond, between.cut)
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Import})
	require.NoError(t, err)
	require.Equal(t, "once", out.Message)
	require.Equal(t, 1, a.handled())
}

// TestOldAnswersAreForgotten sends more operations than are remembered.
func TestOldAnswersAreForgotten(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	for range 3 * remembered {
		_, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
		require.NoError(t, err)
	}
	a.operations.mu.Lock()
	defer a.operations.mu.Unlock()
	require.Len(t, a.operations.byID, remembered)
	require.Len(t, a.operations.done, remembered)
}

func TestAParentThatIsRestarted(t *testing.T) {
	p := newParent(t, nil)
	a := p.join(p.address, p.agent("blue", time.Hour))
	p.connected("blue")
	p.stop()
	require.Eventually(t, func() bool { return !a.Connected() }, 10*time.Second, time.Millisecond)
	p.start()
	p.connected("blue")
	out, err := p.Link("blue").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err)
	require.Equal(t, "Hello", out.Message)
}

// TestAHalfOpenConnection stops to forward what both ends send, and closes nothing. The parent
// misses heartbeats, and the child the answers to its keepalive: both begin anew.
func TestAHalfOpenConnection(t *testing.T) {
	t.Parallel()
	p := newParent(t, func(o *ServerOptions) { o.Lost = time.Second })
	between := newProxy(t, p.address)
	a := p.join(between.address, p.agent("blue", time.Hour), func(o *ClientOptions) { o.Keepalive = 10 * time.Second })
	p.sees("blue: heartbeat AGENT_STATE_WAITING")
	between.hold()
	p.sees("blue: lost")
	require.Equal(t, 0, p.count("blue: lost too early"))
	require.False(t, p.Connected("blue"))
	require.True(t, a.Connected(), "the child has had no time to see it")
	p.connected("blue")
	require.Equal(t, 1, p.count("blue: lost"), "it is reported once")
}

// TestALoadBalancerThatDropsIdleConnections has one that is slower than heartbeats, and one
// that is faster.
func TestALoadBalancerThatDropsIdleConnections(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	between := newProxy(t, p.address)
	between.drops(time.Second)
	p.join(between.address, p.agent("blue", time.Hour))
	p.connected("blue")
	require.Never(t, func() bool { return p.sessionsOf()["blue"] > 1 }, 2*time.Second, 50*time.Millisecond, "heartbeats keep it")

	fast := newProxy(t, p.address)
	fast.drops(20 * time.Millisecond)
	a := p.join(fast.address, p.agent("green", time.Hour))
	require.Eventually(t, func() bool { return p.sessionsOf()["green"] > 3 }, 20*time.Second, time.Millisecond, "it comes back each time")
	out, err := p.Link("green").Call(t.Context(), state.Request{Op: state.Hello})
	require.NoError(t, err)
	require.Equal(t, "Hello", out.Message, "and is served")
	require.Positive(t, a.handled())
}

// TestAChildThatIsLost stops, and comes back.
func TestAChildThatIsLost(t *testing.T) {
	t.Parallel()
	p := newParent(t, func(o *ServerOptions) { o.Lost = time.Second })
	c := p.agent("blue", time.Hour)
	for n := 1; n <= 2; n++ {
		a := p.join(p.address, c)
		p.connected("blue")
		require.Never(t, func() bool { return p.count("blue: lost") >= n }, 1500*time.Millisecond, 10*time.Millisecond, "heartbeats keep it")
		a.stop()
		require.Eventually(t, func() bool { return !p.Connected("blue") }, 10*time.Second, time.Millisecond)
		require.Eventually(t, func() bool { return p.count("blue: lost") == n }, 10*time.Second, time.Millisecond)
		require.Never(t, func() bool { return p.count("blue: lost") > n }, 1500*time.Millisecond, 10*time.Millisecond, "it is reported once")
	}
	require.Equal(t, 0, p.count("blue: lost too early"))
}

// TestAChildThatIsBackIsNotLost begins a session while the loss of the one before is about to
// be reported.
func TestAChildThatIsBackIsNotLost(t *testing.T) {
	p := newParent(t, func(o *ServerOptions) { o.Lost = 200 * time.Millisecond })
	c := p.agent("blue", time.Hour)
	s, _ := p.session(p.dial(c))
	p.sees("blue: ready raw")
	p.child("blue").events.Lock()
	require.ErrorContains(t, ends(t, s), "nothing was received for 200ms")
	_, n := p.session(p.dial(c))
	require.Equal(t, int64(2), n)
	p.child("blue").events.Unlock()
	require.Eventually(t, func() bool { return p.count("blue: ready raw") == 2 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 0, p.count("blue: lost"))
}

// TestASlowEventLosesNoChild has one that takes longer than a child may be silent.
func TestASlowEventLosesNoChild(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := newParent(t, func(o *ServerOptions) { o.Lost = 100 * time.Millisecond })
	p.holds(hold)
	p.join(p.address, p.agent("blue", time.Hour))
	p.sees("blue: heartbeat AGENT_STATE_WAITING")
	time.Sleep(500 * time.Millisecond)
	require.Equal(t, 0, p.count("blue: lost"))
	require.Equal(t, int64(1), p.sessionsOf()["blue"])
	close(hold)
	require.Eventually(t, func() bool { return p.count("blue: heartbeat AGENT_STATE_WAITING") > 3 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 0, p.count("blue: lost"))
}

// TestAChildWithoutAParent goes on for ever, calls the watchdog, and logs little.
func TestAChildWithoutAParent(t *testing.T) {
	p := newParent(t, nil)
	var mu sync.Mutex
	var silences []Silence
	lines := 0
	c := p.agent("blue", time.Hour)
	a := p.join(p.address, c, func(o *ClientOptions) {
		o.Watchdog = 300 * time.Millisecond
		o.Silent = func(s Silence) {
			mu.Lock()
			defer mu.Unlock()
			silences = append(silences, s)
		}
		o.Log = funcr.New(func(string, string) { mu.Lock(); defer mu.Unlock(); lines++ }, funcr.Options{})
	})
	p.connected("blue")
	require.NoError(t, a.Healthy())
	p.stop()
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(silences) >= 2 }, 20*time.Second, time.Millisecond)
	require.NoError(t, a.Healthy(), "a restart would not bring the parent back")
	mu.Lock()
	require.Positive(t, silences[0].Attempts)
	require.ErrorContains(t, silences[0].Err, "connection refused")
	require.GreaterOrEqual(t, time.Since(silences[0].Since), 2*300*time.Millisecond)
	require.LessOrEqual(t, lines, 2, "a line for the session, and one for its end")
	mu.Unlock()
	p.start()
	p.connected("blue")
}

// TestAClientThatIsStuck cannot even try: the watchdog says so.
func TestAClientThatIsStuck(t *testing.T) {
	p := newParent(t, nil)
	silences := make(chan Silence, 100)
	a := p.join(p.address, p.agent("blue", time.Hour), func(o *ClientOptions) {
		o.Parent = func(ctx context.Context) (Parent, error) { <-ctx.Done(); return Parent{}, ctx.Err() }
		o.Watchdog = 50 * time.Millisecond
		o.Silent = func(s Silence) { silences <- s }
	})
	s := <-silences
	require.Zero(t, s.Attempts)
	require.NoError(t, s.Err)
	require.ErrorContains(t, a.Healthy(), "no session with the parent since")
	require.ErrorContains(t, a.Healthy(), "restart the process")
}

func TestBackoffIsRandomUpToABoundThatDoubles(t *testing.T) {
	c, err := NewClient(ClientOptions{
		Parent: func(context.Context) (Parent, error) { return Parent{}, nil }, Ready: func(context.Context) (*wire.AgentReady, error) { return nil, nil }, Handler: &agent{},
	})
	require.NoError(t, err)
	for failures, most := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 6: 50 * time.Second, 1000: 50 * time.Second} {
		longest, shortest := time.Duration(0), time.Hour
		for range 1000 {
			wait := c.backoff(failures)
			longest, shortest = max(longest, wait), min(shortest, wait)
		}
		require.LessOrEqual(t, longest, most)
		require.Greater(t, longest, most*9/10)
		require.Less(t, shortest, most/10)
	}
}

// TestBackoffBeginsAgainAfterAGoodSession has sessions that are cut at once, and one that lasts.
func TestBackoffBeginsAgainAfterAGoodSession(t *testing.T) {
	t.Parallel()
	p := newParent(t, nil)
	between := newProxy(t, p.address)
	p.join(between.address, p.agent("blue", time.Hour), func(o *ClientOptions) {
		o.Backoff, o.MaxBackoff, o.Good = time.Millisecond, time.Hour, 300*time.Millisecond
	})
	for n := range 8 { // The bound is 128 ms then.
		require.Eventually(t, func() bool { return p.count("blue: ready v1") > n }, 10*time.Second, time.Millisecond)
		between.cut()
	}
	for range 20 { // It would be days, if it did not begin again.
		p.connected("blue")
		time.Sleep(320 * time.Millisecond)
		before := p.sessionsOf()["blue"]
		between.cut()
		require.Eventually(t, func() bool { return p.sessionsOf()["blue"] > before }, 5*time.Second, time.Millisecond)
	}
}
