// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package depth bounds how deeply CUE text nests, before CUE parses it. CUE recurses into what it
// has read, and a stack that overflows ends the process. Its parser bounds brackets by itself, but
// neither chains of operators, selectors and calls, nor chains of fields.
package depth

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
)

// Max limits the tokens of a module without a comma, or the end of a line that stands for a comma,
// counted through all open brackets. Each level takes two tokens.
const Max = 20_000

// Error is a place where a text is too deep.
type Error struct{ Line, Column, Max int }

// Error says in one line what is too deep.
func (e *Error) Error() string {
	return fmt.Sprintf("an expression or a chain of fields of more than %d words and operators is too deep to be evaluated", e.Max)
}

// Hint says what to write instead.
func (e *Error) Hint() string {
	return "make it a list, and join that with list.Sum, strings.Join, or() or and()"
}

// Check returns an [Error] at the first place where text is deeper than limit. It costs one scan of a
// text that is longer than limit. What is no CUE is the parser's to report.
func Check(text []byte, limit int) error {
	if len(text) <= limit {
		return nil
	}
	type bracket struct {
		level    int  // before it
		embedded bool // it is an expression inside of a string
	}

	// The scanner is enough to find the place, and unlike the parser it does not recurse.
	var s scanner.Scanner
	var open []bracket
	level := 0
	embedded := false
	file := token.NewFile("", -1, len(text))
	s.Init(file, text, func(token.Pos, string, []any) {}, 0)

	// The level counts the tokens since the last comma, on top of the level at which the bracket
	// was opened.
	for {
		pos, tok, _ := s.Scan()
		level++
		switch tok { //nolint:exhaustive // the others nest nothing
		case token.EOF:
			return nil
		case token.INTERPOLATION:
			embedded = true
		case token.LPAREN, token.LBRACK, token.LBRACE:
			open = append(open, bracket{level: level, embedded: embedded})
			embedded = false
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) == 0 {
				break
			}
			last := open[len(open)-1]
			open, level = open[:len(open)-1], last.level
			embedded = last.embedded && tok == token.RPAREN && strings.HasSuffix(s.ResumeInterpolation(), "(")
		case token.COMMA:
			level = 0
			if len(open) > 0 {
				level = open[len(open)-1].level
			}
		}
		if level > limit {
			return &Error{Line: pos.Line(), Column: pos.Column(), Max: limit}
		}
	}
}
