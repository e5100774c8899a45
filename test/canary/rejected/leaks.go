// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Head and Tail are in every canary, so that one search finds all of them; by
// what stands between, each is told from the others. They have nothing that any
// encoding of text changes.
const (
	Head = "Qx7LwM2vTz9KpR4nBd8H"
	Tail = "Zj5CsG3yWk6FtN1mXa0V"
)

// needle is a piece of a canary in some form.
type needle struct{ text, form string }

// Leaks finds pieces of canaries: eight bytes of one are enough.
type Leaks map[string][]needle

// window is how many bytes begin every needle.
const window = 8

// NewLeaks is the search for Head and Tail, and further words, in all forms.
func NewLeaks(more ...string) Leaks {
	l := Leaks{}
	for _, core := range append([]string{Head, Tail}, more...) {
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

// Find is the first piece of a canary in a text, with what stands around it. What
// is folded, quoted or continued over lines is found too.
func (l Leaks) Find(text []byte) (string, bool) {
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

func (l Leaks) scan(text []byte) (string, bool) {
	for i := 0; i+window <= len(text); i++ {
		for _, n := range l[string(text[i:i+window])] {
			if bytes.HasPrefix(text[i:], []byte(n.text)) {
				return fmt.Sprintf("%s: …%s…", n.form, text[max(0, i-160):min(len(text), i+len(n.text)+60)]), true
			}
		}
	}
	return "", false
}

// Require wants no piece of a canary in a text, nor in what is packed in it.
func (l Leaks) Require(t testing.TB, what string, text []byte) {
	t.Helper()
	found, ok := l.Find(text)
	require.False(t, ok, "%s holds a canary, %s", what, found)
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return
	}
	plain, err := io.ReadAll(z)
	require.NoError(t, err, what)
	l.Require(t, what+", unpacked", plain)
	files := tar.NewReader(bytes.NewReader(plain))
	for h, err := files.Next(); err == nil; h, err = files.Next() {
		data, err := io.ReadAll(files)
		require.NoError(t, err)
		l.Require(t, what+" "+h.Name, append([]byte(h.Name+"\n"), data...))
	}
}
