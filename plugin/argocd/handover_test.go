// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// handover hands over to a socket, and counts how often it renders by itself.
func handover(t *testing.T, socket string) (Handover, *counting) {
	t.Helper()
	opts := options(t)
	own := &counting{Renderer: opts.Renderer.(render.Renderer)}
	opts.Renderer, opts.Stores = own, nil
	return Handover{Client: Client{Socket: socket, Temporary: t.TempDir()}, Own: New(opts)}, own
}

// folder is files on disk, as argocd-cmp-server has them.
func folder(t *testing.T, files map[string]string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return checkout(t, dir)
}

func checkout(t *testing.T, dir string) fs.FS {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root.FS()
}

func TestBothClientsAndNoSocketGiveTheSame(t *testing.T) {
	_, socket := start(t, options(t))
	files := checkout(t, examples)
	tests := map[string]Request{
		"the shop":                 {Path: "shop"},
		"the shop, in a namespace": {Path: "shop", Variables: map[string]string{"ARGOCD_APP_NAMESPACE": "elsewhere"}},
		"workloads of Score":       {Path: "workloads", Variables: map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "prod"}},
		"a module beside":          {Files: folder(t, project("web")), Path: "apps/web"},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			if in.Files == nil {
				in.Files = files
			}
			want, err := generate(t, socket, call{archive: archive(t, in.Files), path: in.Path, env: in.Variables})
			require.NoError(t, err)
			require.NotEmpty(t, want)
			got, err := Client{Socket: socket}.Generate(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, want, got)
			h, own := handover(t, socket)
			got, who, err := h.Generate(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, Who{Socket: socket}, who)
			require.Zero(t, own.runs.Load())
			h.Client.Socket = ""
			got, who, err = h.Generate(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Empty(t, who.Socket)
			require.ErrorIs(t, who.Why, ErrNobody)
			require.EqualValues(t, 1, own.runs.Load())
		})
	}
}

func TestAMistakeIsToldTheSameWayWhoeverFindsIt(t *testing.T) {
	_, socket := start(t, options(t))
	tests := map[string]struct {
		change  map[string]string
		in      Request
		says    string
		finding bool
	}{
		"a value that the module refuses": {in: Request{Variables: map[string]string{"ARGOCD_ENV_ROPEWALK_SET": "n=many"}}, says: "ROPEWALK_SET: n=many: evaluate: spec.input.n: expected an integer", finding: true},
		"a document that is none":         {change: map[string]string{"apps/web/web.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\n  bad"}, says: "apps/web/web.yaml:2:7", finding: true},
		"a module that is not there":      {change: map[string]string{"apps/web/web.yaml": strings.Replace(project("web")["apps/web/web.yaml"], "modules/m", "modules/n", 1)}, says: "apps/web/web.yaml:5", finding: true},
		"a path that is not there":        {in: Request{Path: "apps/other"}, says: "apps/other", finding: true},
		"a parameter that is none":        {in: Request{Variables: map[string]string{"ARGOCD_APP_PARAMETERS": "{"}}, says: "no JSON list", finding: true},
		"nothing but an error in a link":  {change: map[string]string{"apps/web/ropewalk.lock": "what"}, says: "ropewalk.lock", finding: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := project("web")
			maps.Copy(files, test.change)
			in := test.in
			in.Files = folder(t, files)
			if in.Path == "" {
				in.Path = "apps/web"
			}
			h, _ := handover(t, socket)
			_, who, err := h.Generate(t.Context(), in)
			var handed, alone *Refusal
			require.ErrorAs(t, err, &handed)
			require.Equal(t, socket, who.Socket)
			h.Client.Socket = ""
			_, _, err = h.Generate(t.Context(), in)
			require.ErrorAs(t, err, &alone)
			require.Equal(t, handed, alone)
			require.Contains(t, alone.Text, test.says)
			require.Equal(t, test.finding, alone.Findings)
		})
	}
}

func TestOnlyWhatARenderNeedsIsHandedOver(t *testing.T) {
	s, socket := start(t, options(t))
	files := project("web")
	noise := rand.NewChaCha8([32]byte{1})
	for i := range 300 {
		text := make([]byte, 1000)
		_, _ = noise.Read(text)
		files[fmt.Sprintf("other/%03d.yaml", i)] = hex.EncodeToString(text)
		files[fmt.Sprintf("apps/web/notes/%03d.md", i)] = hex.EncodeToString(text)
	}
	in := Request{Files: folder(t, files), Path: "apps/web"}
	h, own := handover(t, socket)
	_, _, err := h.Generate(t.Context(), in)
	require.NoError(t, err)
	require.Zero(t, own.runs.Load())
	part := s.metrics.compressed.Load()
	_, err = h.Client.Generate(t.Context(), in)
	require.NoError(t, err)
	whole := s.metrics.compressed.Load() - part
	t.Logf("handed over: %d bytes; the whole repository: %d", part, whole)
	require.Less(t, part*20, whole)
}

func TestAModuleFromElsewhereDoesNotMakeItSendEverything(t *testing.T) {
	files := project("web")
	for i := range 100 {
		files[fmt.Sprintf("other/%03d.yaml", i)] = "x: 1\n"
	}
	files["apps/web/api.yaml"] = `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: api}
spec: {cueRef: {type: oci, ref: "registry.example/m@sha256:` + strings.Repeat("0", 64) + `"}}
`
	entries, ok := needed(t.Context(), Request{Files: folder(t, files), Path: "apps/web"})
	require.True(t, ok)
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name] = !e.Empty
	}
	require.True(t, names["modules/m/m.cue"])
	require.True(t, names["apps/web/api.yaml"])
	require.NotContains(t, names, "other/000.yaml")
	_, ok = needed(t.Context(), Request{Files: folder(t, files), Path: "apps/none"})
	require.False(t, ok)
}

func TestAServerThatIsNotOursIsNotAskedToRender(t *testing.T) {
	wire.Register()
	socket := filepath.Join(socketDir(t), "ropewalk.sock")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	asked := &atomic.Int64{}
	stock := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if method, _ := grpc.MethodFromServerStream(stream); !strings.HasSuffix(method, methodCheck) {
			asked.Add(1)
		}
		return errors.Join(stream.RecvMsg(&wire.Empty{}), stream.SendMsg(&wire.PluginConfiguration{}))
	}))
	go func() { _ = stock.Serve(listener) }()
	t.Cleanup(stock.Stop)
	got, err := Client{Socket: socket}.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, got.Identity)
	h, own := handover(t, socket)
	_, who, err := h.Generate(t.Context(), Request{Files: folder(t, project("web")), Path: "apps/web"})
	require.NoError(t, err)
	require.ErrorContains(t, who.Why, "another program")
	require.EqualValues(t, 1, own.runs.Load())
	require.Zero(t, asked.Load())
}

func TestAServerOfAnotherVersionOrStrictnessIsNotAsked(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Version = "other" }, func(o *Options) { o.AllowUnlocked = false }, func(o *Options) { o.HealthConfigured = false },
		func(o *Options) { o.Epoch = func() string { return "sha256:1" } }, func(o *Options) { o.Setup = "other" },
	} {
		opts := options(t)
		change(&opts)
		_, socket := start(t, opts)
		h, own := handover(t, socket)
		_, who, err := h.Generate(t.Context(), Request{Files: folder(t, project("web")), Path: "apps/web"})
		require.NoError(t, err)
		require.ErrorContains(t, who.Why, New(opts).Identity())
		require.EqualValues(t, 1, own.runs.Load())
	}
}

func TestNobodyWhoAnswersHoldsNobodyUp(t *testing.T) {
	gone := filepath.Join(socketDir(t), "gone.sock")
	listener, err := net.Listen("unix", gone)
	require.NoError(t, err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	silent := filepath.Join(socketDir(t), "silent.sock")
	listener, err = net.Listen("unix", silent)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	in := Request{Files: folder(t, project("web")), Path: "apps/web"}
	for name, socket := range map[string]string{
		"there is no socket": filepath.Join(t.TempDir(), "none.sock"), "a killed server left it": gone, "who has it says nothing": silent,
	} {
		t.Run(name, func(t *testing.T) {
			h, own := handover(t, socket)
			began := time.Now()
			out, who, err := h.Generate(t.Context(), in)
			require.NoError(t, err)
			require.Len(t, out, 1)
			require.Error(t, who.Why)
			require.EqualValues(t, 1, own.runs.Load())
			require.Less(t, time.Since(began), 5*moment)
		})
	}
}

// TestAServerThatGoesInTheMiddleIsReplaced has a server end, or stop, after it took
// the request.
func TestAServerThatGoesInTheMiddleIsReplaced(t *testing.T) {
	for name, then := range map[string]func(net.Conn){
		"it ends": func(c net.Conn) { _ = c.Close() }, "it stops": func(net.Conn) { time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			opts, renderer := slow(t, time.Hour)
			opts.Drain = time.Millisecond
			_, behind := start(t, opts)
			socket := filepath.Join(socketDir(t), "front.sock")
			between(t, socket, behind, func() bool { return renderer.runs.Load() > 0 }, then)
			h, own := handover(t, socket)
			h.Client.quiet = 200 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out, who, err := h.Generate(ctx, Request{Files: folder(t, project("web")), Path: "apps/web"})
			require.NoError(t, err)
			require.Len(t, out, 1)
			require.ErrorIs(t, who.Why, ErrNobody)
			require.EqualValues(t, 1, own.runs.Load())
			require.EqualValues(t, 1, renderer.runs.Load())
		})
	}
}

// between passes bytes on between two sockets until it is time, and then does
// something else.
func between(t *testing.T, front, behind string, isTime func() bool, then func(net.Conn)) {
	t.Helper()
	listener, err := net.Listen("unix", front)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", behind)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in) }()
			go func() {
				buffer := make([]byte, 4096)
				for {
					n, err := out.Read(buffer)
					if isTime() {
						then(in)
						return
					}
					if _, writeErr := in.Write(buffer[:n]); err != nil || writeErr != nil {
						_ = in.Close()
						return
					}
				}
			}()
			go func() {
				for !isTime() {
					time.Sleep(time.Millisecond)
				}
				then(in)
			}()
		}
	}()
}

func TestADeadlineEndsAHandover(t *testing.T) {
	t.Parallel() // it only waits
	opts, _ := slow(t, time.Hour)
	_, socket := start(t, opts)
	h, own := handover(t, socket)
	ctx, cancel := context.WithTimeout(t.Context(), shortDeadline)
	defer cancel()
	_, who, err := h.Generate(ctx, Request{Files: folder(t, project("web")), Path: "apps/web"})
	var refused *Refusal
	require.ErrorAs(t, err, &refused, "%v", err)
	require.Contains(t, refused.Text, "no result within")
	require.False(t, refused.Findings)
	require.Equal(t, socket, who.Socket)
	require.Zero(t, own.runs.Load())
	require.NoError(t, ctx.Err(), "there was time to say so")
}

func TestCredentialsAreAskedForWithTheNonceOfTheEnvironment(t *testing.T) {
	_, name := startRepoServer(t)
	opts := options(t)
	opts.AskPass = AskPass(name)
	var got *Source
	opts.Connect = connectTo(&got)
	_, err := New(opts).Generate(t.Context(), Request{
		Files: folder(t, project("web")), Path: "apps/web",
		Variables: Variables([]string{"ARGOCD_GIT_ASKPASS_NONCE=known", "ARGOCD_APP_SOURCE_REPO_URL=oci://registry.example/shop", "HOME=/", "nothing"}),
	})
	require.NoError(t, err)
	require.Equal(t, "oci://registry.example/shop", got.Repository)
	user, password, err := got.Credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"anna", "pencil"}, []string{user, password})
}

func TestVariablesAreThoseOfTheRequest(t *testing.T) {
	require.Equal(t, map[string]string{
		"ARGOCD_APP_NAME": "web", "ARGOCD_ENV_X": "a=b", "KUBE_VERSION": "1.36", "KUBE_API_VERSIONS": "v1", "ARGOCD_GIT_ASKPASS_NONCE": "n",
	}, Variables([]string{
		"ARGOCD_APP_NAME=web", "ARGOCD_ENV_X=a=b", "KUBE_VERSION=1.36", "KUBE_API_VERSIONS=v1", "ARGOCD_GIT_ASKPASS_NONCE=n",
		"PATH=/bin", "ARGOCD_CMP_WORKDIR=/tmp", "KUBERNETES_SERVICE_HOST=10.0.0.1", "ARGOCD_REDIS_PASSWORD=x",
	}))
}

func TestWhatAServerRefusesIsNoFinding(t *testing.T) {
	pos := object.Pos{File: "web.yaml", Line: 3}
	for _, kind := range []error{source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, source.ErrAbsent, context.DeadlineExceeded} {
		var refused *Refusal
		require.ErrorAs(t, refusal(answer(fmt.Errorf("registry.example: %w", kind))), &refused)
		require.False(t, refused.Findings, "%v", kind)
		require.Contains(t, refused.Error(), "registry.example")
	}
	mistakes := object.Errors{{Pos: pos, Err: source.ErrUnauthorized}}
	var refused *Refusal
	require.ErrorAs(t, refusal(answer(mistakes)), &refused)
	require.False(t, refused.Findings)
	require.ErrorAs(t, refusal(answer(append(mistakes, &object.Error{Pos: pos, Err: errors.New("too large")}))), &refused)
	require.True(t, refused.Findings, "one of them is the user's")
}

// connectTo keeps the source of a connection.
func connectTo(got **Source) func(Connection) (host.Host, error) {
	return func(c Connection) (host.Host, error) {
		*got = c.Source
		return offline(c)
	}
}

// TestAServerWithoutRoomIsReplaced has servers that refuse what they could render.
func TestAServerWithoutRoomIsReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"it takes no archive of that size": {func(o *Options) { o.Archive.Compressed = 10 }, "10 are allowed"},
		"it has no room on its disk":       {func(o *Options) { o.Archive.Memory, o.Temporary = 1, "/nonexistent" }, "no such file"},
		"too many wait":                    {func(o *Options) { o.Queue = 1 }, "too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			opts, _ := slow(t, time.Hour)
			opts.Renders, opts.Drain = 1, time.Millisecond
			test.change(&opts)
			s, socket := start(t, opts)
			files := folder(t, project("web"))
			if opts.Queue == 1 {
				for i := range 3 {
					go func() {
						_, _ = Client{Socket: socket}.Generate(t.Context(), Request{
							Files: files, Path: "apps/web", Variables: map[string]string{"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i)},
						})
					}()
				}
				require.Eventually(t, func() bool { return s.metrics.inFlight.Load() == 3 && s.waiting() > 0 }, 5*time.Second, time.Millisecond)
			}
			h, own := handover(t, socket)
			out, who, err := h.Generate(t.Context(), Request{Files: files, Path: "apps/web"})
			require.NoError(t, err)
			require.Len(t, out, 1)
			require.Empty(t, who.Socket)
			require.ErrorContains(t, who.Why, test.says)
			require.EqualValues(t, 1, own.runs.Load())
			_, err = h.Client.Generate(t.Context(), Request{Files: files, Path: "apps/web"})
			var refused *Refusal
			require.ErrorAs(t, err, &refused)
			require.False(t, refused.Findings, "nothing is said of what the user wrote")
		})
	}
}
