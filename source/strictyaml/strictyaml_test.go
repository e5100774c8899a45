// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/strictyaml"
)

var errWrong = errors.New("wrong")

// read reads a file of the form {apiVersion, kind, name, items}.
func read(text string) (name string, items []string, err error) {
	r := &strictyaml.Reader{Name: "a.yaml"}
	fields := r.Document([]byte(text), "example.com/v1", "Example", "name", "items")
	name = r.Text(fields["name"], "name", "red", "green")
	for _, n := range r.List(fields["items"], "items") {
		items = append(items, r.Text(n, "items"))
	}
	return name, items, r.Err("correct it", errWrong)
}

const head = "apiVersion: example.com/v1\nkind: Example\n"

func TestAFileOfAFixedForm(t *testing.T) {
	name, items, err := read(head + "name: red\nitems: [a, \"1\"]\n")
	require.NoError(t, err)
	require.Equal(t, "red", name)
	require.Equal(t, []string{"a", "1"}, items)

	_, _, err = read(head)
	require.NoError(t, err, "fields that nothing needs may be absent")
}

func TestMistakesHaveTheirPositions(t *testing.T) {
	for what, c := range map[string]struct{ text, want string }{
		"an empty file":           {"", "a.yaml: the file is empty: expected apiVersion, kind, name, items"},
		"no mapping":              {"- a\n", "a.yaml:1:1: a Example: expected a mapping with apiVersion, kind, name, items"},
		"another version":         {"apiVersion: example.com/v2\nkind: Example\n", `a.yaml:1:13: apiVersion is "example.com/v2": expected example.com/v1`},
		"no kind":                 {"apiVersion: example.com/v1\n", "a.yaml:1:1: the Example lacks kind"},
		"a field that is unknown": {head + "nam: red\n", `a.yaml:3:1: a Example has no field "nam": it has apiVersion, kind, name, items`},
		"a word that is not one":  {head + "name: blue\n", `a.yaml:3:7: name is "blue": expected red or green`},
		"a number as text":        {head + "items: [a, 1]\n", "a.yaml:3:12: items: expected text"},
		"empty text":              {head + "name: \"\"\n", "a.yaml:3:7: name: expected text"},
		"text as a list":          {head + "items: a\n", "a.yaml:3:8: items: expected a list"},
		"two documents":           {head + "---\n" + head, "a.yaml:3:1: it has more than one document"},
		"a merge conflict":        {head + "<<<<<<< HEAD\nname: red\n=======\n", "a.yaml:3:1: a merge conflict begins here that is not resolved"},
		"no YAML":                 {head + "name: [\n", "the YAML is not well-formed: "},
		"a second that is none":   {head + "---\na: [\n", "the YAML is not well-formed: "},
	} {
		t.Run(what, func(t *testing.T) {
			_, _, err := read(c.text)
			require.ErrorIs(t, err, errWrong)
			require.ErrorContains(t, err, c.want)
			require.True(t, strings.HasSuffix(err.Error(), ": correct it"), err)
		})
	}
}

// A key that is there twice is refused, whether the parser or the reader sees it.
func TestAFieldIsThereOnce(t *testing.T) {
	_, _, err := read(head + "name: red\nname: green\n")
	require.ErrorContains(t, err, "a.yaml:4:1:")
	require.ErrorContains(t, err, "name")
}

func TestAllMistakesAreReportedInTheirOrder(t *testing.T) {
	_, _, err := read("kind: Other\nitems: [1, 2]\nx: y\n")
	var all *strictyaml.Error
	require.ErrorAs(t, err, &all)
	var lines []int
	for _, m := range all.Mistakes {
		lines = append(lines, m.Line)
	}
	require.Equal(t, []int{1, 1, 2, 2, 3}, lines, err)
}
