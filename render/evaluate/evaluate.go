// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Evaluator evaluates modules. Implementations are safe for concurrent use.
type Evaluator interface {
	// Evaluate does what a request asks, such as to make the nodes of one spec, with what its
	// policies say of them. The functions of this package ask for all else.
	// The error is an object.Errors with every mistake that was found, or
	// wraps context.Canceled.
	Evaluate(ctx context.Context, req Request) (Result, error)
	// Trace tells where parts of the rendered objects come from; it evaluates
	// again and is only called for errors and explanations. Origins are in the
	// order of the queries; one that is not known is zero.
	Trace(ctx context.Context, req Request, queries []Query) ([]Origin, error)
}

// Request is one operation on a module, mostly the render of a spec. It holds all that the result
// depends on.
type Request struct {
	Operation Operation
	// Spec is the name of the spec: the first half of every node id.
	Spec string
	// Pos is the place of the spec.
	Pos    object.Pos
	Module Module
	// Input is the input of the user; KindNone without an input.
	Input object.Value
	// Layers are the texts that Input was merged of, if there are several and their order
	// shows: a Timoni module takes the values of one file after the other.
	Layers []object.Value
	// InputPath leads to Input in the user's document, for messages:
	// spec.input.
	InputPath object.Path
	Context   object.Context
	// Component says how the files of Module are built, for OpBuild. They are no CUE then, and Dir
	// is the folder that the paths of the component are relative to.
	Component *spec.Component
	// Overlays are laid over the nodes, in order, before they are judged.
	Overlays []spec.Overlay
	// Policies are judged on the input and the nodes, in this order.
	Policies []Policy
	Limits   Limits
	// AllowEmpty takes a plain module that makes no objects, which is else a mistake:
	// nothing tells such a module from one whose input took everything away.
	AllowEmpty bool
	// Expressions are evaluated in a plain package, and what they give is rendered in place of
	// all of the package.
	Expressions []string
	// Cases are the inputs of cases, for OpInspect.
	Cases []object.Value
	// Older is the version that the module is compared with, for OpCompare.
	Older *Module
	// Bundle names files of the module, for OpBundle.
	Bundle *BundleFiles
}

// Modules returns all modules of the request, in the order in which they are sent to a worker: the
// module of the spec, the modules of its policies, and the older version.
func (r *Request) Modules() []*Module {
	modules := []*Module{&r.Module}
	for i := range r.Policies {
		modules = append(modules, &r.Policies[i].Module)
	}
	if r.Older != nil {
		modules = append(modules, r.Older)
	}
	return modules
}

// Foreign reports whether a module of the request is foreign.
func (r *Request) Foreign() bool {
	return slices.ContainsFunc(r.Modules(), func(m *Module) bool { return m.Foreign })
}

// Module is a tree of CUE files, already fetched.
type Module struct {
	// FS holds regular files only, with slash-separated paths. It is sent to workers
	// apart from the request.
	FS fs.FS `cbor:"-"`
	// Foreign is set for what was fetched, or needs modules that are: others can change it.
	Foreign bool `cbor:"-"`
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
	// TagPos are the places of the user's Tags; one that is not in it was not written in a
	// file.
	TagPos map[string]object.Pos
	// Pos is the line of the user that names the module; not valid if none does.
	Pos object.Pos
	// Version is the version of a Timoni module, which sets its tag moduleVersion; "" is the
	// 0.0.0-devel of a module that was not published.
	Version string
}

// Position returns the place, as the user knows it, of a line and a column of a file of m. A line
// or a column that is not known is 0.
func (m Module) Position(name string, line, column int) object.Pos {
	src, ok := m.Sources[name]
	if !ok {
		return object.Pos{File: object.FileOf(m.Label, name), Line: line, Column: column}
	}
	if line == 0 || src.Whole {
		return src.Pos
	}
	pos := object.Pos{File: src.Pos.File, Line: src.Pos.Line + line - 1}
	switch {
	case column == 0:
	case line == 1:
		pos.Column = max(src.Pos.Column, 1) + column - 1
	default:
		pos.Column = column + src.Indent
	}
	return pos
}

// Source is the place of a file of a module inside a file of the user. Line
// and column 1:1 of the file stand at Pos; Indent counts the further columns
// by which later lines are indented.
type Source struct {
	Pos    object.Pos
	Indent int
	// Whole is set if all of the file is at Pos: the program wrote it for what stands there.
	Whole bool
}

// Policy is a CUE module that judges a spec.
type Policy struct {
	Name   string
	Module Module
	// Input holds the parameters of the policy.
	Input object.Value
	// Pos is the line of the user that asks for the policy.
	Pos object.Pos
	// Overridable allows the spec to loosen it.
	Overridable bool
}

// Limits bound one evaluation. The zero value means the defaults.
type Limits struct {
	// Timeout is wall time; DefaultTimeout where zero.
	Timeout time.Duration
	// Memory is bytes of heap; DefaultMemory where zero.
	Memory int64
	// Values limits the values that the documents and the files of components of a whole render
	// hold, and the values that its objects hold; DefaultValues where zero.
	Values int
}

// Defaults of [Limits].
const (
	DefaultTimeout = 10 * time.Second
	DefaultMemory  = 256 << 20
	// DefaultValues take less than a gigabyte on the way from texts to manifests.
	DefaultValues = 2_000_000
)

// CheckValues returns an error for a render that holds more values than it may. The argument holder
// names where the values are.
func (l Limits) CheckValues(values int, holder string) error {
	limit := cmp.Or(l.Values, DefaultValues)
	if values <= limit {
		return nil
	}
	return fmt.Errorf("%w: %s hold more than %d values: split the render into several, or raise --max-values", ErrLimit, holder, limit)
}

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
	// FlavourComponent is no module: the objects are built without CUE.
	FlavourComponent Flavour = "component"
)

// Values of ropewalk.kind; a module of specs has no kind.
const (
	KindPolicy       = "Policy"
	KindProvisioners = "Provisioners"
)

// Result is the answer to a request: what a module makes of an input, or what another operation
// gives.
type Result struct {
	Flavour Flavour
	// Nodes are sorted by id.
	Nodes []*object.Node
	// Violations are in the order of the policies.
	Violations []Violation
	// Undecided is why policies could not judge: what they look at is not as they expect it,
	// such as text where there should be a number. The check of the objects mostly says of the
	// same thing what is wrong with it, and at the line of the user.
	Undecided object.Errors
	// Warnings name what was translated only in part.
	Warnings object.Errors
	// Provisioned holds the result for each resource of schema.#Requests, by the
	// key of the resource, for a module of provisioners. Nodes is empty then.
	Provisioned map[string]Provisioned
	// Catalog, Values, Inputs, Inspection, Comparison and Bundle are the results of the other
	// operations; each is set for its own only.
	Catalog    []Provisioner
	Values     object.Value
	Inputs     []Input
	Inspection *Inspection
	Comparison Comparison
	Bundle     *Bundle
}

// Provisioned is the result of a provisioner for one resource.
type Provisioned struct {
	// JSON is a map with what the provisioner gives out of outputs, sensitive,
	// volume, claim, workload and after (see schema.#Provisioner), with its names
	// in order.
	JSON []byte
	// Nodes are the objects of the resource, sorted by id. An id is
	// SPEC/resource-KEY-NODE; where that has more than 63 characters after the
	// slash it is cut, and a hash of the whole is added.
	Nodes []*object.Node
}

// Provisioner is one entry of the list of a module of provisioners.
type Provisioner struct {
	// Index is its place in the list.
	Index int
	Type  string
	// Class and ID are "" if every class or id is meant.
	Class, ID   string
	Description string
	// Pos is the place of its type in the module, not valid if it is not known.
	Pos object.Pos
	// Params are the parameters that a workload may give, in the order of their names.
	Params []Param
	// Outputs and Sensitive are the names that are known whatever the params are,
	// sorted.
	Outputs, Sensitive []string
	// Config are the fields of the project's config that it declares, sorted. With
	// AnyConfig it declares no field, and may read every field.
	Config    []string
	AnyConfig bool
}

// Param is one parameter of a provisioner.
type Param struct {
	Name string
	// Type says in plain words what is expected: an integer of at least 1. It is
	// "" if anything is.
	Type string
	// Default is JSON; "" if the parameter has no default, or if the default
	// depends on the resource.
	Default string
	// Required says that there is no resource without it.
	Required bool
	// Doc is the comment above the parameter.
	Doc string
}

// Violation is an objection of a policy to a spec.
type Violation struct {
	// Policy is the rule that is violated, as the module calls it, and By the name of the policy
	// of the request.
	Policy, By string

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

// Origin tells where a part of an object comes from.
type Origin struct {
	// Input is the place in the user's own text that the value was computed
	// from; not valid if the module alone decides.
	Input object.Pos
	// InputPath is the path of that place in the input.
	InputPath object.Path
	// Module is the line of the module that wrote the value.
	Module object.Pos
	// Written is the scalar as manifests have it where it is read as something else, such as
	// n, which is false; "" anywhere else.
	Written string
}

// BundleFiles names the files of a bundle of Timoni in the module of a request, and
// what they are read with.
type BundleFiles struct {
	// File is the path of the bundle, and Runtime the path of the file with its clusters, ""
	// without such a file.
	File, Runtime string
	// More are paths of further files, which are unified with File.
	More []string
	// Cluster is the name of the chosen cluster.
	Cluster string
	// Values are the values of @timoni(runtime:…) attributes, by name.
	Values map[string]string
}

// Bundle is the content of a bundle of Timoni; see https://timoni.sh/bundle.
type Bundle struct {
	Name object.Value
	// Instances are in the order of the text. They are empty if the runtime has clusters
	// and the chosen cluster is not among them, or if it has several and no cluster is chosen.
	Instances []Instance
	// Clusters are in the order of the text.
	Clusters []Cluster
}

// Instance is one instance of a module in a bundle. What is not given is of
// KindNone.
type Instance struct {
	Name string
	// Pos is the place of its name.
	Pos                             object.Pos
	URL, Version, Digest, Namespace object.Value
	Values                          object.Value
	// AllowSecrets are the names in @ropewalk(allowSecrets="a, b") of the instance.
	AllowSecrets []string
	// Unsure is set if a mistake may hide some of its values.
	Unsure bool
}

// Cluster is one cluster of the runtime of a bundle.
type Cluster struct {
	Name, Group string
	Pos         object.Pos
}

// RuntimeNames returns the names of the @timoni(runtime:TYPE:NAME) attributes in the text of a CUE
// file, in the order of the text.
func RuntimeNames(data []byte) (names []string) {
	for _, m := range regexp.MustCompile(`@timoni\(\s*runtime:\w+:([\w.-]+)\s*\)`).FindAllSubmatch(data, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
