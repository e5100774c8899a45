// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// generator makes one case.
type generator struct {
	*rand.Rand
	// spec is the name of the spec, which is in every secret.
	spec string
}

// one is one of several.
func one[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// word is a secret that needs no quotes.
func (g *generator) word() string {
	return fmt.Sprintf("%s-%s%04x-%s", Head, g.spec, g.IntN(1<<16), Tail)
}

// secret is the text of a secret, with the name of what it is like.
func (g *generator) secret() (text, like string) {
	awkward := []string{
		"", " ", "$", "$(A)", "${resources.r0.password}", "{{ .a }}", "`", `"`, "'", `\`, `\n`, "%", "%41", "+", "a+b c", "/", "@", ":", ": ", " #", "?a=b&c",
		"é", "𝄞", "\u2028", "=", "--- ", "|", ">", "<b>", "&", "~._-", "()[]{}", ";,!*", "^", "\t", "\u007f",
	}
	hard := one(g, awkward...) + Head + one(g, awkward...) + g.spec + one(g, awkward...) + Tail + one(g, awkward...)
	switch g.IntN(9) {
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
