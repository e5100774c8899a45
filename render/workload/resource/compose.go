// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxFragments bounds what one sensitive output is made of: outputs that name
// each other twice double with every step.
const maxFragments = 1000

// composition flattens sensitive outputs: what is made of others becomes literal
// text and plain references, in order.
type composition struct {
	*reading
	entries map[string]declared
	plain   map[string]string
	done    map[string][]Fragment
}

// flatten returns the fragments of an output. The argument path has the outputs that led to it.
func (c *composition) flatten(name string, path []string) []Fragment {
	if f, ok := c.done[name]; ok {
		return f
	}
	e := c.entries[name]
	if !e.isText {
		c.done[name] = []Fragment{{Output: name, Reference: e.reference}}
		return c.done[name]
	}
	if i := slices.Index(path, name); i >= 0 {
		c.fail("sensitive."+name, "", "refers to itself: %s -> %s", strings.Join(path[i:], " -> "), name)
		return nil
	}
	path = append(path, name)
	var out []Fragment
	for _, p := range e.parts {
		out = c.append(out, name, p, path)
		if len(out) > maxFragments {
			c.fail("sensitive."+name, "", "has more than %d parts", maxFragments)
			out = nil
			break
		}
	}
	c.done[name] = out
	return out
}

// append adds one part of the output called name to out.
func (c *composition) append(out []Fragment, name string, p part, path []string) []Fragment {
	if p.ref == "" {
		return append(out, Fragment{Literal: p.text})
	}
	if _, ok := c.entries[p.ref]; !ok {
		if _, ok := c.plain[p.ref]; ok {
			c.fail("sensitive."+name, "it is not a secret: write it into a text, with CUE's interpolation",
				"names %q, which is not a sensitive output", p.ref)
			return out
		}
		// A ref that names nothing may be the secret itself, so it is not repeated.
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

// escapeURL returns text as a part of a URL. It escapes as the templates of External Secrets do
// for secrets (urlquery, with %20 for a space), so that a text that is known here and one that is
// known only there have the same form.
func escapeURL(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
