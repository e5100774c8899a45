// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"path"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/cockroachdb/apd/v3"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// checkNumbers refuses number literals that CUE reads as another number, such as
// 1e100001, which it takes for 1.
func checkNumbers(m evaluate.Module, t *tree, name string, data []byte) error {
	if !mayExceed(data) {
		return nil
	}
	var errs object.Errors
	visit := func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		numeric := ok && (lit.Kind == token.INT || lit.Kind == token.FLOAT)
		if numeric && !isNumber(lit.Value) {
			errs = append(errs, &object.Error{
				Stage: object.StageEvaluate, Pos: t.position(m, lit.Pos()), Err: fmt.Errorf("number %s is out of range", lit.Value),
				Hint: "quote it if it is text",
			})
		}
		return true
	}
	// The loader reports syntax errors, all of them at once.
	if f, err := parser.ParseFile(path.Join(virtualRoot, name), data); err == nil {
		ast.Walk(f, visit, nil)
	}
	return errs.Err()
}

// longExponent counts the digits of the shortest exponent that CUE cannot hold, unless the number
// itself is some thousand digits long.
const longExponent = 5

// mayExceed reports whether data holds an exponent of longExponent digits. It looks at
// every longExponent-th byte only: a run of as many digits covers one of these bytes.
func mayExceed(data []byte) bool {
	digit := func(i int) bool {
		if i < 0 || i >= len(data) {
			return false
		}
		return (data[i] >= '0' && data[i] <= '9') || data[i] == '_'
	}
	for i := longExponent - 1; i < len(data); i += longExponent {
		if !digit(i) {
			continue
		}
		start := i
		for digit(start - 1) {
			start--
		}
		for digit(i + 1) {
			i++
		}
		if sign := start - 1; sign >= 0 && (data[sign] == '+' || data[sign] == '-') {
			start = sign
		}
		if start > 0 && data[start-1]|0x20 == 'e' {
			return true
		}
	}
	return false
}

// isNumber reports whether CUE holds the number that the literal text is.
func isNumber(text string) bool {
	var n literal.NumInfo
	if literal.ParseNum(text, &n) != nil || n.Multiplier() != 0 {
		return true // CUE reports what is wrong with it.
	}
	return new(apd.Decimal).UnmarshalText([]byte(n.String())) == nil
}
