// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder

import "strings"

// Variable is a reference to a variable that the caller of a render gives: ${NAME} or
// ${NAME:-default}, with a name of A-Z, 0-9 and _ that does not begin with a digit. Score has no
// placeholder of that form.
type Variable struct {
	Name string
	// Default replaces a variable that is not given, or is empty; nil without a default. It
	// is literal text up to the first closing brace.
	Default *string
	// Unknown is set for the other forms of a shell, such as ${NAME:?message}, and for a
	// reference in a default. Ropewalk supports neither.
	Unknown bool
}

// VariableAt returns the variable that p, a part of text, refers to. Without ok it is literal
// text or a placeholder of Score.
func (p Part) VariableAt(text string) (v Variable, ok bool) {
	if !p.IsRef() {
		return Variable{}, false
	}
	content, _, _ := strings.Cut(text[p.Offset+len("${"):], "}")
	after := strings.TrimLeft(content, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
	v.Name = content[:len(content)-len(after)]
	if v.Name == "" || (v.Name[0] >= '0' && v.Name[0] <= '9') {
		return Variable{}, false
	}
	switch {
	case after == "":
	case strings.HasPrefix(after, ":-"):
		text := after[len(":-"):]
		v.Default, v.Unknown = &text, strings.Contains(text, "${")
	case strings.ContainsAny(after[:1], ":-?+=#%/^,@"):
		v.Unknown = true
	default:
		return Variable{}, false
	}
	return v, true
}

// String returns the reference without its default, which may be a password.
func (v Variable) String() string { return "${" + v.Name + "}" }

// Variables returns the variables that text refers to, in order.
func Variables(text string) []Variable {
	if !strings.Contains(text, "${") {
		return nil
	}
	var out []Variable
	for _, p := range Parse(text) {
		if v, ok := p.VariableAt(text); ok {
			out = append(out, v)
		}
	}
	return out
}
