// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package signature_test

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// A signature is made with one key of a pair and checked with the other.
func Example() {
	if err := signAndVerify(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("signed")
	// Output: signed
}

func signAndVerify() error {
	private, public, err := signature.GenerateKey()
	if err != nil {
		return err
	}
	signer, err := signature.ParsePrivateKey(private, nil)
	if err != nil {
		return err
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	stated, err := statement.Signature(statement.Subject{Name: "registry.example.com/shop", Digest: digest})
	if err != nil {
		return err
	}
	bundle, err := signer.Sign(stated)
	if err != nil {
		return err
	}
	verifier, err := signature.ParsePublicKeys(public)
	if err != nil {
		return err
	}
	return verifier.Signature(bundle, digest)
}
