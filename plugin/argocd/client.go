// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/pack"
	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
)

// ErrNobody says that no server answered, or that it went away before it had.
var ErrNobody = errors.New("no server answers")

// Times of a client. A server that is stopped, and not gone, does not answer
// pings; one that renders does.
const (
	dialing = time.Second
	quiet   = 5 * time.Second
)

// sentChunk is how many bytes of an archive one message has. Argo CD sends a
// kilobyte.
const sentChunk = 32 << 10

// Client asks a server on a socket as a repo-server does. The zero value but for
// Socket is ready. It is safe for concurrent use; each call connects anew.
type Client struct {
	// Socket is that of the server.
	Socket string
	// Temporary is where an archive is kept that does not stay in memory; the
	// system's own place for such files where "".
	Temporary string
	// Size is how many bytes an archive may have; 256 MiB where zero.
	Size int64
	// quiet is how long a connection is quiet before the server is asked whether it is
	// there, and how long it has to answer; the constant where zero.
	quiet time.Duration
}

// Configuration is what a server says of itself.
type Configuration struct {
	// Discovery says that it looks for applications by itself.
	Discovery bool
	// Credentials says that it wants those of the source.
	Credentials bool
	// Identity is that of a server of this package, see [Server.Identity]; "" for
	// others, such as argocd-cmp-server.
	Identity string
}

// Refusal is the error of a request that was not rendered.
type Refusal struct {
	// Text is for the user: their file and line first, at most 4 KiB.
	Text string
	// Findings says that it is what the user wrote that is wrong; otherwise something
	// did not answer, or there was no time.
	Findings bool
	// busy says that it is the server which had no room, and another one may have.
	busy bool
	code connect.Code
}

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// refusal is an answer that is an error.
func refusal(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	busy := e.Meta().Get(busyHeader) != ""
	return &Refusal{
		Text: cut(e.Message(), maxText), code: e.Code(), busy: busy,
		Findings: e.Code() == connect.CodeInvalidArgument || e.Code() == connect.CodeResourceExhausted && !busy,
	}
}

// Check asks a server what it is. Errors are ErrNobody, a Refusal and that of ctx.
func (c Client) Check(ctx context.Context) (Configuration, error) {
	done, client := c.http()
	defer done()
	call := calling[wire.Empty, wire.PluginConfiguration](client, methodCheck)
	out, err := call.CallUnary(ctx, connect.NewRequest(&wire.Empty{}))
	if err != nil {
		return Configuration{}, c.fail(ctx, err)
	}
	return Configuration{
		Discovery: out.Msg.GetIsDiscoveryConfigured(), Credentials: out.Msg.GetProvideGitCreds(), Identity: out.Header().Get(identityHeader),
	}, nil
}

// Generate is the manifests of an application, in the order in which they are to be
// applied. All of Request.Files is sent, but for the content of .git. Errors are
// ErrNobody, a Refusal, that of ctx, and those of the files.
func (c Client) Generate(ctx context.Context, in Request) ([]string, error) {
	entries, err := pack.All(ctx, in.Files)
	if err != nil {
		return nil, err
	}
	return c.generate(ctx, in, entries)
}

// generate sends some of the files.
func (c Client) generate(ctx context.Context, in Request, entries []pack.Entry) ([]string, error) {
	out, err := send[wire.Manifests](ctx, c, methodGenerate, in, entries)
	return out.GetManifests(), err
}

// Parameters are those that an application takes. Everything else is as with
// Generate.
func (c Client) Parameters(ctx context.Context, in Request) ([]Parameter, error) {
	entries, err := pack.All(ctx, in.Files)
	if err != nil {
		return nil, err
	}
	return c.parameters(ctx, in, entries)
}

func (c Client) parameters(ctx context.Context, in Request, entries []pack.Entry) ([]Parameter, error) {
	out, err := send[wire.Announcement](ctx, c, methodAnnounce, in, entries)
	return parametersOf(out.GetParameters()), err
}

// send makes an archive of entries and sends it to a method.
func send[Answer any](ctx context.Context, c Client, method string, in Request, entries []pack.Entry) (*Answer, error) {
	archive, err := pack.Make(ctx, in.Files, entries, pack.Options{Dir: c.Temporary, Size: c.Size})
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	done, client := c.http()
	defer done()
	// An early end of the call, such as a server that has read enough, ends it whole.
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := calling[wire.Part, Answer](client, method).CallClientStreamSimple(inner)
	if err == nil {
		m := in.metadata()
		m.Checksum, m.Size = archive.Checksum, archive.Size
		err = stream.Send(&wire.Part{Request: &wire.Part_Metadata{Metadata: m}})
	}
	if stream == nil {
		return nil, c.fail(ctx, err)
	}
	for body, chunk := archive.Reader(), make([]byte, sentChunk); err == nil; {
		var n int
		if n, err = io.ReadFull(body, chunk); n == 0 {
			break
		}
		if short := errors.Is(err, io.ErrUnexpectedEOF); err == nil || short {
			err = stream.Send(&wire.Part{Request: &wire.Part_File{File: &wire.File{Chunk: chunk[:n]}}})
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, c.fail(ctx, err)
	}
	// Where the server wanted no more, this says why.
	out, err := stream.CloseAndReceive()
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	return out, nil
}

// calling calls a method.
func calling[In, Out any](client connect.HTTPClient, method string) *connect.Client[In, Out] {
	// The host is a name for the socket, and is not looked up.
	return connect.NewClient[In, Out](client, "http://localhost"+service+method, connect.WithGRPC(),
		connect.WithReadMaxBytes(DefaultResponse+maxMessage), connect.WithAcceptCompression("gzip", nil, nil))
}

// http connects to the socket; done ends the connection.
func (c Client) http() (done func(), client *http.Client) {
	wire.Register()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols: &protocols,
		HTTP2:     &http.HTTP2Config{SendPingTimeout: cmp.Or(c.quiet, quiet), PingTimeout: cmp.Or(c.quiet, quiet)},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			// A socket whose server is stopped takes a connection, or lets it wait.
			ctx, cancel := context.WithTimeout(ctx, dialing)
			defer cancel()
			return new(net.Dialer).DialContext(ctx, "unix", c.Socket)
		},
	}
	return transport.CloseIdleConnections, &http.Client{Transport: transport}
}

// fail is what became of a call: the server's own word, the end of ctx, or that
// there is no server.
func (c Client) fail(ctx context.Context, err error) error {
	switch {
	case connect.IsWireError(err):
		return refusal(err)
	case ctx.Err() != nil:
		return fmt.Errorf("%q gave no answer: %w", c.Socket, ctx.Err())
	}
	return fmt.Errorf("%q: %w: %s", c.Socket, ErrNobody, cut(err.Error(), maxText/4))
}
