// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The checks of single texts. Each says nothing of "", where the text is
// optional and the server takes "" for absent; required texts are the schema's
// business.

// subdomain wants a DNS-1123 subdomain, the form of most names.
func subdomain(a *at) {
	if t := a.text(); t != "" && len(validation.IsDNS1123Subdomain(t)) > 0 {
		a.fail(RuleName, "expected lower-case letters, digits, \"-\" and \".\" (at most 253, beginning and ending with a letter or digit), found %s", a.show())
	}
}

// label wants a DNS-1123 label, the form of names that become host names.
func label(a *at) {
	if t := a.text(); t != "" && len(validation.IsDNS1123Label(t)) > 0 {
		a.fail(RuleName, "expected lower-case letters, digits and \"-\" (at most 63, beginning and ending with a letter or digit), found %s", a.show())
	}
}

// pathSegment wants what can be a part of a URL path.
func pathSegment(a *at) {
	if t := a.text(); t == "." || t == ".." || strings.ContainsAny(t, "/%") {
		a.fail(RuleName, "must not be %s: a name is part of a URL", a.show())
	}
}

// portName wants the name of a port.
func portName(a *at) {
	t := a.text()
	switch {
	case t == "" || len(validation.IsValidPortName(t)) == 0:
	case len(t) > 15:
		a.fail(RuleName, "expected at most 15 characters, found %d in %s", len(t), a.show())
	default:
		a.fail(RuleName, "expected lower-case letters, digits and single \"-\" with at least one letter, found %s", a.show())
	}
}

// port wants a port number.
func port(a *at) {
	if i, ok := a.integer(); ok && (i < 1 || i > 65535) {
		a.fail(RuleRange, "expected a port from 1 to 65535, found %d", i)
	}
}

// portOrName wants a port number or the name of one.
func portOrName(a *at) {
	port(a)
	if t, ok := a.v.(string); ok {
		if _, err := strconv.Atoi(t); err == nil {
			a.fail(RuleFormat, "expected a number or the name of a port, found %s", a.show()).Hint = "write it without quotes"
		} else if t == "" {
			a.fail(RuleRequired, "is required")
		} else {
			portName(a)
		}
	}
}

// qualified wants a key such as app or example.com/app.
func qualified(a *at, text string) {
	if text != "" && len(content.IsLabelKey(text)) == 0 {
		return
	}
	a.fail(RuleName, "expected a key such as \"app\" or \"example.com/app\" (at most 63 letters, digits, \"-\", \"_\" and \".\" after the slash), found %s", describe(text, a.w.secret))
}

// labels checks a map of labels.
func labels(a *at) {
	for _, name := range a.names() {
		v := a.field(name)
		qualified(v, name)
		labelValue(v)
	}
}

// labelValue wants the value of a label.
func labelValue(a *at) {
	if t := a.text(); len(content.IsLabelValue(t)) > 0 {
		f := a.fail(RuleName, "expected at most 63 letters, digits, \"-\", \"_\" and \".\" (beginning and ending with a letter or digit), found %s", a.show())
		if len(t) > 63 {
			f.Hint = "put long texts into an annotation"
		}
	}
}

// ip wants an IP address.
func ip(a *at) {
	if t := a.text(); t != "" {
		if _, err := netip.ParseAddr(t); err != nil {
			a.fail(RuleFormat, "expected an IP address, found %s", a.show())
		}
	}
}

// texts wants every item of a list to be some text, and checks it.
func texts(a *at, check func(*at)) {
	for _, item := range a.items() {
		if item.v == nil || item.v == "" {
			item.fail(RuleRequired, "must not be empty")
		} else {
			check(item)
		}
	}
}

// cidr wants a network such as 10.0.0.0/8 and returns it.
func cidr(a *at) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(strings.TrimSpace(a.text()))
	if err != nil {
		a.fail(RuleFormat, "expected a network such as \"10.0.0.0/8\", found %s", a.show())
	}
	return p, err == nil
}

// atLeast wants a number not below limit.
func atLeast(a *at, limit int64) {
	if i, ok := a.integer(); ok && i < limit {
		a.fail(RuleRange, "expected at least %d, found %d", limit, i)
	}
}

// between wants a number within bounds.
func between(a *at, low, high int64) {
	if i, ok := a.integer(); ok && (i < low || i > high) {
		a.fail(RuleRange, "expected a number from %d to %d, found %d", low, high, i)
	}
}

// notNegative wants several members not below zero.
func notNegative(a *at, names ...string) {
	for _, n := range names {
		atLeast(a.field(n), 0)
	}
}

// numberOrPercent wants a number of things or a share such as 25%, and
// returns whether it is nothing.
func numberOrPercent(a *at) (zero bool) {
	switch v := a.v.(type) {
	case int64:
		atLeast(a, 0)
		return v == 0
	case string:
		n, ok := strings.CutSuffix(v, "%")
		i, err := strconv.Atoi(n)
		if !ok || err != nil || i < 0 {
			f := a.fail(RuleFormat, "expected a number or a percentage such as \"25%%\", found %s", a.show())
			if err == nil && i >= 0 {
				f.Hint = "write it without quotes, or with a percent sign"
			}
		}
		return ok && err == nil && i == 0
	}
	return false
}

// percent is the share that stands at a, -1 where it is none.
func percent(a *at) int {
	n, ok := strings.CutSuffix(a.text(), "%")
	if i, err := strconv.Atoi(n); ok && err == nil {
		return i
	}
	return -1
}

// relative wants a path inside a volume.
func relative(a *at) {
	t := a.text()
	if strings.HasPrefix(t, "/") {
		a.fail(RuleFormat, "expected a relative path, found %s", a.show())
	}
	noParent(a)
}

// noParent refuses .. in a path.
func noParent(a *at) {
	for part := range strings.SplitSeq(a.text(), "/") {
		if part == ".." {
			a.fail(RuleFormat, "must not contain \"..\", found %s", a.show())
			return
		}
	}
}

// oneOf wants exactly one of the members of a map; what is how a message
// calls them together. It returns the member.
func oneOf(a *at, what string, names ...string) string {
	var found []string
	for _, n := range names {
		if a.field(n).has() {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		shown := names
		if len(shown) > 6 {
			a.fail(RuleExclusive, "needs one %s", what)
			return ""
		}
		a.fail(RuleExclusive, "needs one %s: %s", what, join(shown))
	case 1:
		return found[0]
	default:
		a.fail(RuleExclusive, "has more than one %s: %s", what, strings.Join(found, ", ")).Hint = "keep one"
	}
	return ""
}

// forbid refuses members that make no sense beside another.
func forbid(a *at, reason string, names ...string) {
	for _, n := range names {
		if f := a.field(n); !f.empty() {
			f.fail(RuleExclusive, "must not be set %s", reason)
		}
	}
}
