// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/test/servers"
)

// canary is a password that must not be anywhere.
const canary = "canary-4e1b-pass"

// tenants is a server with Secrets for each project, and a policy.
type tenants struct {
	opts                          Options
	cache, secrets, hosts, policy string

	mu  sync.Mutex
	log strings.Builder
}

// newTenants makes options as the command does.
func newTenants(t *testing.T) *tenants {
	t.Helper()
	x := &tenants{opts: options(t), cache: t.TempDir(), secrets: t.TempDir(), hosts: t.TempDir(), policy: filepath.Join(t.TempDir(), "policy.yaml")}
	x.write(t, x.policy, "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\n")
	policy, err := pullpolicy.Open(x.policy, x.report)
	require.NoError(t, err)
	store, err := cache.Open(x.cache, cache.StoreOptions{})
	require.NoError(t, err)
	every := func(string) bool { return true }
	registries := &remote.Registries{PlainHTTP: every}
	x.opts.Report = x.report
	x.opts.Stores = append(x.opts.Stores, rendercache.Store(store))
	x.opts.Epoch = func() string { return policy.Current().Digest() }
	x.opts.Connect = func(c Connection) (host.Host, error) {
		return fetch.Options{
			Lock: c.Lock, Mode: c.Mode, Scope: c.Scope, Secrets: fetch.Mounted(x.secrets).Of(c.Project), GitHosts: fetch.Mounted(x.hosts),
			Registries: func() (*remote.Registries, error) { return registries, nil },
			Git:        func() git.Fetcher { return git.Fetcher{PlainHTTP: every} },
			Store:      func() (*cache.Store, error) { return store, nil },
			Guard:      pullpolicy.Guard{Policy: policy.Current(), Project: c.Project, Refused: c.Refused},
			Report:     x.report,
		}.Connect(host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}), nil
	}
	return x
}

func (x *tenants) report(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.log.WriteString(err.Error() + "\n")
	}
}

func (x *tenants) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

// secret mounts user and password for a project.
func (x *tenants) secret(t *testing.T, project, password string) {
	t.Helper()
	x.write(t, filepath.Join(x.secrets, project, "git", "username"), "alice")
	x.write(t, filepath.Join(x.secrets, project, "git", "password"), password)
}

// page is what the server shows at a path.
func show(t *testing.T, s *Server, path string) string {
	t.Helper()
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	response, err := http.Get(web.URL + path) //nolint:noctx // loopback
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

// withRef is a project whose module is at a reference.
func withRef(ref string) map[string]string {
	return map[string]string{"apps/web/web.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec:\n  cueRef: " + ref + "\n"}
}

func TestATenantGetsNothingOfAnother(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "m.git"))
	files := projectOf("web")
	commit := repo.Commit(map[string]string{"cue.mod/module.cue": files["modules/m/cue.mod/module.cue"], "m.cue": files["modules/m/m.cue"]}, "a module")
	base := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
	x := newTenants(t)
	x.secret(t, "good", canary)
	x.secret(t, "wrong", canary+"-wrong")
	s, socket := start(t, x.opts)
	packed := archive(t, texts(withRef(fmt.Sprintf("{type: git, ref: %q, pullSecretRef: {name: git}}", base+"/m.git?commit="+commit))))
	var said strings.Builder
	ask := func(project string) ([]string, error) {
		out, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
			"ARGOCD_APP_NAME": project, "ARGOCD_APP_PROJECT_NAME": project,
		}})
		x.mu.Lock()
		defer x.mu.Unlock()
		_, _ = fmt.Fprintln(&said, out, err)
		return out, err
	}
	var all sync.WaitGroup
	for range 6 { // at the same time, and then from the caches
		for project, good := range map[string]bool{"good": true, "wrong": false, "none": false, "": false} {
			all.Go(func() {
				out, err := ask(project)
				if good != (err == nil) || good != (len(out) == 1) || !good && status.Code(err) != codes.InvalidArgument && status.Code(err) != codes.FailedPrecondition {
					t.Error(project, out, err)
				}
			})
		}
		all.Wait()
	}
	require.NoError(t, os.RemoveAll(filepath.Join(x.secrets, "good")))
	_, err := ask("good")
	require.Error(t, err, "who lost the Secret lost the module")
	require.Contains(t, err.Error(), "apps/web/web.yaml:5:")

	written := said.String() + x.log.String() + show(t, s, "/metrics") + show(t, s, "/readyz")
	require.NotContains(t, written, canary)
	require.NoError(t, filepath.WalkDir(x.cache, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		require.NotContains(t, string(data), canary, name)
		return err
	}))
}

// serveModule pushes the module of a project to a registry, and gives the reference.
func serveModule(t *testing.T, server *servers.OCI) string {
	t.Helper()
	files := projectOf("web")
	r, err := (&remote.Registries{PlainHTTP: func(string) bool { return true }}).Repository(t.Context(), server.Host+"/m", nil)
	require.NoError(t, err)
	push := func(mediaType string, data []byte) ocispec.Descriptor {
		d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
		require.NoError(t, r.Push(t.Context(), d, bytes.NewReader(data)))
		return d
	}
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: push("application/vnd.cncf.flux.config.v1+json", []byte("{}"))}
	m.SchemaVersion = 2
	m.Layers = []ocispec.Descriptor{push("application/vnd.cncf.flux.content.v1.tar+gzip", archive(t, texts(map[string]string{"m.cue": files["modules/m/m.cue"]})))}
	data, err := json.Marshal(m)
	require.NoError(t, err)
	return "oci://" + server.Host + "/m@" + string(push(m.MediaType, data).Digest)
}

func TestAChangedPolicyHoldsForTheNextRequest(t *testing.T) {
	t.Parallel()
	server := servers.InProcess(t)
	ref := serveModule(t, server)
	x := newTenants(t)
	s, socket := start(t, x.opts)
	packed := archive(t, texts(withRef(fmt.Sprintf("{type: oci, ref: %q}", ref))))
	ask := func(project string) error {
		_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{"ARGOCD_APP_PROJECT_NAME": project}})
		return err
	}
	require.NoError(t, ask("shop"))
	const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\n"
	x.write(t, x.policy, head+"rules: [{name: not-shop, effect: Deny, projects: [shop], sources: [\"oci://**\"]}]\n")
	err := ask("shop")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, `apps/web/web.yaml:5:`)
	require.ErrorContains(t, err, `rule "not-shop" of the pull policy denies`)
	require.NoError(t, ask("other"))
	x.write(t, x.policy, head+"rules: nonsense\n")
	require.Error(t, ask("shop"), "the last good one holds")
	require.Equal(t, 1, strings.Count(x.log.String(), "the pull policy stays as it was"))
	require.Contains(t, show(t, s, "/metrics"), "ropewalk_argocd_policy_refusals_total{rule=\"not-shop\"} ")
	x.write(t, x.policy, head)
	require.NoError(t, ask("shop"))
}

func TestARegistryThatIsDownForFiveSecondsCostsFiveSeconds(t *testing.T) {
	t.Parallel()
	server := servers.InProcess(t)
	ref := serveModule(t, server)
	front := servers.FreeAddress(t)
	x := newTenants(t)
	s, socket := start(t, x.opts)
	const down = 5 * time.Second
	up := time.AfterFunc(down, func() {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", front)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = listener.Close() })
		_ = http.Serve(listener, server) //nolint:gosec // it ends with the test
	})
	defer up.Stop()
	packed := archive(t, texts(withRef(fmt.Sprintf("{type: oci, ref: %q}", strings.Replace(ref, server.Host, front, 1)))))
	begin := time.Now()
	out, err := generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
	require.Len(t, out, 1)
	require.GreaterOrEqual(t, time.Since(begin), down)
	require.Less(t, time.Since(begin), 2*down)
	require.Positive(t, s.metrics.retries.Load())
}

func TestAServerThatAsksToWaitIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := servers.InProcess(t)
	ref := serveModule(t, server)
	packed := archive(t, texts(withRef(fmt.Sprintf("{type: oci, ref: %q}", ref))))
	x := newTenants(t)
	_, socket := start(t, x.opts)
	limited := func(seconds string) http.Handler {
		return servers.Answer(http.StatusTooManyRequests, "TOOMANYREQUESTS", "slow down", "Retry-After", seconds)
	}
	server.Fault(servers.First(1, servers.Always(limited("2"))))
	begin := time.Now()
	_, err := generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), 2*time.Second)

	server.Fault(servers.Always(limited("3600")))
	server.Reset()
	begin = time.Now()
	_, err = generate(t, socket, call{archive: packed, path: "apps/web", timeout: 20 * time.Second, env: map[string]string{"ARGOCD_APP_PROJECT_NAME": "other"}})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "with Retry-After 1h0m0s")
	require.Less(t, time.Since(begin), 5*time.Second, "nothing is gained by waiting")
	require.LessOrEqual(t, len(server.Requests()), 2)
}

func TestARequestIsNotJoinedToOneOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	opts, renderer := slow(t, 300*time.Millisecond)
	var epoch atomic.Int64
	opts.Epoch = func() string { return fmt.Sprint(epoch.Load()) }
	s, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	var all sync.WaitGroup
	ask := func() {
		all.Go(func() {
			if _, err := generate(t, socket, call{archive: packed, path: "apps/web"}); err != nil {
				t.Error(err)
			}
		})
	}
	ask()
	require.Eventually(t, func() bool { return renderer.runs.Load() == 1 }, 5*time.Second, time.Millisecond)
	epoch.Add(1)
	ask()
	all.Wait()
	require.Equal(t, int64(2), renderer.runs.Load())
	require.Zero(t, s.metrics.joined.Load())
}

func TestAnApplicationThatSendsSlowlyLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Requests = 4
	s, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{"ARGOCD_APP_NAME": "quick"}})
	require.NoError(t, err)
	client := dial(t, socket)
	for range 20 {
		stream, err := client.GenerateManifest(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(call{archive: packed, path: "apps/web", env: map[string]string{"ARGOCD_APP_NAME": "slow"}}.metadata()))
	}
	require.Eventually(t, func() bool {
		return s.requests.Stats() == limiter.Stats{Running: 2, Waiting: 18}
	}, 5*time.Second, time.Millisecond)
	begin := time.Now()
	_, err = generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{"ARGOCD_APP_NAME": "quick"}})
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 5*time.Second)
}
