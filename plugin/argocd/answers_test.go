// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/test/servers"
)

// counted counts renders.
type counted struct {
	next    rendercache.Renderer
	renders *atomic.Int64
}

func (c counted) Render(ctx context.Context, req render.Request) (render.Result, error) {
	c.renders.Add(1)
	return c.next.Render(ctx, req)
}

// remembering is a server that remembers answers, and nothing else.
func remembering(t *testing.T) (opts Options, renders *atomic.Int64) {
	t.Helper()
	opts, renders = options(t), new(atomic.Int64)
	opts.Renderer, opts.Stores = counted{opts.Renderer, renders}, nil
	return opts, renders
}

func TestAnAnswerIsRememberedByTheRequest(t *testing.T) {
	opts, renders := remembering(t)
	epoch := "one"
	opts.Epoch = func() string { return epoch }
	_, socket := start(t, opts)
	web := call{archive: archive(t, texts(project("web"))), path: "apps/web", env: map[string]string{"ARGOCD_APP_NAME": "web"}}
	want, err := generate(t, socket, web)
	require.NoError(t, err)
	for range 3 {
		got, err := generate(t, socket, web)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.EqualValues(t, 1, renders.Load())

	for name, change := range map[string]func(c *call){
		"a parameter":   func(c *call) { c.env = map[string]string{"ARGOCD_APP_NAME": "web", "ARGOCD_ENV_ROPEWALK_SET": "n=7"} },
		"a project":     func(c *call) { c.env = map[string]string{"ARGOCD_APP_NAME": "web", varProject: "other"} },
		"a file":        func(c *call) { p := project("web"); p["README.md"] = "new"; c.archive = archive(t, texts(p)) },
		"a namespace":   func(c *call) { c.env = map[string]string{"ARGOCD_APP_NAME": "web", varNamespace: "x"} },
		"of the policy": func(*call) { epoch = "two" },
	} {
		before, other := renders.Load(), web
		change(&other)
		_, err := generate(t, socket, other)
		require.NoError(t, err, name)
		require.Equal(t, before+1, renders.Load(), name)
		epoch = "one"
	}
}

// TestAnAnswerIsForTheArchiveThatWasSent: who announces the checksum of another
// archive gets nothing that is known of that.
func TestAnAnswerIsForTheArchiveThatWasSent(t *testing.T) {
	opts, _ := remembering(t)
	_, socket := start(t, opts)
	web := call{archive: archive(t, texts(project("web"))), path: "apps/web"}
	_, err := generate(t, socket, web)
	require.NoError(t, err)
	other := call{archive: archive(t, texts(project("other"))), path: "apps/web", checksum: web.metadata().GetMetadata().GetChecksum()}
	out, err := generate(t, socket, other)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Empty(t, out)
	web.cut = 10
	_, err = generate(t, socket, web)
	require.Error(t, err)
}

// TestAnAnswerThatNeededAnotherServerIsNotRemembered: whether the module may be had is
// asked each time.
func TestAnAnswerThatNeededAnotherServerIsNotRemembered(t *testing.T) {
	x := newTenants(t)
	renders := new(atomic.Int64)
	x.opts.Renderer, x.opts.Stores = counted{x.opts.Renderer, renders}, nil
	_, socket := start(t, x.opts)
	ref := serveModule(t, servers.InProcess(t))
	web := call{archive: archive(t, texts(withRef("{type: oci, ref: \""+ref+"\"}"))), path: "apps/web", env: map[string]string{"ARGOCD_APP_NAME": "web"}}
	for i := range 2 {
		_, err := generate(t, socket, web)
		require.NoError(t, err)
		require.EqualValues(t, i+1, renders.Load())
	}
}
