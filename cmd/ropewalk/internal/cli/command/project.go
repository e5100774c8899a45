// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/transform/manifest"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// ProjectFlags are the flags of every command that renders.
type ProjectFlags struct {
	dialect     Choice
	Environment string
	// Installation chooses the environment where Environment is "".
	Installation  host.Installation
	preview       string
	set           []string
	setString     []string
	setJSON       []string
	setFile       []string
	overrides     []string
	Values        []string
	EnvFiles      []string
	variables     []string
	fromEnv       []string
	images        []string
	runtime       []string
	runtimeEnv    bool
	name          string
	expressions   []string
	namespace     string
	kubeVersion   string
	clusterDomain string
	Crds          []string
	Strict        bool
	argocdHealth  bool
	SkipSchemas   bool
	LimitFlags
	Sources SourceFlags
	// AllowEmpty accepts a render without objects.
	AllowEmpty bool
	// Shared evaluates all renders; nil starts an evaluator for each.
	Shared evaluate.Evaluator
	// LocalSources replace sources in a cluster. unfit refuses flags for fields of the manifest of a
	// Transform; it is nil for commands that take no such manifest.
	LocalSources []string
	unfit        func() error
	UnitFlags
	// Repository and fluxNamespace are added by the commands that write.
	Repository    string
	FluxNamespace string
}

// ProjectHelp is the part of the help that is the same for every command that
// renders.
const ProjectHelp = `
PATH is a spec, a file of manifests, the archive of a chart (.tgz), a directory or "-"
for standard input; the working directory where there is none. A directory with
ropewalk.yaml is a project; any other is searched for specs. One that holds none and is
a CUE package, of Ropewalk, of Timoni or plain, is a spec itself, called --name, or like
its folder ("app" for the root of a repository).
A bundle of Timoni, a CUE file with the field bundle or the directory with bundle.cue, is
a project: its instances are specs, each after the one before, and the clusters of
runtime.cue beside it are environments (--env); several files of one are unified, as with
timoni bundle build -f A -f B. --runtime gives the values of its attributes
@timoni(runtime:TYPE:NAME); values of Secrets are refused.
Nothing is read outside of the Git repository around a directory. Where there is none,
that is the directory itself, or for a CUE package the nearest one above with cue.mod.

The input of a spec is laid over in this order, the later wins: the spec, the
environment (--env), --values in their order, --set in their order, then
--override-property. That of a Score file is the whole file, that of a Workload what
stands below spec. Values of a chart are set as Helm sets them, with --set, --set-string,
--set-json and --set-file: NAME=VALUE for the folder of a chart, and
SPEC:helm.values.NAME=VALUE for a document.`

// Add adds the flags to a command.
func (p *ProjectFlags) Add(cmd *cobra.Command) {
	// The environment, and values for the input.
	p.dialect = Choice{Words: dialect.Names()}
	p.dialect.Add(cmd, "dialect", "engine to order and write for (default that of the project, or plain)")
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&p.Environment, "env", "e", "", "environment of the project to lay over it")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments) // fails only for a flag that does not exist
	f.StringVar(&p.preview, "preview", "", "`ID` of the preview to render, in namespaces and under hosts that spec.previews of the\nproject gives it")
	addTexts(f, &p.Values, "values", "f", "`[SPEC:]FILE` of YAML, JSON or CUE (its field values) to lay over the input; may be repeated")
	// Two flags of one variable would each begin it anew: they share the value.
	f.Var(f.Lookup("values").Value, "overrides-file", "`[SPEC:]FILE`: --values by the name that users of Score know")
	f.Var(f.Lookup("values").Value, "override-file", "an older name of --overrides-file")
	_ = f.MarkHidden("override-file") // fails only for a flag that does not exist

	// Values of all kinds of specs, each over the ones before.
	addTexts(f, &p.set, "set", "", "`[SPEC:]PATH=VALUE` to lay over the input, of a chart as helm --set does; may be repeated")
	addTexts(f, &p.setString, "set-string", "", "`[SPEC:]NAME=VALUE` of a chart, as text; may be repeated")
	addTexts(f, &p.setJSON, "set-json", "", "`[SPEC:]NAME=JSON` of a chart, or a map of values; may be repeated")
	addTexts(f, &p.setFile, "set-file", "", "`[SPEC:]NAME=FILE` of a chart: the content of FILE; may be repeated")
	addTexts(f, &p.overrides, "override-property", "", "[SPEC:]`PATH=VALUE` in the syntax of Score: a.0=x sets an item, a.-1=x appends\none, a\\.b is one name, and a= deletes; may be repeated")
	addTexts(f, &p.runtime, "runtime", "", "`NAME=VALUE` of @timoni(runtime:TYPE:NAME) in modules and bundles, or a FILE with a map of\nthem, or the runtime.cue of a bundle; may be repeated")
	f.BoolVar(&p.runtimeEnv, "runtime-from-env", false, "take the names that modules and bundles ask for and --runtime does not give\nfrom the environment")
	addTexts(f, &p.EnvFiles, "env-file", "", "`FILE` of variables for ${NAME} in workloads, over those of the project; may be\nrepeated")
	addTexts(f, &p.fromEnv, "var-from-env", "", "`NAME` to take from the environment for ${NAME} in workloads, over --env-file; may be\nrepeated")
	addTexts(f, &p.variables, "var", "", "`NAME=VALUE` for ${NAME} in workloads, over all others; may be repeated")
	addTexts(f, &p.images, "image", "", "`[SPEC[/CONTAINER]=]IMAGE` for containers of workloads with image \".\"; may be repeated")

	// A folder that is a spec itself, and the cluster.
	f.StringVar(&p.name, "name", "", "name of the instance, where PATH is the folder of a module, a CUE package, a chart, a\nkustomization or manifests (default that of the folder)")
	addTexts(f, &p.expressions, "expression", "", "`EXPR` of CUE that gives the objects, where PATH is the folder of a plain CUE package, as\ncue export -e takes it; may be repeated")
	f.StringVarP(&p.namespace, "namespace", "n", "", "namespace that modules get; the dialect flux writes it into objects that name none,\nin the others the engine fills in its own")
	f.StringVar(&p.kubeVersion, "kube-version", "", "`VERSION` of the cluster, such as 1.36")
	f.StringVar(&p.clusterDomain, "cluster-domain", "", "DNS domain of the cluster")

	// Checks of the render.
	addTexts(f, &p.Crds, "crds", "", "`DIR` or file of CustomResourceDefinitions to check against; may be repeated")
	f.BoolVar(&p.Strict, "strict", false, "take warnings as errors")
	f.BoolVar(&p.AllowEmpty, "allow-empty", false, "accept a render without a spec or an object: an engine that prunes deletes\nwhat was there")
	f.BoolVar(&p.argocdHealth, "argocd-health", false, "Argo CD has the health checks that --argocd-cm writes, so that readyWhen gates\nwithout a warning")
	f.BoolVar(&p.SkipSchemas, "skip-schemas", false, "do not check objects against the schemas of the API")

	// Help lists the flags below these headings.
	group(f, groupInputs, "values", "overrides-file", "override-file", "set", "set-string", "set-json", "set-file", "override-property", "runtime", "runtime-from-env", "env-file", "var-from-env", "var", "image")
	group(f, groupRender, "dialect", "env", "preview", "name", "expression", "namespace", "kube-version", "cluster-domain", "crds", "strict", "allow-empty", "argocd-health", "skip-schemas")
	p.LimitFlags.Add(f, "evaluate in `N` processes of their own that can be stopped, for modules that\nyou do not trust; 0 does so only for modules that were fetched")
	p.Sources.Add(cmd)
}

// AddLocalSources adds the flag of commands that take the manifest of a Transform of a cluster.
func (p *ProjectFlags) AddLocalSources(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&p.LocalSources, "local-sources", nil, "`KIND/NS/NAME=PATH` of what the manifest of a Transform, or a unit of Argo CD or Flux,\nnames in a cluster: the folder of a GitRepository, OCIRepository, Bucket or\nExternalArtifact, or the manifest of a ConfigMap for a Transform; may be repeated")
	group(f, groupSources, "local-sources")
	p.unfit = func() (err error) {
		f.Visit(func(g *pflag.Flag) {
			inputs := slices.Contains(g.Annotations[flagGroup], groupInputs)
			if inputs || slices.Contains([]string{"env", "preview", "name", "expression", "crds"}, g.Name) {
				err = Usagef("change the manifest", "--%s is not for the Transform of a cluster, whose manifest says all of that", g.Name)
			}
		})
		return err
	}
}

// findTransform returns the Transform of a cluster that the only path names, with its local
// sources. It returns nil for anything else. Standard input can be read again afterwards.
func (p *ProjectFlags) findTransform(files fs.FS, paths []string, stdin *io.Reader) (*manifest.Manifest, manifest.Sources, error) {
	if p.unfit == nil {
		return nil, nil, nil
	}

	// Read the manifest from where the path names it.
	sources, err := manifest.ParseSources(p.LocalSources)
	if err != nil {
		return nil, nil, Usagef("", "--local-sources %w", err)
	}
	var transform *manifest.Manifest
	if len(paths) == 1 {
		name, data := paths[0], readText(paths[0])
		switch {
		case files != nil:
			data, _ = fs.ReadFile(files, paths[0]) // a folder has no text
		case name == "-" && *stdin != nil:
			name = project.StdinName
			data, err = io.ReadAll(io.LimitReader(*stdin, spec.MaxFile+1))
			if err != nil {
				return nil, nil, &EnvironmentError{Err: fmt.Errorf("standard input cannot be read: %w", err)}
			}
			if len(data) > spec.MaxFile {
				err = fmt.Errorf("standard input has more than the %d bytes that are allowed", spec.MaxFile)
				return nil, nil, object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: name}, Err: err, Hint: "name the file instead"}}
			}
			*stdin = io.MultiReader(bytes.NewReader(data), *stdin)
		}
		transform, err = manifest.Find(spec.File{Name: name, Data: data}, len(sources) > 0)
		if err != nil {
			return nil, nil, err
		}
	}

	// A Transform brings its options in its manifest, and nothing else has local sources.
	switch {
	case transform != nil:
		err = p.unfit()
	case len(sources) > 0:
		err = Usagef("pass the file that holds it, or - for standard input, and nothing else", "--local-sources is for the manifest of a Transform, and %q is none", strings.Join(paths, " "))
	}
	return transform, sources, err
}

// Named returns the flags with another --name.
func (p ProjectFlags) Named(name string) *ProjectFlags {
	p.name = name
	return &p
}

// Options returns the options of the host for the paths.
func (p *ProjectFlags) Options(a *App, paths []string) (host.Options, error) {
	// Check the flags before any file is read.
	if err := p.Check(); err != nil {
		return host.Options{}, err
	}
	if p.name != "" && spec.CheckName(p.name) != nil {
		return host.Options{}, Usagef("", "--name: %s", spec.CheckName(p.name))
	}
	if p.preview != "" && spec.CheckPreview(p.preview) != nil {
		return host.Options{}, Usagef("", "--preview: %s", spec.CheckPreview(p.preview))
	}

	// Flux reads the artifact that this command writes.
	repository, reference := splitRepository(p.Repository)
	server, _, _ := strings.Cut(strings.TrimPrefix(repository, "oci://"), "/")
	var lookup func(string) (string, bool)
	if p.runtimeEnv {
		lookup = os.LookupEnv
	}
	return host.Options{
		Args: paths, Name: p.name, Expressions: p.expressions,
		Runtime: p.runtime, LookupRuntime: lookup,
		Stdin:       a.In,
		Environment: p.Environment, Installation: p.Installation, Preview: p.preview,
		Values: p.Values, HelmSet: p.helmSet(),
		Overrides: p.overrides,
		EnvFiles:  p.EnvFiles, Variables: p.variables, VariablesFromEnv: p.fromEnv, LookupEnv: os.LookupEnv,
		Images: p.images,
		Context: spec.Context{
			Namespace: p.namespace, KubeVersion: p.kubeVersion,
			ClusterDomain: p.clusterDomain, Engine: p.dialect.Value,
		},
		CRDs: p.Crds,
		Emit: emit.Options{
			Dialect:    dialect.Name(p.dialect.Value),
			Repository: repository, Reference: reference, Insecure: repository != "" && p.Sources.Plain(server),
			FluxNamespace: p.FluxNamespace, HealthConfigured: p.argocdHealth,
		},
		Limits:      p.Limits(),
		SkipSchemas: p.SkipSchemas, AllowEmpty: p.AllowEmpty,
	}, nil
}

// Rendered is a render with the project that it was made of.
type Rendered struct {
	host.Loaded
	render.Result
	Evaluator evaluate.Evaluator
	// Paths are the arguments of the user.
	Paths []string
	Close func()
	// transform is the Transform of a cluster that was rendered, or nil. unit is the unit of Argo CD or
	// Flux that was rendered, or nil.
	transform *manifest.Manifest
	unit      *Unit
}

// Place returns the position in the files of the user for a position of the request.
func (r Rendered) Place(pos object.Pos) object.Pos { return r.unit.Place(r.transform.Pos(pos)) }

// Render loads and renders the project at paths. The caller closes the result, unless there is an
// error. A render without objects is an error unless it is allowed, and a warning for a unit.
func (a *App) Render(ctx context.Context, p *ProjectFlags, paths []string) (Rendered, error) {
	r, err := a.RenderFS(ctx, p, nil, paths)
	if err != nil || len(r.Plan.Graph.Nodes) > 0 {
		return r, err
	}
	if p.AllowEmpty || r.transform.AllowEmpty() {
		return r, nil
	}
	nothing := &object.Error{
		Stage: object.StageEmit, Err: errors.New("nothing was rendered, and an engine that prunes would delete what was there"),
		Hint: "add --allow-empty if that is meant",
	}
	if r.unit != nil { // An engine accepts it, such as a kustomization whose resources are commented out.
		nothing.Severity = object.SeverityWarning
		r.Warnings = append(r.Warnings, r.unit.Explained(object.Errors{nothing})...)
		return r, nil
	}
	r.Close()
	return Rendered{Loaded: r.Loaded}, object.Errors{nothing}
}

// RenderFS loads and renders like [App.Render], but accepts a render without objects. The paths are in
// files, or on disk if files is nil.
func (a *App) RenderFS(ctx context.Context, p *ProjectFlags, files fs.FS, paths []string) (Rendered, error) {
	if p.unit != nil {
		return a.renderUnit(ctx, p, p.unit)
	}

	// Read the flags, and the Transform if the path names one.
	opts, err := p.Options(a, paths)
	if err != nil {
		return Rendered{}, err
	}
	transform, sources, err := p.findTransform(files, paths, &opts.Stdin)
	if err != nil {
		return Rendered{}, err
	}
	evaluator, closer, err := p.Evaluator()
	if err != nil {
		return Rendered{}, err
	}

	// Load the request.
	opts.FS = files
	opts.Evaluator = evaluator
	begin := time.Now()
	loaded, err := a.load(ctx, p, opts, transform, sources)
	a.Texts = loaded.Texts
	if err != nil {
		closer()
		return Rendered{Loaded: loaded}, a.hintUnits(ctx, p, err, files, paths)
	}
	a.noteTime(begin, "read %s, and the modules and files of them", printable.Count(len(loaded.Request.Specs), "spec"))

	// Render it, with positions in the files of the user.
	result, err := a.renderLoaded(ctx, &loaded, evaluator)
	if err != nil {
		closer()
		return Rendered{Loaded: loaded}, a.hintUnits(ctx, p, transform.Explain(err), files, paths)
	}
	out := Rendered{Loaded: loaded, Result: result, Evaluator: evaluator, Paths: paths, Close: closer, transform: transform}
	out.moveToTransform()
	return out, nil
}

// renderLoaded renders a loaded project, with progress on a terminal, and reports the sources.
func (a *App) renderLoaded(ctx context.Context, loaded *host.Loaded, evaluator evaluate.Evaluator) (render.Result, error) {
	begin := time.Now()
	bar := NewProgress(a.Streams, "rendering")
	loaded.Request.Progress = bar.Specs
	result, err := render.Renderer{Evaluator: evaluator}.Render(ctx, loaded.Request)
	bar.Clear()
	if err != nil {
		return result, err
	}
	a.noteTime(begin, "rendered %s", printable.Count(len(result.Plan.Graph.Nodes), "object"))
	a.tellSources(result.Sources)
	return result, nil
}

// LoadFS loads the project at a path of a file system, with the evaluator that the flags
// share, and renders nothing. It is safe for concurrent use.
func (a *App) LoadFS(ctx context.Context, p *ProjectFlags, files fs.FS, path string) (host.Loaded, error) {
	opts, err := p.Options(a, []string{path})
	if err != nil {
		return host.Loaded{}, err
	}
	opts.FS = files
	opts.Evaluator = p.Shared
	return a.load(ctx, p, opts, nil, nil)
}

// load loads a request that is ready to be rendered: from a Transform of a cluster, or from opts if
// transform is nil.
func (a *App) load(
	ctx context.Context, p *ProjectFlags, opts host.Options, transform *manifest.Manifest, sources manifest.Sources,
) (loaded host.Loaded, err error) {
	// A broken file of a fetcher does not hide the mistakes of the specs.
	var broken object.Errors
	connect := func(opts host.Options) (host.Host, error) {
		h, err := a.Connect(&p.Sources, opts.FS, opts.Args, nil)
		mistakes, ok := Broken(err)
		if ok {
			broken, err = mistakes, nil
		}
		return h, err
	}

	// Load the Transform, or the specs.
	if transform != nil {
		for _, note := range transform.Notes() {
			a.Note("ropewalk: %s\n", note)
		}
		loaded, err = transform.Load(ctx, manifest.Options{Host: opts, FS: opts.FS, Sources: sources, Strict: p.Strict, Connect: connect})
	} else if h, failed := connect(opts); failed != nil {
		return host.Loaded{}, failed
	} else {
		loaded, err = h.Load(ctx, opts)
	}

	// Report the mistakes of the specs and of the fetchers at once.
	var mistakes object.Errors
	switch {
	case err != nil && (broken == nil || !errors.As(err, &mistakes)):
		return loaded, WithOptions(err)
	case err != nil:
		return loaded, WithOptions(WithBroken(mistakes, broken))
	}

	// Flags without effect are mistakes.
	if err := p.refuseUnused(loaded.Request); err != nil {
		return loaded, err
	}
	loaded.Request.Mistakes = WithBroken(loaded.Request.Mistakes, broken)
	loaded.Request.Strict = loaded.Request.Strict || p.Strict
	loaded.Request.Parallel = p.Parallel()
	return loaded, nil
}

// refuseUnused refuses flags for a folder that is a spec itself if no spec takes them.
func (p *ProjectFlags) refuseUnused(req render.Request) error {
	anySpec := func(f func(evaluate.Request) bool) bool {
		return req.Mistakes.Err() != nil || slices.ContainsFunc(req.Specs, func(s render.Spec) bool { return f(s.Evaluate) })
	}
	if p.name != "" && !anySpec(func(e evaluate.Request) bool { return e.Spec == p.name }) {
		return Usagef("", "--name %s is for a folder that is a spec itself: the specs here have names of their own", p.name)
	}
	if len(p.expressions) > 0 && !anySpec(func(e evaluate.Request) bool { return len(e.Expressions) > 0 }) {
		return Usagef("use --spec or -l for some of the objects", "--expression is for the folder of a plain CUE package, and there is none here")
	}
	return nil
}

// Evaluator returns the shared evaluator, or an evaluator of [LimitFlags].
func (p *ProjectFlags) Evaluator() (evaluate.Evaluator, func(), error) {
	if p.Shared != nil {
		return p.Shared, func() {}, nil
	}
	return p.LimitFlags.Evaluator()
}
