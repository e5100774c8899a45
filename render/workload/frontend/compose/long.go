// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-connections/nat"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/builder"
)

// toLong returns a service in which every field has its long form, so that files can be merged
// key by key. Paths become relative to the folder of the document. The argument dir is the folder
// of the file.
func (r *reading) toLong(s document.Part, dir string) document.Part {
	out := make([]object.Member, 0, len(s.Members))
	for _, m := range s.Entries() {
		v := m.Value
		switch m.Name {
		case "environment", "labels", "annotations", "sysctls", "extra_hosts":
			v = keyed(m, "=", m.Name == "extra_hosts")
		case "depends_on":
			v = named(m, func(pos object.Pos) object.Value {
				return builder.Pairs(pos, "condition", object.TextAt("service_started", pos))
			})
		case "networks":
			v = named(m, func(pos object.Pos) object.Value { return object.Value{Kind: object.KindNull, Pos: pos} })
		case "env_file":
			v = each(m, func(p document.Part) []object.Value { return listOfOne(asMap(p, "path")) }, "path", dir)
		case "label_file":
			v = each(m, scalar, "", dir)
		case "tmpfs", "dns", "dns_search":
			v = each(m, scalar, "", "")
		case "dns_opt", "expose", "cap_add", "cap_drop", "profiles", "links", "group_add", "security_opt":
			v = each(m, scalar, "", "")
		case "ports":
			v = each(m, port, "", "")
		case "volumes":
			v = each(m, func(p document.Part) []object.Value { return listOfOne(mountOf(p, dir)) }, "", "")
		case "secrets", "configs":
			v = each(m, func(p document.Part) []object.Value { return listOfOne(asMap(p, "source")) }, "", "")
		case "build":
			v = asMap(m.Part, "context")
			for i, f := range v.Members {
				if f.Name == "context" && f.Value.Kind == object.KindString {
					v.Members = slices.Clone(v.Members)
					v.Members[i].Value.Text = join(dir, f.Value.Text)
				}
			}
		case "extends":
			v = asMap(m.Part, "service")
		case "deploy":
			v.Members = slices.Clone(v.Members)
			for i, d := range m.Entries() {
				if d.Name == "labels" {
					v.Members[i].Value = keyed(d, "=", false)
				}
			}
		}
		out = append(out, object.Member{Name: m.Name, Pos: m.NamePos, Value: v})
	}
	s.Members = out
	return s
}

// join returns a path relative to dir. An absolute path belongs to the host and stays as it is.
func join(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(dir, name)
}

func listOfOne(v object.Value) []object.Value {
	if v.Kind == object.KindNone {
		return nil
	}
	return []object.Value{v}
}

func scalar(p document.Part) []object.Value { return listOfOne(p.Value) }

// each returns a list in which expand replaces each item of m by any number of items. Paths in them,
// in the field called name or as text, are relative to dir.
func each(m document.Entry, expand func(document.Part) []object.Value, name, dir string) object.Value {
	const maxItems = 10_000
	var out []object.Value
	for _, p := range oneOrMore(m.Part) {
		if len(out) > maxItems {
			p.Fail("", "the list stands for more than %d items", maxItems)
			break
		}
		for _, v := range expand(p) {
			switch index := slices.IndexFunc(v.Members, func(m object.Member) bool { return m.Name == name }); {
			case dir != "" && name == "":
				v.Text = join(dir, v.Text)
			case dir != "" && index >= 0:
				v.Members = slices.Clone(v.Members)
				v.Members[index].Value.Text = join(dir, v.Members[index].Value.Text)
			}
			out = append(out, v)
		}
	}
	return object.Value{Kind: object.KindList, Pos: m.Pos, Items: out}
}

// keyed returns a map from a map or a list of KEY=VALUE. For hosts, a colon may replace the =.
func keyed(m document.Entry, sep string, hosts bool) object.Value {
	if m.Kind != object.KindList {
		return m.Value
	}
	out := object.Value{Kind: object.KindMap, Pos: m.Pos}
	index := map[string]int{}
	for _, p := range m.Parts() {
		key, value, found := strings.Cut(p.Written(), sep)
		if !found && hosts {
			key, value, found = strings.Cut(p.Written(), ":")
		}
		v := object.TextAt(value, p.Pos)
		if !found {
			v = object.Value{Kind: object.KindNull, Pos: p.Pos}
		}
		i, seen := index[key]
		if !seen {
			i = len(out.Members)
			index[key] = i
			out.Members = append(out.Members, object.Member{})
		} else if hosts {
			v = object.ListAt(p.Pos, append(values(document.Part{Value: out.Members[i].Value}), v)...)
		}
		out.Members[i] = object.Member{Name: key, Pos: p.Pos, Value: v}
	}
	return out
}

func values(p document.Part) []object.Value {
	if p.Kind == object.KindList {
		return p.Items
	}
	return []object.Value{p.Value}
}

// named returns a map from a map or a list of names.
func named(m document.Entry, value func(object.Pos) object.Value) object.Value {
	if m.Kind != object.KindList {
		return m.Value
	}
	out := object.Value{Kind: object.KindMap, Pos: m.Pos}
	seen := map[string]bool{}
	for _, p := range m.Parts() {
		if name := p.Written(); !seen[name] {
			seen[name] = true
			out.Members = append(out.Members, object.Member{Name: name, Pos: p.Pos, Value: value(p.Pos)})
		}
	}
	return out
}

// asMap returns a map from a map or the text of one of its fields.
func asMap(p document.Part, name string) object.Value {
	if p.Kind == object.KindMap {
		return p.Value
	}
	return builder.Pairs(p.Pos, name, object.TextAt(p.Written(), p.Pos))
}

// port returns the ports of one entry of ports: [[IP:]PUBLISHED:]TARGET[/PROTOCOL], with ranges.
func port(p document.Part) []object.Value {
	const maxPorts = 100
	if p.Kind == object.KindMap {
		return listOfOne(p.Value)
	}

	// A range of thousands of ports is refused before it is expanded.
	spec := p.Written()
	for _, piece := range strings.FieldsFunc(spec, func(c rune) bool { return c == ':' || c == '/' }) {
		if first, last, err := nat.ParsePortRange(piece); err == nil && last-first >= maxPorts {
			p.Fail("write fewer ports", "a range of %d ports, more than %d", last-first+1, maxPorts)
			return nil
		}
	}

	// One mapping is one port of the container.
	mappings, err := nat.ParsePortSpec(spec)
	if err != nil {
		p.Fail(`write "8080:80", or the one that it is`, "%q is not a port", spec)
		return nil
	}
	var out []object.Value
	for _, m := range mappings {
		f := builder.Pairs(p.Pos, "target", object.NumberAt(m.Port.Int(), p.Pos), "protocol", object.TextAt(m.Port.Proto(), p.Pos))
		if m.Binding.HostPort != "" {
			f.Members = append(f.Members, object.Member{Name: "published", Pos: p.Pos, Value: object.TextAt(m.Binding.HostPort, p.Pos)})
		}
		if ip, err := netip.ParseAddr(m.Binding.HostIP); err == nil && !ip.IsUnspecified() {
			f.Members = append(f.Members, object.Member{Name: "host_ip", Pos: p.Pos, Value: object.TextAt(m.Binding.HostIP, p.Pos)})
		}
		out = append(out, f)
	}
	return out
}

// mountOf returns a mount of a service: [SOURCE:]TARGET[:OPTIONS]. The source of a bind mount is
// relative to dir, unless it is absolute.
func mountOf(p document.Part, dir string) object.Value {
	v := p.Value
	if v.Kind == object.KindString {
		source, afterSource, hasTarget := strings.Cut(v.Text, ":")
		if len(source) == 1 && hasTarget && strings.HasPrefix(afterSource, `\`) { // A drive of Windows.
			drive, afterDrive, _ := strings.Cut(afterSource, ":")
			source += ":" + drive
			afterSource = afterDrive
		}
		target, options, _ := strings.Cut(afterSource, ":")
		if !hasTarget {
			target = source
			source = ""
		}

		// A source that looks like a path belongs to the host.
		kind := "volume"
		isPath := strings.HasPrefix(source, ".") || strings.HasPrefix(source, "/") || strings.HasPrefix(source, "~")
		if isPath || strings.Contains(source, `\`) {
			kind = "bind"
		}
		noSource := hasTarget && source == ""
		if target == "" || strings.Contains(options, ":") || noSource {
			p.Fail("write SOURCE:/target, or SOURCE:/target:ro", "%q is not a mount", v.Text)
			return object.Value{}
		}
		v = builder.Pairs(p.Pos, "type", object.TextAt(kind, p.Pos), "target", object.TextAt(path.Clean(target), p.Pos),
			"read_only", object.BoolAt(slices.Contains(strings.Split(options, ","), "ro"), p.Pos))
		if source != "" {
			v.Members = append(v.Members, object.Member{Name: "source", Pos: p.Pos, Value: object.TextAt(source, p.Pos)})
		}
	}

	// The folder of the file differs from the folder of the document.
	if kind, _ := v.Get("type"); kind.Text != "bind" {
		return v
	}
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		if m.Name == "source" && m.Value.Kind == object.KindString && !strings.HasPrefix(m.Value.Text, "~") {
			v.Members[i].Value.Text = join(dir, m.Value.Text)
		}
	}
	return v
}

// filesOf returns the configs or secrets of a file, with paths relative to the folder of the
// document.
func (r *reading) filesOf(v object.Value, dir string) object.Value {
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		v.Members[i].Value.Members = slices.Clone(m.Value.Members)
		for j, f := range m.Value.Members {
			if f.Name == "file" && f.Value.Kind == object.KindString {
				v.Members[i].Value.Members[j].Value.Text = join(dir, f.Value.Text)
			}
		}
	}
	return v
}

// merge returns top merged over base as Compose does: maps key by key, lists one behind the other
// without duplicates, and commands as a whole.
func (r *reading) merge(base, top object.Value, place object.Path) object.Value {
	const maxValues = 200_000
	last := ""
	if len(place) > 0 {
		last = place[len(place)-1].Name
	}

	// A few lines can expand to millions of values.
	copied := len(base.Members) + len(base.Items)
	r.merged += copied
	if r.merged > maxValues {
		r.merged -= copied
		if !r.full {
			r.full = true
			document.Part{Decoder: &r.Decoder, Value: top, Path: place}.Fail("", "merging the files takes more than %d values", maxValues)
		}
		return object.Value{}
	}

	// The kinds of both values decide. A value that is absent or null gives way.
	baseEmpty := base.Kind == object.KindNone || base.Kind == object.KindNull
	isCommand := last == "command" || last == "entrypoint" || last == "test"
	switch {
	case top.Kind == object.KindNone || (top.Kind == object.KindNull && base.Kind != object.KindNone):
		return base
	case baseEmpty || isCommand:
		return top
	case base.Kind == object.KindMap && top.Kind == object.KindMap:
		out := base // It keeps its position, where missing fields are reported.
		out.Members = slices.Clone(base.Members)
		index := make(map[string]int, len(base.Members))
		for i, m := range base.Members {
			index[m.Name] = i
		}
		for _, m := range top.Members {
			i, found := index[m.Name]
			if !found {
				out.Members = append(out.Members, m)
				continue
			}
			value := r.merge(base.Members[i].Value, m.Value, place.Append(object.Field(m.Name)))
			out.Members[i] = object.Member{Name: m.Name, Pos: m.Pos, Value: value}
		}
		return out
	case base.Kind == object.KindList && top.Kind == object.KindList:
		return joined(base, top)
	case base.Kind != top.Kind && (base.Kind == object.KindMap || base.Kind == object.KindList):
		document.Part{Decoder: &r.Decoder, Value: top, Path: place}.Fail("", "expected a %s as at %s, got a %s", base.Kind, base.Pos, top.Kind)
		return base
	}
	return top
}

// joined returns two lists as one. An item of the second list replaces the item of the first with
// the same identity.
func joined(base, top object.Value) object.Value {
	out := top
	out.Items = slices.Clone(base.Items)
	index := make(map[string]int, len(base.Items))
	for i, item := range base.Items {
		index[identity(item)] = i
	}
	for _, item := range top.Items {
		if i, found := index[identity(item)]; found {
			out.Items[i] = item
			continue
		}
		index[identity(item)] = len(out.Items)
		out.Items = append(out.Items, item)
	}
	return out
}

// identity returns the key that distinguishes items of a list: the target of a mount, the source of
// a config without target, the path of an env file, all of a port, the text of other items.
func identity(v object.Value) string {
	textOf := func(name string) string {
		m, _ := v.Get(name)
		return m.Text
	}
	_, port := v.Get("published")
	_, protocol := v.Get("protocol")
	switch target := textOf("target"); {
	case v.Kind != object.KindMap:
		return strconv.Quote(v.Text)
	case port || protocol:
		return textOf("host_ip") + ":" + textOf("published") + ":" + target + "/" + textOf("protocol")
	case target != "":
		return path.Clean(target)
	case textOf("source") != "":
		return "/" + textOf("source")
	}
	return textOf("path") + string(v.JSON())
}
