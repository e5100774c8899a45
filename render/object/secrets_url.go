// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp"
	"slices"
	"strings"
)

// hiddenInURL returns what stands for a credential in a URL of a message.
func hiddenInURL(string) string { return "***" }

// isRevision reports whether a parameter of a reference is no credential: it names what is fetched, such
// as chart=podinfo&version=6.x of a Helm repository.
func isRevision(name string) bool {
	return slices.Contains([]string{"tag", "branch", "commit", "semver", "submodules", "ref", "path", "chart", "version"}, name)
}

// withoutCredentials replaces the credentials in URLs of a text by what hide returns for them:
// what stands between :// and @, and the values in the query and in the fragment, which may be
// passwords and tokens. It does the same for user:password@host without a scheme.
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
	hideBetween := func(start, end int) {
		start = max(start, done)
		if start < end {
			out.WriteString(text[done:start] + hide(text[start:end]))
			done = end
		}
	}

	// Each URL is searched for its end, for its user and password, and for its parameters.
	for offset, word, walked := 0, 0, 0; ; {
		i := strings.Index(text[offset:], ":/")
		if i < 0 {
			break
		}
		scheme := text[:offset+i]
		offset += i + len(":/")
		offset += len(text[offset:]) - len(strings.TrimLeft(text[offset:], "/")) // A path that was a URL begins with a slash.
		if word < offset {                                                       // It is the same where the text is a URL in a URL.
			word = len(text)
			if n := strings.IndexAny(text[offset:], endOf(scheme)); n >= 0 {
				word = offset + n
			}
		}

		// A fragment is hidden as a whole; what follows is about what stands before it.
		end := word
		fragment := end
		if n := strings.IndexByte(text[offset:end], '#'); n >= 0 {
			fragment, end = end, offset+n
		}
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), "@") {
			hideBetween(offset, end) // A space does not end a password.
		}

		// The user and the password end at the last @ of the host.
		host, query := end, end
		if n := strings.IndexByte(text[offset:end], '?'); n >= 0 {
			host, query = offset+n, offset+n+1
		}
		if n := strings.IndexByte(text[offset:host], '/'); n >= 0 {
			host = offset + n
		}
		if last := strings.LastIndexByte(text[offset:host], '@'); last >= 0 {
			// The user of ssh alone is no secret.
			isUser := strings.HasSuffix(text[:offset], "ssh://") && !strings.Contains(text[offset:offset+last], ":")
			if !isUser {
				hideBetween(offset, offset+last)
			}
		}

		// A parameter keeps its name; only a revision keeps its value.
		for query < end {
			next := end
			if n := strings.IndexByte(text[query:end], '&'); n >= 0 {
				next = query + n
			}
			name, _, _ := strings.Cut(text[query:next], "=")
			if !isRevision(name) {
				hideBetween(min(query+len(name)+1, next), next)
			}
			query = next + 1
			if walked == end {
				break // The URL around it has the same parameters.
			}
		}
		if query > end {
			walked = end
		}
		hideBetween(end+1, fragment)
	}

	// What is left are credentials without a scheme.
	out.WriteString(text[done:])
	return loose.ReplaceAllStringFunc(out.String(), func(found string) string {
		m := loose.FindStringSubmatch(found)
		if slices.Contains([]string{"sha256", "sha384", "sha512"}, m[6]) {
			return found // The digest of an image with a tag.
		}
		return m[1] + m[4] + hide(m[2]+m[5]) + "@" + m[3] + m[6] // One form or the other.
	})
}

// endOf returns the characters that end a URL after its scheme. The argument before is the text
// up to there. A URL in quotes goes up to the next of them, because a password may hold anything
// else.
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
