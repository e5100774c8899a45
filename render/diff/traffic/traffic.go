// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"encoding/json"
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxSteps bounds how many limits are compared for one policy.
const maxSteps = 2_000_000

// Finding says what a policy lets through from now on, with the path of its part, in the earlier
// version where it is gone; "" is the policy as such.
type Finding struct{ What, Path string }

// Loosened returns what after lets through that before did not. It returns nothing for an object
// that is no policy of the network.
func Loosened(before, after object.Object) []Finding {
	c := comparison{steps: maxSteps}
	switch after.Ref().GroupKind() {
	case "NetworkPolicy.networking.k8s.io":
		c.compareKubernetes(before, after)
	case "CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io":
		c.compareCilium(before, after)
	case "AuthorizationPolicy.security.istio.io":
		c.compareIstio(before, after)
	}
	if c.steps < 0 {
		c.report("", "it has so many rules that what they let through is not compared")
	}
	return c.out
}

// comparison collects what is found about one policy.
type comparison struct {
	out   []Finding
	steps int
}

// report adds what is found at a path.
func (c *comparison) report(path, format string, args ...any) {
	c.out = append(c.out, Finding{fmt.Sprintf(format, args...), path})
}

// What a part of a policy does from now on.
const (
	allowsMore = "it allows more traffic than before"
	deniesLess = "it no longer denies all that it did"
	asksLess   = "it no longer asks about all that it did"
)

// limit is a part of the traffic of a rule.
type limit interface {
	// holds reports whether the traffic of the other limit is part of the traffic of this limit.
	holds(other limit) bool
}

// entry is a limit with the path to it.
type entry struct {
	path  string
	limit limit
}

// axis limits the traffic of a rule in one respect: to any of the entries, or not at all.
type axis struct {
	// path is the path of the field, for the case that it is gone.
	path     string
	anything bool
	entries  []entry
}

// rule lets through the traffic that all of its axes hold. Rules with the same text are the same.
type rule struct {
	path string
	text same
	axes []axis
}

// listed returns an axis with an entry for each item of a list; an absent or empty list is
// anything.
func listed(path string, items []any, of func(path string, item any) entry) axis {
	out := axis{path: path, anything: len(items) == 0}
	for i, item := range items {
		out.entries = append(out.entries, of(at(path, i), item))
	}
	return out
}

func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// reportUncovered reports the paths of the traffic that rules hold and others do not.
func (c *comparison) reportUncovered(rules, others []rule, effect string) {
	known := make(map[same]bool, len(others))
	for _, o := range others {
		known[o.text] = true
	}
	for i, r := range rules {
		if known[r.text] {
			continue
		}
		missing, some := c.missing(r, others)
		switch {
		case c.steps < 0:
			return
		case len(missing) > 0:
			for _, path := range missing {
				c.report(path, "%s", effect)
			}
		case some && i < len(others):
			c.report(r.path+r.gone(others[i]), "%s", effect)
		case some:
			c.report(r.path, "%s", effect)
		}
	}
}

// gone returns the field of r that had limits in another version, and has no limits now.
func (r rule) gone(other rule) string {
	for n, a := range r.axes {
		if a.anything && !other.axes[n].anything {
			return a.path[len(r.path):]
		}
	}
	return ""
}

// missing returns the paths of the entries of r for which no combination with the entries of the
// other axes is part of others, unless that holds for all entries. It also reports whether some
// combination is not.
func (c *comparison) missing(r rule, others []rule) (paths []string, some bool) {
	// Count the combinations, and give up if they are too many.
	total := 1
	size := make([]int, len(r.axes))
	for n, a := range r.axes {
		size[n] = max(len(a.entries), 1)
		if !a.anything {
			size[n] = len(a.entries)
		}
		total *= size[n]
		if total > maxSteps {
			c.steps = -1
			return nil, false
		}
	}

	// Find the combinations that one of the others covers.
	covered := make([]bool, total)
	for _, o := range others {
		held := make([][]bool, len(r.axes))
		for n := range r.axes {
			held[n] = c.held(r.axes[n], o.axes[n], size[n])
		}
		c.steps -= total
		if c.steps < 0 {
			return nil, false
		}
		for combination := range covered {
			index := combination
			holds := true
			for n := range held {
				holds = holds && held[n][index%size[n]]
				index /= size[n]
			}
			covered[combination] = covered[combination] || holds
		}
	}

	// Count, for each entry, how many of its combinations are covered.
	found := make([][]int, len(r.axes))
	for n := range found {
		found[n] = make([]int, size[n])
	}
	for combination, ok := range covered {
		some = some || !ok
		index := combination
		for n := range found {
			if ok {
				found[n][index%size[n]]++
			}
			index /= size[n]
		}
	}

	// An entry without a covered combination is missing.
	for n, a := range r.axes {
		var none []string
		for i, e := range a.entries {
			if found[n][i] == 0 {
				none = append(none, e.path)
			}
		}
		if len(none) < len(a.entries) {
			paths = append(paths, none...)
		}
	}
	return paths, some
}

// held reports for each of the entries of an axis, which are size many, whether another
// axis holds it.
func (c *comparison) held(a, other axis, size int) []bool {
	out := make([]bool, size)
	for i := range out {
		out[i] = other.anything
		for _, o := range other.entries {
			if out[i] || a.anything {
				break
			}
			c.steps--
			if c.steps < 0 {
				return out
			}
			out[i] = o.limit.holds(a.entries[i].limit)
		}
	}
	return out
}

// same is a limit that is not understood: it holds what is equal.
type same string

func (s same) holds(other limit) bool { return s == other }

// sameAs returns v as a limit of a field.
func sameAs(field string, v any) same {
	data, _ := json.Marshal(v) // Of an object, which is JSON.
	return same(field + string(data))
}

// fixed are fields that must be equal where the limit has them.
type fixed map[string]same

func (f fixed) holds(other limit) bool {
	o, _ := other.(fixed)
	for name, v := range f {
		if o[name] != v {
			return false
		}
	}
	return true
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}
