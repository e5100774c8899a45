// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	_ "crypto/sha256" // sshsig looks its hashes up
	_ "crypto/sha512"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
)

// namespace is what ssh-keygen signs in for Git.
const namespace = "git"

// keys are those that may sign.
type keys struct {
	provider string
	secret   string
	pgp      openpgp.EntityList
	ssh      []signer
}

// signer is a key of SSH that may sign for a time.
type signer struct {
	key           ssh.PublicKey
	after, before time.Time
}

// keys reads the Secret of a verification: entries *.asc for PGP; *.pub, and
// those called allowed_signers, for SSH.
func (f *Fetcher) keys(ctx context.Context, ask source.Verify) (keys, error) {
	k := keys{provider: ask.Provider, secret: ask.Secret}
	if k.provider != providerPGP && k.provider != providerSSH {
		return k, source.Refuse(source.ErrReference, fmt.Sprintf("verify.provider %q does not sign commits: it is pgp or ssh", ask.Provider))
	}
	entries, err := f.secret(ctx, ask.Secret)
	if err != nil {
		return k, err
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		switch {
		case k.provider == providerPGP && path.Ext(name) == ".asc":
			ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(entries[name]))
			if err != nil {
				return k, unreadable(name, ask.Secret)
			}
			k.pgp = append(k.pgp, ring...)
		case k.provider == providerSSH && (path.Ext(name) == ".pub" || name == "allowed_signers"):
			signers, err := readSigners(string(entries[name]), name == "allowed_signers")
			if err != nil {
				return k, unreadable(name, ask.Secret)
			}
			k.ssh = append(k.ssh, signers...)
		}
	}
	if len(k.pgp)+len(k.ssh) == 0 {
		want := "*.asc with keys of PGP"
		if k.provider == providerSSH {
			want = "*.pub or allowed_signers with keys of SSH"
		}
		return k, source.Refuse(source.ErrSignature, fmt.Sprintf("secret %q has no key to verify with: it needs entries %s", ask.Secret, want))
	}
	return k, nil
}

func unreadable(entry, secret string) error {
	return source.Refuse(source.ErrSignature, fmt.Sprintf("entry %q of secret %q is not public keys that can be read", entry, secret))
}

// readSigners reads keys, one for each line; the lines of allowed_signers have
// principals and options before them, see ssh-keygen(1). The principals do not
// count: whoever is in the file may sign. Keys of authorities are left out.
func readSigners(text string, allowed bool) ([]signer, error) {
	var out []signer
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if allowed {
			_, rest, ok := strings.Cut(line, " ")
			if !ok {
				return nil, fmt.Errorf("no key in line %q", line)
			}
			line = strings.TrimSpace(rest)
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, err
		}
		s := signer{key: key}
		use, err := s.limit(options)
		if err != nil {
			return nil, err
		}
		if use {
			out = append(out, s)
		}
	}
	return out, nil
}

// limit takes the options of a line in, and says whether the key is one for
// Git.
func (s *signer) limit(options []string) (use bool, err error) {
	use = true
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "cert-authority":
			use = false
		case "namespaces":
			matches := func(pattern string) bool {
				ok, err := path.Match(strings.TrimSpace(pattern), namespace)
				return ok && err == nil
			}
			use = use && slices.ContainsFunc(strings.Split(value, ","), matches)
		case "valid-after":
			s.after, err = readTime(value)
		case "valid-before":
			s.before, err = readTime(value)
		default:
			return false, fmt.Errorf("unknown option %q", name)
		}
		if err != nil {
			return false, err
		}
	}
	return use, nil
}

// readTime reads YYYYMMDD[HHMM[SS]], with Z for UTC; without it too, because a
// result must not depend on the zone of a machine.
func readTime(text string) (time.Time, error) {
	text = strings.TrimSuffix(text, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(text) == len(layout) {
			return time.Parse(layout, text)
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", text)
}

// check refuses an object whose signature is not by one of the keys.
func (k keys) check(s signed) error {
	refuse := func(format string, args ...any) error {
		return source.Refuse(source.ErrSignature, s.what+" "+fmt.Sprintf(format, args...))
	}
	armor, _, _ := strings.Cut(string(s.signature), "\n")
	switch {
	case len(s.signature) == 0:
		return refuse("is not signed, and verify.provider asks for a signature by %s", k.provider)
	case k.provider == providerSSH && armor != "-----BEGIN SSH SIGNATURE-----",
		k.provider == providerPGP && armor != "-----BEGIN PGP SIGNATURE-----" && armor != "-----BEGIN PGP MESSAGE-----":
		return refuse("is signed in another way than verify.provider %q asks for: it begins with %q", k.provider, armor)
	case k.provider == providerPGP:
		if _, err := openpgp.CheckArmoredDetachedSignature(k.pgp, bytes.NewReader(s.text), bytes.NewReader(s.signature), nil); err != nil {
			return refuse("is not signed by a key of secret %q: %v", k.secret, err)
		}
		return nil
	}
	signature, err := sshsig.Unarmor(s.signature)
	if err != nil {
		return refuse("has a signature that cannot be read")
	}
	if signature.Signature.Format == ssh.KeyAlgoRSA {
		return refuse("is signed with SHA-1, which is no proof any more")
	}
	for _, by := range k.ssh {
		if !bytes.Equal(by.key.Marshal(), signature.PublicKey.Marshal()) {
			continue
		}
		switch {
		case !by.after.IsZero() && s.at.Before(by.after), !by.before.IsZero() && s.at.After(by.before):
			return refuse("is signed by a key of secret %q at a time that the key is not for", k.secret)
		case sshsig.Verify(bytes.NewReader(s.text), signature, by.key, signature.HashAlgorithm, namespace) != nil:
			return refuse("is not what was signed: text or signature was changed")
		}
		return nil
	}
	return refuse("is signed by %s, which is no key of secret %q", ssh.FingerprintSHA256(signature.PublicKey), k.secret)
}
