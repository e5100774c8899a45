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

// fault returns an error about a reference that matches is.
func fault(is error, r reference, text string, args ...any) error {
	return source.Refuse(is, r.String()+": "+fmt.Sprintf(text, args...))
}

// about puts the reference before an error, unless it is there already.
func about(r reference, err error) error {
	if strings.HasPrefix(err.Error(), r.String()) {
		return err
	}
	return fmt.Errorf("%s: %w", r, err)
}

// explain maps an error of a repository to the sentinels of source, and names the reference.
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

// asSignatureError returns the error of a verifier as ErrSignature. Only an error that says
// that nothing could be found out, such as one of the network, stays as it is.
func asSignatureError(err error) error {
	for _, other := range []error{
		source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return err
		}
	}
	return source.Refuse(source.ErrSignature, err.Error())
}

// publicKeys returns the entries of a Secret that have names of public keys.
func publicKeys(secret map[string][]byte) map[string][]byte {
	keys := map[string][]byte{}
	for name, data := range secret {
		if strings.HasSuffix(name, ".pub") {
			keys[name] = data
		}
	}
	return keys
}
