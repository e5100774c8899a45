// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// scope holds the variables that a text may name: variables of the caller, then variables of files.
type scope struct {
	project Project
	files   map[string]string
}

func (s scope) get(name string) (string, bool) {
	if v, ok := s.project.Variable(name); ok {
		return v, ok
	}
	v, ok := s.files[name]
	return v, ok
}

// with returns s with more variables of files, which win over the variables of s.
func (s scope) with(files map[string]string) scope {
	merged := maps.Clone(s.files)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, files)
	s.files = merged
	return s
}

// unfilled is the Raw of a null that replaces a text with a mistake in it.
const unfilled = "$"

// fill returns a file with the variables in its texts filled in. Keys and extensions have no
// variables: extensions are not for Compose.
func (r *reading) fill(p document.Part, s scope) object.Value {
	v := p.Value
	if len(p.Path) > 3 && p.Path[0].Name == "services" && p.Path[2].Name == "build" && p.Path[3].Name != "context" {
		return v // Nothing is built here, so a build may have variables of the host.
	}
	switch v.Kind {
	case object.KindString:
		if len(p.Path) == 3 && p.Path[0].Name == "secrets" && p.Path[2].Name == "content" {
			return v // It is rejected unchanged, and no message shows it beside another mistake.
		}
		before := r.Failed + r.unsure
		v.Text = r.expand(p, v.Text, s, 0)
		if r.Failed+r.unsure > before {
			v.Kind = object.KindNull
			v.Raw = unfilled // A null with this Raw is not reported again.
		}
	case object.KindList:
		items := p.Parts()
		v.Items = make([]object.Value, len(items))
		for i, item := range items {
			v.Items[i] = r.fill(item, s)
		}
	case object.KindMap:
		v.Members = append([]object.Member(nil), v.Members...)
		for i, m := range p.Entries() {
			if !strings.HasPrefix(m.Name, "x-") {
				v.Members[i].Value = r.fill(m.Part, s)
			}
		}
	default:
	}
	return v
}

// expand returns a text with its variables filled in: $NAME, ${NAME} and the forms with a default
// (:- -), an error (:? ?) and an alternative (:+ +). The text $$ is a dollar.
func (r *reading) expand(p document.Part, text string, vars scope, depth int) string {
	const deepest = 10
	if depth > deepest {
		p.Fail("", "variables are nested more than %d deep", deepest)
		return ""
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name := nameIn(after)
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "{"):
			end := closing(after)
			if end < 0 || nameIn(after[1:]) == "" {
				p.Fail("write $$ for a dollar", "expected a variable such as ${NAME} or ${NAME:-default}")
				return b.String()
			}
			// A text in braces is a name, unless it stands in the middle of a secret.
			isWhole := before == "" && b.Len() == 0 && end == len(after)-1
			b.WriteString(r.variable(p, after[1:end], isWhole || !sensitive(p), vars, depth))
			text = after[end+1:]
		case name != "":
			b.WriteString(r.variable(p, name, false, vars, depth))
			text = after[len(name):]
		default: // Compose keeps the dollar, too.
			b.WriteByte('$')
			text = after
		}
	}
}

// sensitive reports whether p is the value of a field with a sensitive name.
func sensitive(p document.Part) bool {
	return len(p.Path) > 0 && object.SensitiveName(p.Path[len(p.Path)-1].Name)
}

// variable returns the value for the text between the braces of a variable. The argument shown says
// whether messages may have its name.
func (r *reading) variable(p document.Part, body string, shown bool, vars scope, depth int) string {
	name := nameIn(body)
	value, ok := vars.get(name)
	op := strings.TrimPrefix(body[len(name):], ":")
	hasValue := ok && (value != "" || op == body[len(name):]) // : means that empty counts as missing
	if op == "" {
		if !ok {
			r.reportMissing(p, name, shown)
		}
		return value
	}

	// An operator replaces a missing or an empty value.
	switch op[0] {
	case '-':
		if !hasValue {
			return r.expand(p, op[1:], vars, depth+1)
		}
	case '+':
		if hasValue {
			return r.expand(p, op[1:], vars, depth+1)
		}
		return ""
	case '?':
		if !hasValue && shown {
			r.failBeside(p, "give it by --var or in an env file", "the variable %q is missing: %s", name, op[1:])
		} else if !hasValue {
			r.reportMissing(p, name, shown)
		}
	default:
		p.Fail("", "expected ${NAME}, or one of :- - :? ? :+ + behind the name")
	}
	return value
}

// warnOfNumber warns of a number that docker compose passes to the container as another text than
// the author wrote: 16 for 0x10.
func warnOfNumber(p document.Part) {
	text := p.Text
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".eE") {
		text = fmt.Sprint(f)
	}
	switch written := p.Written(); {
	case p.Kind != object.KindNumber || text == written:
	case sensitive(p):
		p.Warn("quote it, as text is the same for both", "the number stays as it is written, and docker compose makes another text of it")
	default:
		p.Warn(fmt.Sprintf("quote it, as text is the same for both: %q, or %q", written, text),
			"the number stays %s, as it is written, and docker compose makes %s of it", written, text)
	}
}

// reportMissing reports a variable without a value. The text after a $ may be a part of a password,
// and is shown only if the author named a variable.
func (r *reading) reportMissing(p document.Part, name string, shown bool) {
	switch {
	case r.broken[name]:
		r.unsure++
	case !shown:
		r.failBeside(p, "write $$ for a dollar; a variable is given by --var NAME=VALUE or in an env file",
			"what follows a $ names no variable that has a source")
	default:
		r.failBeside(p, "give it by --var "+name+"=VALUE or in an env file, or write ${"+name+":-default}",
			"the variable %q has no source and no default", name)
	}
}

// failBeside reports a mistake of p in addition to known mistakes of p or in it, such as variables
// without a value.
func (r *reading) failBeside(p document.Part, hint, format string, args ...any) {
	r.Failed++
	r.Report(document.Mistake(p.Pos, p.Path, hint, format, args...))
}

// nameIn returns the name of a variable at the beginning of a text.
func nameIn(s string) string {
	end := 0
	letter := func(c byte) bool { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for end < len(s) && (letter(s[end]) || (end > 0 && digit(s[end]))) {
		end++
	}
	return s[:end]
}

// closing returns the index of the brace that closes the first brace of s, or -1.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '{' && (i == 0 || s[i-1] == '$'):
			depth++
		case s[i] == '}':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// readEnvFile returns the variables of an env file that the author names at p.
func (r *reading) readEnvFile(p document.Part, name string) map[string]string {
	file, err := r.project.Read(path.Clean(name))
	if err != nil {
		p.Fail("", "env file %q: %v", name, err)
		return nil
	}
	return r.readVariables(file)
}

// readVariables returns the variables of an env file. It reports the mistakes of the file.
func (r *reading) readVariables(file spec.File) map[string]string {
	out, errs := r.project.Variables(file)
	r.Errs = append(r.Errs, errs...)
	r.Failed += len(errs.Failures())
	if len(errs) == 0 {
		return out
	}
	if r.broken == nil {
		r.broken = map[string]bool{}
	}
	for name := range out {
		r.broken[name] = true
	}
	return nil
}
