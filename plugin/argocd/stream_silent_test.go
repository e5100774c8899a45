// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// Clients that stop sending give their slots back long before their deadlines.
func TestClientsThatStopSendingAreTurnedAway(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Requests, opts.Read = 2, 500*time.Millisecond
	_, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	var silent []stream[wire.Manifests]
	for range opts.Requests {
		stream, err := dial(t, socket).GenerateManifest(t.Context())
		require.NoError(t, err)
		require.NoError(t, call{archive: packed, path: "apps/web", cut: len(packed) / 2}.send(stream))
		silent = append(silent, stream)
	}
	out, err := generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	for _, stream := range silent {
		err := stream.RecvMsg(&wire.Manifests{}) // It has not closed its side.
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.ErrorContains(t, err, "the rest of the request did not arrive within 500ms (--read-timeout)")
	}
}

// The repo-server opens a stream before it packs the repository.
func TestARepositoryThatTakesLongToPackIsWaitedFor(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Requests, opts.Read = 1, 500*time.Millisecond
	_, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	slow, err := dial(t, socket).GenerateManifest(t.Context())
	require.NoError(t, err)
	time.Sleep(3 * opts.Read)
	// It holds no slot.
	_, err = generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
	require.NoError(t, call{archive: packed, path: "apps/web"}.send(slow))
	out, err := slow.CloseAndRecv()
	require.NoError(t, err)
	require.NotEmpty(t, out.GetManifests())
}

// A client that still sends when it is refused reads why, and the log has it too.
func TestARefusalBeforeTheEndOfTheStreamArrives(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	var log []string
	opts := options(t)
	opts.Archive.Compressed = 1 << 20
	opts.Report = func(err error) {
		mutex.Lock()
		defer mutex.Unlock()
		log = append(log, err.Error())
	}
	_, socket := start(t, opts)
	noise := make([]byte, 8<<20)
	for i := range noise {
		noise[i] = byte(rand.Uint32()) //nolint:gosec // what does not compress
	}
	packed := archive(t, fstest.MapFS{"noise": {Data: noise}})
	for range 5 {
		client := dial(t, socket)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		stream, err := client.GenerateManifest(ctx)
		require.NoError(t, err)
		c := call{archive: packed, path: "apps/web"}
		require.NoError(t, stream.Send(c.metadata()))
		for data := packed; len(data) > 0; {
			n := min(chunk, len(data))
			require.NoError(t, stream.Send(&wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: data[:n]}}}), "the repo-server gives up at the first error of a send")
			data = data[n:]
		}
		_, err = stream.CloseAndRecv()
		cancel()
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.ErrorContains(t, err, "the archive has")
	}
	mutex.Lock()
	defer mutex.Unlock()
	require.Len(t, log, 5)
	require.True(t, strings.HasPrefix(log[0], `application "web": GenerateManifest: `), log[0])
}
