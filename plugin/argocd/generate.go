// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
	"github.com/ropewalk/ropewalk/render/object"
)

// identityHeader is where a server says what it is when it is checked.
const identityHeader = "Ropewalk-Identity"

// busyHeader comes with an error that is the server's own: it has no room, and nothing
// is said of the request.
const busyHeader = "Ropewalk-Busy"

// Request is what a repo-server asks of a plugin.
type Request struct {
	// Files is the repository. Links in it are those of fs.ReadLinkFS. It must not
	// change, and be safe for concurrent use.
	Files fs.FS
	// Path is the folder of the application in it; "." is its root.
	Path string
	// Variables are those of the request by their name, see [Variables].
	Variables map[string]string
}

// Variables are those of an environment, NAME=VALUE, that a request brings:
// argocd-cmp-server gives them to the command that it runs, among its own.
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

// metadata is the first message of a stream, without what is said of the archive.
func (r Request) metadata() *wire.Metadata {
	at := cmp.Or(r.Path, ".")
	out := &wire.Metadata{AppName: path.Base(at), AppRelPath: at}
	for _, name := range object.SortedKeys(r.Variables) {
		out.Env = append(out.Env, &wire.Variable{Name: name, Value: r.Variables[name]})
	}
	return out
}

// unpacked is a request whose files need no archive.
func (r Request) unpacked() (request, error) {
	m := r.metadata()
	m.Checksum = strings.Repeat("0", hex.EncodedLen(sha256.Size))
	return newRequest(m)
}

// Generate is what the server answers when a repo-server asks for the manifests of
// an application, without a socket: they are in the order in which they are to be
// applied. The server need not be serving. An error is a Refusal.
func (s *Server) Generate(ctx context.Context, in Request) (out []string, err error) {
	err = s.measured(ctx, methodGenerate, func(ctx context.Context) error {
		r, err := in.unpacked()
		if err != nil {
			return err
		}
		held := s.stay(r)
		defer held.end()
		if out, err = s.render(ctx, r, in.Files, held); err != nil {
			return err
		}
		return s.fits(out)
	})
	if err != nil {
		return nil, refusal(err)
	}
	return out, nil
}

// fits refuses an answer that the repo-server would.
func (s *Server) fits(manifests []string) error {
	size := sizeOf(manifests)
	if size > int64(s.opts.Response) {
		return fmt.Errorf("the manifests have %d bytes, and the repo-server takes %d: %w", size, s.opts.Response, errLarge)
	}
	return nil
}

// sizeOf is about how many bytes an answer has.
func sizeOf(manifests []string) (size int64) {
	for _, m := range manifests {
		size += int64(len(m)) + 8
	}
	return size
}

// Identity is the same for servers that give the same answers: those of one version
// and policy that are as strict and have the same Options.Setup. How many requests a
// server takes at once, how large and for how long, is no part of it: what a server
// refuses for that is rendered by who asked, see [Handover].
func (s *Server) Identity() string {
	return fmt.Sprintf("ropewalk %s unlocked=%t health=%t setup=%s policy=%s",
		s.opts.Version, s.opts.AllowUnlocked, s.opts.HealthConfigured, s.opts.Setup, strings.TrimSpace(s.epoch()))
}
