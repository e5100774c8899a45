// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"strings"
	"testing"

	"github.com/ropewalk/ropewalk/plugin/krm"
	"github.com/ropewalk/ropewalk/render/spec"
)

// FuzzRun gives lists of strangers to a function: what it writes must be a list
// with the items that it got, whatever they are.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		list(""), list("kind: x\n", foreign), list(inline("web", "a: 1\n"), foreign, "- 1\n", "x\n"),
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- &a {kind: a}\n- *a\n- ? [x]\n  : |2\n      y\n",
		`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[null,1,"\ud800"]}`,
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- \"a\n\n  b\"\n- >-\n  c\n\n   d\n# end\n",
	} {
		f.Add(seed)
	}
	fn := function(f)
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, "cueRef") {
			return // Modules have a fuzz target of their own.
		}
		out, err := fn.Run(t.Context(), strings.NewReader(in))
		if out.List == nil {
			return
		}
		if err == nil {
			t.Fatal("there is nothing to render")
		}
		before, after := itemsOf(t, in), itemsOf(t, string(out.List))
		if before != after {
			t.Fatalf("the items say something else:\n%s\n---\n%s", before, after)
		}
	})
}

// itemsOf is what the items of a list say, as JSON.
func itemsOf(t *testing.T, text string) string {
	docs, err := spec.ParseManifests(spec.File{Name: "list", Data: []byte(text)}, krm.MaxList)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	items, _ := docs[0].Value.Get("items")
	if len(items.Items) == 0 {
		return ""
	}
	return string(items.JSON())
}
