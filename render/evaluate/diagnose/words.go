// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"

	"github.com/ropewalk/ropewalk/render/object"
)

// manyNames limits the known names that a message lists.
const manyNames = 12

// UnknownField returns the message that name is not known, with the names that are.
func UnknownField(name string, knownNames []string) string {
	text := fmt.Sprintf("unknown field %q", name)
	if near := Nearest(name, knownNames); near != "" {
		return text + near
	}
	if len(knownNames) > 0 && len(knownNames) <= manyNames {
		text += "; known are " + strings.Join(knownNames, ", ")
	}
	return text
}

// Nearest returns a suggestion of the known name that name was probably meant to be, or "" if no
// known name is near.
func Nearest(name string, knownNames []string) string {
	best, ok := object.Nearest(name, knownNames)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// Quoted lists words as "a", "b" or "c".
func Quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return choice(q)
}

// choice lists words as a, b or c.
func choice(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// words returns one error of CUE in plain words, without its path.
func words(e cueerrors.Error) string {
	format, args := e.Msg()
	if strings.Contains(format, " value") && format != formatIncomplete && isSecret(e.Path()) {
		return "must be a reference to a secret, such as {key, property}, and never its value"
	}

	// Each format of CUE has words of its own.
	switch format {
	case FormatUnknown:
		// The schema closes a node before we decode it: the words are the same.
		p := e.Path()
		if n := len(p) - 4; n >= 0 && p[n] == FieldGraph && p[n+1] == FieldNodes {
			return UnknownField(p[n+3], NodeFields())
		}
		n := slices.Index(p, FieldGraph) + 1
		inGraph := n == 1 || (n == 2 && strings.HasPrefix(p[0], "#"))
		if inGraph && n < len(p) && p[n] != FieldNodes {
			return UnknownField(p[n], []string{FieldNodes})
		}
		return UnknownHere
	case formatRequired:
		return "is missing"
	case formatIncomplete:
		if len(args) == 1 && strings.Contains(fmt.Sprint(args...), "} | {") {
			return "may still be one of several maps: mark one as the default with *, or tell them apart"
		}
		return NoValue + ", expected " + typeName(oneLineOf(fmt.Sprint(args...)))
	case formatUndecided:
		return "depends on a value that is not set, expected " + typeName(fmt.Sprint(args[0]))
	case formatBottom:
		return "is refused by the module, with _|_"
	case formatKinds, formatConflict:
		return oneLineOf(fmt.Sprintf("conflicting values %v and %v", args[0], args[1]))
	case formatBound:
		return oneLineOf(fmt.Sprintf("expected %s, got %v", bound(fmt.Sprint(args[1])), args[0]))
	default:
		text := strings.TrimSpace(fmt.Sprintf(format, args...))
		if inner := cueerrors.Unwrap(e); inner != nil {
			text = strings.TrimPrefix(text+": "+Message(inner), ": ")
		}
		return text
	}
}

// isSecret reports whether path leads into what a provisioner declares as
// sensitive: #License.sensitive.token. A value there, which CUE would repeat,
// may be a secret by mistake.
func isSecret(path []string) bool {
	n := slices.Index(path, FieldSensitive)
	return n >= 0 && n <= 2 && !slices.Contains([]string{FieldInput, FieldContext, FieldGraph}, path[0])
}

// Message returns any error of CUE in plain words.
func Message(err error) string {
	var texts []string
	for _, e := range cueerrors.Errors(err) {
		if _, ok := err.(cueerrors.Error); !ok { //nolint:errorlint // errors of Go have no words of CUE
			return oneLineOf(err.Error())
		}
		if text := words(e); text != "" {
			texts = append(texts, text)
		}
	}
	return oneLineOf(strings.Join(texts, "; "))
}

// bound returns a bound of CUE, such as >=9, in plain words.
func bound(text string) string {
	if pattern, ok := strings.CutPrefix(text, "=~"); ok && patternName(Unquote(pattern)) != "" {
		return patternName(Unquote(pattern))
	}
	for _, op := range [...]struct{ sign, words string }{
		{">=", "at least "}, {"<=", "at most "}, {">", "more than "}, {"<", "less than "},
		{"!=", "anything but "}, {"=~", "text that matches "}, {"!~", "text that does not match "},
	} {
		if rest, ok := strings.CutPrefix(text, op.sign); ok {
			return op.words + rest
		}
	}
	return oneLineOf(text)
}

// otherThan returns the side of a conflict that is not the user's value. It reports false if
// neither side is the user's.
func otherThan(value object.Value, a, b string) (string, bool) {
	mine := string(value.JSON())
	switch {
	case value.Kind == object.KindNone:
		return a, false
	case a == mine:
		return typeName(b), true
	case b == mine:
		return typeName(a), true
	case value.Kind == object.KindMap || value.Kind == object.KindList:
		if strings.HasPrefix(a, "{") || strings.HasPrefix(a, "[") {
			return typeName(b), true
		}
		return typeName(a), true
	default:
		return a, false
	}
}

// typeName returns a value of CUE, in plain words if it is a type.
func typeName(text string) string {
	switch text {
	case "string":
		return "text"
	case "int":
		return "an integer"
	case "float", "number":
		return "a number"
	case "bool":
		return "true or false"
	case "bytes":
		return "bytes"
	case "_":
		return "a value"
	}
	if strings.HasPrefix(text, "{") {
		return "a map"
	}
	if strings.HasPrefix(text, "[") {
		return "a list"
	}
	return bound(text)
}

// best joins what is expected. A single value beside a wider expectation is only a default.
func best(wants []string) string {
	wide := slices.DeleteFunc(slices.Clone(wants), func(w string) bool { return w == "" || strings.ContainsAny(w[:1], `"-0123456789`) })
	if len(wide) > 0 {
		wants = wide
	}
	slices.Sort(wants)
	wants = slices.Compact(wants)
	if len(wants) > 1 && len(wide) == 0 {
		return "one of " + choice(wants)
	}
	return choice(wants)
}
