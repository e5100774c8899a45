// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// KeysOf returns a function for Keys of a [Fetcher]. That function returns the SHA-256 of the
// public keys of a Secret with their names: *.pub, *.asc and allowed_signers, which are all that
// signatures are verified with. Nothing else of the Secret is hashed, because the keys of entries
// are written to disk. It returns the errors of secrets.
func KeysOf(secrets source.Secrets) func(ctx context.Context, name string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		entries, err := secrets.Secret(ctx, name)
		if err != nil {
			return "", err
		}
		sum := sha256.New()
		for _, entry := range slices.Sorted(maps.Keys(entries)) {
			if ext := path.Ext(entry); ext != ".pub" && ext != ".asc" && entry != "allowed_signers" {
				continue
			}
			_, _ = fmt.Fprintf(sum, "%q %q\n", entry, entries[entry])
		}
		return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
	}
}

// key returns the key of a reference: everything that decides which tree it is and which
// tenant may have it. The key is readable, for listings, and every part is quoted, so that no
// two references have the same key.
func (f *Fetcher) key(ctx context.Context, ref source.Ref) (string, error) {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%q %q scope %q", ref.Type, ref.Ref, f.Scope)
	if ref.Path != "" {
		_, _ = fmt.Fprintf(&b, " path %q", ref.Path)
	}
	if ref.Secret != "" {
		_, _ = fmt.Fprintf(&b, " secret %q", ref.Secret)
	}
	if ref.Verify == (source.Verify{}) {
		return b.String(), nil
	}
	_, _ = fmt.Fprintf(&b, " verify %q %q", ref.Verify.Provider, ref.Verify.Secret)
	if f.Keys == nil {
		return b.String(), nil
	}
	keys, err := f.Keys(ctx, ref.Verify.Secret)
	if err != nil {
		return "", err
	}
	_, _ = fmt.Fprintf(&b, " keys %q", keys)
	return b.String(), nil
}

// scrub hides credentials in a reference. The backend refuses such a reference, and this
// package must not print them before. A user name without a password stays for ssh, where it
// is not a credential.
func scrub(ref string) string {
	scheme, address, ok := strings.Cut(ref, "://")
	if !ok {
		return ref
	}
	end := strings.IndexAny(address, "/?#")
	if end < 0 {
		end = len(address)
	}
	userEnd := strings.LastIndexByte(address[:end], '@')
	if userEnd < 0 {
		return ref
	}
	if scheme == "oci" && strings.HasPrefix(address[userEnd:], "@sha256:") {
		return ref
	}
	if user := address[:userEnd]; scheme == "ssh" && !strings.Contains(user, ":") {
		return ref
	}
	return scheme + "://***" + address[userEnd:]
}
