// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
)

// chunk is the size of chunks that a repo-server sends.
const chunk = 1024

// archive is a repository as a repo-server packs it.
func archive(t testing.TB, files fs.FS) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	require.NoError(t, w.AddFS(files))
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

// call is one request of a repo-server.
type call struct {
	archive  []byte
	path     string
	env      map[string]string
	checksum string // that of the archive where ""
	cut      int    // how much of the archive is left out
	pause    time.Duration
	timeout  time.Duration
}

// dial connects as a repo-server does: once for each request, with its keepalive.
func dial(t testing.TB, socket string, opts ...grpc.DialOption) pluginClient {
	t.Helper()
	wire.Register()
	conn, err := grpc.NewClient("unix://"+socket, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100 << 20)),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return pluginClient{conn}
}

// generate is the sequence of calls of a repo-server for one render.
func generate(t testing.TB, socket string, c call) ([]string, error) {
	t.Helper()
	return generateIn(t.Context(), t, socket, c)
}

func generateIn(ctx context.Context, t testing.TB, socket string, c call) ([]string, error) {
	t.Helper()
	client := dial(t, socket)
	defer func() { _ = client.conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.timeout, 60*time.Second))
	defer cancel()
	for range 2 {
		config, err := client.CheckPluginConfiguration(ctx, &wire.Empty{})
		if err != nil {
			return nil, err
		}
		require.False(t, config.GetIsDiscoveryConfigured())
	}
	stream, err := client.GenerateManifest(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.send(stream); err != nil {
		return nil, err
	}
	out, err := stream.CloseAndRecv()
	return out.GetManifests(), err
}

// metadata is the first message.
func (c call) metadata() *wire.Part {
	sum := sha256.Sum256(c.archive)
	m := &wire.Metadata{
		AppName: filepath.Base(c.path), AppRelPath: c.path, Checksum: hex.EncodeToString(sum[:]), Size: int64(len(c.archive)),
	}
	if c.checksum != "" {
		m.Checksum = c.checksum
	}
	for name, value := range c.env {
		m.Env = append(m.Env, &wire.Variable{Name: name, Value: value})
	}
	return &wire.Part{Request: &wire.Part_Metadata{Metadata: m}}
}

// send sends the stream, up to where the server does not want more.
func (c call) send(stream interface{ Send(*wire.Part) error }) error {
	if err := stream.Send(c.metadata()); err != nil {
		return ignoreEnd(err)
	}
	data := c.archive[:len(c.archive)-c.cut]
	for len(data) > 0 {
		n := min(chunk, len(data))
		if err := stream.Send(&wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: data[:n]}}}); err != nil {
			return ignoreEnd(err)
		}
		data = data[n:]
		time.Sleep(c.pause)
	}
	return nil
}

// ignoreEnd leaves the reason for the end of a stream to its answer.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// offline fetches as the command does, without servers.
func offline(c Connection) (host.Host, error) {
	return fetch.Options{Lock: c.Lock, Mode: c.Mode, Scope: c.Scope}.
		Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}), nil
}

// options are those of a server for tests, in this process.
func options(t testing.TB) Options {
	t.Helper()
	return Options{
		Dir: socketDir(t), Temporary: t.TempDir(), Connect: offline, AllowUnlocked: true, HealthConfigured: true, Version: "test",
		Evaluator: inprocess.New(inprocess.Options{Schemas: schemas()}), Evaluations: resultcache.New(32 << 20),
		Stores: []rendercache.Store{rendercache.MemoryStore{Entries: lru.New[string, []byte](32 << 20)}},
		Report: func(err error) { t.Log(err) }, Drain: 5 * time.Second,
	}
}

// socketDir is a folder whose name is short enough for a socket.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// start serves until the test ends, and gives the socket.
func start(t testing.TB, opts Options) (*Server, string) {
	t.Helper()
	s := New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	socket := filepath.Join(opts.Dir, "ropewalk.sock")
	require.Eventually(t, s.answers, 10*time.Second, time.Millisecond)
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
	})
	return s, socket
}

// texts is files by name.
func texts(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, data := range files {
		out[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644}
	}
	return out
}
