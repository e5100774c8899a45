// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reference is the whole page: the newest version, its spec and its status.
func (d definition) reference() string {
	v := d.Spec.Versions[len(d.Spec.Versions)-1]
	names := d.Spec.Names
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", names.Kind)
	fmt.Fprintf(&b, "<!-- make generate writes this file, from plugin/api/%s. -->\n\n", v.Name)
	fmt.Fprintf(&b, "`%s/%s`, kind `%s`, %s", d.Spec.Group, v.Name, names.Kind, strings.ToLower(d.Spec.Scope))
	for _, short := range names.ShortNames {
		fmt.Fprintf(&b, ", `kubectl get %s`", short)
	}
	fmt.Fprintf(&b, ". %s\n\n", sentence(v.Schema.OpenAPI.Description))
	b.WriteString("A field that is **required** has no default. What is refused, the API server refuses when the manifest is applied.\n")
	for _, name := range []string{"spec", "status"} {
		section(&b, name, v.Schema.OpenAPI.Properties[name], 2)
	}
	return b.String()
}

// section writes the fields of an object, and then those of the objects in it.
func section(b *strings.Builder, path string, s schema, level int) {
	fmt.Fprintf(b, "\n%s %s\n\n%s\n", strings.Repeat("#", level), path, sentence(s.Description))
	names := slices.Sorted(maps.Keys(s.Properties))
	b.WriteString("\n| field | type | default | meaning |\n|---|---|---|---|\n")
	for _, name := range names {
		f := s.Properties[name]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, kind(f), fallback(f, slices.Contains(s.Required, name)), meaning(f))
	}
	rules(b, s)
	for _, name := range names {
		f, at := s.Properties[name], path+"."+name
		for f.Items != nil {
			f, at = *f.Items, at+"[]"
		}
		if len(f.Properties) > 0 && !named(f) {
			if f.Description == "" {
				f.Description = s.Properties[name].Description
			}
			section(b, at, f, 3)
		}
	}
}

// rules writes what an object is refused for as a whole.
func rules(b *strings.Builder, s schema) {
	if len(s.Rules) == 0 {
		return
	}
	b.WriteString("\nRefused otherwise:\n\n")
	for _, r := range s.Rules {
		fmt.Fprintf(b, "- %s\n", sentence(r.Message))
	}
}

// kind is the type of a field as a reader thinks of it.
func kind(s schema) string {
	switch {
	case s.Items != nil:
		return "list of " + kind(*s.Items)
	case s.Values != nil:
		return "map of " + kind(*s.Values)
	case s.Open:
		return "any map"
	case named(s):
		return "`{name}`"
	case s.Format == "date-time":
		return "time"
	case s.Type == "string" && strings.Contains(s.Pattern, "s|m|h)"):
		return "duration"
	case s.IntOrString:
		return "integer or string"
	}
	return s.Type
}

// named says that an object is nothing but the name of another one, such as a
// reference to a Secret, and needs no section.
func named(s schema) bool {
	_, ok := s.Properties["name"]
	return ok && len(s.Properties) == 1
}

// fallback is the default of a field.
func fallback(s schema, required bool) string {
	switch {
	case s.Default != nil:
		return code(s.Default)
	case required:
		return "**required**"
	}
	return ""
}

// meaning is the comment of a field, with what its value is bound to.
func meaning(s schema) string {
	parts := []string{sentence(s.Description)}
	in := s
	for in.Items != nil {
		in = *in.Items
	}
	if len(in.Enum) > 0 {
		var words []string
		for _, word := range in.Enum {
			words = append(words, code(word))
		}
		parts = append(parts, "One of "+strings.Join(words, ", ")+".")
	}
	if in.Pattern != "" && kind(in) != "duration" {
		parts = append(parts, "Pattern "+code(in.Pattern)+".")
	}
	parts = append(parts, bounds(s)...)
	if len(s.Properties) == 0 {
		for _, r := range s.Rules {
			parts = append(parts, sentence(r.Message))
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(strings.Join(parts, " "), "|", `\|`))
}

// bounds are the limits of a value.
func bounds(s schema) []string {
	var out []string
	if s.Minimum != nil && s.Maximum != nil {
		out = append(out, fmt.Sprintf("%v to %v.", *s.Minimum, *s.Maximum))
	}
	for _, limit := range []struct {
		n    *int
		what string
	}{{s.MaxLength, "characters"}, {s.MaxItems, "entries"}, {s.MaxEntries, "entries"}} {
		if limit.n != nil {
			out = append(out, fmt.Sprintf("At most %d %s.", *limit.n, limit.what))
		}
	}
	return out
}

// code is a value as it is written in a manifest.
func code(v any) string {
	if text, ok := v.(string); ok {
		return "`" + text + "`"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("`%v`", v)
	}
	return "`" + string(data) + "`"
}

// sentence is a comment on one line, with a full stop.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
