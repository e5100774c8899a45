// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds has the tables of the documents that become objects: the one place where
// their fields are written down.
package kinds

import (
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

type (
	// Document is the table of a kind.
	Document = document.Document
	// Field is a field of one.
	Field = document.Field
)

// Short forms of the kinds of values, for the tables.
const (
	list   = object.KindList
	text   = object.KindString
	number = object.KindNumber
	truth  = object.KindBool
	fields = object.KindMap
)

// apiVersion is that of all documents.
const apiVersion = "ropewalk.dev/v1alpha1"

// All returns the tables of documents that do not become workloads. The tables of front ends are
// in render/workload/frontend.
func All() []Document { return []Document{Component(), Project(), Score(), Transform()} }

// Whole returns a document with its header and the fields that follow.
func Whole(kind, doc string, more ...Field) Document {
	return Document{Kind: kind, Doc: doc, Root: Field{Kind: fields, Fields: append([]Field{
		{Name: "apiVersion", Kind: text, Values: choices(apiVersion), Need: true},
		{Name: "kind", Kind: text, Values: choices(kind), Need: true},
	}, more...)}}
}

// Metadata returns the field of the metadata of a document.
func Metadata() Field {
	return Field{Name: "metadata", Kind: fields, Need: true, Hint: "write metadata: {name: …}", Doc: "Name of the document, and what all its objects have.", Fields: []Field{
		{Name: "name", Kind: text, Rule: label(), Need: true, Doc: "Name of the spec."},
		{Name: "namespace", Kind: text, Rule: label(), Doc: "Namespace of its objects, where it is not that of the project."},
		{Name: "labels", Kind: fields, Doc: "Labels of the document."},
		{Name: "annotations", Kind: fields, Doc: "Annotations of the document."},
	}}
}

// looseMetadata returns the field of the metadata of a workload, whose labels may be numbers and
// bools.
func looseMetadata() Field {
	return Field{Name: "metadata", Kind: fields, Need: true, Hint: "write metadata: {name: …}", Doc: "Name of the workload, and what all its objects have.", Fields: []Field{
		{Name: "name", Kind: text, Rule: name(1), Need: true, Hint: "write the name of the workload", Doc: "Name of the workload."},
		{Name: "namespace", Kind: text, Rule: namespace(), Doc: "Namespace of its objects, where it is not that of the project."},
		labels().Means(""),
		annotations(1).Means(""),
	}}
}

// Status returns the field of the status, which a document has that was read back from a cluster.
func Status() Field {
	return Field{Name: "status", Kind: fields, Free: true, Doc: "What a cluster reports; it is ignored."}
}

func each(f Field) *Field { return &f }

// loose returns the field of a text that may be written as a number or a bool.
func loose() *Field { return &Field{Kind: text, Loose: true, Mistyped: asText} }

// quantity returns the field of an amount, such as 100m.
func quantity() *Field { return &Field{Kind: text, Text: true} }

func full() *Field { return &Field{Kind: text, Full: true} }

// count returns the range of the numbers that Kubernetes counts by.
func count(least int) *document.Range { return between(least, 1<<31-1) }

// seconds returns a field with a number of seconds.
func seconds(name string, least int, doc string) Field {
	return Field{Name: name, Kind: number, Range: count(least), Rule: rule{Short: "number of seconds"}, Mistyped: asSeconds, Doc: doc}
}

func from(least int) *document.Range { return document.From(least) }

func between(least, most int) *document.Range { return document.Between(least, most) }

func choices(names ...string) []document.Choice { return document.Choices(names...) }
