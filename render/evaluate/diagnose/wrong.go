// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// wrong returns what was expected instead of value. The schema has the better words, but what
// depends on other parts of the input is only in the errors.
func wrong(g *Group, schema cue.Value, value object.Value) string {
	if schema.Exists() && value.Kind != object.KindNone {
		filled := Fill(Part{Field: FieldInput, Value: value}).Value
		if schema.Unify(filled).Validate() != nil {
			d := demandOf(schema)
			if d.refusal != "" {
				return d.refusal + ", got " + Quote(value)
			}
			if text := d.String(); text != "" && !d.admits(filled.IncompleteKind()) {
				return "expected " + text + ", got " + Quote(value) + detail(g.Errs) + nearestLiteral(schema, value)
			}
		}
	}
	return conflict(g.Errs, value, schema)
}

// detail returns what a validator of CUE's library adds to its refusal.
func detail(errs []cueerrors.Error) string {
	for _, e := range errs {
		format, _ := e.Msg()
		if !strings.HasPrefix(format, "invalid value %s (does not satisfy %s)") {
			continue
		}
		if _, text, ok := strings.Cut(e.Error(), "): "); ok {
			return " (" + oneLineOf(text) + ")"
		}
	}
	return ""
}

// conflict returns in words what CUE's errors have against a value. The schema may be absent.
func conflict(errs []cueerrors.Error, value object.Value, schema cue.Value) string {
	var wants []string
	fallback := ""
	for _, e := range errs {
		format, args := e.Msg()
		switch format {
		case formatKinds, formatConflict:
			want, ok := otherThan(value, fmt.Sprint(args[0]), fmt.Sprint(args[1]))
			if !ok {
				fallback = fmt.Sprintf("conflicting values %s and %s", want, fmt.Sprint(args[1]))
				continue
			}
			wants = append(wants, want)
		case formatBound:
			wants = append(wants, bound(fmt.Sprint(args[1])))
		case formatLengths:
			fallback = lengths(value, schema, args)
		default:
			fallback = oneLineOf(words(e))
		}
	}
	// Two maps, or two lists, do not conflict: what is in them does.
	wants = slices.DeleteFunc(wants, func(want string) bool { return fallback != "" && want == Quote(value) })
	if len(wants) == 0 {
		return fallback
	}
	return "expected " + best(wants) + ", got " + Quote(value)
}

// lengths compares the two lengths of lists in args with the length of value, and returns the other.
func lengths(value object.Value, schema cue.Value, args []any) string {
	least := ""
	if schema.LookupPath(cue.MakePath(cue.AnyIndex)).Exists() {
		least = "at least "
	}
	given := strconv.Itoa(len(value.Items))
	for i, n := range args {
		if fmt.Sprint(n) == given {
			return fmt.Sprintf("expected a list of %s%s, got one of %s", least, printable.Count(args[1-i], "item"), given)
		}
	}
	return fmt.Sprintf(formatLengths, args...)
}

// nearestLiteral suggests the allowed text that value was probably meant to be.
func nearestLiteral(schema cue.Value, value object.Value) string {
	if value.Kind != object.KindString {
		return ""
	}
	var words []string
	for _, l := range demandOf(schema).literals {
		if text, err := strconv.Unquote(l); err == nil {
			words = append(words, text)
		}
	}
	return Nearest(value.Text, words)
}
