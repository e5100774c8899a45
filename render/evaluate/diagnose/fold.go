// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	cueerrors "cuelang.org/go/cue/errors"

	"github.com/ropewalk/ropewalk/render/object"
)

// dropRepeated returns errs without errors that repeat another error of a shorter path. A line that
// makes a value for several items, or a definition that several objects use, is one mistake. Errors
// that a value is not null are left out if anything else is wrong.
func dropRepeated(errs object.Errors) object.Errors {
	shortest := map[string]string{}
	key := func(e *object.Error) string { return fmt.Sprint(e.Pos, e.Err) }
	otherMistake := false
	for _, e := range errs {
		path, known := shortest[key(e)]
		if !known || len(e.Path) < len(path) {
			shortest[key(e)] = e.Path
		}
		otherMistake = otherMistake || !isNoNull(e)
	}
	reported := map[string]bool{}
	return slices.DeleteFunc(errs, func(e *object.Error) bool {
		if otherMistake && isNoNull(e) {
			return true
		}
		repeated := e.Pos.IsValid() && (reported[key(e)] || shortest[key(e)] != e.Path)
		reported[key(e)] = reported[key(e)] || !repeated
		return repeated
	})
}

// isNoNull reports whether e is the error that a map or a list is not null.
func isNoNull(e *object.Error) bool {
	text := e.Err.Error()
	if strings.HasPrefix(text, "conflicting values null and {") {
		return true
	}
	return strings.HasPrefix(text, "conflicting values {") && strings.HasSuffix(text, " and null")
}

// foldObjectNodes returns errs with one error for each node that is an object itself, instead of
// one for each field of the object.
func foldObjectNodes(errs object.Errors) object.Errors {
	isObject := map[string]bool{}
	for _, e := range errs {
		if node, field := nodeField(e); field == "apiVersion" || field == "kind" {
			isObject[node] = true
		}
	}
	reported := map[string]bool{}
	return slices.DeleteFunc(errs, func(e *object.Error) bool {
		node, _ := nodeField(e)
		if !isObject[node] {
			return false
		}
		repeated := reported[node]
		reported[node] = true
		e.Path = node
		e.Err = fmt.Errorf("node %q is an object itself: put it below object", node[strings.LastIndexByte(node, '.')+1:])
		return repeated
	})
}

// nodeField returns the node and its unknown field that e is about. The field is "" if e is about
// something else.
func nodeField(e *object.Error) (node, field string) {
	const nodes = FieldGraph + "." + FieldNodes + "."
	i := strings.Index(e.Path, nodes)
	last := strings.LastIndexByte(e.Path, '.')
	if i < 0 || last < i+len(nodes) || !strings.HasPrefix(e.Err.Error(), "unknown field ") {
		return "", ""
	}
	if strings.Contains(e.Path[i+len(nodes):last], ".") {
		return "", "" // The field is deeper inside of the node.
	}
	return e.Path[:last], e.Path[last+1:]
}

// expectedInstead returns what was expected instead of a value that conflicts with a type, or with
// several values. It returns "" if CUE's errors do not tell which side is wrong.
func expectedInstead(errs []cueerrors.Error) string {
	// Collect the two sides of each conflict.
	var pairs [][2]string
	types := 0
	for _, e := range errs {
		format, args := e.Msg()
		isConflict := format == formatKinds || format == formatConflict
		if !isConflict || isSecret(e.Path()) {
			return ""
		}
		p := [2]string{fmt.Sprint(args[0]), fmt.Sprint(args[1])}
		pairs = append(pairs, p)
		if isType(p[0]) || isType(p[1]) {
			types++
		}
	}
	if len(pairs) == 0 {
		return ""
	}

	// The value is the side that all conflicts have. The other sides are all types, or several
	// values.
	for _, side := range pairs[0] {
		var wants []string
		for _, p := range pairs {
			switch side {
			case p[0]:
				wants = append(wants, typeName(p[1]))
			case p[1]:
				wants = append(wants, typeName(p[0]))
			}
		}
		all := len(wants) == len(pairs)
		slices.Sort(wants)
		wants = slices.Compact(wants)
		decided := types == len(pairs) || (types == 0 && len(wants) > 1)
		if all && decided && !isType(side) {
			return oneLineOf(fmt.Sprintf("expected %s, got %s", choice(wants), side))
		}
	}
	return ""
}

// isType reports whether a side of a conflict is a type or a bound and no value. A struct
// may be either.
func isType(side string) bool {
	literal := strings.HasPrefix(side, "{") || strings.HasPrefix(side, "[") && !strings.HasPrefix(side, "[...")
	return !literal && typeName(side) != side
}
