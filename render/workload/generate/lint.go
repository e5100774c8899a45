// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// secretHint is the hint for a secret in plain text.
const secretHint = "use a sensitive output of a resource"

// warnSecret warns of a literal in a variable whose name, or whose text, suggests
// that it is a secret. Neither proves anything, so it stays what it is.
func warnSecret(errs *mistakes, v *Variable, text string, path object.Path) {
	pair := strings.HasSuffix(strings.ToUpper(v.Name), "_AUTH") && strings.ContainsAny(text, ":/") // NEO4J_AUTH: user/password
	if (soundsSecret(v.Name) || pair) && couldBeSecret(text) {
		errs.warn(v.Value.Pos, path, secretHint,
			"the name suggests a secret, and the manifests hold the value in plain text")
		return
	}
	warnValue(errs, text, v.Value.Pos, path)
}

// warnValue warns of a text that looks like a secret, independent of its name.
func warnValue(errs *mistakes, text string, pos object.Pos, path object.Path) {
	switch {
	case holdsPrivateKey(text):
		errs.warn(pos, path, secretHint, "the value contains a private key, and the manifests hold it in plain text")
	case holdsPassword(text):
		errs.warn(pos, path, secretHint, "the value contains a URL with a password, and the manifests hold it in plain text")
	}
}

// soundsSecret reports whether a name holds a word, or two adjacent words, that are common in the
// names of secrets.
func soundsSecret(name string) bool {
	if len(name) < len("PAT") {
		return false
	}
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for i, w := range words {
		switch w {
		case "PASS", "PWD", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "SECRET", "SECRETS", "TOKEN", "PAT",
			"CREDENTIAL", "CREDENTIALS", "APIKEY":
			return true
		case "SALT":
			if i == len(words)-1 { // Not in SALT_ROUNDS.
				return true
			}
		case "KEY":
			if i > 0 && slices.Contains([]string{"API", "PRIVATE", "ACCESS", "ENCRYPTION", "SIGNING", "MASTER"}, words[i-1]) {
				return true
			}
		}
	}
	return false
}

// couldBeSecret reports whether a text could be the secret itself: not the path
// of a file, the address of a service, a switch or another variable.
func couldBeSecret(text string) bool {
	if text == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") {
		return false
	}
	if strings.Contains(text, "://") && !strings.Contains(text, "@") {
		return false
	}
	if strings.HasPrefix(text, "$(") && strings.HasSuffix(text, ")") {
		return false
	}
	_, err := strconv.ParseBool(text)
	return err != nil
}

// holdsPrivateKey reports whether a text holds a private key in the form of PEM
// (RFC 7468).
func holdsPrivateKey(text string) bool {
	for {
		_, after, ok := strings.Cut(text, "-----BEGIN ")
		if !ok {
			return false
		}
		label, _, ok := strings.Cut(after[:min(len(after), longestLabel)], "-----")
		if ok && strings.HasSuffix(label, "PRIVATE KEY") {
			return true
		}
		text = after
	}
}

// longestLabel limits the search for the label of a PEM block.
const longestLabel = 64

// holdsPassword reports whether a text holds a URL with a user and a literal password.
func holdsPassword(text string) bool {
	for {
		before, after, ok := strings.Cut(text, "://")
		if !ok {
			return false
		}
		end := strings.IndexAny(after, endsAuthority)
		if end < 0 {
			end = len(after)
		}
		if at := strings.LastIndexByte(after[:end], '@'); at >= 0 && before != "" {
			_, password, _ := strings.Cut(after[:at], ":")
			if password != "" && !standsFor(password) {
				return true
			}
		}
		text = after
	}
}

// endsAuthority holds the characters that end the user, host and port of a URL.
const endsAuthority = "/?# \t\r\n\"'"

// standsFor reports whether a password is only a placeholder: a variable, a template or the stars of
// documentation.
func standsFor(password string) bool {
	return strings.ContainsAny(password[:1], "$<{%") || strings.Trim(password, "*xX.") == ""
}

// warnUnescaped warns of a secret that the author puts into a URL unescaped: a / or an @ in it
// changes the host of the URL.
func warnUnescaped(errs *mistakes, pieces []Piece, pos object.Pos, path object.Path) {
	s := unescaped(pieces)
	if s == nil {
		return
	}
	hint := "let the provisioner give the complete URL: a sensitive output of parts, with escape: url"
	switch {
	case s.Written != "":
		hint = "keep the complete URL in the store, or a value without those characters"
	case s.URL != "":
		hint = "use ${" + s.URL + "}, in which it is escaped"
	}
	errs.warn(pos, path, hint, "%s is part of a URL and not escaped: a / or @ in it would end that part", s.reference())
}

// unescaped returns the first secret between :// and @ that is not escaped, or nil.
func unescaped(pieces []Piece) *Secret {
	var found *Secret
	inside := false
	for _, p := range pieces {
		if p.Secret != nil {
			if inside && !p.Escape && found == nil {
				found = p.Secret
			}
			continue
		}
		if inside {
			if end := strings.IndexAny(p.Literal, "@"+endsAuthority); end >= 0 {
				if found != nil && p.Literal[end] == '@' {
					return found
				}
				inside = false
				found = nil
			}
		}
		if i := strings.LastIndex(p.Literal, "://"); i >= 0 {
			inside = !strings.ContainsAny(p.Literal[i+len("://"):], "@"+endsAuthority)
			found = nil
		}
	}
	return nil
}
