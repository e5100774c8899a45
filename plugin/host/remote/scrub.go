// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// hidden replaces a credential.
const hidden = "***"

// longest is how many bytes of a text of a server are repeated.
const longest = 300

// sent returns the credentials of a request in every form in which a server may repeat them, the
// longest first.
func sent(r *http.Request) []string {
	var words []string
	if user, password, ok := r.BasicAuth(); ok {
		words = append(words, password, user+":"+password)
	}
	if _, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		words = append(words, token)
	}
	// Tokens of servers for tokens are in a form.
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" && r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			data, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // it is in memory
			_ = body.Close()
			if form, err := url.ParseQuery(string(data)); err == nil {
				words = append(words, form.Get("password"), form.Get("refresh_token"))
			}
		}
	}
	var out []string
	for _, word := range words {
		out = append(out, forms(word)...)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(out)
}

// forms returns the ways to write a secret word. Words of one or two bytes are left out: they
// would hide everything and protect nothing.
func forms(word string) []string {
	if len(word) < 3 {
		return nil
	}
	quoted, _ := json.Marshal(word) // strings always can
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(word) // as above
	return []string{
		word, strings.Trim(string(quoted), `"`), strings.Trim(plain.String(), "\"\n"), url.QueryEscape(word), url.PathEscape(word),
		base64.StdEncoding.EncodeToString([]byte(word)), base64.RawStdEncoding.EncodeToString([]byte(word)),
		base64.URLEncoding.EncodeToString([]byte(word)), base64.RawURLEncoding.EncodeToString([]byte(word)),
	}
}

// hide replaces secrets in a text.
func hide(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return text
}

// scrub removes from a text everything that looks like a credential: userinfo and queries
// of URLs, headers that authorize, tokens, and the values of parameters with names such
// as password.
func scrub(text string) string {
	for _, p := range []struct{ pattern, replacement string }{
		{`(?i)\b([a-z][a-z0-9+.-]*://)[^\s/?#"']*@`, "${1}"},
		{`(?i)\b([a-z][a-z0-9+.-]*://[^\s?#"']*)\?[^\s"']*`, "${1}"},
		{`\b((?i:basic|bearer))\s+[a-z]*[A-Z0-9._~+/=-][A-Za-z0-9._~+/=-]*`, "${1} " + hidden},
		{`(?i)\b(authorization["']?\s*[:=]\s*["']?)(basic |bearer )?[^\s"',;]+`, "${1}" + hidden},
		{`\beyJ[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)*`, hidden},
		{`(?i)\b([a-z0-9_-]*(token|password|passwd|secret|signature|credential|apikey|api_key|security-token)|sig|auth)(=["']?|["']\s*:\s*["']?)[^\s"'&,;]+`, "${1}${3}" + hidden},
	} {
		// Compiled here: this runs once for each failure, and compiling at the
		// start would cost every run.
		text = regexp.MustCompile(p.pattern).ReplaceAllString(text, p.replacement)
	}
	return text
}

// line returns a text of a server in one line of bounded length, without credentials and without
// control characters.
func line(text string) string {
	if len(text) > 4*maxErrorBody {
		text = text[:4*maxErrorBody]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return -1
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	return printable.Cut(scrub(printable.OneLine(text)), longest, "…")
}
