// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
)

// held is a store whose writes wait for a channel.
type held struct {
	memory
	may chan struct{}
}

func (h *held) Put(ctx context.Context, kind, key string, data []byte) error {
	<-h.may
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.memory.Put(ctx, kind, key, data)
}

func TestEntriesAreWrittenAfterPutReturns(t *testing.T) {
	next := &held{may: make(chan struct{})}
	var failed []error
	b := &rendercache.WriteBehind{Next: next, MaxPending: 100, Failed: func(err error) { failed = append(failed, err) }}
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 3 {
		require.NoError(t, b.Put(ctx, "render", fmt.Sprint(i), []byte("entry")))
	}
	cancel() // The request has been answered.
	close(next.may)
	b.Wait()
	require.Len(t, next.entries, 3)
	data, ok, err := b.Get(t.Context(), "render", "2")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "entry", string(data))

	next.err = errors.New("no space left on device")
	require.NoError(t, b.Put(t.Context(), "render", "3", nil))
	b.Wait()
	require.Equal(t, []error{next.err}, failed)
	require.ErrorIs(t, b.Put(t.Context(), "render", "4", make([]byte, 101)), next.err, "an entry over the limit is written at once")
}
