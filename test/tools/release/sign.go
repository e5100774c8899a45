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
	"github.com/ropewalk/ropewalk/deploy"
)

// published is a layout of the release, and where the workflow publishes it.
type published struct{ dir, name, tag string }

func (r *release) published() []published {
	return []published{{"image", deploy.Image, r.Version}, {"deploy", deployName, r.Version}, {"chart", chartName, r.chartVersion()}}
}

// sign writes digests.txt, of all layouts, and checksums.txt, by which every file is covered. With a
// key it signs that and what the layouts hold, as Sigstore bundles: one beside the file, and one that
// refers to each manifest.
func (r *release) sign(ctx context.Context) error {
	var signer *signature.Signer
	if r.Key != "" {
		key, err := os.ReadFile(r.Key)
		if err != nil {
			return err
		}
		if signer, err = signature.ParsePrivateKey(key, r.Password); err != nil {
			return fmt.Errorf("%s: %w", r.Key, err)
		}
		if err := r.write("ropewalk.pub", signer.PublicKey()); err != nil {
			return err
		}
	}
	var digests []byte
	for _, p := range r.published() {
		digest, err := r.signLayout(ctx, p, signer)
		if err != nil {
			return fmt.Errorf("%s: %w", p.dir, err)
		}
		digests = fmt.Appendf(digests, "%s:%s@%s\n", p.name, p.tag, digest)
	}
	fmt.Fprintf(r.stdout, "%s", digests)
	if err := r.write("digests.txt", digests); err != nil {
		return err
	}
	checksums, err := r.writeChecksums()
	if err != nil {
		return err
	}
	if signer == nil {
		fmt.Fprintln(r.stdout, "nothing is signed: there is no RELEASE_KEY")
		return nil
	}
	text, err := statement.Signature(statement.Subject{Name: "checksums.txt", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(checksums))})
	if err != nil {
		return err
	}
	bundle, err := signer.Sign(text)
	if err != nil {
		return err
	}
	return r.write("checksums.txt.sigstore.json", bundle)
}

// signLayout returns the digest of the manifest, or the index, under the tag of a layout, and signs it.
func (r *release) signLayout(ctx context.Context, p published, signer *signature.Signer) (string, error) {
	in, err := layout.Open(filepath.Join(r.Out, p.dir), false)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	found, err := in.Resolve(ctx, p.tag)
	if err != nil || signer == nil {
		return found.Digest.String(), err
	}
	subject := ocispec.Descriptor{MediaType: found.MediaType, Digest: found.Digest, Size: found.Size}
	text, err := statement.Signature(statement.Subject{Digest: subject.Digest.String()})
	if err != nil {
		return "", err
	}
	_, err = artifact.AttachStatement(ctx, in, subject, text, statement.PredicateSignature, signer)
	return found.Digest.String(), err
}
