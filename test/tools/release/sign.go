// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
)

// sign signs checksums.txt, by which every file is covered, and what both layouts hold, as Sigstore
// bundles: one beside the file, and one that refers to each manifest.
func (r *release) sign(ctx context.Context, checksums []byte) error {
	if r.Key == "" {
		fmt.Fprintln(r.stdout, "not signed, since there is no RELEASE_KEY: checksums.txt, image/, deploy/")
		return nil
	}
	key, err := os.ReadFile(r.Key)
	if err != nil {
		return err
	}
	signer, err := signature.ParsePrivateKey(key, r.Password)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Key, err)
	}
	text, err := statement.Signature(statement.Subject{Name: "checksums.txt", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(checksums))})
	if err != nil {
		return err
	}
	bundle, err := signer.Sign(text)
	if err != nil {
		return err
	}
	if err := r.write("checksums.txt.sigstore.json", bundle); err != nil {
		return err
	}
	if err := r.write("ropewalk.pub", signer.PublicKey()); err != nil {
		return err
	}
	for _, name := range []string{"image", "deploy"} {
		if err := r.signLayout(ctx, filepath.Join(r.Out, name), signer); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// signLayout signs the manifest, or the index, under the version.
func (r *release) signLayout(ctx context.Context, dir string, signer *signature.Signer) error {
	in, err := layout.Open(dir, false)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	found, err := in.Resolve(ctx, r.Version)
	if err != nil {
		return err
	}
	subject := ocispec.Descriptor{MediaType: found.MediaType, Digest: found.Digest, Size: found.Size}
	text, err := statement.Signature(statement.Subject{Digest: subject.Digest.String()})
	if err != nil {
		return err
	}
	_, err = artifact.AttachStatement(ctx, in, subject, text, statement.PredicateSignature, signer)
	return err
}
