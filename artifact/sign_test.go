// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"strconv"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/test/artifacts"
	"github.com/ropewalk/ropewalk/test/servers"
)

// keys are a key pair: who signs, who verifies, and the PEM of both.
func keys(t testing.TB) (*signature.Signer, *signature.Verifier, []byte, []byte) {
	t.Helper()
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	signer, err := signature.ParsePrivateKey(private, nil)
	require.NoError(t, err)
	verifier, err := signature.ParsePublicKeys(public)
	require.NoError(t, err)
	return signer, verifier, private, public
}

func TestASignedSetVerifiesAlsoWhereItIsCopiedTo(t *testing.T) {
	t.Parallel()
	signer, verifier, _, public := keys(t)
	_, stranger, _, _ := keys(t)
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Layered(t, "a", "b", "")
		artifacts.Push(t, open("from"), set, "v1")
		_, err := artifact.VerifySet(ctx, open("from"), "v1", verifier)
		require.ErrorIs(t, err, artifact.ErrSignature)
		require.ErrorContains(t, err, "has no signature: sign it, or copy it with its referrers")

		signed, err := artifact.SignSet(ctx, open("from"), "v1", signer)
		require.NoError(t, err)
		require.Len(t, signed, 3)
		again, err := artifact.SignSet(ctx, open("from"), "v1", signer)
		require.NoError(t, err)
		require.Equal(t, signed, again)
		require.Len(t, digests(t, open("from"), set.Complete.Descriptor), 1)

		verified, err := artifact.VerifySet(ctx, open("from"), "v1", verifier)
		require.NoError(t, err)
		require.Len(t, verified, 3)
		_, err = artifact.VerifySet(ctx, open("from"), "v1", stranger)
		require.ErrorIs(t, err, artifact.ErrSignature)
		require.ErrorContains(t, err, "made by none of the given keys")

		_, err = artifact.Copy(ctx, open("from"), open("plain"), "v1", artifact.CopyOptions{})
		require.NoError(t, err)
		_, err = artifact.VerifySet(ctx, open("plain"), "v1", verifier)
		require.ErrorIs(t, err, artifact.ErrSignature)
		_, err = artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true})
		require.NoError(t, err)
		_, err = artifact.VerifySet(ctx, open("to"), "v1", verifier)
		require.NoError(t, err)
		require.NoError(t, artifact.Verifier{}.Verify(ctx, open("to"), set.Complete.Descriptor, map[string][]byte{"cosign.pub": public}))
		require.Error(t, artifact.Verifier{}.Verify(ctx, open("to"), set.Complete.Descriptor, nil))
	})
}

func TestAttestationsComeBackAndAreNoSignatures(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	other, _, _, _ := keys(t)
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Single(t, "a", "")
		artifacts.Push(t, open("shop"), set, "v1")
		subject := set.Complete.Descriptor
		graph, err := statement.Graph([]byte(`{"nodes":[]}`), statement.Subject{Digest: subject.Digest.String()})
		require.NoError(t, err)
		_, err = artifact.AttachStatement(ctx, open("shop"), subject, graph, statement.PredicateGraph, signer)
		require.NoError(t, err)
		_, err = artifact.AttachStatement(ctx, open("shop"), subject, graph, statement.PredicateGraph, other)
		require.NoError(t, err)
		_, err = artifact.AttachStatement(ctx, open("shop"), subject, graph, statement.PredicateGraph, nil)
		require.NoError(t, err)
		got := artifacts.Attestations(t, open("shop"), subject, statement.PredicateGraph, verifier)
		require.Len(t, got, 1, "those by other keys, and by none, do not count")
		require.JSONEq(t, `{"nodes":[]}`, string(got[0].Predicate))
		require.ErrorIs(t, artifact.Verify(ctx, open("shop"), subject, verifier), artifact.ErrSignature)
		list, err := artifact.Referrers(ctx, open("shop"), subject, statement.MediaType)
		require.NoError(t, err)
		require.Len(t, list, 1)
		data, err := artifact.ReadReferrer(ctx, open("shop"), subject, list[0], 0)
		require.NoError(t, err)
		require.Equal(t, string(graph), string(data))
	})
}

func TestASignatureOfAnotherArtifactIsNone(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	l := openLayout(t, t.TempDir())
	ctx := t.Context()
	good, evil := artifacts.Single(t, "good", ""), artifacts.Single(t, "evil", "")
	artifacts.Push(t, l, good, "good")
	artifacts.Push(t, l, evil, "evil")
	text, err := statement.Signature(statement.Subject{Digest: good.Complete.Descriptor.Digest.String()})
	require.NoError(t, err)
	_, err = artifact.AttachStatement(ctx, l, evil.Complete.Descriptor, text, statement.PredicateSignature, signer)
	require.NoError(t, err)
	_, err = artifact.VerifySet(ctx, l, "evil", verifier)
	require.ErrorIs(t, err, artifact.ErrSignature)
	require.ErrorContains(t, err, "the artifact was altered or exchanged")
	_, err = artifact.Attach(ctx, l, good.Complete.Descriptor, artifact.Referrer{ArtifactType: signature.BundleType, Data: []byte("no bundle")})
	require.NoError(t, err)
	_, err = artifact.VerifySet(ctx, l, "good", verifier)
	require.ErrorIs(t, err, artifact.ErrSignature)
	_, err = artifact.SignSet(ctx, l, "good", signer)
	require.NoError(t, err)
	_, err = artifact.VerifySet(ctx, l, "good", verifier)
	require.NoError(t, err, "what is no signature is no harm")
}

func TestARegistryThatDoesNotAnswerIsNoMissingSignature(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	o := servers.InProcess(t)
	set := artifacts.Single(t, "a", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	_, err := artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
	require.NoError(t, err)
	for _, part := range []string{"/referrers/", "/manifests/", "/blobs/"} {
		o.Fault(func(r *http.Request) (http.Handler, bool) {
			return servers.Answer(http.StatusServiceUnavailable, "UNAVAILABLE", "later"), strings.Contains(r.URL.Path, part)
		})
		repo := repository(o, "shop")
		repo.Client = http.DefaultClient // without retries
		err := artifact.Verify(t.Context(), repo, set.Complete.Descriptor, verifier)
		require.ErrorContains(t, err, "503", part)
		require.NotErrorIs(t, err, artifact.ErrSignature)
	}
}

// simple signs as cosign v2 does.
func simple(t testing.TB, to artifact.Store, subject ocispec.Descriptor, private []byte, digest string) {
	t.Helper()
	block, _ := pem.Decode(private)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	payload := []byte(`{"critical":{"identity":{"docker-reference":"x/shop"},"image":{"docker-manifest-digest":"` + digest + `"},"type":"cosign container image signature"},"optional":null}`)
	sum := sha256.Sum256(payload)
	made, err := ecdsa.SignASN1(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
	require.NoError(t, err)
	raw(t, to, "application/vnd.dev.cosign.simplesigning.v1+json", payload, strings.Replace(subject.Digest.String(), ":", "-", 1)+".sig", func(m string) string {
		return strings.Replace(m, `"size":`+strconv.Itoa(len(payload)), `"size":`+strconv.Itoa(len(payload))+
			`,"annotations":{"dev.cosignproject.cosign/signature":"`+base64.StdEncoding.EncodeToString(made)+`"}`, 1)
	})
}

func TestSignaturesOfCosignV2Count(t *testing.T) {
	t.Parallel()
	_, verifier, private, _ := keys(t)
	_, _, strange, _ := keys(t)
	each(t, func(t *testing.T, open func(string) artifact.Store) {
		ctx := t.Context()
		set := artifacts.Single(t, "a", "")
		subject := set.Complete.Descriptor
		artifacts.Push(t, open("from"), set, "v1")
		simple(t, open("from"), subject, strange, subject.Digest.String())
		require.ErrorIs(t, artifact.Verify(ctx, open("from"), subject, verifier), artifact.ErrSignature)
		simple(t, open("from"), subject, private, "sha256:"+strings.Repeat("0", 64))
		require.ErrorIs(t, artifact.Verify(ctx, open("from"), subject, verifier), artifact.ErrSignature)
		simple(t, open("from"), subject, private, subject.Digest.String())
		require.NoError(t, artifact.Verify(ctx, open("from"), subject, verifier))
		_, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true})
		require.NoError(t, err)
		require.NoError(t, artifact.Verify(ctx, open("to"), subject, verifier))
		again, err := artifact.Copy(ctx, open("from"), open("to"), "v1", artifact.CopyOptions{Referrers: true, Check: true})
		require.NoError(t, err)
		require.False(t, again.Changed)
		seen, err := artifact.Inspect(ctx, open("to"), "v1", artifact.PullOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, seen.Simple)
	})
}

func TestAChangedByteFails(t *testing.T) {
	t.Parallel()
	signer, verifier, _, _ := keys(t)
	o := servers.InProcess(t)
	set := artifacts.Single(t, "a", "")
	artifacts.Push(t, repository(o, "shop"), set, "v1")
	_, err := artifact.SignSet(t.Context(), repository(o, "shop"), "v1", signer)
	require.NoError(t, err)
	// The registry gives another manifest under the tag: its own digest is right,
	// and nobody signed it.
	evil := bytes.Replace(set.Complete.Manifest, []byte("1970"), []byte("1971"), 1)
	require.NoError(t, repository(o, "shop").PushReference(t.Context(), describe(artifact.TypeManifest, evil), bytes.NewReader(evil), "v1"))
	_, err = artifact.VerifySet(t.Context(), repository(o, "shop"), "v1", verifier)
	require.ErrorIs(t, err, artifact.ErrSignature)
	// And here the signature is altered on its way.
	o.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Alter(o.Server(), func(b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b }), strings.Contains(r.URL.Path, "/blobs/")
	})
	_, err = artifact.VerifySet(t.Context(), repository(o, "shop"), set.Complete.Descriptor.Digest.String(), verifier)
	require.ErrorIs(t, err, artifact.ErrSignature)
}
