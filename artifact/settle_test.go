// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
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

func TestNoneOfManyWhoSignAtOnceIsLost(t *testing.T) {
	t.Parallel()
	const many = 6
	signers, verifiers := people(t, many)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				repo := fmt.Sprintf("shop%d", round)
				set := layered(t, "a", fmt.Sprint(round), "")
				push(t, repository(o, repo), set, "v1")
				var group errgroup.Group
				for _, signer := range signers {
					// Each has a connection of its own, as a process has.
					group.Go(func() error {
						_, err := artifact.SignSet(t.Context(), repository(o, repo), "v1", signer)
						return err
					})
				}
				require.NoError(t, group.Wait())
				for i, verifier := range verifiers {
					_, err := artifact.VerifySet(t.Context(), repository(o, repo), "v1", verifier)
					require.NoError(t, err, "round %d, who signed as number %d", round, i)
				}
				require.Len(t, digests(t, repository(o, repo), set.Whole.Descriptor), many)
			}
		})
	}
}

func TestNothingIsLostOfManyWhoPushTheSameAndAttachAtOnce(t *testing.T) {
	t.Parallel()
	const many = 4
	signers, verifiers := people(t, many)
	for name, o := range withoutReferrers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := whole(t, "a", "")
			subject := set.Whole.Descriptor
			about := statement.Subject{Digest: subject.Digest.String()}
			graph, err := statement.Graph([]byte(`{"nodes":[]}`), about)
			require.NoError(t, err)
			list, err := statement.SBOM([]string{"docker.io/library/nginx:1"}, about)
			require.NoError(t, err)
			var group errgroup.Group
			for _, signer := range signers {
				group.Go(func() error {
					to := repository(o, "shop")
					for predicate, text := range map[string][]byte{statement.PredicateGraph: graph, statement.PredicateSBOM: list} {
						if err := attachOnce(t, to, set, text, predicate, signer); err != nil {
							return err
						}
					}
					return nil
				})
			}
			require.NoError(t, group.Wait())
			for _, verifier := range verifiers {
				for _, predicate := range []string{statement.PredicateGraph, statement.PredicateSBOM} {
					found, err := artifact.Attestations(t.Context(), repository(o, "shop"), subject, predicate, verifier)
					require.NoError(t, err)
					require.Len(t, found, 1, predicate)
				}
			}
		})
	}
}

// attachOnce pushes and attaches as a build does.
func attachOnce(t *testing.T, to artifact.Store, set artifact.Set, text []byte, predicate string, signer *signature.Signer) error {
	t.Helper()
	if _, err := artifact.Push(t.Context(), to, set, nil, artifact.PushOptions{At: at}); err != nil {
		return err
	}
	_, err := artifact.AttachStatement(t.Context(), to, set.Whole.Descriptor, text, predicate, signer)
	return err
}

func TestWhatAnotherWriterLeavesOutIsPutBack(t *testing.T) {
	t.Parallel()
	o := servers.Registry(t)
	set := whole(t, "a", "")
	subject := set.Whole.Descriptor
	push(t, repository(o, "shop"), set, "v1")
	first, err := artifact.Attach(t.Context(), repository(o, "shop"), subject, artifact.Referrer{ArtifactType: typeGraph, Data: []byte("a")})
	require.NoError(t, err)
	tag := "/v2/shop/manifests/" + strings.Replace(subject.Digest.String(), ":", "-", 1)
	// Between two looks at the list it is emptied, as one would who read it early.
	var looks atomic.Int64
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		if r.Method != http.MethodGet || r.URL.Path != tag {
			return nil, false
		}
		if looks.Add(1) == 5 {
			overwrite(t, o, tag)
		}
		return nil, false
	})
	second, err := artifact.Attach(t.Context(), repository(o, "shop"), subject, artifact.Referrer{ArtifactType: typeGraph, Data: []byte("b")})
	require.NoError(t, err)
	require.Greater(t, looks.Load(), int64(5))
	o.Fault(nil)
	require.ElementsMatch(t, []string{first.Digest.String(), second.Digest.String()}, digests(t, repository(o, "shop"), subject))
}

// overwrite empties a list behind the back of the proxy.
func overwrite(t *testing.T, o *servers.OCI, path string) {
	t.Helper()
	empty := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, o.URL+path, strings.NewReader(empty))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/vnd.oci.image.index.v1+json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
}

func TestManyFirstPushesAtOnceSucceed(t *testing.T) {
	t.Parallel()
	o := servers.Registry(t)
	for round := range 3 * rounds {
		for name, same := range map[string]bool{"same": true, "other": false} {
			repo := fmt.Sprintf("%s%d", name, round)
			var group errgroup.Group
			for i := range 8 {
				content := fmt.Sprint(round)
				if !same {
					content = fmt.Sprint(round, i)
				}
				set := layered(t, content, content+"x", "")
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
		}
	}
}

func TestARegistryThatLosesWhatItWasSentIsNamed(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry"), r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
	})
	_, err := artifact.Push(t.Context(), repository(o, "shop"), whole(t, "a", ""), []string{"v1"}, artifact.PushOptions{})
	require.ErrorIs(t, err, artifact.ErrBusy)
	require.ErrorContains(t, err, "says that it does not have it (400)")
	require.NotErrorIs(t, err, artifact.ErrDigest)
}
