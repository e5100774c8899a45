// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import "strconv"

// TextAt returns a string at a position.
func TextAt(s string, pos Pos) Value { return Value{Kind: KindString, Pos: pos, Text: s} }

// NumberAt returns an integer at a position.
func NumberAt(n int, pos Pos) Value {
	return Value{Kind: KindNumber, Pos: pos, Text: strconv.Itoa(n)}
}

// BoolAt returns true or false at a position.
func BoolAt(b bool, pos Pos) Value {
	return Value{Kind: KindBool, Pos: pos, Text: strconv.FormatBool(b)}
}

// ListAt returns a list at a position, or no value if it has no items.
func ListAt(pos Pos, items ...Value) Value {
	if len(items) == 0 {
		return Value{}
	}
	return Value{Kind: KindList, Pos: pos, Items: items}
}
