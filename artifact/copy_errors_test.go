// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestAnErrorOfACopyIsOfItsOwnSide(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a", 9<<20)
	wanted := servers.Answer(http.StatusUnauthorized, "UNAUTHORIZED", "log in")
	at := func(part string, answer http.Handler) servers.Fault {
		return func(r *http.Request) (http.Handler, bool) { return answer, strings.Contains(r.URL.Path, part) }
	}
	for name, tt := range map[string]struct {
		reference string
		from, to  func(o *servers.OCI) servers.Fault
		source    bool
		is        error
	}{
		"the source has no such tag":        {reference: "v9", source: true, is: artifact.ErrNotFound},
		"the source wants credentials":      {from: func(*servers.OCI) servers.Fault { return at("/v2/", wanted) }, source: true},
		"both want credentials":             {from: func(*servers.OCI) servers.Fault { return at("/v2/", wanted) }, to: func(*servers.OCI) servers.Fault { return at("/v2/", wanted) }, source: true},
		"the destination wants credentials": {to: func(*servers.OCI) servers.Fault { return at("/v2/", wanted) }},
		"the destination takes no blobs":    {to: func(*servers.OCI) servers.Fault { return at("/blobs/uploads", wanted) }},
		"the destination takes no manifests": {to: func(*servers.OCI) servers.Fault {
			return func(r *http.Request) (http.Handler, bool) {
				return wanted, r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
			}
		}},
		"the source lost a blob": {from: func(*servers.OCI) servers.Fault {
			return func(r *http.Request) (http.Handler, bool) {
				return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "gone"), strings.Contains(r.URL.Path, "/blobs/")
			}
		}, source: true, is: artifact.ErrDamaged},
		"a blob of the source that is streamed was altered": {from: func(o *servers.OCI) servers.Fault {
			flip := func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b }
			return at("/blobs/", servers.Alter(o.Server(), flip))
		}, source: true, is: artifact.ErrDigest},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := servers.InProcess(t), servers.InProcess(t)
			raw(t, repository(from, "shop"), artifact.TypeLayer, []byte(large), "v1", nil)
			if tt.from != nil {
				from.Fault(tt.from(from))
			}
			if tt.to != nil {
				to.Fault(tt.to(to))
			}
			reference := "v1"
			if tt.reference != "" {
				reference = tt.reference
			}
			_, err := artifact.Copy(t.Context(), repository(from, "shop"), repository(to, "mirror"), reference, artifact.CopyOptions{Tags: []string{"v2"}})
			require.Error(t, err)
			var of *artifact.SourceError
			if tt.source {
				require.ErrorAs(t, err, &of)
			} else {
				require.NotErrorAs(t, err, &of)
				require.NotContains(t, err.Error(), `"v1"`, "the destination knows the tag under another name")
			}
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}

func TestACheckedCopyFindsWhatARegistryLostOfWhatIsAttached(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	set := artifacts.Layered(t, "a", "b", "")
	from := openLayout(t, t.TempDir())
	artifacts.Push(t, from, set, "v1")
	signed, err := artifact.SignSet(t.Context(), from, "v1", signer)
	require.NoError(t, err)
	for name, o := range map[string]*servers.OCI{
		"in process": servers.InProcess(t), "without the referrers API": servers.InProcess(t, servers.NoReferrers()), "docker-registry": servers.Registry(t),
	} {
		for what, path := range map[string]string{
			"the manifest of a signature": "/manifests/" + signed[1].Signature, "the content of a signature": "/blobs/" + layerOf(t, from, signed[0].Signature),
		} {
			t.Run(name+" lost "+what, func(t *testing.T) {
				opts := artifact.CopyOptions{Referrers: true, Check: true, At: time.Now()}
				_, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				loseAt(o, path)
				copied, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				require.True(t, copied.Changed)
				require.Len(t, copied.Referrers, 1, "only what is gone")
				again, err := artifact.Copy(t.Context(), from, repository(o, "shop"), "v1", opts)
				require.NoError(t, err)
				require.False(t, again.Changed)
				_, err = artifact.VerifySet(t.Context(), repository(o, "shop"), "v1", verifier)
				require.NoError(t, err)
				o.Fault(nil)
			})
		}
	}
}

func TestContentThatIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	o := servers.InProcess(t)
	set := artifacts.Single(t, "a", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	lose(o, set.Complete.Layer.Digest.String())
	_, err := artifact.Pull(t.Context(), repository(o, "shop"), "v1", artifact.PullOptions{})
	require.ErrorIs(t, err, artifact.ErrDamaged)
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.ErrorContains(t, err, set.Complete.Layer.Digest.String()+" is referenced there but missing: copy the artifact again")
}
