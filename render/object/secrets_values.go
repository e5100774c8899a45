// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp"
	"slices"
	"strings"
)

// value is a value as CUE and our own checks show it: a text in quotes of any kind, a map, a
// list, or a word, maybe behind a sign. A bracket in a text closes no map; what is cut goes up
// to the end, for else the end is sought again from each of many beginnings.
const (
	value     = `(?:[-+!]*(?:#+"(?s:.*?)(?:"#+|$)|"""(?s:.*?)(?:"""|$)|` + quotation + `|'(?:[^'\\]|\\.)*(?:'…?|$)|\{` + inside + `\}|\[` + inside + `\]|[{\[]` + inside + `|[^ ,;:]+))`
	quotation = `"(?:[^"\\]|\\.)*(?:"…?|$)`

	inside = `(?:` + quotation + `|[^"])*`
)

// given is the part of a message that shows a value that was given.
var given = regexp.MustCompile(`(got |found the number |found |cannot use |conflicting values |invalid value |invalid operands? |undefined field: )` + value + `( and ` + value + `)?`)

// digits are a number in a value.
var digits = regexp.MustCompile(`[-+]?\b[0-9][\w.]*`)

// withoutNumbers returns a message without the numbers that are secrets, where it shows values.
// They are too short to be hidden anywhere else.
func (s *Secrets) withoutNumbers(text string) string {
	return given.ReplaceAllStringFunc(text, func(found string) string {
		return digits.ReplaceAllStringFunc(found, func(number string) string {
			// A sentence may end behind it, and a sign be the operator.
			bare := strings.TrimRight(number, ".")
			if s.known[bare] || s.known[strings.TrimLeft(bare, "+-")] {
				return hidden + number[len(bare):]
			}
			return number
		})
	})
}

// withoutValues returns a message without the values that it shows.
func withoutValues(text string) string {
	text = given.ReplaceAllStringFunc(text, func(found string) string {
		m := given.FindStringSubmatch(found)
		if found == m[1]+"a" || found == m[1]+"an" {
			return found // A kind: a list, an integer.
		}
		if m[2] != "" {
			return m[1] + hidden + " and " + hidden
		}
		return m[1] + hidden
	})
	return literals.ReplaceAllStringFunc(text, func(found string) string {
		if literals.FindStringSubmatch(found)[1] != "" || sign.MatchString(found) {
			return found
		}
		return hidden
	})
}

// literals are the texts in quotes, with the word before those that are no values.
var literals = regexp.MustCompile(`((?:matches|reference|fields?|Secret|import|variable|the key|argument [0-9]+ to) )?(?:"(?:[^"\\]|\\.)*(?:"…?|$))`)

// sign is one character in quotes, of a rule for names: it is no secret.
var sign = regexp.MustCompile(`^"[^[:alnum:]"]"$`)

// AddGateway hides the texts of a Gateway, as AddNamed does. The field secret has the name of a
// Secret there: only what cannot be a name is hidden.
func (s *Secrets) AddGateway(v Value) { s.addNamed(withoutNames(v), false) }

var secretName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func withoutNames(v Value) Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool {
		return m.Name == "secret" && secretName.MatchString(m.Value.Text)
	})
	v.Items = slices.Clone(v.Items)
	for i, m := range v.Members {
		v.Members[i].Value = withoutNames(m.Value)
	}
	for i, item := range v.Items {
		v.Items[i] = withoutNames(item)
	}
	return v
}

// IsReference reports whether v names a secret of a provider, of the namespace or of a file,
// as variables of workloads, bindings and pull secrets of a project and secrets of a compose
// file do: names are no secrets.
func IsReference(v Value) bool {
	names := []string{"secret", "local", "provider", "version", "key", "keys", "file", "environment", "external", "name"}
	return len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m Member) bool {
		return !slices.Contains(names, m.Name)
	})
}

// hideID hides secrets in the name of an object. The name of its spec stays, because the author
// chose it.
func (s *Secrets) hideID(id ID) ID {
	of, name, ok := strings.Cut(string(id), "/")
	if !ok {
		return id
	}
	return ID(of + "/" + s.Hide(name))
}

// AddNamed hides the texts of v that are in fields of a sensitive name.
func (s *Secrets) AddNamed(v Value) { s.addNamed(v, false) }

func (s *Secrets) addNamed(v Value, inside bool) {
	if inside && (v.Kind == KindString || v.Kind == KindNumber) {
		s.Add(v.Text)
	}
	if name, _ := v.Get("name"); SensitiveName(name.Text) {
		value, _ := v.Get("value")
		s.addNamed(value, true)
	}
	for _, m := range v.Members {
		// The keys of these are names that the author chose: a resource called secret holds
		// none by that.
		if names := slices.Contains([]string{"resources", "containers", "volumes"}, m.Name); names && m.Value.Kind == KindMap {
			for _, named := range m.Value.Members {
				isSecret := named.Value.Kind == KindString && SensitiveName(named.Name)
				s.addNamed(named.Value, inside || isSecret)
			}
			continue
		}
		if slices.Contains([]string{"variables", "bindings", "pullSecretsFrom", "secrets"}, m.Name) {
			m.Value.Members = slices.DeleteFunc(slices.Clone(m.Value.Members), func(m Member) bool { return IsReference(m.Value) })
		}
		s.addNamed(m.Value, inside || SensitiveName(m.Name))
	}
	for _, item := range v.Items {
		s.addNamed(item, inside)
	}
}
