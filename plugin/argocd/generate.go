// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"connectrpc.com/connect"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
)

// Request is a request of argocd-cmp-server, which runs a command for each.
type Request struct {
	// Files is the repository. Its links are read by fs.ReadLinkFS. It must not change, and be safe
	// for concurrent use.
	Files fs.FS
	// Path is the folder of the application in it; "." is its root.
	Path string
	// Variables are the variables of the request, by name; see [Variables].
	Variables map[string]string
}

// Variables returns those variables of an environment, NAME=VALUE, that belong to a request:
// argocd-cmp-server passes them to the command that it runs, among its own.
func Variables(environment []string) map[string]string {
	out := map[string]string{}
	for _, v := range environment {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok:
		case strings.HasPrefix(name, "ARGOCD_APP_"), strings.HasPrefix(name, "ARGOCD_ENV_"),
			name == varNonce, name == varKubeVersion, name == varAPIVersions:
			out[name] = value
		}
	}
	return out
}

// varAPIVersions are the kinds of a cluster, which no render depends on.
const varAPIVersions = "KUBE_API_VERSIONS"

// request returns the request for the server. It needs no archive, and so no checksum.
func (r Request) request() (request, error) {
	return newRequest("", cmp.Or(r.Path, "."), strings.Repeat("0", hex.EncodedLen(sha256.Size)), r.Variables)
}

// Refusal is the error of a request that was not rendered.
type Refusal struct {
	// Text is for the user: their file and line first, at most 4 KiB.
	Text string
	// Findings says that the user's own files or parameters are wrong. Otherwise a
	// server did not answer, or the time was up.
	Findings bool
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// refusal converts an error of [Server.measure].
func refusal(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Refusal{
		Text: cut(e.Message(), maxText), Findings: e.Code() == connect.CodeInvalidArgument || e.Code() == connect.CodeResourceExhausted,
	}
}

// Generate returns the manifests of an application, in the order in which they are to be applied,
// as the server answers on its socket. The server need not be serving. An error is a Refusal.
func (s *Server) Generate(ctx context.Context, input Request) (out []string, err error) {
	err = s.measure(ctx, methodGenerate, func(ctx context.Context) error {
		r, err := input.request()
		if err != nil {
			return err
		}
		out, err = s.render(ctx, r, input.Files)
		if err != nil {
			return err
		}
		return s.checkSize(out)
	})
	if err != nil {
		return nil, refusal(err)
	}
	return out, nil
}

// checkSize refuses a response that the repo-server would refuse.
func (s *Server) checkSize(manifests []string) error {
	size := 0
	for _, m := range manifests {
		size += len(m) + 8
	}
	if size > s.opts.Response {
		return fmt.Errorf("%w: the manifests have %d bytes, and %d are allowed: split the application", errLarge, size, s.opts.Response)
	}
	return nil
}

// Parameter is a parameter of an application. Its JSON has the form that argocd-cmp-server expects
// of the command that lists them.
type Parameter = wire.Parameter

// StaticParameters returns the parameters that every application takes.
func StaticParameters() []*Parameter { return static() }

// Parameters returns the inputs of the modules of an application, as the server announces them on
// its socket behind [StaticParameters]. A mistake of the application is not an error: its inputs
// are left out, and Generate reports it. An error is a Refusal.
func (s *Server) Parameters(ctx context.Context, input Request) ([]*Parameter, error) {
	out := []*Parameter{}
	err := s.measure(ctx, methodAnnounce, func(ctx context.Context) error {
		if r, err := input.request(); err == nil {
			out = append(out, s.announceInputs(ctx, r, input.Files)...)
		}
		return nil
	})
	if err != nil {
		return nil, refusal(err)
	}
	return out, nil
}
