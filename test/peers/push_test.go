// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/servers"
)

// manifests are n objects of about a kilobyte that compress as badly as any.
func manifests(n int) fstest.MapFS {
	out := fstest.MapFS{}
	random := rand.NewChaCha8([32]byte{2})
	value := make([]byte, 512)
	for i := range n {
		_, _ = random.Read(value) // it never fails
		out[fmt.Sprintf("configmap-%04d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {value: %q}\n", i, hex.EncodeToString(value))}
	}
	return out
}

// pushers push the same artifact, which is packed and in memory. crane is not
// among them: it makes a manifest of its own.
func pushers(b *testing.B, at string) []copier {
	b.Helper()
	set, err := artifact.PackSet(manifests(500), nil, artifact.Options{Source: "https://example.com/shop.git", Revision: "main"})
	require.NoError(b, err)
	repo, err := repository(at)
	require.NoError(b, err)
	_, err = artifact.Push(b.Context(), repo, set, []string{"v1"}, artifact.PushOptions{})
	require.NoError(b, err)
	held := memory.New()
	_, err = oras.Copy(b.Context(), repo, "v1", held, "v1", oras.DefaultCopyOptions)
	require.NoError(b, err)
	return []copier{
		{"ropewalk", func(ctx context.Context, _, to string) error {
			repo, err := repository(to)
			if err == nil {
				_, err = artifact.Push(ctx, repo, set, []string{"v1"}, artifact.PushOptions{})
			}
			return err
		}},
		{"oras", func(ctx context.Context, _, to string) error {
			repo, err := repository(to)
			if err == nil {
				_, err = oras.Copy(ctx, held, "v1", repo, "v1", oras.DefaultCopyOptions)
			}
			return err
		}},
	}
}

// BenchmarkPushFresh pushes to a repository that is empty each time.
func BenchmarkPushFresh(b *testing.B) { benchmarkPushes(b, true) }

// BenchmarkPushNoOp pushes what is there already.
func BenchmarkPushNoOp(b *testing.B) { benchmarkPushes(b, false) }

func benchmarkPushes(b *testing.B, fresh bool) {
	for _, latency := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(latency.String(), func(b *testing.B) {
			from, to := servers.InProcess(b), servers.InProcess(b)
			takeTurns(b, from, to, pushers(b, from.Host+"/shop"), latency, fresh)
		})
	}
}
