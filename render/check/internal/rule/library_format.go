// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"net/url"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ropewalk/ropewalk/render/check/internal/grammar"
)

// format is a named format.
type format struct {
	name string
	// pattern is the length of a regular expression for it, which a call of
	// validate costs.
	pattern  uint64
	validate func(text string) []string
}

func (*format) celType() *cel.Type { return formatType() }
func (f *format) String() string   { return f.name }
func (f *format) equals(o any) ref.Val {
	other, ok := o.(*format)
	return types.Bool(ok && f.name == other.name)
}

// formatNames is the names that format.named knows.
func formatNames() []string {
	return []string{
		"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
		"dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
	}
}

// format is the format of a name, nil where there is none.
func (c *Compiler) format(name string) *format {
	prefix := strings.HasSuffix(name, "Prefix")
	plain := func(f func(string) []string) func(string) []string {
		return func(text string) []string {
			// What only begins a name may end with a dash; the server takes the
			// character before it away, too.
			if prefix && len(text) > 1 && strings.HasSuffix(text, "-") {
				text = text[:len(text)-2] + "a"
			}
			return f(text)
		}
	}
	switch strings.TrimSuffix(name, "Prefix") {
	case "dns1123Label":
		return &format{name, 30, plain(grammar.Label)}
	case "dns1123Subdomain":
		return &format{name, 60, plain(grammar.Subdomain)}
	case "dns1035Label":
		return &format{name, 30, plain(grammar.HostLabel)}
	}
	switch name {
	case "qualifiedName":
		return &format{name, 60, grammar.LabelKey}
	case "labelValue":
		return &format{name, 40, grammar.LabelValue}
	case "uri":
		return &format{name, 1103, func(text string) []string {
			if _, err := url.ParseRequestURI(text); err != nil {
				return []string{err.Error()}
			}
			return nil
		}}
	case "uuid":
		return c.known(name, 70, "does not match the UUID format")
	case "byte":
		return c.known(name, 84, "invalid base64")
	case "date":
		return c.known(name, 71, "invalid date")
	case "datetime":
		return c.known(name, 71, "invalid datetime")
	}
	return nil
}

// known is a format that schemas have too.
func (c *Compiler) known(name string, pattern uint64, problem string) *format {
	return &format{name, pattern, func(text string) []string {
		if c.formats.Match(name, text) {
			return nil
		}
		return []string{problem}
	}}
}

// formatLibrary is format.named, a function for each name, and validate.
func (c *Compiler) formatLibrary() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.Function("validate", cel.MemberOverload("format-validate", []*cel.Type{formatType(), cel.StringType}, cel.OptionalType(cel.ListType(cel.StringType)),
			binary(func(f *format, text string) ref.Val {
				problems := f.validate(text)
				if len(problems) == 0 {
					return types.OptionalNone
				}
				return types.OptionalOf(texts(problems))
			}))),
		cel.Function("format.named", cel.Overload("format-named", []*cel.Type{cel.StringType}, cel.OptionalType(formatType()), unary(func(name string) ref.Val {
			if f := c.format(name); f != nil {
				return types.OptionalOf(box(f))
			}
			return types.OptionalNone
		}))),
	}
	for _, name := range formatNames() {
		options = append(options, cel.Function("format."+name, cel.Overload("format."+name, []*cel.Type{}, formatType(),
			cel.FunctionBinding(func(...ref.Val) ref.Val { return box(c.format(name)) }))))
	}
	return options
}
