// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
)

// Same is a text without what differs for twins and tells nothing of them: digests.
func Same(text string) string {
	return regexp.MustCompile(`[0-9a-f]{12,64}`).ReplaceAllString(text, "DIGEST")
}

// generator makes one case.
type generator struct {
	*rand.Rand
	// spec is the name of the spec, which is in every secret.
	spec string
	// value is the secret, "" where one is made.
	value string
}

// Twins are pairs of secrets, of one length and kind, that no search finds: they are parts of
// words, or short. What is said of one must be what is said of the other.
func Twins() [][2]string {
	return [][2]string{
		{"db", "qz"}, {"x1", "k7"}, {"horse", "tulip"}, {"p$db", "p$qz"}, {"${horse}", "${tulip}"}, {"caf\xe9", "tul\xe9"}, {"one\ntwo x", "six\nten x"},
		{"horse tulip x", "tulip horse x"}, {"!horse", "!tulip"}, {"12", "47"},
	}
}

// one is one of several.
func one[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// word is a secret that needs no quotes.
func (g *generator) word() string {
	if g.value != "" {
		return strings.ReplaceAll(g.value, "\n", " ")
	}
	return fmt.Sprintf("%s-%s%04x-%s", Head, g.spec, g.IntN(1<<16), Tail)
}

// secret is the text of a secret, with the name of what it is like.
func (g *generator) secret() (text, like string) {
	if g.value != "" {
		return g.value, "short"
	}
	awkward := []string{
		"", " ", "$", "$(A)", "${resources.r0.password}", "{{ .a }}", "`", `"`, "'", `\`, `\n`, "%", "%41", "+", "a+b c", "/", "@", ":", ": ", " #", "?a=b&c",
		"é", "𝄞", "\u2028", "=", "--- ", "|", ">", "<b>", "&", "~._-", "()[]{}", ";,!*", "^", "\t", "\u007f",
	}
	hard := one(g, awkward...) + Head + one(g, awkward...) + g.spec + one(g, awkward...) + Tail + one(g, awkward...)
	switch g.IntN(12) {
	case 0:
		return hard, "awkward"
	case 1:
		return base64.StdEncoding.EncodeToString([]byte(hard)), "base64"
	case 2:
		return url.QueryEscape(hard), "percent"
	case 3:
		data, _ := json.Marshal(map[string]string{"user": "a", "password": hard}) // Texts always encode.
		return string(data), "JSON"
	case 4:
		return "-----BEGIN PRIVATE KEY-----\n" + Head + "\n" + g.spec + g.word() + "\n" + Tail + "\n-----END PRIVATE KEY-----\n", "lines"
	case 5:
		return "postgres://shop:" + url.QueryEscape(hard) + "@db.example.test/shop?sslmode=off", "URL"
	case 6:
		return "Bearer " + base64.RawURLEncoding.EncodeToString([]byte(hard)), "header"
	}
	switch g.IntN(6) {
	case 0:
		return "x$" + Head + "$" + g.spec + "${" + Tail + "}", "dollars"
	case 1:
		return Head + "\xe9" + g.spec + Tail, "Latin-1"
	case 2:
		return "!" + Head + " " + g.spec + " " + Tail, "words"
	}
	return g.word(), "word"
}

// Quoted is a text in double quotes, as JSON, YAML and CUE read it.
func Quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // A text always encodes.
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\u007f", `\u007f`)
}

// written is a text as YAML writes it behind a colon, in one of many ways; what follows
// the first line is deeper than indent.
func (g *generator) written(text string, indent int) (yaml, how string) {
	deeper := "\n" + strings.Repeat(" ", indent+2)
	plain := !strings.ContainsAny(text, "\n\t\u2028\u007f")
	switch g.IntN(10) {
	case 0:
		if plain {
			return " '" + strings.ReplaceAll(text, "'", "''") + "'", "single quotes"
		}
	case 1:
		if !strings.ContainsAny(text, "\t\u2028\u007f") && !strings.HasPrefix(text, " ") {
			return " |" + deeper + strings.Join(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), deeper), "block"
		}
	case 2: // A single line break is a space.
		return " >-" + deeper + Head + deeper + g.word() + deeper + Tail, "folded"
	case 3:
		var b strings.Builder
		for i := range len(text) {
			if text[i] > 0x7e {
				return " " + Quoted(text), "quotes"
			}
			fmt.Fprintf(&b, `\x%02x`, text[i])
		}
		return ` "` + b.String() + `"`, "escapes"
	case 4:
		half := len(Head) / 2
		return ` "` + Head[:half] + `\` + deeper + Head[half:] + `\` + deeper + g.word() + `"`, "over lines"
	case 5:
		return " [" + Quoted(text) + ", " + Quoted(g.word()) + "]", "list"
	case 6:
		return deeper + "value: " + Quoted(text) + deeper + "more: [" + g.word() + "]", "map"
	case 7:
		return " !!str " + Quoted(text), "tag"
	}
	return " " + Quoted(text), "quotes"
}

// name is the name of a field that says that it holds a secret.
func (g *generator) name() string {
	return one(g, "password", "passwd", "dbPassword", "DB_PASSWORD", "token", "accessToken", "apiKey", "api_key", "clientSecret", "secret", "privateKey",
		"credentials", "signingKey", "adminPwd", "passphrase")
}
