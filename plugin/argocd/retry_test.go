// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

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

// fetched is a project whose module is fetched.
func fetched(t *testing.T) call {
	return call{archive: archive(t, texts(withRef(`{type: oci, ref: "localhost:1/m:v1"}`))), path: "apps/web", timeout: shortDeadline}
}

func TestAShortDeadlineIsUsedToItsEnd(t *testing.T) {
	t.Parallel() // it only waits
	begin := time.Now()
	opts := withFetcher(t, func(context.Context, source.Ref) (source.Tree, error) {
		if time.Since(begin) < shortDeadline*2/3 {
			return source.Tree{}, source.Refuse(source.ErrUnavailable, "the registry is down")
		}
		return source.Tree{}, source.Refuse(source.ErrAbsent, "the registry is back")
	})
	_, socket := start(t, opts)
	begin = time.Now()
	_, err := generate(t, socket, fetched(t))
	require.ErrorContains(t, err, "the registry is back")

	begin = begin.Add(time.Hour)
	start := time.Now()
	_, err = generate(t, socket, fetched(t))
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Less(t, time.Since(start), shortDeadline, "the answer comes inside of the deadline")
}

func TestWhatWasWrongIsSaidWhereTheLastAttemptHangs(t *testing.T) {
	t.Parallel() // it only waits
	first := true
	_, socket := start(t, withFetcher(t, func(ctx context.Context, _ source.Ref) (source.Tree, error) {
		if first {
			first = false
			return source.Tree{}, source.Refuse(source.ErrUnavailable, "the registry is down")
		}
		<-ctx.Done()
		return source.Tree{}, ctx.Err()
	}))
	_, err := generate(t, socket, fetched(t))
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "apps/web/web.yaml:5:")
	require.ErrorContains(t, err, "the registry is down")
}

func TestARequestThatIsLateSaysWhatItWasAt(t *testing.T) {
	t.Parallel() // it only waits
	pool, err := worker.NewPool(worker.Options{Size: 1, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Evaluator, opts.Workers, opts.Stores = pool, 1, nil
	_, socket := start(t, opts)
	hang, err := os.ReadFile("../../render/evaluate/worker/testdata/hostile/nested-for.cue")
	require.NoError(t, err)
	files := project("web")
	files["modules/m/m.cue"] = string(hang)
	_, err = generate(t, socket, call{archive: archive(t, texts(files)), path: "apps/web", timeout: shortDeadline})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	require.Regexp(t, `apps/web/web.yaml:\d+:\d+: evaluate: .*\nno result within \S+, with 0 requests waiting`, status.Convert(err).Message())
	leavesTime(t, err)
}

// leavesTime wants an error to say how much of a short deadline was used: no more than
// leaves a second to answer in, however late the request came in.
func leavesTime(t *testing.T, err error) {
	t.Helper()
	said := regexp.MustCompile(`no result within (\S+), with`).FindStringSubmatch(status.Convert(err).Message())
	require.NotEmpty(t, said, "%v", err)
	limit, err := time.ParseDuration(said[1])
	require.NoError(t, err)
	require.LessOrEqual(t, limit, shortDeadline-time.Second)
	require.Greater(t, limit, shortDeadline/4)
}

func TestAHostWithoutAnAddressIsTriedTwice(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	_, socket := start(t, withFetcher(t, func(context.Context, source.Ref) (source.Tree, error) {
		asked.Add(1)
		return source.Tree{}, source.Refuse(source.ErrUnavailable, `the host "x" has no address: correct the name, or try again later`)
	}))
	begin := time.Now()
	c := fetched(t)
	c.timeout = time.Minute
	_, err := generate(t, socket, c)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, int64(2), asked.Load())
	require.Less(t, time.Since(begin), 5*time.Second)
}
