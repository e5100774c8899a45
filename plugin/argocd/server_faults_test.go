// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// atRest waits until a server works on nothing, and looks for what it left behind.
func atRest(t *testing.T, s *Server) {
	t.Helper()
	require.Eventually(t, s.isIdle, 5*time.Second, time.Millisecond)
	left, err := os.ReadDir(s.opts.Temporary)
	require.NoError(t, err)
	require.Empty(t, left)
}

// isIdle reports whether no request holds anything.
func (s *Server) isIdle() bool {
	return s.requests.Stats() == limiter.Stats{} && s.evaluations.Stats() == limiter.Stats{} && s.metrics.inFlight.Load() == 0
}

// many is an archive of n files.
func many(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for name, text := range projectOf("web") {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	for i := range n - len(projectOf("web")) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("other/%d/%d", i%100, i), Mode: 0o644}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

// TestStreamsThatNoRepositoryMakes has each of them end as an error of its own, and
// the next request rendered as if nothing had been.
func TestStreamsThatNoRepositoryMakes(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Archive.Compressed = 2 << 20
	s, socket := start(t, opts)
	good := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	random := projectOf("web")
	noise(random, "other", 1, 8<<20)
	bomb := projectOf("web")
	bomb["other/zeros"] = strings.Repeat("\x00", 64<<20)
	tests := map[string]struct {
		call call
		lie  int64 // the size that is announced, where it is not the true one
		code codes.Code
		text string
	}{
		"larger than is allowed, and says so":        {call{archive: archive(t, texts(random))}, 0, codes.ResourceExhausted, "and 2097152 are allowed"},
		"larger than is allowed, and says otherwise": {call{archive: archive(t, texts(random))}, 10, codes.ResourceExhausted, "more than 2097152 bytes"},
		"a bomb":                                      {call{archive: archive(t, texts(bomb))}, 0, codes.ResourceExhausted, "times its size"},
		"more entries than are allowed":               {call{archive: many(t, unpack.DefaultEntries+1)}, 0, codes.ResourceExhausted, "more than 100000 entries"},
		"cut in its middle":                           {call{archive: good.archive, cut: len(good.archive) / 2}, 0, codes.InvalidArgument, "bad archive"},
		"without its last byte":                       {call{archive: good.archive, cut: 1}, 0, codes.InvalidArgument, "bad archive"},
		"with another checksum":                       {call{archive: good.archive, checksum: strings.Repeat("ab", 32)}, 0, codes.Unavailable, "wrong checksum"},
		"nothing behind its first message":            {call{archive: good.archive, cut: len(good.archive)}, 0, codes.InvalidArgument, "bad archive"},
		"a hundred thousand entries, which are fine":  {call{archive: many(t, unpack.DefaultEntries)}, 0, codes.OK, ""},
		"an archive behind the archive":               {call{archive: append(bytes.Clone(good.archive), good.archive...), checksum: strings.Repeat("0", 64)}, 0, codes.Unavailable, "wrong checksum"},
		"a repository that says a size of its choice": {good, 1 << 50, codes.ResourceExhausted, "are allowed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.call.path = "apps/web"
			begin := time.Now()
			stream, err := dial(t, socket).GenerateManifest(t.Context())
			require.NoError(t, err)
			first := test.call.metadata()
			if test.lie != 0 {
				first.GetMetadata().Size = test.lie
			}
			require.NoError(t, test.call.sendFrom(stream, first))
			_, err = stream.CloseAndRecv()
			t.Logf("after %s: %v", time.Since(begin).Round(time.Millisecond), err)
			require.Equal(t, test.code, status.Code(err), "%v", err)
			if test.text != "" {
				require.ErrorContains(t, err, test.text)
			}
			atRest(t, s)
			_, err = generate(t, socket, good)
			require.NoError(t, err)
		})
	}
}

// sendFrom is send with another first message.
func (c call) sendFrom(stream interface{ Send(*wire.Part) error }, first *wire.Part) error {
	if err := stream.Send(first); err != nil {
		return ignoreEnd(err)
	}
	for data := range slices.Chunk(c.archive[:len(c.archive)-c.cut], chunk) {
		if err := stream.Send(&wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: data}}}); err != nil {
			return ignoreEnd(err)
		}
	}
	return nil
}

// TestAClientThatGoesInTheMiddleLeavesNothing ends connections in the middle of an
// archive of which a part is in a file already, and in the middle of a render.
func TestAClientThatGoesInTheMiddleLeavesNothing(t *testing.T) {
	opts, renderer := slow(t, time.Minute)
	opts.Archive.Memory = 64 << 10
	s, socket := start(t, opts)
	files := projectOf("web")
	noise(files, "other", 20, 100<<10)
	large := call{archive: archive(t, texts(files)), path: "apps/web"}
	small := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	before := openFiles(t)
	for i := range 20 {
		client := dial(t, socket)
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.GenerateManifest(ctx)
		require.NoError(t, err)
		c := large
		if c.cut = len(c.archive) / 2; i%2 == 0 {
			c = small
		}
		c.env = map[string]string{"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i)}
		require.NoError(t, c.send(stream))
		if i%2 == 0 {
			require.NoError(t, stream.CloseSend())
			require.Eventually(t, func() bool { return renderer.now.Load() == 1 }, 5*time.Second, time.Millisecond)
		}
		if i%4 < 2 {
			cancel()
		} else {
			require.NoError(t, client.conn.Close())
		}
		atRest(t, s)
		cancel()
		_ = client.conn.Close() // it may be closed
	}
	require.Eventually(t, func() bool { return openFiles(t) <= before }, 5*time.Second, time.Millisecond, "files stay open")
}

// openFiles is how many files this process has open; 0 where that cannot be told.
func openFiles(t *testing.T) int {
	t.Helper()
	all, _ := os.ReadDir("/proc/self/fd") // Linux only
	return len(all)
}

// dialled is a client with a connection on which nothing was said yet.
func dialled(t *testing.T, socket string) pluginClient {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	require.NoError(t, err)
	return dial(t, socket, grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn, nil }))
}

// TestWhoDialledBeforeTheEndIsAnswered is repo-servers that have a connection when the
// server is told to end, and have not asked yet. They ask one after the other, without a
// wait for the answers of those before them: all of it must fit into settling.
func TestWhoDialledBeforeTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Drain = 10 * time.Second
	s := New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	require.Eventually(t, s.answers, 5*time.Second, time.Millisecond)
	c, socket := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}, filepath.Join(opts.Dir, "ropewalk.sock")
	_, err := generate(t, socket, c) // The first render takes longest.
	require.NoError(t, err)
	conns := make([]pluginClient, 5)
	for i := range conns {
		conns[i] = dialled(t, socket)
	}
	cancel()
	require.Eventually(t, func() bool { return s.state.Load() == draining }, 5*time.Second, time.Millisecond)
	var all sync.WaitGroup
	for i, client := range conns {
		time.Sleep(20 * time.Millisecond)
		all.Go(func() {
			if err := c.last(t.Context(), client); err != nil {
				t.Error("client", i, err)
			}
		})
	}
	all.Wait()
	begin := time.Now()
	require.NoError(t, <-ended)
	require.Less(t, time.Since(begin), 2*settling, "nobody is left to wait for")
}

// last makes the calls of a repo-server on a connection, and ends it.
func (c call) last(ctx context.Context, client pluginClient) error {
	if _, err := client.CheckPluginConfiguration(ctx, &wire.Empty{}); err != nil {
		return err
	}
	stream, err := client.GenerateManifest(ctx)
	if err != nil {
		return err
	}
	if err := c.send(stream); err != nil {
		return err
	}
	if _, err = stream.CloseAndRecv(); err != nil {
		return err
	}
	return client.conn.Close()
}
