// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp"
	"slices"
	"strings"
)

// hiddenInURL stands for a credential in a URL of a message.
func hiddenInURL(string) string { return "***" }

// isRevision reports whether a parameter of a reference is no credential.
func isRevision(name string) bool {
	return slices.Contains([]string{"tag", "branch", "commit", "semver", "submodules", "ref", "path"}, name)
}

// withoutCredentials is a text with other text, as hide makes it, for what stands between
// :// and @ and for the values in the query of a URL, and in the fragment, which may be passwords and tokens. It
// is the same for user:password@host without a scheme.
func withoutCredentials(text string, hide func(string) string) string {
	if !strings.ContainsAny(text, "@?#") {
		return text
	}
	const most = 2000 // No message has as many URLs, and each is compared with what follows.
	if strings.Count(text, ":/") > most {
		return hide(text)
	}
	var out strings.Builder
	done := 0
	to := func(from, end int) { // hides what is between
		if from = max(from, done); from < end {
			out.WriteString(text[done:from] + hide(text[from:end]))
			done = end
		}
	}
	for at, word, walked := 0, 0, 0; ; {
		i := strings.Index(text[at:], ":/")
		if i < 0 {
			break
		}
		scheme := text[:at+i]
		at += i + len(":/")
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], "/")) // A path that was a URL has one.
		if word < at {                                               // It is the same where the text is a URL in a URL.
			word = len(text)
			if n := strings.IndexAny(text[at:], endOf(scheme)); n >= 0 {
				word = at + n
			}
		}
		end := word
		fragment := end
		if n := strings.IndexByte(text[at:end], '#'); n >= 0 {
			fragment, end = end, at+n
		}
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), "@") {
			to(at, end) // A space does not end a password.
		}
		host, query := end, end
		if n := strings.IndexByte(text[at:end], '?'); n >= 0 {
			host, query = at+n, at+n+1
		}
		if n := strings.IndexByte(text[at:host], '/'); n >= 0 {
			host = at + n
		}
		if last := strings.LastIndexByte(text[at:host], '@'); last >= 0 && (strings.Contains(text[at:at+last], ":") || !strings.HasSuffix(text[:at], "ssh://")) {
			to(at, at+last) // The user of ssh alone is no secret.
		}
		for query < end {
			next := end
			if n := strings.IndexByte(text[query:end], '&'); n >= 0 {
				next = query + n
			}
			name, _, _ := strings.Cut(text[query:next], "=")
			if !isRevision(name) {
				to(min(query+len(name)+1, next), next)
			}
			if query = next + 1; walked == end {
				break // The URL around it has the same parameters.
			}
		}
		if query > end {
			walked = end
		}
		to(end+1, fragment)
	}
	out.WriteString(text[done:])
	return loose.ReplaceAllStringFunc(out.String(), func(found string) string {
		m := loose.FindStringSubmatch(found)
		if slices.Contains([]string{"sha256", "sha384", "sha512"}, m[6]) {
			return found // The digest of an image with a tag.
		}
		return m[1] + m[4] + hide(m[2]+m[5]) + "@" + m[3] + m[6] // One form or the other.
	})
}

// endOf are the characters that end a URL after its scheme, with which before ends: in quotes it
// goes up to the next of them, for a password may hold anything else.
func endOf(before string) string {
	before = strings.TrimRight(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-./\\")
	if strings.HasSuffix(before, `"`) || strings.HasSuffix(before, "`") || strings.HasSuffix(before, "'") {
		return before[len(before)-1:] + "\r\n"
	}
	return "\"'`<> \t\r\n,}"
}

// loose are a user, a password and the beginning of a host. A password may hold ${…}, and spaces
// where a scheme without its colon begins the URL.
var loose = regexp.MustCompile(`(\b(?:https?|ssh|git|oci)//[\w.-]*:)([^"` + "`" + `\r\n]+)@(\w[\w.-]*)|([\w.-]+:)((?:\$\{[^\s{}]*\}|[^\s/@:"'` + "`" + `{},;])+)@(\w[\w.-]*)`)
