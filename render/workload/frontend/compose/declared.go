// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// checkDeclared reports declarations of volumes, networks, configs and secrets in the model that
// have no effect, whether a service names them or not.
func (r *reading) checkDeclared(root document.Part) {
	for _, v := range root.At("volumes").Entries() {
		if isExternal(v.Part) {
			reportConflicts(v.Part, "external", "driver", "driver_opts", "labels", extension)
		}
	}
	for _, n := range root.At("networks").Entries() {
		warnUnused(n.Part, "driver_opts", "ipam", "enable_ipv4", "enable_ipv6")
		if isExternal(n.Part) {
			reportConflicts(n.Part, "external", "driver", "driver_opts", "ipam", "internal", "attachable", "enable_ipv4", "enable_ipv6", "labels")
		}
		if !r.project.NetworkPolicies() {
			warnUnused(n.Part, "internal")
		}
	}
	for _, c := range root.At("configs").Entries() {
		checkSource(c, "config", "file", "content", "environment")
	}
	for _, c := range root.At("secrets").Entries() {
		before := len(r.Errs)
		checkSource(c, "secret", "file", "environment", "driver")
		r.Hide(before) // The text with the mistake may be the secret.
	}
}

// reportUndeclared reports that declared has no member of the name that stands at p. It only counts
// a failure if the declaration of that name has a mistake, which is reported already.
func reportUndeclared(declared, p document.Part, name, hint, kind string) {
	if declared.Known(declared.Path.Append(object.Field(name))) {
		p.Failed++
		return
	}
	p.Fail(hint, "there is no %s %q", kind, name)
}

// checkSource reports a config or a secret that has no source, or several. The argument fields
// lists the fields that name a source.
func checkSource(c document.Entry, kind string, fields ...string) {
	first := ""
	for _, name := range fields {
		p := c.At(name)
		switch {
		case !p.Given():
		case first != "":
			p.Fail("remove one of them", "a %s has one source, and %s is one already", kind, first)
		default:
			first = name
		}
	}
	external := isExternal(c.Part)
	if external {
		reportConflicts(c.Part, "external", append(fields, "labels", "driver_opts", "template_driver")...)
	}
	ours := kind == "secret" && c.At(extension).Given()
	if first != "" || external || ours {
		return
	}
	part := c.Part
	part.Pos = c.NamePos
	part.Fail("write "+strings.Join(fields[:2], ": …, ")+": … or external: true", "the %s %q has no source", kind, c.Name)
}

// isExternal reports whether p exists already, and does not belong to the application.
func isExternal(p document.Part) bool {
	external := p.At("external")
	return external.Kind == object.KindMap || external.True()
}

// reportConflicts reports the fields that have no meaning beside another field.
func reportConflicts(p document.Part, beside string, names ...string) {
	for _, name := range names {
		if field := p.At(name); field.Given() && name != beside {
			field.Fail("remove one of them", "%s has no meaning beside %s", name, beside)
		}
	}
}
