// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func (a commands) importCommand() *cobra.Command {
	var flags command.ProjectFlags
	cmd := &cobra.Command{
		Use:   "import SOURCE [DIR]",
		Short: "Make a project of manifests, a chart, or what Argo CD or Flux apply",
		Long: `Write a project into DIR (the working directory where there is none) that renders what
SOURCE is. Files that exist are never overwritten.

SOURCE is one of
  DIR       a folder of manifests, a kustomization or a Helm chart; it stays where it is,
            and is copied where it is in another repository than the project
  FILE, -   manifests, such as the output of "kustomize build" or "helm template"; they are
            copied, without hooks of Helm that no installation runs and without what an
            export from a cluster adds
  FILE, -   an Application or ApplicationSet of Argo CD, or a Kustomization or HelmRelease of
            Flux with its source, and several of them: each becomes a component
  DIR       a repository that Argo CD or Flux apply, or a folder of it: all units that are
            found there become components, in one project for each cluster

The files of --values become those of the chart, --name is the name of the component, and
of a chart that of its release (default the name of the folder DIR), and --namespace,
--kube-version, --cluster-domain and --dialect are written to the context of the project.
Other inputs, such as --set, are refused.

At the end the project is rendered and compared with what it was made of. Exit code 4 says
that there is a difference; where the render fails, nothing is left behind. A unit of a
FILE whose source gives no answer is written, and not compared. A unit of a repository
that does not render stays an object of the one that renders it, or is left to its
engine, with a warning.

` + command.ExitCodes,
		Example: `  ropewalk import ./deploy shop
  helm template web ./chart | ropewalk import - web
  kubectl get application shop -n argocd -o yaml | ropewalk import - shop
  ropewalk import ./clusters/production production`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		return a.runImport(ctx, &flags, cmd.Flags(), args[0], append(args, ".")[1])
	})
	flags.Add(cmd)
	cmd.Flags().Lookup("name").Usage = "name of the component, and of a chart its release, as helm list prints it\n(default that of the folder DIR)"
	return cmd
}

// imported is the project that a source becomes.
type imported struct {
	// name is the name of the project, which is written to dir.
	name, dir string
	specs     []imports.Spec
	// files are copied beside the component, by their path in the project.
	files map[string][]byte
	// copied is the folder in the project that a folder was copied to; "" for a folder that stays.
	copied string
	// root is the folder that the project may read; "" for a source that was copied.
	root string
	// before names the source that the render is compared with. notCompared is the reason why the
	// source cannot be read; "" if it can.
	before, notCompared string
	// ofUnits is set for units of Argo CD or Flux. items holds their rendered objects, and replaced
	// names the objects of the engine that specs replace.
	ofUnits  bool
	items    []diff.Item
	replaced []string
	// context holds the fields of the context of the project.
	context map[string]any
	// dropped lists the fields that are not carried over.
	dropped []string
	// cutHooks names the hooks that are left out of copied text. moved is true if the line numbers of
	// the copy differ from the source.
	cutHooks []string
	moved    bool
}

// importedFile is the path in the project of the copy of a text.
const importedFile = "manifests/imported.yaml"

// importedResults limits the bytes of evaluations that are kept between the renders of an import.
const importedResults = 256 << 20

func (a commands) runImport(ctx context.Context, flags *command.ProjectFlags, set *pflag.FlagSet, source, dir string) error {
	if err := checkFlags(set); err != nil {
		return err
	}

	// The source is rendered to find its objects and again to be compared, so results are kept.
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	flags.Shared = resultcache.Evaluator{Next: evaluator, Results: resultcache.New(importedResults)}

	// Read the source, and lay the flags over it.
	projects, err := a.readSource(ctx, flags, source, dir)
	if err != nil {
		return err
	}
	for i := range projects {
		if err := projects[i].keepFlags(set); err != nil {
			return err
		}
		if len(flags.Values) == 0 {
			continue
		}
		if err := projects[i].keepValues(flags.Values, dir); err != nil {
			return err
		}
	}

	// Write the projects, and remove all files if one fails.
	var created []string
	different := false
	for _, in := range projects {
		differs, err := a.writeImported(ctx, flags, set, in, source, &created)
		if err != nil {
			for _, name := range slices.Backward(created) {
				_ = os.Remove(name) // It may not have been written.
			}
			return err
		}
		different = different || differs
	}
	if different {
		return command.ErrDifferentReported()
	}
	return nil
}

// writeImported writes a project and compares its render with its source. It reports whether they
// differ, and adds the files and folders that it makes to made.
func (a commands) writeImported(
	ctx context.Context, flags *command.ProjectFlags, set *pflag.FlagSet, in imported, source string, created *[]string,
) (bool, error) {
	// Open the source before files are written beside it.
	old, err := a.beforeImport(ctx, flags, in, source, in.dir)
	if err != nil {
		return false, err
	}
	defer old.close()

	// Write the files.
	fsys, err := in.project()
	if err != nil {
		return false, err
	}
	absent, err := missing(in.dir, fsys)
	if err != nil {
		return false, err
	}
	*created = append(*created, absent...)
	names, err := command.CopyNew(in.dir, fsys)
	if err != nil {
		return false, err
	}

	// Report the files and the differences.
	if in.notCompared != "" {
		a.noteImported(in, source, in.dir, names)
		a.Note("not compared: %s\n", in.notCompared)
		return false, nil
	}
	report, warnings, err := a.compareImported(ctx, set, old, in, source, in.dir)
	if err != nil {
		return false, err
	}
	a.noteImported(in, source, in.dir, names)
	a.Warn(warnings)
	if in.chart() != nil && !set.Changed("name") {
		text := "the chart is rendered as release %q: pass --name RELEASE where the cluster has it under another name (helm list)\n"
		a.Note(text, in.name)
	}
	if !report.Empty() {
		return true, a.printDiff(report, "text")
	}
	without := ""
	if len(in.cutHooks) > 0 {
		without = ", without what is left out: " + strings.Join(in.cutHooks, ", ")
	}
	a.Note("0 differences between %s and the render of %s%s\n", in.before, in.dir, without)
	return false, nil
}

// project returns the files of the project.
func (i imported) project() (fs.FS, error) {
	// Write documents beside the files that are copied.
	files := maps.Clone(i.files)
	if files == nil {
		files = map[string][]byte{}
	}
	var names []any
	write := func(file, kind, name, namespace string, content map[string]any) error {
		metadata := map[string]any{"name": name}
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		data, err := yaml.Marshal(map[string]any{"apiVersion": spec.APIVersion, "kind": kind, "metadata": metadata, "spec": content})
		files[file] = data
		return err
	}

	// Write a document for each component, and for the project.
	for _, s := range i.specs {
		file := s.Name + ".yaml"
		if len(i.specs) == 1 {
			file = "component.yaml"
		}
		names = append(names, file)
		if err := write(file, spec.KindComponent, s.Name, s.Namespace, s.Document()); err != nil {
			return nil, err
		}
	}
	content := map[string]any{"specs": names}
	if len(i.context) > 0 {
		content["context"] = i.context
	}
	if err := write(spec.ProjectFile, spec.KindProject, i.name, "", content); err != nil {
		return nil, err
	}
	return memfs.New(files)
}

// missing returns the files of a project in dir, and the folders around them, that do not exist. A
// folder comes before the files in it.
func missing(dir string, fsys fs.FS) ([]string, error) {
	out := map[string]bool{}
	err := fs.WalkDir(fsys, ".", func(name string, _ fs.DirEntry, err error) error {
		for full := filepath.Join(dir, filepath.FromSlash(name)); !out[full]; full = filepath.Dir(full) {
			if _, err := os.Lstat(full); err == nil {
				break
			}
			out[full] = true
		}
		return err
	})
	return slices.Sorted(maps.Keys(out)), err
}

// noteImported prints which files were written, and which fields were not carried over.
func (a commands) noteImported(in imported, source, dir string, names []string) {
	if in.copied != "" {
		a.Note("copied %s to %s, because it is outside of the root of the project\n", source, path.Join(filepath.ToSlash(dir), in.copied))
	}
	for _, name := range names {
		if in.copied == "" || !strings.HasPrefix(name, in.copied+"/") {
			a.Note("wrote %s\n", path.Join(filepath.ToSlash(dir), name))
		}
	}
	for _, name := range in.replaced {
		a.Note("replaced by the specs: %s\n", name)
	}
	for _, field := range in.dropped {
		a.Note("not carried over: %s\n", field)
	}
}

// readSource reads a source of an import. The argument dir is the folder of the new project.
func (a commands) readSource(ctx context.Context, flags *command.ProjectFlags, source, dir string) ([]imported, error) {
	// A folder is a repository with units, a chart, a kustomization, or holds manifests.
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		if out, err := a.importRepository(ctx, flags, source, dir); err != nil || out != nil {
			return out, err
		}
		out, err := importFolder(source, dir)
		return []imported{out}, err
	}
	if strings.HasPrefix(source, "oci://") || path.Ext(source) == ".tgz" {
		hint := "unpack it (helm pull --untar, tar xzf) and import its folder"
		return nil, command.Usagef(hint, "%s: a chart is imported from its folder", source)
	}
	if strings.Contains(source, "://") {
		hint := "fetch it first: curl -L URL | ropewalk import -, or git clone for a repository"
		return nil, command.Usagef(hint, "%s: a source is a file, a folder or -", source)
	}

	// Read the objects of a file.
	data, err := a.read(source)
	if err != nil {
		return nil, err
	}
	docs, err := spec.ParseManifests(spec.File{Name: source, Data: data}, project.MaxManifests)
	if err != nil {
		return nil, err
	}
	objects, positions, err := imports.Objects(docs)
	if err != nil {
		return nil, err
	}
	if err := imports.Check(source, objects, positions); err != nil {
		return nil, err
	}

	// Units of an engine say what renders them.
	units, err := imports.Alone(objects, positions)
	if err != nil {
		return nil, err
	}
	if units {
		if err := imports.CheckSources(objects, positions); err != nil {
			return nil, err
		}
		return a.importObjects(ctx, flags, source, data, objects, dir)
	}
	out, err := a.importManifests(source, dir, data, docs, len(objects))
	return []imported{out}, err
}

// importManifests makes a component of the objects in a text. It leaves out hooks that no
// installation runs, and fields that an export from a cluster adds.
func (a commands) importManifests(source, dir string, data []byte, docs []spec.Manifest, objects int) (imported, error) {
	// Leave the hooks out, and report them.
	kept, cut, hooks := imports.WithoutHooks(data, docs)
	for _, hook := range hooks {
		a.Note("%s\n", hook)
	}
	switch {
	case objects == 0:
		return imported{}, cannotImport(source, errors.New("it holds no object"))
	case len(kept) == 0:
		return imported{}, cannotImport(source, errors.New("it holds nothing but hooks that no installation runs"))
	}

	// Leave the fields of an export out, and render the copy of the text.
	docs, err := spec.ParseManifests(spec.File{Name: source, Data: kept}, project.MaxManifests)
	if err != nil {
		return imported{}, err
	}
	text, dropped := imports.WithoutExport(kept, docs)
	built := map[string]any{"manifests": map[string]any{"paths": []any{importedFile}}}
	return imported{
		name:     nameOfFolder(dir),
		dir:      dir,
		specs:    []imports.Spec{{Name: nameOfFolder(dir), Built: built}},
		files:    map[string][]byte{importedFile: text},
		before:   filepath.Join(dir, importedFile),
		cutHooks: cut,
		dropped:  dropped,
		moved:    len(text) != len(data),
	}, nil
}

// read returns the content of a file, or of standard input.
func (a commands) read(name string) ([]byte, error) {
	r := a.In
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			var pathErr *fs.PathError
			if errors.As(err, &pathErr) {
				err = fmt.Errorf("%s: %w", name, pathErr.Err)
			}
			return nil, &command.EnvironmentError{Err: err, Hint: project.NearestFile(name)}
		}
		defer f.Close() //nolint:errcheck // nothing was written
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, project.MaxManifests+1))
	if err == nil && len(data) > project.MaxManifests {
		err = fmt.Errorf("%s has more than %d bytes", name, project.MaxManifests)
	}
	return data, err
}

// importFolder makes a component of a folder. The folder stays in its place if the project may read
// it there.
func importFolder(source, dir string) (imported, error) {
	// Find the folder as the project sees it.
	base, err := filepath.Abs(dir)
	if err != nil {
		return imported{}, err
	}
	sourceDir, err := filepath.Abs(source)
	if err != nil {
		return imported{}, err
	}
	rel, err := filepath.Rel(base, sourceDir)
	if err != nil {
		return imported{}, err
	}
	folder := filepath.ToSlash(rel)

	// The project may read its repository, or its own folder if it is in no repository.
	out := imported{name: nameOfFolder(dir), dir: dir, before: source}
	root, ok := project.Nearest(base, ".git")
	if !ok {
		root = base
	}

	// A folder elsewhere is copied.
	if inRoot, err := filepath.Rel(root, sourceDir); err != nil || !filepath.IsLocal(inRoot) {
		folder = nameOfFolder(source)
		root = ""
		out.copied = folder
		out.files, out.dropped, err = imports.Files(sourceDir, folder)
		if err != nil {
			return imported{}, &command.EnvironmentError{Err: err}
		}
	}
	out.root = root
	built, err := imports.Folder(source, folder)
	out.specs = []imports.Spec{{Name: out.name, Built: built}}
	return out, err
}

// cannotImport returns err as a mistake in a file, or nil if err is nil.
func cannotImport(file string, err error) error {
	if err == nil {
		return nil
	}
	return &object.Error{Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: err}
}
