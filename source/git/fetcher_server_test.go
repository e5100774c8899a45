// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestCredentialsOpenTheServerAndShowNowhere(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	base := servers.GitHTTP(t, root, servers.WithGitAuth("me", canary))
	ref := base + "/org/repo.git"
	have := secrets{
		"right": {"username": "me", "password": canary}, "wrong": {"username": "me", "password": canary + "-wrong"},
		"token": {"bearerToken": canary}, "lines": {"username": "me", "password": canary + "\nX: y"}, "empty": {},
	}
	cases := []struct {
		secret string
		is     error
	}{
		{"right", nil}, {"wrong", source.ErrUnauthorized}, {"token", source.ErrUnauthorized}, {"empty", source.ErrUnauthorized},
		{"", source.ErrUnauthorized}, {"lines", source.ErrUnauthorized}, {"none", source.ErrNotFound},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = have
		for _, c := range cases {
			_, err := f.Fetch(t.Context(), source.Ref{Ref: ref, Secret: c.secret})
			if c.is == nil {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, c.is, "%q: %v", c.secret, err)
			require.ErrorContains(t, err, ref)
			require.NotContains(t, err.Error(), canary)
			require.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte("me:" + canary))[:20])
		}
	})
}

func TestAServerThatRepeatsCredentialsIsNotQuoted(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	packet := func(text string) []byte { return fmt.Appendf(nil, "%04x%s", len(text)+4, text) }
	base := servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = w.Write(append(packet("# service=git-upload-pack\n"), "0000"...))
			_, _ = w.Write(packet("ERR you sent " + r.Header.Get("Authorization") + " which is " + canary))
		}), r.Method == http.MethodGet
	}))
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = secrets{"s": {"username": "me", "password": canary}}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git", Secret: "s"})
		require.ErrorContains(t, err, "you sent")
		require.NotContains(t, err.Error(), canary)
		require.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte("me:"+canary)))
	})
}

func TestATokenIsABearer(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	base := servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		if r.Header.Get("Authorization") == "Bearer "+canary {
			return nil, false
		}
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }), true
	}))
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = secrets{"s": {"bearerToken": canary + "\n"}}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git", Secret: "s"})
		require.NoError(t, err)
		_, err = f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git"})
		require.ErrorIs(t, err, source.ErrUnauthorized)
	})
}

// TestCredentialsAreInNoArguments looks at all processes below this one while
// a server hangs.
func TestCredentialsAreInNoArguments(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no /proc")
	}
	scratch := t.TempDir()
	var mu sync.Mutex
	var lines []string
	base := servers.GitHTTP(t, t.TempDir(), servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		found, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		for _, name := range found {
			if line, err := os.ReadFile(name); err == nil {
				lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
		return nil, false
	}))
	f := &Fetcher{Binary: FindBinary(), PlainHTTP: anyHost, Scratch: scratch, Secrets: secrets{"s": {"username": "me", "password": canary}}}
	_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git", Secret: "s"})
	require.Error(t, err)
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(lines, "\n")
	require.Contains(t, all, "remote-http", "git was seen")
	require.NotContains(t, all, canary)
	require.NotContains(t, all, base64.StdEncoding.EncodeToString([]byte("me:"+canary)))
}

func TestCredentialsDoNotFollowARedirect(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var stolen atomic.Int64
	var ca []byte
	target := servers.GitHTTP(t, root, servers.WithGitTLS(&ca), servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
		if r.Header.Get("Authorization") != "" {
			stolen.Add(1)
		}
		return nil, false
	}))
	sendOn := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target+r.URL.RequestURI(), http.StatusMovedPermanently)
	})
	from, plain := httptest.NewTLSServer(sendOn), httptest.NewServer(sendOn)
	t.Cleanup(from.Close)
	t.Cleanup(plain.Close)
	ways(t, func(t *testing.T, f *Fetcher) {
		f.CA = ca
		f.Secrets = secrets{"s": {"username": "me", "password": canary}}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: from.URL + "/org/repo.git", Secret: "s"})
		require.ErrorIs(t, err, source.ErrReference, "%v", err)
		require.Zero(t, stolen.Load())
		_, err = f.Fetch(t.Context(), source.Ref{Ref: from.URL + "/org/repo.git"})
		require.NoError(t, err)
		_, err = f.Fetch(t.Context(), source.Ref{Ref: plain.URL + "/org/repo.git"})
		require.ErrorIs(t, err, source.ErrReference, "whoever listens could choose the place: %v", err)
	})
}

func TestSSHWantsTheKnownHostAndTheKey(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	server := servers.GitSSH(t, root)
	host := "[" + server.Host + "]:" + strconv.Itoa(server.Port)
	closed, err := ssh.MarshalPrivateKeyWithPassphrase(newKey(t), "", []byte(canary))
	require.NoError(t, err)
	raw, err := ssh.ParseRawPrivateKey(server.ClientKey)
	require.NoError(t, err)
	right, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte(canary))
	require.NoError(t, err)
	identity := string(server.ClientKey)
	have := secrets{
		"right":        {"identity": identity, "known_hosts": server.KnownHosts},
		"passphrase":   {"identity": pemText(right), "known_hosts": server.KnownHosts, "password": canary},
		"unopened":     {"identity": pemText(closed), "known_hosts": server.KnownHosts},
		"other key":    {"identity": pemText(closed), "known_hosts": server.KnownHosts, "password": canary},
		"wrong host":   {"identity": identity, "known_hosts": host + " " + publicLine(t, newKey(t))},
		"unknown host": {"identity": identity, "known_hosts": "other.example.com " + publicLine(t, newKey(t))},
		"no hosts":     {"identity": identity},
		"no key":       {"known_hosts": server.KnownHosts},
		"no pem":       {"identity": "no key at all", "known_hosts": server.KnownHosts},
	}
	want := map[string]error{
		"right": nil, "passphrase": nil, "unopened": source.ErrUnauthorized, "other key": source.ErrUnauthorized, "wrong host": source.ErrHostKey,
		"unknown host": source.ErrHostKey, "no hosts": source.ErrHostKey, "no key": source.ErrUnauthorized, "no pem": source.ErrUnauthorized, "": source.ErrHostKey,
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = have
		for secret, is := range want {
			t.Run("secret "+secret, func(t *testing.T) {
				_, err := f.Fetch(t.Context(), source.Ref{Ref: server.URL("org/repo.git"), Secret: secret})
				if is == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, is, "%v", err)
				require.NotContains(t, err.Error(), canary)
			})
		}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: server.URL("org/none.git"), Secret: "right"})
		require.ErrorIs(t, err, source.ErrNotFound, "%v", err)
	})
}

func TestAnswersOfServersHaveTheirErrors(t *testing.T) {
	t.Parallel()
	cases := []struct {
		status int
		is     error
	}{
		{401, source.ErrUnauthorized}, {403, source.ErrUnauthorized}, {404, source.ErrNotFound},
		{429, source.ErrUnavailable}, {500, source.ErrUnavailable}, {503, source.ErrUnavailable}, {200, nil},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		for _, c := range cases {
			base := servers.GitHTTP(t, t.TempDir(), servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte("hello"))
				}), true
			}))
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git"})
			require.Error(t, err)
			if c.is != nil {
				require.ErrorIs(t, err, c.is, "%d: %v", c.status, err)
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, l.Close())
		_, err = f.Fetch(t.Context(), source.Ref{Ref: "http://" + l.Addr().String() + "/r.git"})
		require.ErrorIs(t, err, source.ErrUnavailable)
	})
}

func TestAHangEndsInTimeWithEverythingItStarted(t *testing.T) {
	t.Parallel()
	base := servers.GitHTTP(t, t.TempDir(), servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), true
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	have := secrets{"s": {"identity": string(pemOf(t, newKey(t))), "known_hosts": knownhosts.Line([]string{l.Addr().String()}, publicKey(t, newKey(t)))}}
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Timeout, f.Secrets = 300*time.Millisecond, have
		for _, ref := range []source.Ref{{Ref: base + "/r.git"}, {Ref: "ssh://git@" + l.Addr().String() + "/r.git", Secret: "s"}} {
			begin := time.Now()
			_, err := f.Fetch(t.Context(), ref)
			require.ErrorIs(t, err, source.ErrUnavailable, "%v", err)
			require.ErrorContains(t, err, "did not finish within 300ms")
			require.Less(t, time.Since(begin), 3*time.Second)
			// What is killed is gone when it next has its turn.
			require.Eventually(t, func() bool { return len(children(t, f.Scratch)) == 0 }, 10*time.Second, 10*time.Millisecond, "no process is left")
		}
	})
}

// children are the processes that have a folder in their environment.
func children(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	var out []string
	for _, name := range found {
		if env, err := os.ReadFile(name); err == nil && bytes.Contains(env, []byte(folder)) {
			out = append(out, name)
		}
	}
	return out
}

// TestAServerThatLiesGetsNothingIn puts the pack of one commit in place of
// that of another.
func TestAServerThatLiesGetsNothingIn(t *testing.T) {
	t.Parallel()
	root, g, first, second := repository(t)
	honest := servers.GitHTTP(t, root)
	liar := func(from, to string) string {
		return servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
			if r.Method != http.MethodPost {
				return nil, false
			}
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			text := strings.ReplaceAll(body.String(), "want "+from, "want "+to)
			request, err := http.NewRequest(http.MethodPost, honest+r.URL.Path, strings.NewReader(text))
			if err != nil {
				return nil, false
			}
			request.Header = r.Header.Clone()
			request.Header.Del("Accept-Encoding")
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					return
				}
				defer answer.Body.Close()
				w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
				var all bytes.Buffer
				_, _ = all.ReadFrom(answer.Body)
				_, _ = w.Write(all.Bytes())
			}), true
		}))
	}
	blob, other := g.Hash(second+":app/a.cue"), g.Hash(first+":app/a.cue")
	ways(t, func(t *testing.T, f *Fetcher) {
		for name, base := range map[string]string{"about the commit": liar(second, first), "about a file": liar(blob, other)} {
			t.Run(name, func(t *testing.T) {
				if f.Binary == "" && name == "about a file" {
					t.Skip("go-git asks for commits only")
				}
				_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + second, Path: "app"})
				require.ErrorIs(t, err, source.ErrDigest, "%v", err)
			})
		}
	})
}

func TestAPackThatIsCutOrChangedIsRefused(t *testing.T) {
	t.Parallel()
	root, _, _, second := repository(t)
	honest := servers.GitHTTP(t, root)
	spoil := func(change func([]byte) []byte) string {
		return servers.GitHTTP(t, root, servers.WithGitFault(func(r *http.Request) (http.Handler, bool) {
			if r.Method != http.MethodPost {
				return nil, false
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				request, _ := http.NewRequest(http.MethodPost, honest+r.URL.Path, r.Body)
				request.Header = r.Header.Clone()
				request.Header.Del("Accept-Encoding")
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					return
				}
				defer answer.Body.Close()
				var all bytes.Buffer
				_, _ = all.ReadFrom(answer.Body)
				w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
				data := all.Bytes()
				if bytes.Contains(data, []byte("PACK")) {
					data = change(data)
				}
				_, _ = w.Write(data)
			}), true
		}))
	}
	cut := spoil(func(data []byte) []byte { return data[:len(data)-60] })
	changed := spoil(func(data []byte) []byte {
		i := bytes.Index(data, []byte("PACK")) + 40
		data[i] ^= 0x55
		return data
	})
	ways(t, func(t *testing.T, f *Fetcher) {
		for name, base := range map[string]string{"cut": cut, "changed": changed} {
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git?commit=" + second})
			require.Error(t, err, name)
			require.NotContains(t, err.Error(), "panic")
		}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: honest + "/org/repo.git?commit=" + second})
		require.NoError(t, err)
	})
}

func TestAServerThatSendsTooMuchIsStopped(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%d", i)] = strings.Repeat(fmt.Sprint(i*7919), 20_000)
	}
	g.Commit(files, "first")
	base := servers.GitHTTP(t, root, servers.NoFilter())
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Transfer = 10_000
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git"})
		require.ErrorIs(t, err, source.ErrLimit)
		require.ErrorContains(t, err, "more than 10000 bytes")
	})
}

// TestAPackThatInflatesIsStopped has a file that is a thousandth of its size in
// the pack, and one that is a delta of it.
func TestAPackThatInflatesIsStopped(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	zeros := strings.Repeat("0", 900_000)
	g.Commit(map[string]string{"a": zeros, "b": zeros + "1"}, "first")
	g.Run("repack", "-adfq")
	base := servers.GitHTTP(t, root, servers.NoFilter())
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Transfer, f.Limits.Bytes = 1_000_000, 1_000_000
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git"})
		require.ErrorIs(t, err, source.ErrLimit)
		f.Transfer, f.Limits.Bytes = 2_000_000, 2_000_000
		_, err = f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git"})
		require.NoError(t, err)
	})
}

func TestSSHNeedsNoOpenSSH(t *testing.T) {
	root, _, _, _ := repository(t)
	server := servers.GitSSH(t, root)
	binary, path := FindBinary(), t.TempDir()
	require.NoError(t, os.Symlink(binary, filepath.Join(path, "git")))
	t.Setenv("PATH", path)
	f := &Fetcher{Binary: binary, Scratch: t.TempDir(), Secrets: secrets{"s": {"identity": string(server.ClientKey), "known_hosts": server.KnownHosts}}}
	tree, err := f.Fetch(t.Context(), source.Ref{Ref: server.URL("org/repo.git"), Secret: "s"})
	require.NoError(t, err)
	require.NotEmpty(t, names(t, tree))
}

func TestAnUnknownAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var ca []byte
	base := servers.GitHTTP(t, root, servers.WithGitTLS(&ca))
	ways(t, func(t *testing.T, f *Fetcher) {
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git"})
		require.ErrorIs(t, err, source.ErrHostKey)
		require.ErrorContains(t, err, "ca.crt")
	})
}
