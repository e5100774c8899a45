// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/reader"
)

// checkDeclared reports what the volumes, networks, configs and secrets of the model say that
// nothing would come of, whether a service names them or not.
func (r *reading) checkDeclared(root reader.Part) {
	root.At(extension).Only("hostPaths")
	checkHostPaths(root.At(extension, "hostPaths"))
	for _, v := range root.At("volumes").Entries() {
		v.Only("name", "external", "driver", "driver_opts", "labels", extension)
		v.At(extension).Is(object.KindMap)
		if isExternal(v.Part) {
			conflicts(v.Part, "external", "driver", "driver_opts", "labels", extension)
		}
	}
	for _, n := range root.At("networks").Entries() {
		n.Only("name", "driver", "driver_opts", "ipam", "internal", "external", "attachable", "enable_ipv4", "enable_ipv6", "labels")
		unused(n.Part, "driver_opts", "ipam", "enable_ipv4", "enable_ipv6")
		if isExternal(n.Part) {
			conflicts(n.Part, "external", "driver", "driver_opts", "ipam", "internal", "attachable", "enable_ipv4", "enable_ipv6", "labels")
		}
		if !r.project.NetworkPolicies() {
			unused(n.Part, "internal")
		}
	}
	for _, c := range root.At("configs").Entries() {
		c.Only("name", "external", "file", "content", "environment", "labels", "template_driver", extension)
		checkSource(c, "config", "file", "content", "environment")
	}
	for _, c := range root.At("secrets").Entries() {
		before := len(r.Errs)
		c.Only("name", "external", "file", "environment", "labels", "driver", "driver_opts", "template_driver", extension)
		checkSource(c, "secret", "file", "environment", "driver")
		for _, e := range r.Errs[before:] {
			e.Secret = true // What is wrong here may be the value.
			if r.refused == nil {
				r.refused = map[string]bool{}
			}
			r.refused[c.Name] = true
		}
	}
}

// checkSource reports a config or a secret that has no source, or several; fields are those
// that are one.
func checkSource(c reader.Entry, kind string, fields ...string) {
	if c.Given() && c.Kind != object.KindMap {
		return // as Only has reported
	}
	c.At(extension).Only("name", "key")
	first := ""
	for _, name := range fields {
		p := c.At(name)
		switch {
		case !p.Given():
		case first != "":
			p.Fail("remove one of them", "a %s has one source, and %s is one already", kind, first)
		default:
			p.Loose()
			first = name
		}
	}
	external := isExternal(c.Part)
	if external {
		conflicts(c.Part, "external", append(fields, "labels", "driver_opts", "template_driver")...)
	}
	if first != "" || external || c.At("external").Given() && !isFlag(c.At("external")) || kind == "secret" && c.At(extension).Given() {
		return
	}
	at := c.Part
	at.Pos = c.NamePos
	at.Fail("write "+strings.Join(fields[:2], ": …, ")+": … or external: true", "the %s %q has no source", kind, c.Name)
}

// isExternal reports whether p is there already, and no part of the application.
func isExternal(p reader.Part) bool {
	external := p.At("external")
	if external.Kind == object.KindMap {
		external.Only("name")
		return true
	}
	return external.Flag()
}

// isFlag reports whether p can be read as true or false.
func isFlag(p reader.Part) bool {
	return p.Kind == object.KindMap || p.Text == "true" || p.Text == "false"
}

// conflicts reports the fields that mean nothing beside another one.
func conflicts(p reader.Part, beside string, names ...string) {
	for _, name := range names {
		if at := p.At(name); at.Given() && name != beside {
			at.Fail("remove one of them", "%s has no meaning beside %s", name, beside)
		}
	}
}
