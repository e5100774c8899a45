// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/reposerver"
)

// attack is a request that takes as much as it can.
type attack struct {
	name string
	make func(n int) project
}

// project is the files of an application in the folder app, and the variables of its
// request; packed is the archive where it is not that of the files.
type project struct {
	files     map[string]string
	variables map[string]string
	packed    []byte
}

// request is the attack number n of its kind: the numbers keep caches from answering.
func (a attack) request(t testing.TB, n int) reposerver.Request {
	t.Helper()
	p := a.make(n)
	if p.packed == nil {
		files := fstest.MapFS{}
		for name, text := range p.files {
			files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
		var err error
		p.packed, err = reposerver.Archive(files)
		require.NoError(t, err)
	}
	out := reposerver.Request{Packed: p.packed, Path: "app", Variables: map[string]string{
		"ARGOCD_APP_NAME": "hostile", "ARGOCD_APP_PROJECT_NAME": "hostile",
	}}
	for name, value := range p.variables {
		out.Variables[name] = value
	}
	return out
}

const head = "apiVersion: ropewalk.dev/v1alpha1\n"

// spec is a Transform with further lines of its spec.
func spec(name, ref string, lines ...string) string {
	out := "---\n" + head + "kind: Transform\nmetadata: {name: " + name + "}\nspec:\n  cueRef: " + ref + "\n"
	for _, line := range lines {
		out += "  " + line + "\n"
	}
	return out
}

const (
	web = "{type: embedded, ref: webservice}"
	// inert makes one object of any input.
	inert = "ropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {name: string, ...}\n" +
		"graph: nodes: x: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name}\n"
	plain  = "{type: path, ref: m}"
	module = "app/m/m.cue"
)

func input(name string) string {
	return "input: {name: " + name + `, image: "example.com/a:1", ports: {http: {port: 8080}}}`
}

// repeat is n texts, each made of its number.
func repeat(n int, of func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(of(i))
	}
	return b.String()
}

// spread is n documents in files of at most so many.
func spread(n, each int, of func(i int) string) map[string]string {
	out := map[string]string{}
	for from := 0; from < n; from += each {
		out[fmt.Sprintf("app/s%05d.yaml", from)] = repeat(min(each, n-from), func(i int) string { return of(from + i) })
	}
	return out
}

func with(files map[string]string, more ...string) map[string]string {
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

func projectFile(lines string) string {
	return head + "kind: Project\nmetadata: {name: hostile}\nspec:\n" + lines
}

// numbered is a native module that makes n objects by a template in which i is the number.
func numbered(n int, object string) string {
	return "import \"list\"\nropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {...}\n" +
		fmt.Sprintf("graph: nodes: {for i in list.Range(0, %d, 1) {\"n\\(i)\": %s}}\n", n, object)
}

// noise is text that does not compress well.
func noise(size int) string {
	random := rand.New(rand.NewPCG(1, uint64(size))) //nolint:gosec // the same each time
	var b strings.Builder
	for b.Len() < size {
		_, _ = fmt.Fprintf(&b, "%x", random.Uint64())
	}
	return b.String()[:size]
}

// raw is an archive of n entries as tar headers.
func raw(n int, of func(i int) tar.Header) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := range n {
		h := of(i)
		h.Mode = 0o644
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if w.WriteHeader(&h) != nil {
			break
		}
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}

// bomb is a value of about half a million values made of aliases.
func bomb() []string {
	lines := []string{"input:", "  a: &a [x, x, x, x, x, x, x, x, x, x]"}
	for i, c := range []string{"b", "c", "d", "e"} {
		before := string("abcde"[i])
		lines = append(lines, "  "+c+": &"+c+" ["+strings.TrimSuffix(strings.Repeat("*"+before+", ", 10), ", ")+"]")
	}
	return append(lines, "  f: [*e, *e, *e, *e]")
}
