// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
)

// Providers of signatures, as in the verify of a reference.
const (
	providerCosign = "cosign"
	providerPGP    = "pgp"
	providerSSH    = "ssh"
)

// readSignature reads what a rule demands of signatures.
func (p *parser) readSignature(n *yaml.Node, r rule) *Signature {
	fields := p.Fields(n, "verify", "provider", "keys")
	out := &Signature{Rule: r.name, Keys: map[string][]byte{}}
	out.Verify.Secret = secretOf(r.name)
	if v := p.Need(n, fields, "verify", "provider"); v != nil {
		out.Verify.Provider = p.Text(v, "provider", providerCosign, providerPGP, providerSSH)
		if slices.ContainsFunc(r.sources, func(s pattern) bool { return s.scheme != "" && !signs(out.Verify.Provider, s.scheme) }) {
			p.Fail(v, "cosign is for sources oci://, pgp and ssh are for those of Git: write a rule for each")
		}
	}
	for i, item := range p.readList(p.Need(n, fields, "verify", "keys"), "keys") {
		text := p.Text(item, "a key")
		entry, err := checkKey(out.Verify.Provider, text)
		if err != nil && text != "" && out.Verify.Provider != "" {
			p.Fail(item, "%v", err)
		}
		out.Keys[fmt.Sprintf("%04d%s", i, entry)] = []byte(text)
	}
	return out
}

// signs reports whether a provider signs sources of a scheme. A provider that could not be read
// signs everything, because its mistake is reported already.
func signs(provider, scheme string) bool {
	if provider == "" {
		return true
	}
	return scheme != anyScheme && (provider == providerCosign) == (scheme == schemeOCI)
}

// checkKey checks a public key, and returns how entries with such a key end.
func checkKey(provider, text string) (entry string, err error) {
	switch provider {
	case providerCosign:
		block, _ := pem.Decode([]byte(text))
		if block == nil {
			return "", errors.New("it is not a public key in PEM")
		}
		if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
			return "", errors.New("it is not a public key in PEM")
		}
		return ".pub", nil
	case providerPGP:
		if ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader([]byte(text))); err != nil || len(ring) == 0 {
			return "", errors.New("it is not a public key of PGP in armor")
		}
		return ".asc", nil
	case providerSSH:
		if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(text))); err != nil {
			return "", errors.New("it is not a public key of SSH in one line")
		}
		return ".pub", nil
	}
	return "", nil
}

var _ source.Resolver = guarded{}
