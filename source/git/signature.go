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
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
)

// The providers of source.Verify that sign commits.
const (
	providerPGP = "pgp"
	providerSSH = "ssh"
)

// signed is text with the signature of it, both as they are in an object.
type signed struct {
	// what names the object for errors.
	what            string
	text, signature []byte
	// at is the time in the object.
	at time.Time
}

// verify refuses a commit that is not signed as want requires. The signature of a signed annotated
// tag counts, and otherwise the signature of the commit.
func (f *Fetcher) verify(ctx context.Context, want source.Verify, stored objects, c chosen) error {
	if want.Provider == "" {
		return nil
	}
	keys, err := f.readKeys(ctx, want)
	if err != nil {
		return err
	}

	// A tag without a signature leaves it to the commit.
	if c.tag != "" {
		s, err := readTag(stored, c)
		if err != nil {
			return err
		}
		if len(s.signature) > 0 {
			return keys.check(s)
		}
	}

	text, _, err := readCommit(stored, c.commit)
	if err != nil {
		return err
	}
	s, err := splitCommit(text, len(c.commit) == 64)
	if err != nil {
		return err
	}
	s.what = "commit " + c.commit
	return keys.check(s)
}

// readTag reads an annotated tag. It must have the name of the reference and point to the commit
// that the server listed: only then does a signature of the tag vouch for the commit. Otherwise an
// old signed tag could be served under the name of a new tag.
func readTag(stored objects, c chosen) (signed, error) {
	data, err := stored.read(c.tag, kindTag, maxCommit)
	if err != nil {
		return signed{}, err
	}
	header, _, _ := bytes.Cut(data, []byte("\n\n"))
	fields := map[string]string{}
	for line := range strings.SplitSeq(string(header), "\n") {
		if key, value, ok := strings.Cut(line, " "); ok && fields[key] == "" {
			fields[key] = value
		}
	}
	switch {
	case fields["tag"] != c.name:
		return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf("the object of tag %q has the name %q", c.name, fields["tag"]))
	case fields["type"] != kindCommit:
		return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf("tag %q points to a %s: tag the commit itself", c.name, fields["type"]))
	case fields["object"] != c.commit:
		return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf(
			"tag %q points to commit %s, and the server listed %s", c.name, fields["object"], c.commit))
	}
	s := splitTag(data)
	s.what = fmt.Sprintf("tag %q", c.name)
	s.at = parseIdentityTime(fields["tagger"])
	return s, nil
}

// splitTag cuts the signature off the end of a tag.
func splitTag(data []byte) signed {
	begin := -1
	for _, armor := range []string{
		"-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----",
		"-----BEGIN SSH SIGNATURE-----", "-----BEGIN SIGNED MESSAGE-----",
	} {
		if i := bytes.LastIndex(data, []byte("\n"+armor)); i > begin {
			begin = i
		}
	}
	if begin < 0 {
		return signed{text: data}
	}
	return signed{text: data[:begin+1], signature: data[begin+1:]}
}

// splitCommit takes the signature out of the header of a commit; see gitformat-signature(5).
// A repository of SHA-256 has it under another key. A commit may have both signatures, and
// neither is in the signed text.
func splitCommit(data []byte, sha256 bool) (signed, error) {
	want := "gpgsig "
	if sha256 {
		want = "gpgsig-sha256 "
	}

	// Each line of the header goes to the text, to the signature, or nowhere.
	var s signed
	var text, signature bytes.Buffer
	into := &text
	header, body, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range bytes.SplitAfterSeq(append(bytes.Clone(header), '\n'), []byte{'\n'}) {
		switch {
		case len(line) == 0:
			continue
		case line[0] == ' ' && into != &text:
			line = line[1:]
		case bytes.HasPrefix(line, []byte(want)):
			if signature.Len() > 0 {
				return signed{}, source.Refuse(source.ErrSignature, "the commit has two signatures")
			}
			into = &signature
			line = line[len(want):]
		case bytes.HasPrefix(line, []byte("gpgsig ")), bytes.HasPrefix(line, []byte("gpgsig-sha256 ")):
			into = &bytes.Buffer{}
		case line[0] != ' ':
			into = &text
			if identity, ok := bytes.CutPrefix(line, []byte("committer ")); ok {
				s.at = parseIdentityTime(strings.TrimSpace(string(identity)))
			}
		}
		into.Write(line)
	}

	// The body is signed as it is.
	text.WriteByte('\n')
	text.Write(body)
	s.text, s.signature = text.Bytes(), signature.Bytes()
	return s, nil
}

// parseIdentityTime returns the time at the end of "name <address> seconds zone"; zero if there is
// no time.
func parseIdentityTime(identity string) time.Time {
	fields := strings.Fields(identity[strings.LastIndexByte(identity, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// namespace is the namespace of ssh-keygen for signatures of Git.
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

// readKeys reads the Secret of a verification: entries *.asc for PGP; *.pub, and those called
// allowed_signers, for SSH.
func (f *Fetcher) readKeys(ctx context.Context, verify source.Verify) (keys, error) {
	k := keys{provider: verify.Provider, secret: verify.Secret}
	if k.provider != providerPGP && k.provider != providerSSH {
		return k, source.Refuse(source.ErrReference, fmt.Sprintf("verify.provider %q is not supported for Git: use pgp or ssh", verify.Provider))
	}

	// Entries of the other provider are for other references.
	entries, err := f.readSecret(ctx, verify.Secret)
	if err != nil {
		return k, err
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		switch {
		case k.provider == providerPGP && path.Ext(name) == ".asc":
			ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(entries[name]))
			if err != nil {
				return k, errUnreadable(name, verify.Secret)
			}
			k.pgp = append(k.pgp, ring...)
		case k.provider == providerSSH && (path.Ext(name) == ".pub" || name == "allowed_signers"):
			signers, err := readSigners(string(entries[name]), name == "allowed_signers")
			if err != nil {
				return k, errUnreadable(name, verify.Secret)
			}
			k.ssh = append(k.ssh, signers...)
		}
	}

	// Without a key nothing could be verified.
	if len(k.pgp)+len(k.ssh) == 0 {
		want := "*.asc with keys of PGP"
		if k.provider == providerSSH {
			want = "*.pub or allowed_signers with keys of SSH"
		}
		return k, source.Refuse(source.ErrSignature, fmt.Sprintf("secret %q has no key to verify with: it needs entries %s", verify.Secret, want))
	}
	return k, nil
}

func errUnreadable(entry, secret string) error {
	return source.Refuse(source.ErrSignature, fmt.Sprintf("entry %q of secret %q holds no valid public keys", entry, secret))
}

// readSigners reads keys, one for each line. The lines of allowed_signers have principals and
// options before them, see ssh-keygen(1). The principals do not count: every key in the file
// may sign. Keys of authorities are left out.
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

		// A key may be limited to other uses than signatures of Git.
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, err
		}
		s := signer{key: key}
		use, err := s.applyOptions(options)
		if err != nil {
			return nil, err
		}
		if use {
			out = append(out, s)
		}
	}
	return out, nil
}

// applyOptions limits the key by the options of its line, and reports whether the key is for Git.
func (s *signer) applyOptions(options []string) (use bool, err error) {
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

// readTime reads YYYYMMDD[HHMM[SS]] as UTC, with Z or without, because a result must not
// depend on the zone of a machine.
func readTime(text string) (time.Time, error) {
	text = strings.TrimSuffix(text, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(text) == len(layout) {
			return time.Parse(layout, text)
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", text)
}

// check refuses an object that is not signed by one of the keys.
func (k keys) check(s signed) error {
	refuse := func(format string, args ...any) error {
		return source.Refuse(source.ErrSignature, s.what+" "+fmt.Sprintf(format, args...))
	}

	// The type of the signature must be the one that is wanted.
	armor, _, _ := strings.Cut(string(s.signature), "\n")
	switch {
	case len(s.signature) == 0:
		return refuse("is not signed, and verify.provider is %s", k.provider)
	case k.provider == providerSSH && armor != "-----BEGIN SSH SIGNATURE-----",
		k.provider == providerPGP && armor != "-----BEGIN PGP SIGNATURE-----" && armor != "-----BEGIN PGP MESSAGE-----":
		return refuse("has a signature of another type than verify.provider %q: it begins with %q", k.provider, armor)
	case k.provider == providerPGP:
		if _, err := openpgp.CheckArmoredDetachedSignature(k.pgp, bytes.NewReader(s.text), bytes.NewReader(s.signature), nil); err != nil {
			return refuse("is not signed by a key of secret %q: %v", k.secret, err)
		}
		return nil
	}

	// A signature of SSH names its key, which is looked up among the keys of the Secret.
	signature, err := sshsig.Unarmor(s.signature)
	if err != nil {
		return refuse("has a signature that cannot be read")
	}
	if signature.Signature.Format == ssh.KeyAlgoRSA {
		return refuse("is signed with SHA-1, which is not accepted")
	}
	for _, by := range k.ssh {
		if !bytes.Equal(by.key.Marshal(), signature.PublicKey.Marshal()) {
			continue
		}
		switch {
		case !by.after.IsZero() && s.at.Before(by.after), !by.before.IsZero() && s.at.After(by.before):
			return refuse("is signed by a key of secret %q outside of the time that allowed_signers gives the key", k.secret)
		case sshsig.Verify(bytes.NewReader(s.text), signature, by.key, signature.HashAlgorithm, namespace) != nil:
			return refuse("has a signature that does not match: it was changed after it was signed")
		}
		return nil
	}
	return refuse("is signed by %s, which is not a key of secret %q", ssh.FingerprintSHA256(signature.PublicKey), k.secret)
}
