// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/preview"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// The context where neither project, environment nor caller set it.
const (
	DefaultNamespace     = "default"
	DefaultKubeVersion   = "1.36.3"
	DefaultClusterDomain = "cluster.local"
)

// Host loads the specs that a user names into a request. The zero value resolves
// modules of the types path, inline and configmap. It is safe for concurrent
// use.
type Host struct {
	// Fetchers fetch modules by the type of their reference (git, oci, …); they win over
	// the built-in types.
	Fetchers map[string]source.Fetcher
	// Embedded finds the modules in the binary, for the type embedded; nil knows none.
	Embedded func(name string) (fs.FS, bool)
	// EmbeddedNames are the names that Embedded knows, to suggest one.
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
	// read outside of it then. Links in it are those of fs.ReadLinkFS, and are
	// followed as on disk. It must not change, and be safe for concurrent use.
	FS fs.FS
	// Args are files, directories and "-" for Stdin; "." where there are none, and no
	// Documents either.
	Args []string
	// Documents are files that the caller has read. Their names are like Args: paths in
	// them are relative to the folder of the name.
	Documents []spec.File
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
	// document, converted to a DNS label; where it is "", the name is that of the folder,
	// and "app" for the root, or the name of the chart there.
	Name string
	// Expressions are what is rendered of each such CUE package in place of all of it.
	Expressions []string
	// Environment is the environment of the project whose overlays apply; "" is none.
	Environment string
	// Preview is the name of the preview that is rendered, by the rules of the project; "" is
	// none.
	Preview string
	// Values are YAML or JSON files that overlay the inputs, in order: FILE holds the
	// input of the only spec, or a map of inputs by the name of the spec where there are
	// several; SPEC:FILE holds that of one spec. A file called *.cue is CUE, and its field
	// values is what it holds.
	Values []string
	// Evaluator evaluates Values in CUE and bundles of Timoni; nil refuses them.
	Evaluator evaluate.Evaluator
	// Set are single values that overlay the inputs last, in order: [SPEC:]PATH=VALUE, see
	// [spec.ParseSet]. SPEC may be omitted where there is one spec.
	Set []string
	// HelmSet are the same in the syntax of Helm for values of charts; those of the flag --set
	// that are for other specs are added to Set.
	HelmSet []spec.HelmSet
	// Overrides are the same in the syntax of Score, after Set, see [spec.ParseOverride].
	Overrides []string
	// Runtime are values of the attributes @timoni(runtime:TYPE:NAME) of modules and
	// bundles, in order: NAME=VALUE, or a FILE of YAML or JSON with a map of them; or the
	// runtime of a bundle, a FILE of CUE in place of the one beside the bundle.
	Runtime []string
	// LookupRuntime is asked for the names of such attributes that have no value; nil
	// knows none.
	LookupRuntime func(name string) (string, bool)
	// EnvFiles are files of variables for workloads (${NAME}), in the syntax of docker
	// compose, in order; they win over those that the project declares.
	EnvFiles []string
	// VariablesFromEnv are names that LookupEnv is asked for; they win over EnvFiles.
	VariablesFromEnv []string
	LookupEnv        func(name string) (string, bool)
	// Variables are single variables, NAME=VALUE, which win over all others.
	Variables []string
	// Images are images of containers of workloads: IMAGE and SPEC=IMAGE for containers
	// without an image of their own (image: .), SPEC/CONTAINER=IMAGE for any.
	Images []string
	// Context wins over project and environment; "" means not given.
	Context spec.Context
	// CRDs are directories and files of CustomResourceDefinitions to check
	// against.
	CRDs []string
	// Emit are the options of the output. Name defaults to that of the project, Dialect to
	// Context.Engine, then to the engine of the project, then to plain.
	Emit emit.Options
	// Limits bound the evaluation of each spec.
	Limits evaluate.Limits
	// AllowEmpty allows folders and projects without specs, and plain modules without
	// objects.
	AllowEmpty bool
	// SkipSchemas skips the schema check.
	SkipSchemas bool
	// Charge, if set, is called with how many bytes documents, inputs and modules take,
	// roughly, and with 0 now and then; it may wait for room. Its error ends the load. It
	// is never called after the end of ctx.
	Charge func(ctx context.Context, bytes int64) error
}

// Project are the options of the discovery.
func (o Options) Project() project.Options {
	return project.Options{FS: o.FS, Args: o.Args, Documents: o.Documents, Dir: o.Dir, Root: o.Root, Stdin: o.Stdin, Held: o.Held, AllowEmpty: o.AllowEmpty, Values: o.Values}
}

// charge is Charge within ctx, which ends a load without one too.
func (o Options) charge(ctx context.Context, bytes int64) error {
	if err := ctx.Err(); err != nil || o.Charge == nil {
		return err
	}
	return o.Charge(ctx, bytes)
}

// Loaded is a request that is ready to be rendered; its caller sets Strict,
// Parallel and Progress.
type Loaded struct {
	Request render.Request
	// Name is that of the project, or that of its directory where it has none.
	Name string
	// Project is the project with the environment laid over its context; the
	// zero value where there is none.
	Project spec.Project
	// References are what the documents refer to and was fetched from servers, sorted by their
	// place.
	References []Reference
	// NotRendered are files of plain manifests that a search found beside the specs, sorted.
	NotRendered []string
	// Nested are the files of projects in folders below the specs, which are rendered on
	// their own, sorted.
	Nested []string
	// NotApplied are the project files beside specs that were named as files, sorted.
	NotApplied []string
	// Unplaced are the specs that fall back to the default namespace.
	Unplaced []string
	// Texts is every file that was read as a document, by the name that
	// positions give it, so that a caller can show the line.
	Texts map[string][]byte
}

// checkContext checks the context of the caller as that of a project is checked.
func (l *loading) checkContext(c spec.Context) {
	if c.KubeVersion != "" {
		if _, ok := spec.ParseKubeVersion(c.KubeVersion); !ok {
			l.Fail(object.Pos{File: "--kube-version " + c.KubeVersion}, "",
				fmt.Errorf("%q is not a version of Kubernetes: expected one such as 1.36 or v1.36.2", c.KubeVersion))
		}
	}
	if c.Engine != "" && !slices.Contains(dialect.Names(), c.Engine) {
		l.Fail(object.Pos{File: "--dialect " + c.Engine}, object.Suggest(c.Engine, dialect.Names()),
			fmt.Errorf("dialect %q is not known", c.Engine))
	}
	if err := spec.CheckDomain(c.ClusterDomain); c.ClusterDomain != "" && err != nil {
		l.Fail(object.Pos{File: "--cluster-domain " + c.ClusterDomain}, "", err)
	}
	if err := spec.CheckName(c.Namespace); c.Namespace != "" && err != nil {
		l.Fail(object.Pos{File: "--namespace " + c.Namespace}, "", err)
	}
}

// defaults sets the fields that are still empty; name is the dialect that the caller
// set.
func defaults(c spec.Context, name dialect.Name) spec.Context {
	if name != "" {
		c.Engine = string(name)
	}
	c.KubeVersion, _ = spec.ParseKubeVersion(c.KubeVersion)
	return spec.Context{
		Namespace: DefaultNamespace, KubeVersion: DefaultKubeVersion,
		ClusterDomain: DefaultClusterDomain, Engine: string(dialect.Plain),
	}.Merge(c)
}

// contextOf is the context of a spec; namespace is "" where it names none. A name or a
// namespace that is none has been reported, and is not reported again at each object.
func (l *loading) contextOf(name, namespace, environment string) object.Context {
	c := l.context
	if namespace == "" && name != "" && !l.placed {
		l.unplaced = append(l.unplaced, name)
	}
	if namespace = cmp.Or(namespace, c.Namespace); spec.CheckName(namespace) != nil {
		namespace = DefaultNamespace
	}
	namespace = l.inPreview(namespace)
	if spec.CheckName(name) != nil {
		name = project.Label(name)
	}
	return object.Context{
		Name: name, Namespace: namespace, Environment: environment,
		Engine: c.Engine, KubeVersion: c.KubeVersion, ClusterDomain: c.ClusterDomain,
	}
}

// readPreview reads which preview of a project is rendered.
func (l *loading) readPreview(p spec.Project) {
	at := object.Pos{File: "--preview " + l.opts.Preview}
	err := spec.CheckPreview(l.opts.Preview)
	switch {
	case l.opts.Preview == "":
	case err != nil:
		l.Fail(at, "", err)
	case !p.Previews.Pos.IsValid():
		if !l.docs.Incomplete {
			l.Fail(at, "add previews: {namespace: \"${namespace}-pr-${preview}\"} to the spec of "+spec.ProjectFile, errors.New("the project declares no previews"))
		}
	case !slices.ContainsFunc(l.Errs, func(e *object.Error) bool { return strings.HasPrefix(e.Path, "spec.previews") }):
		l.preview = preview.Rules{ID: l.opts.Preview, Previews: p.Previews}
	}
}

// inPreview is the namespace of the preview in place of one, which is that one if there is no
// preview.
func (l *loading) inPreview(namespace string) string {
	if l.preview.ID == "" {
		return namespace
	}
	own, err := l.preview.Enter(namespace)
	if err != nil {
		l.Errs = append(l.Errs, object.AsErrors(err, object.StageSpec)...)
		return namespace
	}
	return own
}
