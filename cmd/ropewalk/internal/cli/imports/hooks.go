// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/ropewalk/ropewalk/render/spec"
)

// WithoutHooks returns text without the hooks of Helm that no installation runs, as a chart is
// rendered, with the names of those, and a warning of each hook. What is in a list, or on a
// line with others, stays.
func WithoutHooks(text []byte, docs []spec.Manifest) (kept []byte, names, warnings []string) {
	for _, p := range parts(text, docs) {
		left := false
		objects, at, _ := Objects(p.docs) // They have been decoded before.
		for i, o := range objects {
			events, ok := o.Annotations()["helm.sh/hook"]
			if !ok {
				continue
			}
			what := "is applied as an ordinary object, in no order"
			if len(objects) == 1 && !installs(events) {
				left = true
				what = "is left out: no installation runs it"
			}
			if left {
				names = append(names, fmt.Sprintf("%s %q", o.Kind(), o.Name()))
			}
			warnings = append(warnings, fmt.Sprintf("%s: warning: %s %q is a hook, %s, and %s; import the chart itself to have its hooks", at[i], o.Kind(), o.Name(), events, what))
		}
		if !left {
			kept = append(kept, p.text...)
		}
	}
	return kept, names, warnings
}

// part is a part of a text: what is between two lines that separate documents, with the first.
type part struct {
	text []byte
	docs []spec.Manifest
}

// parts splits a text with these documents.
func parts(text []byte, docs []spec.Manifest) []part {
	starts, lines := []int{0}, []int{1} // of each part, at the line between it and the one before
	for _, at := range regexp.MustCompile(`(?m)^---(?:\s|$)`).FindAllIndex(text, -1) {
		lines = append(lines, lines[len(lines)-1]+bytes.Count(text[starts[len(starts)-1]:at[0]], []byte("\n")))
		starts = append(starts, at[0])
	}
	out := make([]part, len(starts))
	for n, from := range starts {
		out[n].text = text[from:append(starts, len(text))[n+1]]
	}
	for _, doc := range docs {
		n := sort.SearchInts(lines, doc.Pos.Line+1) - 1
		out[n].docs = append(out[n].docs, doc)
	}
	return out
}

// installs tells whether one of the events of a hook is an installation or an upgrade.
func installs(events string) bool {
	for event := range strings.SplitSeq(events, ",") {
		if slices.Contains([]string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}, strings.ToLower(strings.TrimSpace(event))) {
			return true
		}
	}
	return false
}
