// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The placeholders of rules.
const (
	placeholder     = "${preview}"
	namespacePlace  = "${namespace}"
	hostPlace       = "${host}"
	labelCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

// Rules are the rules of a project for one preview. The zero value is no preview.
type Rules struct {
	// ID names the preview, see [spec.CheckPreview].
	ID string
	spec.Previews
	// From are the namespaces that the specs have without a preview, sorted.
	From []string
}

// Enter returns the namespace of the preview in place of a namespace of the render, which it adds
// to r.From. The preview's own namespace stays, such as the destination of an Application of Argo
// CD.
func (r *Rules) Enter(namespace string) (string, error) {
	if base := r.Base(namespace); base != "" && !slices.Contains(r.From, base) {
		r.From = append(r.From, base)
		slices.Sort(r.From)
	}
	return r.namespace(namespace)
}

// own reports whether a namespace is one of the preview.
func (r *Rules) own(namespace string) bool {
	before, after, named := strings.Cut(r.fill(r.Namespace.Text), namespacePlace)
	if !named {
		return namespace == before
	}
	return len(namespace) > len(before)+len(after) && strings.HasPrefix(namespace, before) && strings.HasSuffix(namespace, after)
}

// Base returns what a namespace is without a preview, or "" if that is not known.
func (r *Rules) Base(namespace string) string {
	if !r.own(namespace) {
		return namespace
	}
	before, after, named := strings.Cut(r.fill(r.Namespace.Text), namespacePlace)
	if !named {
		return ""
	}
	return namespace[len(before) : len(namespace)-len(after)]
}

// namespace returns the namespace of the preview in place of a namespace of the render.
func (r *Rules) namespace(name string) (string, error) {
	if r.own(name) {
		return name, nil
	}
	namespace := strings.Replace(r.fill(r.Namespace.Text), namespacePlace, name, 1)
	if bad := document.BadLabel(namespace); bad != "" {
		return "", r.fail("namespace", r.Namespace, "shorten the rule or the name of the preview",
			"the namespace %q of preview %s, for %q, %s", namespace, r.ID, name, bad)
	}
	return namespace, nil
}

// host returns the host of the preview in place of a host of the render, in lower case.
func (r *Rules) host(name string) (string, error) {
	host := strings.Replace(r.fill(r.Host.Text), hostPlace, name, 1)
	if !kinds.Subdomain(strings.TrimPrefix(host, "*."), 1) {
		hint := "a host has at most 253 characters, and 63 between two dots"
		if strings.HasPrefix(name, "*.") {
			hint = "serve hosts by their names, or begin the rule with ${host}, such as ${host}.${preview}.example.com"
		}
		return "", r.fail("host", r.Host, hint, "%q is no host: it is that of preview %s in place of %q", host, r.ID, name)
	}
	return host, nil
}

// fill replaces the placeholder of the preview in a rule.
func (r *Rules) fill(rule string) string { return strings.Replace(rule, placeholder, r.ID, 1) }

// fail returns a mistake of a rule.
func (r *Rules) fail(field string, rule spec.Text, hint, format string, args ...any) *object.Error {
	return &object.Error{
		Stage: object.StageSpec, Pos: rule.Pos, Path: "spec.previews." + field, Err: fmt.Errorf(format, args...), Hint: hint,
	}
}

// ambiguous reports two names that become the same name in two previews. With
// ${namespace}-${preview}, shop-db in the preview 1 is shop in the preview db-1. The names are
// sorted.
func (r *Rules) ambiguous(field string, rule spec.Text, place string, names []string) object.Errors {
	first, last := strings.Index(rule.Text, place), strings.Index(rule.Text, placeholder)
	if first < 0 {
		return nil
	}
	ahead := first < last
	end := len(place)
	if !ahead {
		first, last, end = last, first, len(placeholder)
	}
	between := rule.Text[first+end : last]

	// Every cut of a longer name may give the name of another host, and then of a preview.
	var errs object.Errors
	for _, long := range names {
		for i := range long {
			if !strings.HasPrefix(long[i:], between) {
				continue
			}
			short, preview := long[i+len(between):], long[:i]
			if ahead {
				short, preview = preview, short
			}
			// What is left of the longer name is a part of the name of a preview.
			_, found := slices.BinarySearch(names, short)
			isLabel := strings.Trim(preview+between, labelCharacters) == "" && strings.Trim(preview, "-") == preview
			if found && preview != "" && isLabel {
				errs = append(errs, r.fail(field, rule, "put a text between the placeholders that no name has, such as -pr-",
					"two previews can have one %s, because there are %q and %q", field, short, long))
			}
		}
	}
	return errs
}
