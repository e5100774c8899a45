// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// powers returns the rules of a role that grant unusually much.
func powers(o object.Object) (out []string) {
	for _, r := range o.List("rules") {
		m, _ := r.(map[string]any)
		verbs, resources := texts(m["verbs"]), texts(m["resources"])
		groups := texts(m["apiGroups"])
		where := strings.Join(resources, ", ")
		if len(resources) == 0 {
			where = strings.Join(texts(m["nonResourceURLs"]), ", ")
		}

		// A star grants more than what is listed.
		switch {
		case slices.Contains(verbs, "*") && slices.Contains(resources, "*"):
			out = append(out, "every verb on every resource of "+groupNames(groups))
		case slices.Contains(verbs, "*"):
			out = append(out, "every verb on "+where)
		case slices.Contains(resources, "*"):
			out = append(out, strings.Join(verbs, ", ")+" on every resource of "+groupNames(groups))
		}

		// Some verbs let a subject get further rights.
		for _, v := range verbs {
			if v == "escalate" || v == "bind" || v == "impersonate" {
				out = append(out, v+" on "+where)
			}
		}

		// Some resources lead to further rights, or to secrets.
		reads := slices.ContainsFunc(verbs, func(v string) bool { return v == "get" || v == "list" || v == "watch" })
		if slices.Contains(resources, "secrets") && reads {
			out = append(out, "reading Secrets")
		}
		for _, r := range resources {
			if r == "pods/exec" || r == "serviceaccounts/token" || r == "nodes/proxy" {
				out = append(out, strings.Join(verbs, ", ")+" on "+r)
			}
		}
	}
	return out
}

func groupNames(groups []string) string {
	var out []string
	for _, g := range groups {
		switch g {
		case "*":
			return "every group"
		case "":
			g = "the core group"
		}
		out = append(out, g)
	}
	return strings.Join(out, ", ")
}

// grants returns the subjects of a binding. With powerful, it returns only those with a powerful
// role, and those that stand for every client.
func grants(o object.Object, powerful bool) (out []string) {
	role := o.Text("roleRef", "name")
	for _, s := range o.List("subjects") {
		m, _ := s.(map[string]any)
		subject := fmt.Sprint(m["kind"], " ", m["name"])
		name, _ := m["name"].(string)
		switch {
		case strings.HasPrefix(name, "system:authenticated"), strings.HasPrefix(name, "system:unauthenticated"), name == "system:anonymous",
			name == "system:serviceaccounts":
			out = append(out, "the role "+role+" to "+name)
		case !powerful, role == "cluster-admin", role == "admin", role == "edit":
			out = append(out, "the role "+role+" to "+subject)
		}
	}
	return out
}

// widened returns the rules of a role that grant what the role did not grant before. Rules that
// grant unusually much are among its powers, and left out here.
func widened(before, after object.Object) (out []Danger) {
	if before == nil {
		return nil
	}
	held := powers(before)
	var old []rule
	for _, r := range before.List("rules") {
		old = append(old, ruleOf(r))
	}
	budget := maxGrants
	for _, r := range after.List("rules") {
		if slices.ContainsFunc(powers(object.Object{"rules": []any{r}}), func(p string) bool { return !slices.Contains(held, p) }) {
			continue
		}
		rule := ruleOf(r)
		budget -= len(old) * len(rule.verbs) * (len(rule.resources) + len(rule.urls))
		if budget < 0 {
			return append(out, danger(DangerRBAC, "it has so many rules that what they add is not looked for"))
		}
		verbs, on := rule.beyond(old)
		if len(on) > 0 {
			out = append(out, danger(DangerRBAC, "it grants more than before: %s on %s", strings.Join(verbs, ", "), strings.Join(on, ", ")))
		}
	}
	return out
}

// maxGrants limits the grants of a role that are compared with its earlier grants.
const maxGrants = 200_000

// rule is a rule of a role.
type rule struct{ groups, resources, names, verbs, urls []string }

func ruleOf(v any) rule {
	m, _ := v.(map[string]any)
	return rule{
		groups:    texts(m["apiGroups"]),
		resources: texts(m["resources"]),
		names:     texts(m["resourceNames"]),
		verbs:     texts(m["verbs"]),
		urls:      texts(m["nonResourceURLs"]),
	}
}

// beyond returns the verbs and the resources or URLs of a rule that others do not grant.
func (r rule) beyond(others []rule) (verbs, targets []string) {
	for _, target := range slices.Concat(r.resources, r.urls) {
		for _, verb := range r.verbs {
			if !slices.ContainsFunc(others, func(o rule) bool { return o.covers(r, target, verb) }) {
				verbs, targets = append(verbs, verb), append(targets, target)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(r.verbs), func(v string) bool { return !slices.Contains(verbs, v) }), slices.Compact(targets)
}

// covers reports whether r grants a verb on what, a resource or a URL, wherever other
// does.
func (r rule) covers(other rule, target, verb string) bool {
	has := func(list []string, of ...string) bool {
		for _, o := range of {
			if !slices.Contains(list, "*") && !slices.Contains(list, o) {
				return false
			}
		}
		return true
	}
	if !has(r.verbs, verb) {
		return false
	}
	if len(other.urls) > 0 {
		return has(r.urls, target)
	}
	isListed := len(other.names) > 0 && has(r.names, other.names...)
	if len(r.names) > 0 && !isListed {
		return false
	}
	return has(r.groups, other.groups...) && has(r.resources, target)
}
