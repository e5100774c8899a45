// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// checkFor returns the check of a single value that a schema names, or nil for an unknown name. A
// test looks all of them up.
func checkFor(name string) func(*finding.Value) {
	if check := nameCheck(name); check != nil {
		return check
	}
	return valueCheck(name)
}

// nameCheck returns the check of what names an object, a host, a key or a label, or nil for
// anything else.
func nameCheck(name string) func(*finding.Value) {
	switch name {
	case "distinct-names":
		return func(a *finding.Value) { checkDistinct(a, "name") }
	case "domain":
		return checkHostName
	case "file":
		return func(a *finding.Value) {
			if t := a.Text(); t != "" {
				checkConfigKey(a, t)
			}
		}
	case "header":
		return checkHeaderName
	case "host":
		return checkIngressHost
	case "key":
		return checkOptionalKey
	case "label":
		return checkLabel
	case "label-value":
		return checkLabelValue
	case "labelled":
		return checkTemplateMeta
	case "labels":
		return checkLabels
	case "port-name":
		return checkPortName
	case "resource":
		return func(a *finding.Value) {
			if t := a.Text(); t != "" {
				checkResourceName(a, t)
			}
		}
	case "segment":
		return checkPathSegment
	case "subdomain":
		return Subdomain
	case "sysctl":
		return checkSysctl
	case "variable":
		return checkVariableName
	}
	return nil
}

// valueCheck returns the check of a number, an address or a path, or nil for anything else.
func valueCheck(name string) func(*finding.Value) {
	switch name {
	case "absolute":
		return checkAbsolutePath
	case "cidr":
		return func(a *finding.Value) { checkCIDR(a) }
	case "filled":
		return checkFilled
	case "inside":
		return refuseParent
	case "ip":
		return checkIP
	case "mode":
		return checkFileMode
	case "not-negative":
		return checkNotNegative
	case "port":
		return checkPort
	case "port-or-name":
		return checkPortOrName
	case "positive":
		return checkPositive
	case "relative":
		return checkRelativePath
	}
	return nil
}

// Checks of single texts. Each accepts "", where the text is
// optional and the server takes "" for absent; required texts are the schema's
// business.

// Subdomain requires a DNS-1123 Subdomain, the form of most names.
func Subdomain(a *finding.Value) {
	if t := a.Text(); t != "" && len(validation.IsDNS1123Subdomain(t)) > 0 {
		const form = "lower-case letters, digits, \"-\" and \".\" (at most 253, beginning and ending with a letter or digit)"
		a.Fail(finding.RuleName, "expected %s, found %s", form, a.Show())
	}
}

// checkLabel requires a DNS-1123 label, the form of names that become host names.
func checkLabel(a *finding.Value) {
	if t := a.Text(); t != "" && len(validation.IsDNS1123Label(t)) > 0 {
		const form = "lower-case letters, digits and \"-\" (at most 63, beginning and ending with a letter or digit)"
		a.Fail(finding.RuleName, "expected %s, found %s", form, a.Show())
	}
}

// checkPathSegment requires what can be a part of a URL path.
func checkPathSegment(a *finding.Value) {
	if t := a.Text(); t == "." || t == ".." || strings.ContainsAny(t, "/%") {
		a.Fail(finding.RuleName, "must not be %s: a name is part of a URL", a.Show())
	}
}

// checkPortName requires the name of a port.
func checkPortName(a *finding.Value) {
	t := a.Text()
	switch {
	case t == "" || len(validation.IsValidPortName(t)) == 0:
	case len(t) > 15:
		a.Fail(finding.RuleName, "expected at most 15 characters, found %d in %s", len(t), a.Show())
	default:
		a.Fail(finding.RuleName, "expected lower-case letters, digits and single \"-\" with at least one letter, found %s", a.Show())
	}
}

// checkPort requires a port number.
func checkPort(a *finding.Value) {
	if i, ok := a.Int(); ok && (i < 1 || i > 65535) {
		a.Fail(finding.RuleRange, "expected a port from 1 to 65535, found %d", i)
	}
}

// checkPortOrName requires a port number or the name of a port.
func checkPortOrName(a *finding.Value) {
	checkPort(a)
	if t, ok := a.Raw.(string); ok {
		if _, err := strconv.Atoi(t); err == nil {
			a.Fail(finding.RuleFormat, "expected a number or the name of a port, found %s", a.Show()).Hint = "write it without quotes"
		} else if t == "" {
			a.Fail(finding.RuleRequired, "is required")
		} else {
			checkPortName(a)
		}
	}
}

// checkQualifiedName requires a key such as app or example.com/app.
func checkQualifiedName(a *finding.Value, text string) {
	if text != "" && len(content.IsLabelKey(text)) == 0 {
		return
	}
	const form = "a key such as \"app\" or \"example.com/app\" (at most 63 letters, digits, \"-\", \"_\" and \".\" after the slash)"
	a.Fail(finding.RuleName, "expected %s, found %s", form, finding.Describe(text, a.Secret()))
}

// checkLabels checks a map of labels.
func checkLabels(a *finding.Value) {
	for _, name := range a.Names() {
		v := a.Field(name)
		checkQualifiedName(v, name)
		checkLabelValue(v)
	}
}

// checkLabelValue requires the value of a label.
func checkLabelValue(a *finding.Value) {
	if t := a.Text(); len(content.IsLabelValue(t)) > 0 {
		const form = "at most 63 letters, digits, \"-\", \"_\" and \".\" (beginning and ending with a letter or digit)"
		f := a.Fail(finding.RuleName, "expected %s, found %s", form, a.Show())
		if len(t) > 63 {
			f.Hint = "put long texts into an annotation"
		}
	}
}

// checkIP requires an IP address.
func checkIP(a *finding.Value) {
	if t := a.Text(); t != "" {
		if _, err := netip.ParseAddr(t); err != nil {
			a.Fail(finding.RuleFormat, "expected an IP address, found %s", a.Show())
		}
	}
}

// checkFilled requires a text that is not empty, if it is given.
func checkFilled(a *finding.Value) {
	if a.Raw == "" {
		f := a.Fail(finding.RuleRequired, "must not be empty")
		if !a.Step.IsIndex {
			f.Hint = "leave it out for the default"
		}
	}
}

// checkDistinct requires the texts at a path in the items of a list to differ.
func checkDistinct(a *finding.Value, path ...string) {
	seen := map[string]bool{}
	for _, item := range a.Items() {
		v := item.In(path...)
		if t := v.Text(); t != "" && seen[t] {
			v.Fail(finding.RuleUnique, "is the %s of another item: %s", path[len(path)-1], v.Show())
		}
		seen[v.Text()] = true
	}
}

// checkSysctl requires the name of a kernel parameter.
func checkSysctl(a *finding.Value) {
	if n := len(a.Text()); n > validation.DNS1123SubdomainMaxLength {
		a.Fail(finding.RuleSize, "expected at most 253 characters, found %d", n)
	}
	for part := range strings.FieldsFuncSeq(a.Text(), func(r rune) bool { return r == '.' || r == '/' }) {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			a.Fail(finding.RuleFormat, "expected the name of a kernel parameter such as \"net.core.somaxconn\", found %s", a.Show())
			return
		}
	}
}

// checkVariableName requires the name of an environment variable.
func checkVariableName(a *finding.Value) {
	if t := a.Text(); t != "" && len(validation.IsRelaxedEnvVarName(t)) > 0 {
		a.Fail(finding.RuleName, "expected printable characters other than \"=\", found %s", a.Show())
	}
}

// checkHeaderName requires the name of an HTTP header.
func checkHeaderName(a *finding.Value) {
	if t := a.Text(); t != "" && len(validation.IsHTTPHeaderName(t)) > 0 {
		a.Fail(finding.RuleName, "expected the name of an HTTP header, found %s", a.Show())
	}
}

// checkAbsolutePath requires a path from the root.
func checkAbsolutePath(a *finding.Value) {
	if t := a.Text(); t != "" && !strings.HasPrefix(t, "/") {
		a.Fail(finding.RuleFormat, "expected a path that begins with \"/\", found %s", a.Show())
	}
}

// checkCIDR requires a network such as 10.0.0.0/8 and returns it.
func checkCIDR(a *finding.Value) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(strings.TrimSpace(a.Text()))
	if err != nil {
		a.Fail(finding.RuleFormat, "expected a network such as \"10.0.0.0/8\", found %s", a.Show())
	}
	return p, err == nil
}

// checkAtLeast requires a number not below limit.
func checkAtLeast(a *finding.Value, limit int64) {
	if i, ok := a.Int(); ok && i < limit {
		a.Fail(finding.RuleRange, "expected at least %d, found %d", limit, i)
	}
}

// checkBetween requires a number within bounds.
func checkBetween(a *finding.Value, low, high int64) {
	if i, ok := a.Int(); ok && (i < low || i > high) {
		a.Fail(finding.RuleRange, "expected a number from %d to %d, found %d", low, high, i)
	}
}

// checkPositive requires an amount above zero.
func checkPositive(a *finding.Value) {
	if q, ok := amountOf(a); ok && q.Sign() <= 0 {
		a.Fail(finding.RuleRange, "must be above 0, found %s", a.Show())
	}
}

// checkNotNegative requires an amount that is not below zero.
func checkNotNegative(a *finding.Value) {
	if q, ok := amountOf(a); ok && q.Sign() < 0 {
		a.Fail(finding.RuleRange, "must not be negative, found %s", a.Show())
	}
}

// checkNumberOrPercent requires a number of things or a share such as 25%, and
// reports whether it is zero.
func checkNumberOrPercent(a *finding.Value) (zero bool) {
	switch v := a.Raw.(type) {
	case int64:
		checkAtLeast(a, 0)
		return v == 0
	case string:
		n, ok := strings.CutSuffix(v, "%")
		i, err := strconv.Atoi(n)
		if !ok || err != nil || i < 0 {
			f := a.Fail(finding.RuleFormat, "expected a number or a percentage such as \"25%%\", found %s", a.Show())
			if err == nil && i >= 0 {
				f.Hint = "write it without quotes, or with a percent sign"
			}
		}
		return ok && err == nil && i == 0
	}
	return false
}

// percent returns the share, or -1 for any other value.
func percent(a *finding.Value) int {
	n, ok := strings.CutSuffix(a.Text(), "%")
	if i, err := strconv.Atoi(n); ok && err == nil {
		return i
	}
	return -1
}

// checkRelativePath requires a path inside a volume.
func checkRelativePath(a *finding.Value) {
	t := a.Text()
	if strings.HasPrefix(t, "/") {
		a.Fail(finding.RuleFormat, "expected a relative path, found %s", a.Show())
	}
	refuseParent(a)
}

// refuseParent refuses .. in a path.
func refuseParent(a *finding.Value) {
	for part := range strings.SplitSeq(a.Text(), "/") {
		if part == ".." {
			a.Fail(finding.RuleFormat, "must not contain \"..\", found %s", a.Show())
			return
		}
	}
}

// checkOneOf requires exactly one of the members of a map, and returns its name. The argument noun is
// the word for all of them in messages.
func checkOneOf(a *finding.Value, noun string, names ...string) string {
	var present []string
	for _, n := range names {
		if a.Field(n).Has() {
			present = append(present, n)
		}
	}
	switch len(present) {
	case 0:
		shown := names
		if len(shown) > 6 {
			a.Fail(finding.RuleExclusive, "needs one %s", noun)
			return ""
		}
		a.Fail(finding.RuleExclusive, "needs one %s: %s", noun, finding.Join(shown))
	case 1:
		return present[0]
	default:
		a.Fail(finding.RuleExclusive, "has more than one %s: %s", noun, strings.Join(present, ", ")).Hint = "keep one"
	}
	return ""
}

// forbid refuses members that contradict another.
func forbid(a *finding.Value, reason string, names ...string) {
	for _, n := range names {
		if f := a.Field(n); !f.Empty() {
			f.Fail(finding.RuleExclusive, "must not be set %s", reason)
		}
	}
}
