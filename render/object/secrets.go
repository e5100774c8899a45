// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Secrets are texts that no message may show: the one place that decides it. Render
// gathers them (data of Secrets, inputs whose names say that they are secret, values of
// a runtime) and hides them in its errors and warnings, before any adapter has them. The
// zero value holds none.
type Secrets struct {
	known map[string]bool
	// open are nodes whose object is no Secret.
	open   map[ID]bool
	quoted *strings.Replacer
	plain  *strings.Replacer
}

// Bounds of what is hidden. Shorter texts are hidden where they stand in quotes only:
// as a part of words they would hide half of a message.
const (
	plainSecret = 6
	maxSecrets  = 10_000
)

// hidden stands for a secret in a message.
const hidden = "(hidden)"

// sensitive are names of fields and variables that end like those of secrets. Names of
// objects and references (secretName, secretKeyRef) are none.
var sensitive = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|pwd|^pw|_pw|secret|token|(api|access|private|secret|signing|encryption)[-_]?key|credentials?)[-_0-9]*$`)

// SensitiveName reports whether a field or a variable of this name holds a secret.
func SensitiveName(name string) bool { return sensitive.MatchString(name) }

// Add hides a text from now on, in all forms in which messages write it.
func (s *Secrets) Add(text string) {
	if strings.TrimSpace(text) == "" || len(s.known) >= maxSecrets {
		return
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[text], s.quoted, s.plain = true, nil, nil
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= plainSecret {
				s.Add(line)
			}
		}
	}
}

// AddNamed hides the texts of v that are in fields of a sensitive name.
func (s *Secrets) AddNamed(v Value) { s.named(v, false) }

func (s *Secrets) named(v Value, inside bool) {
	if inside && v.Kind == KindString {
		s.Add(v.Text)
	}
	for _, m := range v.Members {
		s.named(m.Value, inside || SensitiveName(m.Name))
	}
	for _, item := range v.Items {
		s.named(item, inside)
	}
}

// AddNode hides the data of the object of n.
func (s *Secrets) AddNode(n *Node) {
	if s.AddObject(n.Object); n.Object.Kind() == "Secret" || n.Object["items"] != nil {
		return
	}
	if s.open == nil {
		s.open = map[ID]bool{}
	}
	s.open[n.ID] = true
}

// AddObject hides the data of o where it is a Secret, a list with Secrets, or carries the
// annotation of kubectl with a Secret in it.
func (s *Secrets) AddObject(o Object) {
	if items, ok := o["items"].([]any); ok {
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				s.AddObject(m)
			}
		}
	}
	if o.Kind() != "Secret" || o.Group() != "" {
		return
	}
	for _, field := range [...]string{"data", "stringData"} {
		values, _ := o[field].(map[string]any)
		for _, v := range values {
			text, _ := v.(string)
			s.Add(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); field == "data" && err == nil {
				s.Add(string(decoded))
			}
		}
	}
}

// replacers are made when the first text is hidden.
func (s *Secrets) replacers() (quoted, plain *strings.Replacer) {
	if s.plain != nil {
		return s.quoted, s.plain
	}
	texts := make([]string, 0, len(s.known))
	for text := range s.known {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var inQuotes, anywhere []string
	for _, text := range texts {
		escaped := strconv.Quote(text)
		inQuotes = append(inQuotes, escaped, hidden)
		if len(text) < plainSecret {
			continue
		}
		encoded := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "=")
		for _, form := range []string{text, escaped[1 : len(escaped)-1], encoded, url.QueryEscape(text), url.PathEscape(text)} {
			anywhere = append(anywhere, form, hidden)
		}
	}
	s.quoted, s.plain = strings.NewReplacer(inQuotes...), strings.NewReplacer(anywhere...)
	return s.quoted, s.plain
}

// Hide is text without the secrets.
func (s *Secrets) Hide(text string) string {
	if s == nil || len(s.known) == 0 {
		return text
	}
	quoted, plain := s.replacers()
	return plain.Replace(quoted.Replace(text))
}

// key is a name in a line of a file, up to its colon or equals sign.
var key = regexp.MustCompile(`(?:^|[\s{,"'\[(])([\w.-]+)["'\]]*[ \t]*(?:=|:(?:[ \t"'{\[]|$))`)

// placeholder is what a Score file has in the place of a value.
var placeholder = regexp.MustCompile(`\$\{[^}]*\}`)

// stars has the length of text, its spaces, quotes, brackets and placeholders.
func stars(text string) string {
	out := []byte(text)
	for i, c := range out {
		if !strings.ContainsRune(" \t\"'{}[],", rune(c)) {
			out[i] = '*'
		}
	}
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		copy(out[at[0]:at[1]], text[at[0]:at[1]])
	}
	return string(out)
}

// Mask is a line of a file with stars in the place of secrets, and of all that follows a
// sensitive name, so that a caret under it stays where it is.
func (s *Secrets) Mask(line string) string {
	for at := 0; ; {
		m := key.FindStringSubmatchIndex(line[at:])
		if m == nil {
			break
		}
		if name := line[at+m[2] : at+m[3]]; SensitiveName(name) || name == "stringData" {
			line = line[:at+m[1]] + stars(line[at+m[1]:])
			break
		}
		at += m[3] // What ends this name may begin the next one.
	}
	if s == nil {
		return line
	}
	for text := range s.known {
		for _, form := range []string{text, strings.Trim(strconv.Quote(text), `"`)} {
			if len(form) >= plainSecret {
				line = strings.ReplaceAll(line, form, stars(form))
			} else {
				line = strings.ReplaceAll(line, `"`+form+`"`, `"`+stars(form)+`"`)
			}
		}
	}
	return line
}

// Error is e without the secrets. What is wrong with the data of an object is shown
// without any value: it may be a Secret's that nothing has evaluated.
func (s *Secrets) Error(e *Error) *Error {
	out := *e
	out.Secrets = s
	text, hint := s.Hide(e.message()), s.Hide(e.Hint)
	if e.ofSecret() && !s.open[e.Node] {
		out.Secret = true
		text = withoutValues(text)
	}
	if text != e.message() {
		out.Err = redacted{text, e.Err}
	}
	out.Hint = hint
	out.Notes = slices.Clone(e.Notes)
	for i, n := range out.Notes {
		out.Notes[i].Text = s.Hide(n.Text)
	}
	return &out
}

// Errors are es without the secrets.
func (s *Secrets) Errors(es Errors) Errors {
	out := make(Errors, len(es))
	for i, e := range es {
		out[i] = s.Error(e)
	}
	return out
}

// ofSecret reports whether the error is about data of a Secret, or of what may be one.
func (e *Error) ofSecret() bool {
	p, ok := ReadPath(strings.TrimPrefix(e.Path, "."))
	return ok && (slices.ContainsFunc(p, func(s Step) bool { return s.Name == "stringData" || SensitiveName(s.Name) }) ||
		len(p) > 1 && p[len(p)-2].Name == "data" && !slices.Contains([]string{"spec", "metadata", "resources", "containers"}, p[0].Name))
}

// given is the part of a message that shows a value that was given: what CUE and our own
// checks say of it.
var given = regexp.MustCompile(`(got |found |conflicting values |invalid value )("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^ ,;:]+)( and ("(?:[^"\\]|\\.)*"|[^ ,;:]+))?`)

// withoutValues is a message without the values that it shows.
func withoutValues(text string) string {
	return given.ReplaceAllStringFunc(text, func(found string) string {
		m := given.FindStringSubmatch(found)
		if m[3] != "" {
			return m[1] + hidden + " and " + hidden
		}
		return m[1] + hidden
	})
}

func (e *Error) message() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// redacted is an error with another text. Its kind is that of the original, whose text
// no longer shows.
type redacted struct {
	text string
	err  error
}

func (r redacted) Error() string { return r.text }

// As does the same for its type.
func (r redacted) As(target any) bool { return errors.As(r.err, target) }

// Is lets callers ask for the kind of the original.
func (r redacted) Is(target error) bool { return errors.Is(r.err, target) }
