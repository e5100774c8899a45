// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Inspection describes a module without an input.
type Inspection struct {
	Flavour Flavour
	// Mark is the mark of a native module.
	Mark spec.Mark
	// Inputs are the inputs of the module, as in [Result]; a policy has its parameters as inputs.
	Inputs []Input
	// Schema is the JSON Schema (draft 2020-12) of what the module takes. What JSON Schema
	// cannot say is left out: it refuses nothing that the module takes. It is empty for a
	// module of provisioners, and where it is larger than 1 MiB.
	Schema []byte
	// Findings are sorted by position.
	Findings []Finding
	// Points list what inputs may set, in the order of their paths, and whether a case of
	// [Request].Cases sets it. The points of a module of provisioners are its entries and their
	// params, and its cases the specs of workloads.
	Points []Point
}

// Finding is something wrong with how a module is written.
type Finding struct {
	Rule     string
	Severity object.Severity
	Pos      object.Pos
	// Path is the path of the input, "" if the finding is about no input.
	Path          string
	Message, Hint string
}

// Rules of findings.
const (
	RuleFormat = "format"
	RuleClosed = "closed"
	RuleDocs   = "docs"
	RuleSecret = "secret"
)

// Point is one way in which an input may be given or left out.
type Point struct {
	// Path leads to the input: ports[].name is in the items of a list, and labels[] the
	// members of a map.
	Path string
	// What is "set", "not set", or one of several alternatives: true, "tcp", a list.
	What    string
	Pos     object.Pos
	Covered bool
}
