// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/source"
)

// withFetcher has a fetcher answer for registries.
func withFetcher(t *testing.T, fetch source.FetcherFunc) Options {
	opts := options(t)
	opts.Connect = func(c Connection) (host.Host, error) {
		h, err := offline(c)
		h.Fetchers[source.TypeOCI] = fetch
		return h, err
	}
	return opts
}

// shortDeadline is the deadline of requests that take all of it, and whose answer must
// arrive inside of it. The server leaves a second for that, and less where a request
// has less than four seconds when it comes in, as on a busy machine.
const shortDeadline = 8 * time.Second

// renderHere renders in this process, as the socket does, within a deadline.
func renderHere(t *testing.T, s *Server, in Request, timeout time.Duration) (out []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	err = s.measure(ctx, methodGenerate, func(ctx context.Context) error {
		r, err := in.request()
		require.NoError(t, err)
		out, err = s.render(ctx, r, in.Files)
		return err
	})
	require.NoError(t, ctx.Err(), "the answer comes inside of the deadline")
	return out, err
}

// fetched is a project whose module is fetched.
func fetched() Request {
	return Request{Files: texts(withRef(`{type: oci, ref: "localhost:1/m:v1"}`)), Path: "apps/web"}
}

func down() error { return source.Refuse(source.ErrUnavailable, "the registry is down") }

func TestAShortDeadlineIsUsedToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := New(withFetcher(t, func(context.Context, source.Ref) (source.Tree, error) {
			if time.Since(begin) < shortDeadline*2/3 {
				return source.Tree{}, down()
			}
			return source.Tree{}, source.Refuse(source.ErrAbsent, "the registry is back")
		}))
		_, err := renderHere(t, s, fetched(), shortDeadline)
		require.ErrorContains(t, err, "the registry is back")

		begin = time.Now().Add(time.Hour)
		start := time.Now()
		_, err = renderHere(t, s, fetched(), shortDeadline)
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		require.Greater(t, time.Since(start), shortDeadline/2)
	})
}

func TestTheFirstErrorIsReportedIfTheLastAttemptHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		s := New(withFetcher(t, func(ctx context.Context, _ source.Ref) (source.Tree, error) {
			if first {
				first = false
				return source.Tree{}, down()
			}
			<-ctx.Done()
			return source.Tree{}, ctx.Err()
		}))
		_, err := renderHere(t, s, fetched(), shortDeadline)
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "apps/web/web.yaml:5:")
		require.ErrorContains(t, err, "the registry is down")
	})
}

func TestTransientFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 0
		embedded, err := offline(Connection{})
		require.NoError(t, err)
		s := New(withFetcher(t, func(ctx context.Context, _ source.Ref) (source.Tree, error) {
			if failures--; failures >= 0 {
				return source.Tree{}, down()
			}
			return source.Embedded(embedded.Embedded, source.Limits{}).Fetch(ctx, source.Ref{Type: source.TypeEmbedded, Ref: "webservice"})
		}))
		in := Request{Path: "a", Files: texts(map[string]string{"a/a.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: a}
spec: {cueRef: {type: oci, ref: "localhost:1/m:v1"}, input: {image: "ghcr.io/stefanprodan/podinfo:6.9.2", ports: {http: {port: 9898}}}}
`})}
		failures = 2
		got, err := renderHere(t, s, in, time.Minute)
		require.NoError(t, err)
		require.NotEmpty(t, got)
		require.Equal(t, int64(2), s.metrics.retries.Load())
		failures = 1000
		_, err = renderHere(t, s, in, shortDeadline)
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		require.ErrorContains(t, err, "the registry is down")
	})
}

func TestAHostWithoutAnAddressIsTriedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := New(withFetcher(t, func(context.Context, source.Ref) (source.Tree, error) {
			asked++
			return source.Tree{}, source.Refuse(source.ErrUnavailable, `the host "x" has no address: correct the name, or try again later`)
		}))
		begin := time.Now()
		_, err := renderHere(t, s, fetched(), time.Minute)
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		require.Equal(t, 2, asked)
		require.Less(t, time.Since(begin), 5*time.Second)
	})
}

func TestTheDeadlineLeavesTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, _ := slow(t, time.Minute)
		_, err := renderHere(t, New(opts), Request{Files: texts(projectOf("web")), Path: "apps/web"}, shortDeadline)
		require.Equal(t, connect.CodeDeadlineExceeded, connect.CodeOf(err))
		require.ErrorContains(t, err, "no result within 7s, with 0 requests waiting", "it is the answer of the server and not of the client")
	})
}

func TestARequestThatIsLateReportsWhatItWasDoing(t *testing.T) {
	t.Parallel()
	pool, err := worker.NewPool(worker.Options{Size: 1, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Evaluator, opts.Workers, opts.Evaluations, opts.Stores = pool, 1, nil, nil
	_, socket := start(t, opts)
	hang, err := os.ReadFile("../../render/evaluate/worker/testdata/hostile/nested-for.cue")
	require.NoError(t, err)
	files := projectOf("web")
	files["modules/m/m.cue"] = string(hang)
	_, err = generate(t, socket, call{archive: archive(t, texts(files)), path: "apps/web", timeout: shortDeadline})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	message := status.Convert(err).Message()
	require.Regexp(t, `apps/web/web.yaml:\d+:\d+: evaluate: .*\nno result within \S+, with 0 requests waiting`, message)
	limit, err := time.ParseDuration(regexp.MustCompile(`no result within (\S+), with`).FindStringSubmatch(message)[1])
	require.NoError(t, err)
	require.LessOrEqual(t, limit, shortDeadline-time.Second, "it leaves a second to answer in, however late the request came in")
	require.Greater(t, limit, shortDeadline/4)
}
