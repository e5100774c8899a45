// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/ropewalk/ropewalk/source"
)

// cosign is the provider of signatures of artifacts.
const cosign = "cosign"

// fault is an error about a reference.
func fault(is error, r reference, text string, args ...any) error {
	return source.Refuse(is, r.String()+": "+fmt.Sprintf(text, args...))
}

// about has an error name the reference, once.
func about(r reference, err error) error {
	if strings.HasPrefix(err.Error(), r.String()) {
		return err
	}
	return fmt.Errorf("%s: %w", r, err)
}

// explain has an error of a repository name the reference.
func (f Fetcher) explain(err error, r reference) error {
	switch {
	case f.Explain != nil:
		return f.Explain(err, r.String())
	case errors.Is(err, errdef.ErrNotFound):
		return fault(source.ErrAbsent, r, "%v", err)
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData):
		return fault(source.ErrDigest, r, "%v", err)
	}
	return about(r, err)
}

// unsigned is the error of a verifier: whatever does not say that it could not
// be found out says that there is no signature that counts.
func unsigned(err error) error {
	for _, other := range []error{
		source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return err
		}
	}
	return source.Refuse(source.ErrSignature, err.Error())
}

// publicKeys are the entries of a Secret that are public keys by their name.
func publicKeys(secret map[string][]byte) map[string][]byte {
	keys := map[string][]byte{}
	for name, data := range secret {
		if strings.HasSuffix(name, ".pub") {
			keys[name] = data
		}
	}
	return keys
}
