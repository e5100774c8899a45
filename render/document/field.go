// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// Field is a field of a document: its shape, what it may hold, and what it means. The zero
// Kind is a value of any kind.
type Field struct {
	Name string
	Kind object.Kind
	// Need says that the field must be given.
	Need bool
	// Off allows false, which switches the field off.
	Off bool
	// Text allows text too where the kind is a number, a number where it is text, and "true"
	// and "false" where it is a bool. Loose allows a bool as well: what was written is the text.
	Text, Loose bool
	// Full says that a text may not be empty.
	Full bool
	// Rule is that of a scalar, of an item of a list of scalars, or of the values of a map
	// without Fields.
	Rule Rule
	// Range is that of a number.
	Range *Range
	// Values are all that a scalar, or an item of a list, may be; empty where Rule decides.
	Values []Choice
	// Fields are those of a map, or of each item of a list of maps.
	Fields []Field
	// Open says that a map may have members beside its Fields. Apart reports whether one is of
	// others by its name, and left out.
	Open  bool
	Apart func(name string) bool
	// Free says that the members of a map, or the items of a list, are of any kind.
	Free bool
	// Each is an item of a list, or a value of a map whose names are free: a text where
	// there is neither it nor Fields.
	Each *Field
	// Least and Most bound the members of a map and the items of a list; 0 is no bound.
	Least, Most int
	// Unique says that no item of a list of scalars is written twice.
	Unique bool
	// OneOf are fields of a map of which one must be there, and not two. Together are those
	// that must be there where another of them is.
	OneOf, Together []string
	// Or are shapes that the field may have in place of this one.
	Or []Field
	// By are the targets that can do it: all where it is 0. NeedBy are those that need it
	// beside those that Need says.
	By, NeedBy Set
	// Usual is the value where none is given, if not all targets have it.
	Usual string
	// Sensitive says that the value may be a secret, or hold some: no message repeats it, and
	// no excerpt shows what is of a wrong kind or not known in it. Hidden reports whether a
	// value is one of which no excerpt shows anything that is wrong with it.
	Sensitive bool
	Hidden    func(v object.Value) bool
	// Passed says that the value goes into the input of the module as it was written.
	Passed bool
	// Null allows null, for nothing, where it is a value of a map whose names are free, or an
	// item of a list. NotNull
	// refuses it where it is a field.
	Null, NotNull bool
	// Names is the rule of the names of a map whose names are free.
	Names Rule
	// Hint is what to write where the field is missing, for which the meaning stands where
	// there is none, or does not keep its rule. Mistyped is that for a value of another kind.
	Hint     string
	Mistyped func(v object.Value) string
	// Elsewhere is what to do about a member of that name, which is no field; "" where that
	// is not known. Other is what to do about a text that is none of Values.
	Elsewhere, Other func(text string) string
	// Doc says what the field means, for schemas and for the docs.
	Doc string
}

// Choice is a value of a field, and the targets that can do it: all where By is 0.
type Choice struct {
	Name string
	By   Set
}

// Set is some of the targets that a kind of document can be made for, by their bits.
type Set uint

// Range is the bounds of a whole number, both included; the upper one only where Bounded.
type Range struct {
	Least, Most int
	Bounded     bool
}

// String names what is expected.
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

// Choices returns values that all targets can do.
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
// for every name of a map whose names are free.
func (f Field) Unread(names ...string) Field {
	if len(names) == 0 {
		return Field{Name: f.Name, Kind: f.Kind, Free: true, Need: f.Need, Doc: f.Doc}
	}
	f.Fields = slices.Clone(f.Fields)
	for i, own := range f.Fields {
		if own.Name == names[0] {
			f.Fields[i] = own.Unread(names[1:]...)
		}
	}
	if f.Each != nil && names[0] == "*" {
		each := f.Each.Unread(names[1:]...)
		f.Each = &each
	}
	return f
}

// Judged returns f, which is a map, with the fields called names left to others to judge: they
// may be anything, or absent.
func (f Field) Judged(names ...string) Field {
	f.Fields = slices.Clone(f.Fields)
	f.Together = nil
	for i, own := range f.Fields {
		if slices.Contains(names, own.Name) {
			f.Fields[i] = Field{Name: own.Name}
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
	// Doc is a sentence on what it is for.
	Doc string
	// Root is the document as a whole, which is a map.
	Root Field
}
