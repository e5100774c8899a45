// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TestAChildThatDoesNotRead costs the callers that send to it a second each, and no more: they
// work for other children too.
func TestAChildThatDoesNotRead(t *testing.T) {
	p := newParent(t, nil)
	s, _ := p.session(p.dial(p.agent("blue", time.Hour)))
	large := &wire.Bootstrap{Id: "1", PivotCluster: make([]byte, maxMessage-100)}
	begun, err := time.Now(), error(nil)
	for range 64 { // Until the buffers of the connection are full.
		if begun, err = time.Now(), p.Bootstrap(t.Context(), "blue", large); err != nil {
			break
		}
	}
	require.EqualError(t, err, `cluster "blue": it does not read what was sent to it before`)
	require.ErrorIs(t, p.Reconcile(t.Context(), "blue"), errUnread)
	require.Less(t, time.Since(begun), 5*time.Second)
	require.True(t, p.Connected("blue"), "a slow link is no reason to end the session")
	m, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, "1", m.GetBootstrap().GetId())
}

// TestValuesWithoutContent: 16 MiB of them would be 2 GiB in memory.
func TestValuesWithoutContent(t *testing.T) {
	empty := func(before, value, after string) []byte {
		return []byte(before + strings.Repeat(value+",", (maxPayload-100)/(len(value)+1)) + value + after)
	}
	allocates := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, text := range [][]byte{empty(`{"kinds":[`, "{}", "]}"), empty(`{"findings":[`, "{}", "]}"), empty(`{"receipt":{"past":[`, `""`, "]}}")} {
		var out state.Response
		require.Less(t, allocates(func() { require.ErrorContains(t, decode(text, &out), "commas") }), uint64(1<<20))
	}
	var c Client
	request := empty(`{"op":"Held","samples":[`, "{}", "]}")
	require.Less(t, allocates(func() { require.Contains(t, c.answer(context.Background(), request).Message, "commas") }), uint64(1<<20))

	var in state.Request
	most := []byte(`{"op":"Held","samples":[` + strings.Repeat("{},", maxValues-1) + "{}]}")
	require.Less(t, allocates(func() { require.NoError(t, decode(most, &in)) }), uint64(512<<20))
	require.Len(t, in.Samples, maxValues)
}

// TestSessionsOneAfterTheOther: each is a write to the API server of the parent.
func TestSessionsOneAfterTheOther(t *testing.T) {
	p := newParent(t, nil)
	c := p.agent("blue", time.Hour)
	conn := p.dial(c)
	p.session(conn)
	for range 20 {
		again := begin(t, conn, connectName)
		require.NoError(t, again.SendMsg(ready()))
		require.ErrorContains(t, ends(t, again), "one session per connection")
	}
	require.EqualValues(t, 1, p.sessionsOf()["blue"], "of which none is counted")

	p.child("blue").sessions.SetBurst(1)
	var err error
	for range 3 {
		s := begin(t, p.dial(c), connectName)
		require.NoError(t, s.SendMsg(ready()))
		if err = s.RecvMsg(&wire.FromParent{}); err != nil {
			break
		}
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	p.join(p.address, p.agent("green", time.Hour))
	p.connected("green")
}

// TestAPanicOfTheHandler does not end the process of the child.
func TestAPanicOfTheHandler(t *testing.T) {
	p := newParent(t, nil)
	h := &panics{agent: &agent{}}
	p.join(p.address, p.agent("blue", time.Hour), func(o *ClientOptions) { o.Handler = h })
	p.connected("blue")
	require.NoError(t, p.Bootstrap(t.Context(), "blue", &wire.Bootstrap{Id: "1"}))
	require.NoError(t, p.Reconcile(t.Context(), "blue"))
	h.did(t, "reconcile")
}

type panics struct{ *agent }

func (p *panics) Bootstrap(context.Context, *wire.Bootstrap) { panic("a nil pointer") }

func (p *panics) Reconcile(ctx context.Context) {
	p.agent.Reconcile(ctx)
	panic("another one")
}
