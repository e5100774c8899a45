// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/test/reposerver"
)

// message is one of gRPC, of that size.
func message(size int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), bytes.Repeat([]byte("x"), size)...) //nolint:gosec // small
}

func bodyOf(i *intake, ctx context.Context, data []byte) *body { //nolint:revive // ctx is that of a request
	return &body{Closer: io.NopCloser(nil), from: bufio.NewReaderSize(bytes.NewReader(data), readAhead), admit: func(size int64) (func(), error) {
		return i.admit(ctx, size)
	}}
}

func TestALargeFirstMessageWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 4 * Window
		i := newIntake(size*messageCost + 1)
		release, err := i.admit(t.Context(), size)
		require.NoError(t, err)

		// Messages within the window wait for nothing, and what follows the first one neither.
		small := append(message(Window), message(size)...)
		data, err := io.ReadAll(bodyOf(i, t.Context(), small))
		require.NoError(t, err)
		require.Equal(t, small, data)

		got := make(chan error, 1)
		go func() {
			data, err := io.ReadAll(bodyOf(i, t.Context(), append(message(size), "rest"...)))
			if err == nil && !strings.HasSuffix(string(data), "xrest") {
				err = errors.New("something is missing")
			}
			got <- err
		}()
		synctest.Wait()
		require.Empty(t, got)
		release()
		require.NoError(t, <-got)

		// It has given back its room, and one whose client leaves takes none.
		release, err = i.admit(t.Context(), size)
		require.NoError(t, err)
		gone, leave := context.WithCancel(t.Context())
		go func() { _, err := io.ReadAll(bodyOf(i, gone, message(size))); got <- err }()
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-got, context.Canceled)
		release()
		// A message that is cut short gives it back too.
		_, err = io.ReadAll(bodyOf(i, t.Context(), message(size)[:size/2]))
		require.NoError(t, err)
		release, err = i.admit(t.Context(), size)
		require.NoError(t, err)
		release()
	})
}

func TestVariablesThatNeverFitAreRefusedWithAText(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Variables = 1 << 20
	_, socket := start(t, opts)
	in := reposerver.Request{Files: texts(projectOf("web")), Path: "apps/web", Variables: map[string]string{"ARGOCD_ENV_X": strings.Repeat("x", 3_000_000)}}
	_, err := reposerver.Generate(t.Context(), socket, in)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the variables of the application have 3000")
	require.ErrorContains(t, err, "and 349525 are allowed: use a values file, or raise --memory-total")
	in.Variables["ARGOCD_ENV_X"] = strings.Repeat("x", 300_000)
	got, err := reposerver.Generate(t.Context(), socket, in)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestARequestWithLargeParametersTakesSeveralPlaces(t *testing.T) {
	t.Parallel()
	r, err := newRequest("web", ".", strings.Repeat("0", 64), map[string]string{varSet: "text=" + strings.Repeat("x", 1<<20-5)})
	require.NoError(t, err)
	require.Equal(t, 25, r.places())
	r, err = newRequest("web", ".", strings.Repeat("0", 64), map[string]string{varSet: "text=x", "ARGOCD_ENV_X": strings.Repeat("x", 1<<20)})
	require.NoError(t, err)
	require.Equal(t, 1, r.places(), "others are not kept")
}
