// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Field is a field of a document: its shape, its rules, and its meaning. The zero
// Kind allows a value of any kind.
type Field struct {
	Name string
	Kind object.Kind
	// Need requires the field.
	Need bool
	// Off allows false, which switches the field off.
	Off bool
	// Text allows text for a number, a number for a text, and "true" and "false" for a bool.
	// Loose allows a bool for a text as well: the text is the scalar as it was written.
	Text, Loose bool
	// Full forbids an empty text.
	Full bool
	// Rule is the rule of a scalar, of an item of a list of scalars, or of the values of a map
	// without Fields.
	Rule Rule
	// Range is the range of a number.
	Range *Range
	// Values are the allowed values of a scalar, or of an item of a list. It is empty if Rule decides.
	Values []Choice
	// Fields are the fields of a map, or of each item of a list of maps.
	Fields []Field
	// Open allows a map to have members beside its Fields. Apart reports whether a member
	// belongs to another tool by its name, and is left out.
	Open  bool
	Apart func(name string) bool
	// Free allows members of a map, or items of a list, of any kind.
	Free bool
	// Each is the field of an item of a list, or of a value of a map with free names. Without
	// Each and Fields it is a text.
	Each *Field
	// Least and Most limit the members of a map and the items of a list; 0 means no limit.
	Least, Most int
	// Unique forbids equal items in a list of scalars.
	Unique bool
	// OneOf are fields of a map of which exactly one is required. Together are fields that are
	// all required if one of them is given.
	OneOf, Together []string
	// Or are other shapes of the field.
	Or []Field
	// By are the targets that support the field, or 0 for all. NeedBy are the targets that
	// require it without Need.
	By, NeedBy Set
	// Usual is the default value, if not all targets have it.
	Usual string
	// Sensitive marks a value that may be, or hold, a secret: no message repeats it, and no
	// excerpt shows a value of a wrong kind or an unknown name in it. Hidden reports whether
	// no excerpt may show any mistake in a value.
	Sensitive bool
	Hidden    func(v object.Value) bool
	// Passed marks a value that goes into the input of the module as it was written.
	Passed bool
	// Null allows null for a value of a map with free names, or for an item of a list, where
	// it means nothing. NotNull rejects null for a field.
	Null, NotNull bool
	// Names is the rule for the names of a map with free names.
	Names Rule
	// Hint is the hint for a missing field, by default the meaning of the field, and for a
	// value that breaks its rule. Mistyped returns the hint for a value of another kind.
	Hint     string
	Mistyped func(v object.Value) string
	// Elsewhere returns the hint for an unknown member of that name, or "". Other returns the
	// hint for a text that is not in Values.
	Elsewhere, Other func(text string) string
	// Doc is the meaning of the field, for schemas and for the docs.
	Doc string
}

// Choice is a value of a field, and the targets that support it, or 0 for all.
type Choice struct {
	Name string
	By   Set
}

// Set is a set of targets of a kind of document, one bit for each.
type Set uint

// Range is the range of a whole number, bounds included. Most counts only if Bounded is set.
type Range struct {
	Least, Most int
	Bounded     bool
}

// String names the expected numbers.
func (r Range) String() string {
	if r.Bounded {
		return fmt.Sprintf("a whole number from %d to %d", r.Least, r.Most)
	}
	return fmt.Sprintf("a whole number from %d on", r.Least)
}

// From returns the range of the numbers from least on.
func From(least int) *Range { return &Range{Least: least} }

// Between returns the range of the numbers from least to most.
func Between(least, most int) *Range { return &Range{least, most, true} }

// Choices returns values that all targets support.
func Choices(names ...string) []Choice {
	out := make([]Choice, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Named returns f under a name.
func (f Field) Named(name string) Field {
	f.Name = name
	return f
}

// Means returns f with another meaning.
func (f Field) Means(doc string) Field {
	f.Doc = doc
	return f
}

// Unread returns f with the map at the end of names left to another decoder. The name * stands
// for every name of a map with free names.
func (f Field) Unread(names ...string) Field {
	if len(names) == 0 {
		return Field{Name: f.Name, Kind: f.Kind, Free: true, Need: f.Need, Doc: f.Doc}
	}
	f.Fields = slices.Clone(f.Fields)
	for i, field := range f.Fields {
		if field.Name == names[0] {
			f.Fields[i] = field.Unread(names[1:]...)
		}
	}
	if f.Each != nil && names[0] == "*" {
		each := f.Each.Unread(names[1:]...)
		f.Each = &each
	}
	return f
}

// Judged returns f, which is a map, with the fields called names left to another check: they may be
// anything, or absent.
func (f Field) Judged(names ...string) Field {
	f.Fields = slices.Clone(f.Fields)
	f.Together = nil
	for i, field := range f.Fields {
		if slices.Contains(names, field.Name) {
			f.Fields[i] = Field{Name: field.Name}
		}
	}
	return f
}

// Needed returns f as a field that must be given.
func (f Field) Needed() Field {
	f.Need = true
	return f
}

// Document is the table of a kind of document.
type Document struct {
	Kind string
	// Doc is a sentence on the purpose of the document.
	Doc string
	// Root is the document as a whole, which is a map.
	Root Field
}
