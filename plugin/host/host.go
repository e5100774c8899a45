// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"io/fs"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// Host loads the specs that a user names into a request. The zero value resolves
// modules of the types path, inline and configmap. It is safe for concurrent
// use.
type Host struct {
	// Fetchers fetch modules by the type of their reference (git, oci, …); they win over
	// the built-in types.
	Fetchers map[string]source.Fetcher
	// Embedded finds the modules in the binary, for the type embedded; nil finds no module.
	Embedded func(name string) (fs.FS, bool)
	// EmbeddedNames are the names that Embedded knows, for suggestions.
	EmbeddedNames []string
	// Complete adds to a module the modules that it depends on; with nil only imports
	// from cue.mod/pkg resolve.
	Complete func(ctx context.Context, tree source.Tree) (source.Tree, error)
	// Limits bound every module.
	Limits source.Limits
}

// Options select and overlay the specs to load. The zero value loads the project in the
// working directory.
type Options struct {
	// FS is read instead of the disk where it is set: documents, values, CRDs,
	// source files of workloads, modules of the type path and the lock. Nothing is
	// read outside of it then. Links are read by fs.ReadLinkFS, and followed as on
	// disk. It must not change, and be safe for concurrent use.
	FS fs.FS
	// Args are files, directories and "-" for Stdin; "." where there are neither Args nor
	// Documents.
	Args []string
	// Documents are files that the caller has read. Their names are like Args: paths in
	// them are relative to the folder of the name.
	Documents []spec.File
	// Specs are Components that the caller has made, whose paths are relative to Dir; they are
	// loaded like folders that are components by themselves. With Specs and without Args, no
	// folder is searched.
	Specs []spec.Transform
	// Hidden are texts that no message may show, such as values of Secrets in Specs.
	Hidden []string
	// Dir is the directory that Args, Root, Values and CRDs are relative to, and
	// that positions are relative to; "." where it is "". With FS, "." is the root
	// of FS, and all are slash-separated; one that begins with / begins there too.
	Dir string
	// Root is the directory that no spec and no module may leave. Where it is
	// "", it is all of FS; on disk it is the nearest directory at or above an
	// argument that holds .git; where none does, the nearest that holds cue.mod for
	// an argument that is a folder of a CUE package, and else the directory of the
	// argument.
	Root string
	// Stdin is read for the argument "-".
	Stdin io.Reader
	// Held are files, relative to Dir, whose documents Stdin has: they are not read.
	Held []string
	// Name is the name of the spec where Args is a folder of a CUE package without a
	// document, converted to a DNS label; where it is "", it is the name of the folder, and
	// "app" for the root, or the name of the chart there.
	Name string
	// Expressions are rendered of each such CUE package in place of all of it.
	Expressions []string
	// Environment is the environment of the project whose overlays apply; "" applies no
	// environment.
	Environment string
	// Installation chooses the environment where Environment is "". Its zero value does not.
	Installation Installation
	// Preview is the name of the preview that is rendered, by the rules of the project; with ""
	// no preview is rendered.
	Preview string
	// Values are YAML or JSON files that overlay the inputs, in order: FILE holds the
	// input of the only spec, or a map of inputs by the name of the spec where there are
	// several; SPEC:FILE holds the input of that spec. A file called *.cue is CUE, with the input
	// in its field values.
	Values []string
	// Evaluator evaluates Values in CUE and bundles of Timoni; nil refuses them.
	Evaluator evaluate.Evaluator
	// Set are single values that overlay the inputs last, in order: [SPEC:]PATH=VALUE, see
	// [spec.ParseSet]. SPEC may be omitted where there is one spec.
	Set []string
	// HelmSet are the same in the syntax of Helm for values of charts; values of the flag --set
	// for other specs are added to Set.
	HelmSet []spec.HelmSet
	// Overrides are the same in the syntax of Score, after Set, see [spec.ParseOverride].
	Overrides []string
	// Runtime are values of the attributes @timoni(runtime:TYPE:NAME) of modules and
	// bundles, in order: NAME=VALUE, or a FILE of YAML or JSON with a map of them; or the
	// runtime of a bundle, a FILE of CUE in place of the runtime beside the bundle.
	Runtime []string
	// LookupRuntime looks up such attributes that have no value; nil finds no value.
	LookupRuntime func(name string) (string, bool)
	// EnvFiles are files of variables for workloads (${NAME}), in the syntax of docker
	// compose, in order; they win over the files that the project declares.
	EnvFiles []string
	// VariablesFromEnv are names that LookupEnv looks up; they win over EnvFiles.
	VariablesFromEnv []string
	LookupEnv        func(name string) (string, bool)
	// Variables are single variables, NAME=VALUE, which win over all others.
	Variables []string
	// Images are images of containers of workloads: IMAGE and SPEC=IMAGE for containers
	// without an image of their own (image: .), SPEC/CONTAINER=IMAGE for any container.
	Images []string
	// Context wins over project and environment; "" means not given.
	Context spec.Context
	// CRDs are directories and files of CustomResourceDefinitions to check
	// against.
	CRDs []string
	// Emit are the options of the output. Name defaults to the name of the project, Dialect to
	// Context.Engine, then to the engine of the project, then to plain.
	Emit emit.Options
	// Limits bound the evaluation of each spec.
	Limits evaluate.Limits
	// AllowEmpty allows folders and projects without specs, and plain modules without
	// objects.
	AllowEmpty bool
	// SkipSchemas skips the schema check.
	SkipSchemas bool
	// Charge, if set, is called with the bytes that documents, inputs and modules take,
	// roughly, and with 0 now and then; it may wait for room. Its error ends the load. It
	// is never called after the end of ctx.
	Charge func(ctx context.Context, bytes int64) error
}

// Installation has the fields of the Installation that a project is built for.
type Installation struct {
	// File is the name of its file, for messages.
	File string
	// Name is its metadata.name, which environments list among their clusters.
	Name string
	// Environment is the environment that it names; "" leaves the choice to the project.
	Environment string
}

// Project returns the options of the discovery.
func (o Options) Project() project.Options {
	return project.Options{
		FS:         o.FS,
		Args:       o.Args,
		Documents:  o.Documents,
		Specs:      o.Specs,
		Dir:        o.Dir,
		Root:       o.Root,
		Stdin:      o.Stdin,
		Held:       o.Held,
		AllowEmpty: o.AllowEmpty,
		Values:     o.Values,
	}
}

// charge calls Charge within ctx, which ends a load without one too.
func (o Options) charge(ctx context.Context, bytes int64) error {
	if err := ctx.Err(); err != nil || o.Charge == nil {
		return err
	}
	return o.Charge(ctx, bytes)
}
