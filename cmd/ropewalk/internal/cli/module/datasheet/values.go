// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package datasheet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Values returns a YAML file of the inputs to start from. Inputs with a default have it. All others
// are comments without a blank after the #, so that removing it sets them.
func (s *Sheet) Values() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Inputs of %s, for spec.input of a Transform or render -f.\n# Remove the # before a name to set it", command.OneLine(s.Module))
	if needed := s.Needed(); len(needed) > 0 {
		fmt.Fprintf(&b, "; required: %s", command.OneLine(strings.Join(needed, ", ")))
	}
	b.WriteString(".\n")
	root := &field{}
	last := root
	for _, in := range s.Inputs {
		if in.Member() {
			last.members = append(last.members, in)
		} else {
			last = root.put(in.input.Path)
			last.input = &in
		}
	}
	for _, f := range root.fields {
		b.WriteString("\n")
		f.write(&b, 0)
	}
	return b.String()
}

// field is a field of the file: an input, or a map of fields.
type field struct {
	name   string
	input  *Input
	fields []*field
	// members are what the members of the input take.
	members []Input
}

// put returns the field at a path, and adds it if it does not exist.
func (f *field) put(at object.Path) *field {
	for _, step := range at {
		i := slices.IndexFunc(f.fields, func(o *field) bool { return o.name == step.Name })
		if i < 0 {
			i = len(f.fields)
			f.fields = append(f.fields, &field{name: step.Name})
		}
		f = f.fields[i]
	}
	return f
}

// hasDefault reports whether the field, or one in it, has a default that holds if nothing is given.
func (f *field) hasDefault() bool {
	if f.input != nil && len(f.fields) == 0 {
		return f.input.Default != "" && f.input.Demand() == "" && !f.input.input.Optional
	}
	return slices.ContainsFunc(f.fields, (*field).hasDefault)
}

// write writes the field below so many others.
func (f *field) write(b *strings.Builder, depth int) {
	indent := strings.Repeat("  ", depth)
	mark := "#"
	if f.hasDefault() {
		mark = ""
	}
	if len(f.fields) > 0 {
		fmt.Fprintf(b, "%s%s%s:\n", indent, mark, key(f.name))
		for _, one := range f.fields {
			one.write(b, depth+1)
		}
		return
	}
	b.WriteString(lines(f.input.Doc, indent+"# "))
	about := f.input.Type
	if demand := f.input.Demand(); demand != "" {
		about = demand + ": " + about
	}
	for i, m := range f.members {
		about += map[bool]string{true: "; of each: ", false: ", "}[i == 0] + strings.TrimPrefix(strings.TrimPrefix(m.Path, f.input.Path), ".")
		if m.Required {
			about += " (required)"
		}
	}
	fmt.Fprintf(b, "%s# %s\n", indent, command.OneLine(about))
	value := cmp.Or(f.input.Default, blank(f.input.input))
	fmt.Fprintf(b, "%s%s%s:%s\n", indent, mark, key(f.name), strings.TrimRight(" "+value, " "))
}

// blank returns a value to write over: one of the type of the input, which the input takes. It
// returns "" if only the user knows one.
func blank(in evaluate.Input) string {
	bounded := regexp.MustCompile(`^(?:an integer|a number) of at least (-?[0-9.]+)( and of at most -?[0-9.]+)?$`).FindStringSubmatch(in.Expected)
	choice := regexp.MustCompile(`^(?:one of )?("[^"]*"|-?[0-9.]+)(?:, | or )`).FindStringSubmatch(in.Expected)
	plain := slices.Contains([]string{"", "text", "an integer", "a number", "true or false"}, in.Expected)
	switch {
	case in.Collection == evaluate.CollectionList && (in.Required || in.Within):
		return "" // A list that may be empty has that as its default.
	case in.Collection == evaluate.CollectionList, in.Expected == "a list":
		return "[]"
	case in.Collection == evaluate.CollectionMap, in.Expected == "a map":
		return "{}"
	case bounded != nil:
		return bounded[1]
	case choice != nil:
		return choice[1]
	case !plain:
		return ""
	case in.Type == evaluate.InputNumber:
		return "0"
	case in.Type == evaluate.InputBoolean:
		return "false"
	case in.Type == evaluate.InputString:
		return `""`
	}
	return "null"
}

// key returns a name as a key of YAML: quoted as JSON, unless it is a plain word that YAML takes
// for no other value.
func key(name string) string {
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`).MatchString(name) || slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(name)) {
		return strconv.Quote(name)
	}
	return name
}
