// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/source"
)

// askTimeout bounds a request for credentials to the repo-server.
const askTimeout = 5 * time.Second

// maxCredentials limits user and password together, in bytes, as they are sent.
const maxCredentials = 1 << 20

// procedureCredentials is the procedure of the repo-server.
const procedureCredentials = "/askpass.AskPassService/GetCredentials"

// AskPass is the socket of the repo-server that returns the credentials of the
// source that is being rendered, of Git and of OCI alike:
// /tmp/reposerver-ask-pass.sock unless Argo CD is configured otherwise.
type AskPass string

// Credentials returns user and password for a nonce, by which the repo-server knows the source. The
// nonce is valid as long as the request that brought it. The error is source.ErrUnauthorized if
// there are no credentials, and source.ErrUnavailable if the repo-server does not answer. It never
// holds the nonce, which is as good as the password.
func (a AskPass) Credentials(ctx context.Context, nonce string) (user, password string, err error) {
	if nonce == "" {
		return "", "", source.Refuse(source.ErrUnauthorized, "the repo-server offers no credentials for this source")
	}
	wire.Register()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	transport := a.transport()
	defer transport.CloseIdleConnections()
	// The host is a name for the socket, and is not looked up.
	client := connect.NewClient[wire.CredentialsRequest, wire.Credentials](&http.Client{Transport: transport},
		"http://localhost"+procedureCredentials, connect.WithGRPC(), connect.WithReadMaxBytes(maxCredentials),
		connect.WithAcceptCompression("gzip", nil, nil))
	got, err := client.CallUnary(ctx, connect.NewRequest(&wire.CredentialsRequest{Nonce: nonce}))
	if err != nil {
		return "", "", a.fail(err)
	}
	return got.Msg.GetUsername(), got.Msg.GetPassword(), nil
}

// transport returns a transport that speaks HTTP/2 without TLS, on the socket only.
func (a AskPass) transport() *http.Transport {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols: &protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", string(a))
		},
	}
}

// fail returns an error with the code only: the text of the other side may hold the nonce.
func (a AskPass) fail(err error) error {
	return source.Refuse(source.ErrUnavailable, fmt.Sprintf("reading the credentials of the source from the askpass socket %q: %s",
		string(a), codeName(connect.CodeOf(err))))
}
