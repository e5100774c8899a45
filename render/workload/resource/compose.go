// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxFragments limits the fragments of one sensitive output: outputs that name
// each other twice double with every step.
const maxFragments = 1000

// composition flattens sensitive outputs: a text that is made of other outputs becomes literal
// text and plain references, in order.
type composition struct {
	*reading
	entries   map[string]declared
	plain     map[string]string
	flattened map[string][]Fragment
}

// flatten returns the fragments of an output. The argument path has the outputs that led to it.
func (c *composition) flatten(name string, path []string) []Fragment {
	if f, ok := c.flattened[name]; ok {
		return f
	}
	entry := c.entries[name]
	if !entry.isText {
		c.flattened[name] = []Fragment{{Output: name, Reference: entry.reference}}
		return c.flattened[name]
	}
	if i := slices.Index(path, name); i >= 0 {
		c.fail("sensitive."+name, "", "refers to itself: %s -> %s", strings.Join(path[i:], " -> "), name)
		return nil
	}
	path = append(path, name)
	var out []Fragment
	for _, p := range entry.parts {
		out = c.addPart(out, name, p, path)
		if len(out) > maxFragments {
			c.fail("sensitive."+name, "", "has more than %d parts", maxFragments)
			out = nil
			break
		}
	}
	c.flattened[name] = out
	return out
}

// append adds one part of the output called name to out.
func (c *composition) addPart(out []Fragment, name string, p part, path []string) []Fragment {
	if p.ref == "" {
		return append(out, Fragment{Literal: p.text})
	}
	if _, ok := c.entries[p.ref]; !ok {
		if _, ok := c.plain[p.ref]; ok {
			c.fail("sensitive."+name, "it is not a secret: write it into a text, with CUE's interpolation",
				"names %q, which is not a sensitive output", p.ref)
			return out
		}
		// A ref that names no output may be the secret itself, so it is not repeated.
		c.fail("sensitive."+name, object.Suggest(p.ref, object.SortedKeys(c.entries)), "has a ref that is not a sensitive output")
		return out
	}
	for _, f := range c.flatten(p.ref, path) {
		if p.escape {
			if f.Escape {
				c.fail("sensitive."+name, "leave escape out in one of them", "escapes %q, parts of which are escaped already", p.ref)
				return out
			}
			// Percent-encoding works byte by byte, so escaping the fragments is
			// escaping the complete text.
			f.Literal = escapeURL(f.Literal)
			f.Escape = f.Output != ""
		}
		out = append(out, f)
	}
	return out
}

// escapeURL returns text as a part of a URL. It escapes as the templates of External Secrets do for
// secrets (urlquery, with %20 for a space), so that all parts of a URL are escaped in the same way.
func escapeURL(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
