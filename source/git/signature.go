// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	// at is when the object says that it was made.
	at time.Time
}

// verify refuses a commit that is not signed as asked for. The signature is
// that of the annotated tag where the reference is one that is signed, and
// that of the commit otherwise.
func (f *Fetcher) verify(ctx context.Context, ask source.Verify, from objects, c chosen) error {
	if ask.Provider == "" {
		return nil
	}
	keys, err := f.keys(ctx, ask)
	if err != nil {
		return err
	}
	if c.tag != "" {
		s, err := readTag(from, c)
		if err != nil {
			return err
		}
		if len(s.signature) > 0 {
			return keys.check(s)
		}
	}
	text, _, err := readCommit(from, c.commit)
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

// readTag reads an annotated tag, which must have the name that was asked for
// and lead to the commit that the server said: a signature of the tag is one
// of the commit only then. Otherwise an old signed tag could be served under
// the name of a new one.
func readTag(from objects, c chosen) (signed, error) {
	const deepest = 8
	var first signed
	id := c.tag
	for range deepest {
		data, err := from.read(id, only(kindTag, maxCommit))
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
		if first.text == nil {
			if fields["tag"] != c.name {
				return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf("the object of tag %q says that its name is %q", c.name, fields["tag"]))
			}
			first = splitTag(data)
			first.what, first.at = fmt.Sprintf("tag %q", c.name), when(fields["tagger"])
		}
		if fields["type"] == kindCommit {
			if fields["object"] != c.commit {
				return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf("tag %q leads to commit %s, and the server said %s", c.name, fields["object"], c.commit))
			}
			return first, nil
		}
		if fields["type"] != kindTag || !isHash(fields["object"]) {
			break
		}
		id = fields["object"]
	}
	return signed{}, source.Refuse(source.ErrSignature, fmt.Sprintf("tag %q does not lead to a commit", c.name))
}

// splitTag takes the signature off the end of a tag.
func splitTag(data []byte) signed {
	begin := -1
	for _, armor := range []string{"-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----", "-----BEGIN SSH SIGNATURE-----", "-----BEGIN SIGNED MESSAGE-----"} {
		if i := bytes.LastIndex(data, []byte("\n"+armor)); i > begin {
			begin = i
		}
	}
	if begin < 0 {
		return signed{text: data}
	}
	return signed{text: data[:begin+1], signature: data[begin+1:]}
}

// splitCommit takes the signature out of the header of a commit; see
// gitformat-signature(5). A repository of SHA-256 has it under another key, and
// a commit may have both, neither of which is in the signed text.
func splitCommit(data []byte, sha256 bool) (signed, error) {
	want := "gpgsig "
	if sha256 {
		want = "gpgsig-sha256 "
	}
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
			into, line = &signature, line[len(want):]
		case bytes.HasPrefix(line, []byte("gpgsig ")), bytes.HasPrefix(line, []byte("gpgsig-sha256 ")):
			into = &bytes.Buffer{}
		case line[0] != ' ':
			into = &text
			if who, ok := bytes.CutPrefix(line, []byte("committer ")); ok {
				s.at = when(strings.TrimSpace(string(who)))
			}
		}
		into.Write(line)
	}
	text.WriteByte('\n')
	text.Write(body)
	s.text, s.signature = text.Bytes(), signature.Bytes()
	return s, nil
}

// when is the time at the end of "name <address> seconds zone".
func when(who string) time.Time {
	fields := strings.Fields(who[strings.LastIndexByte(who, '>')+1:])
	if len(fields) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
