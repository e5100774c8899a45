// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// rounds is how often what must not depend on luck is done.
const rounds = 3

// withoutReferrers are both kinds of registry that keep lists under tags.
func withoutReferrers(t *testing.T) map[string]*servers.OCI {
	t.Helper()
	return map[string]*servers.OCI{
		"in process": servers.InProcess(t, servers.NoReferrers()), "docker-registry": servers.Registry(t),
	}
}

// people are n who sign with keys of their own.
func people(t *testing.T, n int) (signers []*signature.Signer, verifiers []*signature.Verifier) {
	t.Helper()
	for range n {
		signer, verifier, _, _ := keys(t)
		signers, verifiers = append(signers, signer), append(verifiers, verifier)
	}
	return signers, verifiers
}

func TestManySignAndCopyAtOnce(t *testing.T) {
	t.Parallel()
	const many = 4
	signers, verifiers := people(t, 2*many)
	o := servers.InProcess(t)
	set := artifacts.Layered(t, "a", "b", "")
	artifacts.Push(t, repository(o, "to"), set, "v1")
	var group errgroup.Group
	for i := range many {
		from := openLayout(t, t.TempDir())
		artifacts.Push(t, from, set, "v1")
		_, err := artifact.SignSet(t.Context(), from, "v1", signers[i])
		require.NoError(t, err)
		group.Go(func() error {
			_, err := artifact.Copy(t.Context(), from, repository(o, "to"), "v1", artifact.CopyOptions{Referrers: true, Check: true, At: time.Now()})
			return err
		})
		group.Go(func() error {
			_, err := artifact.SignSet(t.Context(), repository(o, "to"), "v1", signers[many+i])
			return err
		})
	}
	require.NoError(t, group.Wait())
	for i, verifier := range verifiers {
		_, err := artifact.VerifySet(t.Context(), repository(o, "to"), "v1", verifier)
		require.NoError(t, err, "number %d", i)
	}
}

func TestManyFirstPushesAtOnceSucceed(t *testing.T) {
	t.Parallel()
	o := servers.Registry(t)
	for round := range rounds {
		for name, same := range map[string]bool{"same": true, "other": false} {
			t.Run(fmt.Sprint(name, round), func(t *testing.T) {
				t.Parallel()
				repo := fmt.Sprintf("%s%d", name, round)
				var group errgroup.Group
				for i := range 8 {
					content := fmt.Sprint(round)
					if !same {
						content = fmt.Sprint(round, i)
					}
					set := artifacts.Layered(t, content, content+"x", "")
					group.Go(func() error {
						_, err := artifact.Push(t.Context(), repository(o, repo), set, []string{"latest", fmt.Sprint("v", i)}, artifact.PushOptions{At: at})
						return err
					})
				}
				require.NoError(t, group.Wait(), repo)
				for i := range 8 {
					_, err := artifact.Pull(t.Context(), repository(o, repo), fmt.Sprint("v", i), artifact.PullOptions{})
					require.NoError(t, err, repo)
				}
			})
		}
	}
}

func TestARegistryThatLosesWhatItWasSentIsNamed(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry"), r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
	})
	_, err := artifact.Push(t.Context(), repository(o, "shop"), artifacts.Single(t, "a", ""), []string{"v1"}, artifact.PushOptions{})
	require.ErrorIs(t, err, artifact.ErrBusy)
	require.ErrorContains(t, err, "reports that it does not have it (400)")
	require.NotErrorIs(t, err, artifact.ErrDigest)
}
