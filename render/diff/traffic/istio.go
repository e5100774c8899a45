// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// compareIstio compares two versions of an AuthorizationPolicy.
func (c *comparison) compareIstio(before, after object.Object) {
	action := func(o object.Object) string { return cmp.Or(o.Text("spec", "action"), "ALLOW") }
	provider := func(o object.Object) string { return o.Text("spec", "provider", "name") }
	was, is := istioRules(before), istioRules(after)
	lost := map[string]string{
		"ALLOW":  "it no longer denies what its rules do not allow",
		"DENY":   "it no longer denies what its rules name",
		"CUSTOM": "it no longer asks " + provider(before),
	}
	switch b, a := action(before), action(after); {
	case b != a && lost[b] != "":
		c.report("", "its action changes from %s to %s: %s", b, a, lost[b])
	case b == "ALLOW":
		c.reportUncovered(is, was, allowsMore)
	case b == "DENY":
		c.reportUncovered(was, is, deniesLess)
	case b == "CUSTOM":
		if provider(before) != provider(after) {
			c.report("", "it asks %s and no longer %s", provider(after), provider(before))
		}
		c.reportUncovered(was, is, asksLess)
	}
}

func istioRules(o object.Object) (out []rule) {
	for i, r := range o.List("spec", "rules") {
		path := at("spec.rules", i)
		part := func(field, name string) axis {
			return listed(path+"."+field, asList(asMap(r)[field]), func(path string, v any) entry {
				return entry{path, clausesOf(asMap(asMap(v)[name]), o.Namespace())}
			})
		}
		when := axis{path: path + ".when", anything: true}
		if conditions := asList(asMap(r)["when"]); len(conditions) > 0 {
			var met clauses
			for _, w := range conditions {
				key := "when " + asText(asMap(w)["key"])
				met = append(met, clauseOf(key, false, asMap(w)["values"])...)
				met = append(met, clauseOf(key, true, asMap(w)["notValues"])...)
			}
			when.anything, when.entries = false, []entry{{when.path, met}}
		}
		out = append(out, rule{path, sameAs("", r), []axis{part("from", "source"), part("to", "operation"), when}})
	}
	return out
}

// clause is one of the values, or with not none of them.
type clause struct {
	field  string
	not    bool
	values []string
}

// clauses are a source, an operation or conditions: all of them are met.
type clauses []clause

func clauseOf(field string, not bool, v any) clauses {
	c := clause{field: field, not: not}
	for _, value := range asList(v) {
		c.values = append(c.values, asText(value))
	}
	if len(c.values) == 0 {
		return nil
	}
	return clauses{c}
}

// clausesOf returns the fields of a source or an operation. An account without a namespace
// belongs to the namespace of the policy.
func clausesOf(m map[string]any, namespace string) (out clauses) {
	for _, name := range object.SortedKeys(m) {
		field, not := strings.CutPrefix(name, "not")
		field = strings.ToLower(field[:1]) + field[1:]
		out = append(out, clauseOf(field, not, m[name])...)
		if field != "serviceAccounts" || len(out) == 0 {
			continue
		}
		for i, account := range out[len(out)-1].values {
			if !strings.Contains(account, "/") {
				out[len(out)-1].values[i] = namespace + "/" + account
			}
		}
	}
	return out
}

func (c clauses) holds(other limit) bool {
	o, ok := other.(clauses)
	return ok && !slices.ContainsFunc(c, func(required clause) bool { return !slices.ContainsFunc(o, required.follows) })
}

// follows reports whether all that meets o meets c.
func (c clause) follows(o clause) bool {
	held := func(field string, v string, by []string) bool {
		return slices.ContainsFunc(by, func(b string) bool { return matches(field, b, v) })
	}
	switch {
	case c.not && o.not:
		return c.field == o.field && !slices.ContainsFunc(c.values, func(v string) bool { return !held(c.field, v, o.values) })
	case c.not:
		return c.field == o.field && !addresses(c.field) && !slices.ContainsFunc(o.values, func(v string) bool {
			return strings.ContainsAny(v, "*{") || held(c.field, v, c.values)
		})
	case o.not:
		return false
	}
	return !slices.ContainsFunc(o.values, func(v string) bool {
		v, ok := identity(c.field, o.field, v)
		return !ok || !held(c.field, v, c.values)
	})
}

// identity returns a value of one field of a source as a value of another field. It returns false
// unless all that meets the one is known to meet the other: a principal is
// td/ns/NAMESPACE/sa/ACCOUNT.
func identity(as, field, v string) (string, bool) {
	if as == field {
		return v, true
	}
	_, path, principal := strings.Cut(v, "/ns/")
	namespace, account, _ := strings.Cut(path, "/sa/")
	principal = principal && field == "principals" && !strings.Contains(path, "*")
	switch {
	case as == "namespaces" && principal:
		return namespace, true
	case as == "namespaces" && field == "serviceAccounts":
		namespace, _, _ = strings.Cut(v, "/")
		return namespace, true
	case as == "serviceAccounts" && principal:
		return namespace + "/" + account, true
	case as == "principals" && (field == "namespaces" || field == "serviceAccounts"):
		return "any", true // Only * holds it: a workload with an identity.
	}
	return "", false
}

// addresses reports whether the values of a field are ranges of addresses.
func addresses(field string) bool {
	return strings.HasSuffix(strings.ToLower(field), "ipblocks") || strings.HasSuffix(field, ".ip")
}

// matches reports whether all that a value v matches is matched by a value by of the field:
// ranges of addresses, templates of paths as they are, and * at either end.
func matches(field, by, v string) bool {
	if addresses(field) {
		b, err := parsePrefix(by)
		o, other := parsePrefix(v)
		return err == nil && other == nil && contains(b, o)
	}
	prefix, begins := strings.CutSuffix(by, "*")
	suffix, ends := strings.CutPrefix(by, "*")
	switch {
	case by == v, by == "*":
		return true
	case strings.Contains(by, "{"):
		return false
	case begins:
		return strings.HasPrefix(v, prefix)
	}
	return ends && strings.HasSuffix(v, suffix)
}
