// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/pack"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// moment is how long a server may take to say what it is.
const moment = time.Second

// Handover has a request rendered by a server that runs already, which is warm, and
// where there is none by one of its own. Both give the same answer, byte for byte,
// and the same error.
//
// Only a server of the same identity is asked, see [Server.Identity]: another version
// may answer otherwise, and argocd-cmp-server would run the command that hands over
// to it again, without end.
type Handover struct {
	// Client asks the server that runs; nobody is asked where it has no socket.
	Client Client
	// Own renders where no other server does. It need not be serving.
	Own *Server
}

// Who rendered.
type Who struct {
	// Socket is that of the server that runs, "" where it was one of our own.
	Socket string
	// Why is why it was our own.
	Why error
}

// Generate is the manifests of an application. An error is a Refusal, or that of
// ctx.
func (h Handover) Generate(ctx context.Context, in Request) ([]string, Who, error) {
	return handOver(ctx, h, in, h.Client.generate, (*Server).Generate)
}

// Parameters are those that an application takes; errors are as with Generate.
func (h Handover) Parameters(ctx context.Context, in Request) ([]Parameter, Who, error) {
	return handOver(ctx, h, in, h.Client.parameters, (*Server).Parameters)
}

func handOver[Answer any](ctx context.Context, h Handover, in Request,
	ask func(context.Context, Request, []pack.Entry) (Answer, error), own func(*Server, context.Context, Request) (Answer, error),
) (out Answer, who Who, err error) {
	who.Why = h.ready(ctx)
	if who.Why == nil {
		out, err = hand(ctx, in, ask)
		// What the server says is the answer. Whatever else went wrong is no business of
		// the user's, while there is time for another way.
		if refused := (*Refusal)(nil); err == nil || errors.As(err, &refused) && !refused.busy || ctx.Err() != nil {
			return out, Who{Socket: h.Client.Socket}, err
		}
		who.Why = err
	}
	out, err = own(h.Own, ctx, in)
	return out, who, err
}

// ready is why the server that runs cannot be asked; nil where it can.
func (h Handover) ready(ctx context.Context) error {
	if h.Client.Socket == "" {
		return fmt.Errorf("%w: none was named", ErrNobody)
	}
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	got, err := h.Client.Check(ctx)
	switch {
	case err != nil:
		return err
	case got.Identity == "":
		return fmt.Errorf("%q: %w: it is that of another program", h.Client.Socket, ErrNobody)
	case got.Identity != h.Own.Identity():
		return fmt.Errorf("%q: %w: it is %q, and this is %q", h.Client.Socket, ErrNobody, got.Identity, h.Own.Identity())
	}
	return nil
}

// hand sends what a render needs, or all of the files where that is not known.
func hand[Answer any](ctx context.Context, in Request, ask func(context.Context, Request, []pack.Entry) (Answer, error)) (out Answer, err error) {
	if entries, ok := needed(ctx, in); ok {
		out, err = ask(ctx, in, entries)
		// An error may come of what was left out: that of the whole counts.
		if refused := (*Refusal)(nil); !errors.As(err, &refused) || !refused.Findings {
			return out, err
		}
	}
	entries, err := pack.All(ctx, in.Files)
	if err != nil {
		return out, err
	}
	return ask(ctx, in, entries)
}

// needed is what a server will read of the files, which is what is read here when
// the same request is loaded; ok is false where that cannot be said. Modules from
// elsewhere are not fetched: nothing of the files is read because of what is in one.
func needed(ctx context.Context, in Request) (entries []pack.Entry, ok bool) {
	r, err := in.unpacked()
	if err != nil {
		return nil, false
	}
	seen := pack.Record(in.Files)
	folder, err := rootfs.Of(seen, ".")
	if err != nil {
		return nil, false
	}
	if _, err := readLock(folder, path.Join(r.Path, lock.Name)); err != nil {
		return nil, false
	}
	elsewhere := source.FetcherFunc(func(context.Context, source.Ref) (source.Tree, error) {
		return source.Tree{FS: embed.FS{}, Dir: "."}, nil
	})
	h := host.Host{Fetchers: map[string]source.Fetcher{
		source.TypeEmbedded: elsewhere, source.TypeGit: elsewhere, source.TypeOCI: elsewhere,
	}}
	loaded, err := h.Load(ctx, r.options(seen, evaluate.Limits{}))
	if err != nil || loaded.Request.Mistakes.Err() != nil {
		return nil, false
	}
	return seen.Entries(), true
}
