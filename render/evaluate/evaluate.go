// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"io/fs"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
)

// Evaluator evaluates modules. Implementations are safe for concurrent use.
type Evaluator interface {
	// Evaluate gives the nodes of one spec and what its policies say of them.
	// The error is an object.Errors with every mistake that was found, or
	// wraps context.Canceled.
	Evaluate(ctx context.Context, req Request) (Result, error)
	// Trace tells where parts of the rendered objects come from; it evaluates
	// again and is only called for errors and explanations. Origins are in the
	// order of the queries; one that is not known is zero.
	Trace(ctx context.Context, req Request, queries []Query) ([]Origin, error)
}

// Request is one spec to evaluate. It holds all that the result depends on.
type Request struct {
	// Spec is the name of the spec: the first half of every node id.
	Spec string
	// Pos is the place of the spec.
	Pos    object.Pos
	Module Module
	// Input is what the user gave; KindNone where there is none.
	Input object.Value
	// InputPath leads to Input in the user's document, for messages:
	// spec.input.
	InputPath object.Path
	Context   object.Context
	// Policies are judged on the input and the nodes, in this order.
	Policies []Policy
	Limits   Limits
}

// Module is a tree of CUE files, already fetched.
type Module struct {
	// FS holds regular files only, with slash-separated paths.
	FS fs.FS
	// Digest identifies the tree: equal digests mean equal files. It is the
	// key of the cache of compiled modules.
	Digest string
	// Dir is the folder of the package inside FS; "" or "." is the root.
	Dir string
	// Label stands before the paths of FS in positions: modules/api, or
	// embedded:webservice.
	Label string
	// Sources maps a path of FS to the user's own file that it was written in,
	// for inline modules and ConfigMaps; paths that are not in it get Label.
	Sources map[string]Source
	// Tags are the values of @tag and @if attributes; they are part of the
	// cache key.
	Tags map[string]string
}

// Source is the place of a file of a module inside a file of the user. Line
// and column 1:1 of the file stand at Pos; Indent is how many further columns
// later lines are indented by.
type Source struct {
	Pos    object.Pos
	Indent int
}

// Policy is a CUE module that judges a spec.
type Policy struct {
	Name   string
	Module Module
	// Input holds the parameters of the policy.
	Input object.Value
	// Pos is the line of the user that asks for the policy.
	Pos object.Pos
}

// Limits bound one evaluation. The zero value means the defaults.
type Limits struct {
	// Timeout is wall time; DefaultTimeout where zero.
	Timeout time.Duration
	// Memory is bytes of heap; DefaultMemory where zero.
	Memory int64
}

// Defaults of [Limits].
const (
	DefaultTimeout = 10 * time.Second
	DefaultMemory  = 256 << 20
)

// Flavour tells how a module is written. It is told by a mark, not by
// guessing.
type Flavour string

// The flavours.
const (
	// FlavourNative has ropewalk: apiVersion at its root.
	FlavourNative Flavour = "native"
	// FlavourTimoni has timoni: apiVersion at its root.
	FlavourTimoni Flavour = "timoni"
	// FlavourPlain has neither: whatever has a concrete apiVersion and kind is
	// an object.
	FlavourPlain Flavour = "plain"
)

// Result is what a module makes of an input.
type Result struct {
	Flavour Flavour
	// Nodes are sorted by id.
	Nodes []*object.Node
	// Violations are in the order of the policies.
	Violations []Violation
	// Warnings are what was translated only in part.
	Warnings object.Errors
}

// Violation is what a policy has against a spec.
type Violation struct {
	Policy   string
	Severity object.Severity
	Message  string
	// Node and Path name the part of a rendered object; where Node is "",
	// Path is a path of the input.
	Node object.ID
	Path object.Path
	// PolicyPos is the line of the policy that speaks.
	PolicyPos object.Pos
}

// Query asks where a part of a node's object comes from.
type Query struct {
	Node object.ID
	Path object.Path
}

// Origin is where a part of an object comes from.
type Origin struct {
	// Input is the place in the user's own text that the value was computed
	// from; not valid where the module alone decides.
	Input object.Pos
	// InputPath is the path of that place in the input.
	InputPath object.Path
	// Module is the line of the module that wrote the value.
	Module object.Pos
}
