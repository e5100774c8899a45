// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package envfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// The bounds of a file: its size in bytes, and how many $ it may hold, as the time of the
// parser grows with their square.
const (
	MaxFile       = 256 << 10
	maxReferences = 1000
)

// Parse returns the variables of a file by name. A name that is written twice has its last value,
// as in compose. The errors are object.Error with the line, and without a column, so that no
// excerpt shows the line. With errors the values are empty, and the names are those that the lines
// begin with.
func Parse(file spec.File) (map[string]string, object.Errors) {
	// A file that would take too long to parse is refused.
	var errs object.Errors
	fail := func(line int, hint string, err error) {
		errs = append(errs, &object.Error{
			Stage: object.StageSpec, Pos: object.Pos{File: file.Name, Line: line}, Secret: true, Err: err, Hint: hint,
		})
	}
	if len(file.Data) > MaxFile || bytes.Count(file.Data, []byte("$")) > maxReferences {
		fail(1, "", fmt.Errorf("has more than %d KiB, or more than %d $", MaxFile>>10, maxReferences))
		return nil, errs
	}

	// The parser is asked with a value for every name, so that it names the references.
	// A name alone on a last line without a line break is none for the parser.
	text := strings.TrimPrefix(string(file.Data), "\uFEFF") + "\n"
	asked := map[string]bool{}
	// With a value for every name the parser has nothing to log.
	ask := func(name string) (string, bool) {
		asked[name] = true
		return "x", true
	}
	out, err := dotenv.UnmarshalWithLookup(text, ask)
	if err != nil {
		line, what := locate(text, err, ask)
		fail(line, "see the syntax of env files of docker compose", what)
		return names(text), errs
	}
	if len(asked) == 0 {
		return out, nil
	}

	// A reference is to a name that the file sets.
	reportUndefined(text, asked, fail)
	if len(errs) > 0 {
		return names(text), errs
	}
	// All names without a default are set above: nothing is logged here either.
	out, err = dotenv.UnmarshalWithLookup(text, nil)
	if err != nil {
		line, what := locate(text, err, nil)
		fail(line, "", what)
		return names(text), errs
	}
	return out, errs
}

// names returns the names that lines of a text begin with, without values.
func names(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if m := sets.FindStringSubmatch(line); m != nil && m[2] != "" {
			out[m[1]] = ""
		}
	}
	return out
}

var (
	sets   = regexp.MustCompile(`^\s*(?:export\s+)?([\w.\-\[\]]+)\s*([=:]|$)`)
	uses   = regexp.MustCompile(`\$\$|\$(?:\{(\w+)\}|(\w+))`)
	nested = regexp.MustCompile(`\$\{\w+:?[-+?][^}]*\$`)
)

// reportUndefined reports the names that the parser asked for and no line above sets. No message
// has a name: what follows a $, and a line without =, may be a part of a value.
func reportUndefined(text string, asked map[string]bool, fail func(line int, hint string, err error)) {
	set := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		m := sets.FindStringSubmatch(line)
		switch {
		case m != nil && m[2] == "" && asked[m[1]]:
			fail(i+1, "write NAME=value, or give --var-from-env NAME; a value over several lines stands in quotes",
				errors.New("a name without a value: none is taken from the environment of the process"))
			continue
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
			continue
		case nested.MatchString(line):
			fail(i+1, "set the default above, as a variable of its own", errors.New("a default that holds $ is not read"))
		}
		for _, u := range uses.FindAllStringSubmatch(line, -1) {
			if name := u[1] + u[2]; asked[name] && !set[name] {
				fail(i+1, "set the variable above it; a literal $ is $$, or stands in single quotes",
					errors.New("what follows a $ names no variable that is set above it in the file; nothing is taken from the environment of the process"))
				break
			}
		}
		if m != nil {
			set[m[1]] = true
		}
	}
}

var reported = regexp.MustCompile(`^line (\d+): (unexpected character|key cannot contain a space|unterminated quoted value ?)`)

// locate returns the line of an error of the parser, which had the values of lookup, and its
// message without the values in its text.
func locate(text string, err error, lookup dotenv.LookupFn) (int, error) {
	m := reported.FindStringSubmatch(err.Error())
	if m == nil {
		// The parser gives no line for a reference: it is the first one up to which the
		// file has the error.
		lines := strings.SplitAfter(text, "\n")
		low := 1
		high := len(lines)
		for low < high {
			middle := (low + high) / 2
			_, part := dotenv.UnmarshalWithLookup(strings.Join(lines[:middle], ""), lookup)
			if part != nil && !reported.MatchString(part.Error()) {
				high = middle
			} else {
				low = middle + 1
			}
		}
		return low, errors.New("a reference with $ cannot be read, or asks for a value that is not there")
	}

	// The parser names the line, and a message may repeat a part of the file.
	line, _ := strconv.Atoi(m[1]) // The pattern has digits only.
	switch m[2] {
	case "unexpected character":
		return line, errors.New("expected NAME=value: the name has a character other than letters, digits, _, . and -")
	case "key cannot contain a space":
		return line, errors.New("expected NAME=value: the name has a space in it")
	}
	// The text behind is the rest of the line where the quote opens.
	_, rest, _ := strings.Cut(err.Error(), "unterminated quoted value ")
	for i, l := range strings.Split(text, "\n") {
		if rest != "" && strings.HasSuffix(l, rest) {
			line = i + 1
		}
	}
	return line, errors.New("the quote is not closed")
}
