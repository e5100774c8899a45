// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Compare returns what changed between what two modules take, the gravest first and then by path.
// The same input means the same to both if there is no change. Names that the old module did not
// have are not part of what it took, even if its schema is open. Inputs of a policy are its
// parameters. A module of another kind takes nothing of what the old one took.
func Compare(older, newer *module.Session) ([]evaluate.Change, error) {
	if was, is := older.Compiled.KindName(), newer.Compiled.KindName(); was != is {
		return []evaluate.Change{{Level: evaluate.LevelMajor, Text: fmt.Sprintf("it is %s now, and was %s", is, was)}}, nil
	}
	a, b, err := module.Together(older, newer)
	if err != nil {
		return nil, err
	}
	changes := ComparePart(a, b, nil)
	Sort(changes)
	return slices.CompactFunc(changes, func(x, y evaluate.Change) bool {
		return x.Level == y.Level && x.Text == y.Text && x.Path == y.Path
	}), nil
}

// ComparePart returns what changed between two schemas of one context of CUE, with paths that
// begin with path. A schema that does not exist takes nothing.
func ComparePart(older, newer module.Inputs, path object.Path) []evaluate.Change {
	steps := maxCompareSteps
	ctx := cuecontext.New()
	nothing := ctx.CompileString("close({})")
	c := &comparison{old: older, new: newer, steps: &steps, top: ctx.CompileString("_"), dependedOn: map[string]bool{}}
	switch a, b := older.Value, newer.Value; {
	case !a.Exists() && !b.Exists():
		return nil
	case !a.Exists():
		c.compareStructs(path, place{value: nothing}, place{value: b})
	case !b.Exists():
		c.add(evaluate.LevelMajor, path, a, b, "the module takes no input any more")
	default:
		c.compareStructs(path, place{value: a}, place{value: b})
	}
	c.markDepended()
	return c.changes
}

// OtherConditions reports whether two structs are made with other comprehensions, or have other
// fields whose names are computed. If words are given, only declarations with one of the words
// count.
func OtherConditions(older, newer cue.Value, words ...string) bool {
	about := func(v cue.Value) []string {
		made := declarations(v, func(d ast.Decl) bool { return isComprehension(d) || hasComputedName(d) })
		return slices.DeleteFunc(made, func(text string) bool {
			return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
		})
	}
	return !slices.Equal(about(older), about(newer))
}

// hasComputedName reports whether a declaration is a field whose name is computed.
func hasComputedName(d ast.Decl) bool {
	f, ok := d.(*ast.Field)
	if !ok {
		return false
	}
	switch f.Label.(type) {
	case *ast.Interpolation, *ast.ParenExpr:
		return true
	}
	return false
}

// Sort sorts changes, the gravest first and then by path.
func Sort(changes []evaluate.Change) {
	slices.SortStableFunc(changes, func(x, y evaluate.Change) int {
		return cmp.Or(rank(y.Level)-rank(x.Level), strings.Compare(x.Path, y.Path), strings.Compare(x.Text, y.Text))
	})
}

// ChangeAt returns a change of a part of a module, with the places of both values.
func ChangeAt(level evaluate.Level, path object.Path, older, newer module.Inputs, text string) evaluate.Change {
	c := comparison{old: older, new: newer}
	c.add(level, path, older.Value, newer.Value, "%s", text)
	return c.changes[0]
}

func rank(l evaluate.Level) int {
	return slices.Index([]evaluate.Level{evaluate.LevelMinor, evaluate.LevelUndecided, evaluate.LevelMajor}, l)
}
