// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"maps"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// Annotations and types of signatures, as cosign writes them.
const (
	// annotationContent and annotationPredicate stand at the manifest of a bundle
	// (BUNDLE_SPEC of cosign).
	annotationContent   = "dev.sigstore.bundle.content"
	annotationPredicate = "dev.sigstore.bundle.predicateType"
	contentEnvelope     = "dsse-envelope"
	// typeSimple is the type of a layer that is a payload of cosign v2, and
	// annotationSimple the annotation that holds its signature.
	typeSimple       = "application/vnd.dev.cosign.simplesigning.v1+json"
	annotationSimple = "dev.cosignproject.cosign/signature"

	// maxSignatures limits the signatures of one manifest that are tried.
	maxSignatures = 64
)

// Signed is a manifest and the referrer that signs it.
type Signed struct {
	Digest    string `json:"digest"`
	Signature string `json:"signature"`
}

// SignSet signs the artifact at a tag or a digest and each barrier layer that it
// names. Signing again with the same key changes nothing. Other clients may sign at
// the same time, see [Attach].
func SignSet(ctx context.Context, store Store, reference string, signer *signature.Signer) ([]Signed, error) {
	subjects, err := listMembers(ctx, store, reference)
	if err != nil {
		return nil, err
	}
	out := make([]Signed, 0, len(subjects))
	for _, subject := range subjects {
		text, err := statement.Signature(statement.Subject{Digest: subject.Digest.String()})
		if err != nil {
			return nil, manifest.About(reference, err)
		}
		d, err := AttachStatement(ctx, store, subject, text, statement.PredicateSignature, signer)
		if err != nil {
			return nil, manifest.About(reference, err)
		}
		out = append(out, Signed{Digest: subject.Digest.String(), Signature: d.Digest.String()})
	}
	return out, nil
}

// AttachStatement attaches an in-toto statement to its subject. The statement is signed, as a
// Sigstore bundle, or attached unsigned if signer is nil. Graphs, provenance and SBOMs are attached
// this way.
func AttachStatement(
	ctx context.Context, dst Store, subject ocispec.Descriptor, text []byte, predicateType string, signer *signature.Signer,
) (ocispec.Descriptor, error) {
	r := Referrer{ArtifactType: statement.MediaType, Data: text, Annotations: map[string]string{annotationPredicate: predicateType}}
	if signer != nil {
		bundle, err := signer.Sign(text)
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		r.ArtifactType, r.Data = signature.BundleType, bundle
		r.Annotations[annotationContent] = contentEnvelope
	}
	return Attach(ctx, dst, subject, r)
}

// VerifySet checks that the artifact at a tag or a digest, and each barrier layer that it
// names, is signed by a known key. It returns their digests. The error is ErrSignature where
// one is not signed.
func VerifySet(ctx context.Context, store Store, reference string, keys *signature.Verifier) ([]string, error) {
	subjects, err := listMembers(ctx, store, reference)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(subjects))
	for _, subject := range subjects {
		if err := Verify(ctx, store, subject, keys); err != nil {
			return nil, manifest.About(reference, err)
		}
		out = append(out, subject.Digest.String())
	}
	return out, nil
}

// listMembers returns the manifests of a set: the complete artifact and its barrier layers.
func listMembers(ctx context.Context, store Store, reference string) ([]ocispec.Descriptor, error) {
	if err := checkReference(reference); err != nil {
		return nil, err
	}
	complete, err := lookUp(ctx, store, reference)
	if err != nil {
		return nil, err
	}
	refs, err := layerRefs(complete.Manifest)
	if err != nil {
		return nil, manifest.About(reference, err)
	}
	out := []ocispec.Descriptor{complete.desc}
	for _, r := range refs {
		d, exists, err := resolve(ctx, store, r.Digest)
		if err != nil {
			return nil, manifest.About(reference, err)
		}
		if !exists {
			return nil, manifest.Refuse(ErrNotFound, "%.200q: its layer %.100q (%s) is not there: copy or push it again",
				reference, r.Name, r.Digest)
		}
		out = append(out, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
	}
	return out, nil
}

// Verifier checks signatures for fetchers of OCI sources.
type Verifier struct{}

// Verify checks that a manifest is signed by one of the keys, which are public
// keys in PEM by the names of their entries in a Secret.
func (Verifier) Verify(ctx context.Context, src Reader, manifest ocispec.Descriptor, keys map[string][]byte) error {
	pems := make([][]byte, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		pems = append(pems, keys[name])
	}
	v, err := signature.ParsePublicKeys(pems...)
	if err != nil {
		return err
	}
	return Verify(ctx, src, manifest, v)
}

// Verify checks that a manifest is signed by a known key: by a Sigstore bundle
// that refers to it, or by a signature of cosign v2 under its tag. The signed
// text must be about the digest of the manifest, and must be a signature and no
// other attestation. Signatures by other keys are no harm.
//
// An error is ErrSignature, or comes from the store: a registry that does not answer may have a
// signature.
func Verify(ctx context.Context, src Reader, manifest ocispec.Descriptor, keys *signature.Verifier) error {
	subject := manifest.Digest.String()
	refused, err := verifyBundles(ctx, src, manifest, keys)
	if refused == nil || err != nil {
		return err
	}
	simple, err := verifySimple(ctx, src, manifest, keys)
	if simple == nil || err != nil {
		return err
	}
	switch none := errNone(subject); {
	case !errors.Is(refused, errNothing):
		return refused
	case !errors.Is(simple, errNothing):
		return simple
	default:
		return none
	}
}

// errNothing: there is no signature to verify.
var errNothing = errors.New("no signature")

func errNone(subject string) error {
	return manifest.Refuse(ErrSignature, "%s has no signature: sign it, or copy it with its referrers", subject)
}

// verifyBundles looks for a bundle that is a signature of subject. It returns nil for refused if it
// finds a bundle, and otherwise the reason. err is the error of the store.
func verifyBundles(ctx context.Context, src Reader, subject ocispec.Descriptor, keys *signature.Verifier) (refused, err error) {
	list, err := Referrers(ctx, src, subject, signature.BundleType)
	if err != nil {
		return nil, err
	}
	// Those that say of themselves that they are signatures come first, so that
	// many attestations cannot crowd them out.
	isSignature := func(d ocispec.Descriptor) int {
		if d.Annotations[annotationPredicate] == statement.PredicateSignature {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b ocispec.Descriptor) int { return isSignature(a) - isSignature(b) })

	// The reason for the most likely signature is the one that is reported.
	refused = errNothing
	for i, d := range list {
		if i == maxSignatures {
			break
		}
		data, err := ReadReferrer(ctx, src, subject, d, signature.MaxSignature)
		if err == nil {
			err = keys.Signature(data, subject.Digest.String())
		}
		switch {
		case err == nil:
			return nil, nil
		case !isSignatureError(err):
			return nil, err
		case i == 0:
			refused = asSignature(err)
		}
	}
	return refused, nil
}

// isSignatureError reports whether an error is one of a signature, and not of the store
// or the network.
func isSignatureError(err error) bool {
	for _, is := range []error{signature.ErrSignature, signature.ErrMalformed, ErrShape, ErrLimit, ErrDigest, ErrNotFound} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// asSignature returns an error that matches ErrSignature, whatever the reason for which a
// signature does not count.
func asSignature(err error) error {
	if errors.Is(err, ErrSignature) {
		return err
	}
	return manifest.Refuse(ErrSignature, "invalid signature: %s", err)
}

// verifySimple looks for a signature of cosign v2, as [verifyBundles] does for bundles.
func verifySimple(ctx context.Context, src Reader, subject ocispec.Descriptor, keys *signature.Verifier) (refused, err error) {
	d, exists, err := resolve(ctx, src, simpleTag(subject))
	if err != nil {
		return nil, err
	}
	if !exists {
		return errNothing, nil
	}

	// The image under the tag may be of anyone: what cannot be read is no signature.
	m, _, err := manifest.Read(ctx, src, d)
	if err != nil {
		if isSignatureError(err) {
			return asSignature(err), nil
		}
		return nil, err
	}

	// Each layer is one signature.
	refused = errNothing
	for i, l := range m.Layers {
		if l.MediaType != typeSimple || l.Annotations[annotationSimple] == "" {
			continue
		}
		if i == maxSignatures {
			break
		}
		payload, err := manifest.ReadAll(ctx, src, l, signature.MaxSignature)
		if err == nil {
			err = keys.Simple(payload, l.Annotations[annotationSimple], subject.Digest.String())
		}
		switch {
		case err == nil:
			return nil, nil
		case !isSignatureError(err):
			return nil, err
		}
		refused = asSignature(err)
	}
	return refused, nil
}
