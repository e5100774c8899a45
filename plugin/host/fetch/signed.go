// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Signed caches which modules were verified, by the digest of their content and by the
// keys; nil caches nothing.
type Signed = lru.Cache[[sha256.Size]byte, struct{}]

// NewSigned returns an empty cache.
func NewSigned() *Signed { return lru.New[[sha256.Size]byte, struct{}](10_000) }

// requiredSignatures checks the dependencies of a module against the policy, before any is
// requested. It returns the signatures that the policy requires of each, by path@version. The
// error has all that are refused.
func (o Options) requiredSignatures(registry *modules.Registry, tree source.Tree) (map[string][]pullpolicy.Signature, error) {
	if o.Guard.Policy == nil {
		return nil, nil
	}
	all, err := registry.Needs(tree)
	if err != nil {
		return nil, err
	}
	required := map[string][]pullpolicy.Signature{}
	var refused []error
	for _, d := range all {
		signatures, err := o.Guard.Judge(source.Ref{Type: source.TypeOCI, Ref: d.Origin})
		if err != nil && d.Origin == "" {
			err = source.Refuse(pullpolicy.ErrRefused, "the pull policy cannot be applied: no registry is configured for this module; set one in CUE_REGISTRY")
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("dependency %q: %w", d.String(), err))
		}
		required[d.String()] = signatures
	}
	return required, errors.Join(refused...)
}

// verify verifies the required signatures of the modules that were fetched.
func (o Options) verify(ctx context.Context, all []modules.Dependency, required map[string][]pullpolicy.Signature) error {
	for _, d := range all {
		for _, s := range required[d.String()] {
			if err := o.verifySignature(ctx, d, s); err != nil {
				return fmt.Errorf("dependency %q: rule %q of the pull policy requires a signature: %w", d.String(), s.Rule, err)
			}
		}
	}
	return nil
}

// verifySignature verifies a module in its registry: a signature is that of a manifest, and the
// manifest must reference the zip that was fetched.
func (o Options) verifySignature(ctx context.Context, d modules.Dependency, s pullpolicy.Signature) error {
	// A signature that was verified stays valid.
	key := signatureKey(d, s)
	if _, ok := o.Signed.Get(key); ok {
		return nil
	}
	if o.Offline {
		return source.Refuse(source.ErrSignature, "signatures cannot be verified offline")
	}

	// The manifest comes from the registry that the module came from.
	repository, tag, ok := cutTag(d.Origin)
	if !ok {
		return source.Refuse(source.ErrSignature, "no registry is configured for it")
	}
	r, err := o.Registries()
	if err != nil {
		return err
	}
	repo, err := r.Repository(ctx, repository, nil)
	if err != nil {
		return err
	}
	manifest, content, err := repo.FetchReference(ctx, tag)
	if err != nil {
		return remote.Explain(err, d.Origin)
	}
	data, err := io.ReadAll(content)
	err = errors.Join(err, content.Close())
	if err != nil {
		return remote.Explain(err, d.Origin)
	}

	// The manifest must have its digest, and be that of the module.
	var of struct {
		Layers []struct{ Digest string }
	}
	switch {
	case digest.FromBytes(data) != manifest.Digest:
		return source.Refuse(source.ErrDigest, d.Origin+": its manifest does not match its digest")
	case json.Unmarshal(data, &of) != nil || len(of.Layers) == 0 || of.Layers[0].Digest != d.Digest:
		return source.Refuse(source.ErrDigest, fmt.Sprintf("%s does not match the module that was fetched, %s", d.Origin, d.Digest))
	}

	// A server that does not answer is no violation.
	if err := (artifact.Verifier{}).Verify(ctx, repo, manifest, s.Keys); err != nil {
		err = remote.Explain(err, d.Origin)
		for _, is := range []error{source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, context.Canceled, context.DeadlineExceeded} {
			if errors.Is(err, is) {
				return err
			}
		}
		if o.Guard.Refused != nil {
			o.Guard.Refused(s.Rule)
		}
		return source.Refuse(source.ErrSignature, err.Error())
	}
	o.Signed.Put(key, struct{}{}, 1)
	return nil
}

// signatureKey returns a key that is equal for equal content and equal keys.
func signatureKey(d modules.Dependency, s pullpolicy.Signature) (key [sha256.Size]byte) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%q %q\n", d.String(), d.Digest) // a hash never fails
	for _, name := range slices.Sorted(maps.Keys(s.Keys)) {
		_, _ = fmt.Fprintf(sum, "%q\n", s.Keys[name]) // as above
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// cutTag splits the repository and the tag of an origin: oci://host/repository:tag.
func cutTag(origin string) (repository, tag string, ok bool) {
	rest, ok := strings.CutPrefix(origin, "oci://")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < strings.LastIndexByte(rest, '/') || at < 0 {
		return "", "", false
	}
	return rest[:at], rest[at+1:], true
}
