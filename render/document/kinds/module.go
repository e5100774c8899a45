// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// Case returns the table of a case of the tests of a module.
func Case() Field {
	about := context().Named("context")
	about.Fields = append(about.Fields, Field{Name: "name", Kind: text, Rule: label()}, Field{Name: "environment", Kind: text, Rule: label()})
	return Field{Kind: fields, Fields: []Field{
		{Name: "name", Kind: text},
		{Name: "input", Kind: fields, Free: true},
		{Name: "subject", Kind: fields, Free: true},
		about,
		allowSecrets(),
		{Name: "expect", Kind: fields, Need: true, Fields: []Field{
			{Name: "objects", Kind: list, Each: &Field{Kind: fields, Open: true, Fields: known(true)}},
			{Name: "absent", Kind: list, Fields: known(false)},
			{Name: "count", Kind: number, Range: from(0)},
			{Name: "waves", Kind: list, Each: &Field{Kind: list}},
			{Name: "errors", Kind: list, Fields: reported()},
			{Name: "warnings", Kind: list, Fields: reported()},
			{Name: "golden", Kind: text},
		}},
	}}
}

// known returns the fields that identify an object. For a part of an object these include the
// apiVersion.
func known(part bool) []Field {
	return []Field{
		{Name: "apiVersion", Kind: text, Full: part, Need: part},
		{Name: "kind", Kind: text, Full: true, Need: true},
		{Name: "metadata", Kind: fields, Need: true, Hint: "write metadata: {name: …}", Open: part, Fields: []Field{
			{Name: "name", Kind: text, Full: true, Need: true},
			{Name: "namespace", Kind: text},
		}},
	}
}

// reported returns the fields of an error or a warning that a case expects.
func reported() []Field {
	return []Field{{Name: "message", Kind: text}, {Name: "at", Kind: text}, {Name: "line", Kind: number, Range: from(0)}}
}

// Mark returns the table of what a native module says about itself.
func Mark() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "apiVersion", Kind: text},
		{Name: "kind", Kind: text},
		{Name: "kubernetes", Kind: list, Rule: kubeVersion()},
		{Name: "vet", Kind: fields, Fields: []Field{
			{Name: "images", Kind: text, Values: choices("digest", "tag", "off")},
			{Name: "budget", Kind: fields, Fields: []Field{{Name: "cpu", Kind: text, Rule: cost()}, {Name: "memory", Kind: text, Rule: memory()}}},
		}},
	}}
}
