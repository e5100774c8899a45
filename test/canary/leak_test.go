// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// head and tail are in every canary, so that one search finds all of them; by
// what stands between, each is told from the others. They have nothing that any
// encoding of text changes.
const (
	head = "Qx7LwM2vTz9KpR4nBd8H"
	tail = "Zj5CsG3yWk6FtN1mXa0V"
)

// needle is a piece of a canary in some form.
type needle struct{ text, form string }

// leaks finds pieces of canaries: eight bytes of one are enough.
type leaks map[string][]needle

// window is how many bytes begin every needle.
const window = 8

// newLeaks is the search for head and tail, and further words, in all forms.
func newLeaks(more ...string) leaks {
	l := leaks{}
	for _, core := range append([]string{head, tail}, more...) {
		for _, f := range forms(core) {
			for i := 0; i+f.least <= len(f.text); i++ {
				n := needle{f.text[i : i+f.least], f.name}
				l[n.text[:window]] = append(l[n.text[:window]], n)
			}
		}
	}
	return l
}

// form is a text in an encoding, of which least bytes in a row are found.
type form struct {
	name, text string
	least      int
}

// forms are those in which a value could be written.
func forms(core string) []form {
	each := func(format string) string {
		var b strings.Builder
		for i := range len(core) {
			fmt.Fprintf(&b, format, core[i])
		}
		return b.String()
	}
	reversed := []byte(core)
	slices.Reverse(reversed)
	out := []form{
		{"plain", core, window}, {"reversed", string(reversed), window},
		{"hex", hex.EncodeToString([]byte(core)), 16}, {"HEX", strings.ToUpper(hex.EncodeToString([]byte(core))), 16},
		{"percent", each("%%%02x"), 15}, {"PERCENT", each("%%%02X"), 15},
		{"JSON", each(`\u%04x`), 24}, {"YAML", each(`\x%02x`), 20}, {"XML", each("&#%d;"), 24},
		{"bytes", strings.TrimSuffix(each("%d "), " "), 20}, {"JSON bytes", strings.TrimSuffix(each("%d,"), ","), 20},
	}
	for _, once := range encoded(core) {
		out = append(out, form{"base64", once, 10})
		for _, twice := range encoded(once) {
			out = append(out, form{"base64 of base64", twice, 12})
		}
	}
	return out
}

// encoded is what any base64 of a text that has core in it has, wherever core
// begins.
func encoded(core string) []string {
	const group = 3
	var out []string
	for shift := range group {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + core))
		// The first and the last group are mixed with what stands around.
		out = append(out, strings.TrimRight(text, "=")[4:len(text)-4])
	}
	return out
}

// find is the first piece of a canary in a text, with what stands around it. What
// is folded, quoted or continued over lines is found too.
func (l leaks) find(text []byte) (string, bool) {
	if found, ok := l.scan(text); ok {
		return found, true
	}
	folded := make([]byte, 0, len(text))
	for _, c := range text {
		if !strings.ContainsRune(" \t\r\n\\\"'|>#", rune(c)) {
			folded = append(folded, c)
		}
	}
	if found, ok := l.scan(folded); ok {
		return "over lines: " + found, true
	}
	return "", false
}

func (l leaks) scan(text []byte) (string, bool) {
	for i := 0; i+window <= len(text); i++ {
		for _, n := range l[string(text[i:i+window])] {
			if bytes.HasPrefix(text[i:], []byte(n.text)) {
				return fmt.Sprintf("%s: …%s…", n.form, text[max(0, i-80):min(len(text), i+len(n.text)+20)]), true
			}
		}
	}
	return "", false
}

// require wants no piece of a canary in a text, nor in what is packed in it.
func (l leaks) require(t testing.TB, what string, text []byte) {
	t.Helper()
	found, ok := l.find(text)
	require.False(t, ok, "%s holds a canary, %s", what, found)
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return
	}
	plain, err := io.ReadAll(z)
	require.NoError(t, err, what)
	l.require(t, what+", unpacked", plain)
	files := tar.NewReader(bytes.NewReader(plain))
	for h, err := files.Next(); err == nil; h, err = files.Next() {
		data, err := io.ReadAll(files)
		require.NoError(t, err)
		l.require(t, what+" "+h.Name, append([]byte(h.Name+"\n"), data...))
	}
}

// The search itself is proved first: what it does not find is no proof.
func TestTheSearchFindsACanaryInEveryForm(t *testing.T) {
	l := newLeaks()
	secret := canary("environment", "key", "property", "")
	piece := secret[len(secret)-12:]
	for name, text := range map[string]string{
		"plain": secret, "a piece": piece, "in words": "the value " + secret + " is wrong",
		"URL": url.QueryEscape(secret), "path": url.PathEscape(secret), "JSON": fmt.Sprintf("%q", secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64, moved by one": base64.StdEncoding.EncodeToString([]byte("x" + secret)),
		"base64, moved by two": base64.RawURLEncoding.EncodeToString([]byte("xy" + secret)),
		"base64 of base64":     base64.StdEncoding.EncodeToString([]byte("a" + base64.StdEncoding.EncodeToString([]byte("b"+secret)))),
		"hex":                  hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret), "bytes": fmt.Sprintf("%d", []byte(secret)),
		"folded": secret[:9] + "\n      " + secret[9:13] + "\\\n  " + secret[13:], "folded base64": fold(base64.StdEncoding.EncodeToString([]byte(secret))),
		"concatenated": `"` + secret[:5] + `" "` + secret[5:11] + `" "` + secret[11:] + `"`,
	} {
		_, ok := l.find([]byte("before: " + text + "\nafter: 1\n"))
		require.True(t, ok, name)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("a: " + piece))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	_, ok := l.find(packed.Bytes())
	require.False(t, ok, "packed text shows only unpacked")
	_, ok = l.find([]byte("sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 Qx7LwM2 Zj5CsG3"))
	require.False(t, ok, "seven bytes may be chance")
}

func fold(s string) string {
	var lines []string
	for line := range slices.Chunk([]byte(s), 7) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}
