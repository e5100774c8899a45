// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
	"github.com/ropewalk/ropewalk/source"
)

// asking is how long the repo-server may take to say credentials.
const asking = 5 * time.Second

// AskPass is the socket of the repo-server that tells the credentials of the
// source that is being rendered, of Git and of OCI alike:
// /tmp/reposerver-ask-pass.sock where Argo CD is not told otherwise.
type AskPass string

// Credentials are user and password for a nonce, the word by which the repo-server
// knows whose credentials are asked for. It holds as long as the request that
// brought it. An error is
// source.ErrUnauthorized where there are none, and source.ErrUnavailable where
// nobody answers; it never holds the nonce, which is as good as the password.
func (a AskPass) Credentials(ctx context.Context, nonce string) (user, password string, err error) {
	if nonce == "" {
		return "", "", source.Refuse(source.ErrUnauthorized, "the repo-server offers no credentials for this source")
	}
	wire.Register()
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	conn, err := grpc.NewClient("unix:"+string(a), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", "", a.fail(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	got, err := wire.NewAskPassServiceClient(conn).GetCredentials(ctx, &wire.CredentialsRequest{Nonce: nonce})
	if err != nil {
		return "", "", a.fail(err)
	}
	return got.GetUsername(), got.GetPassword(), nil
}

// fail says which kind of error it was: the text of the other side may hold what
// was sent.
func (a AskPass) fail(err error) error {
	return source.Refuse(source.ErrUnavailable, fmt.Sprintf("the credentials of the source cannot be had at %q: %s", string(a), status.Code(err)))
}
