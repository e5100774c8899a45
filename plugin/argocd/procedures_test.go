// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
)

func TestTheTextOfAnErrorArrivesAsItIs(t *testing.T) {
	packed := archive(t, texts(projectOf("web")))
	for name, text := range map[string]string{
		"lines":            "a.yaml:1:2: first\nb.yaml:3:4: second\n\tindented\n",
		"percent":          "100% of %0A, %zz and %",
		"other letters":    "größer als „erlaubt“ – 誤り …",
		"spaces":           "  at both ends  ",
		"control and more": "a\x00b\x7f\x1b[0m",
		"what turns text":  "a\u202eb\u2066c\u200ed",
		"what is not seen": "a\u200bb\u2028c",
		"long":             strings.Repeat("ü%\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(t)
			opts.Connect = func(Connection) (host.Host, error) { return host.Host{}, errors.New(text) }
			_, socket := start(t, opts)
			_, err := generate(t, socket, call{archive: packed, path: "apps/web"})
			require.Equal(t, codes.InvalidArgument, status.Code(err))
			require.Equal(t, printable.Text(text), status.Convert(err).Message(),
				"nothing moves the cursor of a terminal")
		})
	}
}

func TestOnlyTheProceduresOfAPluginAreAnswered(t *testing.T) {
	_, socket := start(t, options(t))
	client := dial(t, socket)
	err := client.conn.Invoke(t.Context(), serviceName+"Other", &wire.Empty{}, &wire.Empty{})
	require.Equal(t, codes.Unimplemented, status.Code(err), "%v", err)
	stream, err := client.GenerateManifest(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(call{}.metadata()))
	large := &wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: make([]byte, maxMessage+1)}}}
	require.NoError(t, ignoreEnd(stream.Send(large)))
	_, err = stream.CloseAndRecv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)

	transport := AskPass(socket).transport()
	defer transport.CloseIdleConnections()
	for _, kind := range []string{"application/json", "application/proto", "application/grpc-web+proto", "application/grpc+json", ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+serviceName+methodCheck, bytes.NewBufferString("{}"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", kind)
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusUnsupportedMediaType, response.StatusCode, kind)
	}
}

func TestAStreamOfWhichNothingIsNeededIsReadInsideOfTheDeadline(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Timeout = 200 * time.Millisecond
	s, socket := start(t, opts)
	stream, err := dial(t, socket).MatchRepository(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(call{}.metadata()))
	require.Equal(t, codes.DeadlineExceeded, status.Code(stream.RecvMsg(&wire.Match{})), "the client sends no end")
	require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 0 }, 5*time.Second, time.Millisecond)
}

// pinger is a connection on which a client pings.
type pinger struct {
	net.Conn
	mu sync.Mutex
}

func (p *pinger) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Conn.Write(b)
}

// ping sends a PING frame (RFC 9113, section 6.7).
func (p *pinger) ping() error {
	_, err := p.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 'r', 'o', 'p', 'e', 'w', 'a', 'l', 'k'})
	return err
}

func TestPingsEndNoRequest(t *testing.T) {
	opts, renderer := slow(t, 30*time.Second)
	_, socket := start(t, opts)
	var pinged atomic.Bool
	renderer.until = pinged.Load
	dialed := make(chan *pinger, 1)
	client := dial(t, socket, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		p := &pinger{Conn: conn}
		dialed <- p
		return p, nil
	}))
	stream, err := client.GenerateManifest(t.Context())
	require.NoError(t, err)
	c := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	require.NoError(t, c.send(stream))
	require.NoError(t, stream.CloseSend())
	conn := <-dialed
	// All is sent when the render begins, so that no ping gets into a frame.
	require.Eventually(t, func() bool { return renderer.now.Load() == 1 }, 5*time.Second, time.Millisecond)
	for range 100 {
		require.NoError(t, conn.ping())
		time.Sleep(time.Millisecond)
	}
	pinged.Store(true)
	out := &wire.Manifests{}
	require.NoError(t, stream.RecvMsg(out))
	require.Len(t, out.GetManifests(), 1)
	_, err = client.CheckPluginConfiguration(t.Context(), &wire.Empty{})
	require.NoError(t, err)
	require.Empty(t, dialed, "it is the same connection")
}

func TestARequestThatIsCutOffByTheEndIsAnError(t *testing.T) {
	opts, _ := slow(t, time.Minute)
	opts.Drain = 100 * time.Millisecond
	s := New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	require.Eventually(t, s.answers, 5*time.Second, time.Millisecond)
	answered := make(chan error, 1)
	go func() {
		_, err := generate(t, filepath.Join(opts.Dir, "ropewalk.sock"), call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"})
		answered <- err
	}()
	require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 1 }, 5*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	require.Equal(t, codes.Unavailable, status.Code(<-answered))
}

func TestWhatTheHTTPServerSaysIsReported(t *testing.T) {
	var said []error
	opts := options(t)
	opts.Report = func(err error) { said = append(said, err) }
	New(opts).server().ErrorLog.Print("http: it is said")
	require.Len(t, said, 1)
	require.EqualError(t, said[0], "http: it is said")
}
