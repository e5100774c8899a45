// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import "github.com/ropewalk/ropewalk/render/object"

// Input is one part of what a module takes that can be set by itself.
type Input struct {
	// Path leads to it from the root of the input; it holds no index.
	Path object.Path
	Type InputType
	// Collection says that it is a list or a map of that type. Members of a map that
	// have names of their own are inputs beside it.
	Collection Collection
	// Expected says in plain words what is: an integer of at least 1. It is "" if
	// anything is.
	Expected string
	// Default is the value of an input that is not set, as JSON; "" if the input has no
	// default, if it depends on the rest of the input, and if it is longer than 4 KiB.
	Default string
	// Required says that the module makes nothing without it. What is needed only
	// together with a part that may be absent is not required.
	Required bool
	// Optional says that it, or a part of the input around it, may be absent: its default
	// holds where that part is given.
	Optional bool
	// Within says that it is required where the part around it is given, which may be absent.
	Within bool
	// Doc is the comment above it, cut after 2 KiB.
	Doc string
	// Members are the inputs of the items of a list of maps, or of the members of a map of maps.
	// Their paths begin with "[]" or "<name>". They are set in an [Inspection] only.
	Members []Input
	// Cut says that it has named parts of its own that are no inputs here, because
	// there are too many of them or they lie too deep.
	Cut bool
}

// InputType is the type of a value, or of the values of a collection.
type InputType string

// The types.
const (
	InputString  InputType = "string"
	InputNumber  InputType = "number"
	InputBoolean InputType = "boolean"
	// InputAny is one of several types, or a list or a map of more than scalars.
	InputAny InputType = ""
)

// Collection tells a single value from a list or a map of values.
type Collection string

// The collections.
const (
	CollectionNone Collection = ""
	CollectionList Collection = "list"
	CollectionMap  Collection = "map"
)
