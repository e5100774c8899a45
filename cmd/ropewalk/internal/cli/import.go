// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
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
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func (a commands) importCommand() *cobra.Command {
	var flags command.ProjectFlags
	cmd := &cobra.Command{
		Use:   "import SOURCE [DIR]",
		Short: "Make a project of manifests, a kustomization, a chart or an Application",
		Long: `Write a project into DIR (the working directory where there is none) that renders what
SOURCE is. Files that exist are never overwritten.

SOURCE is one of
  DIR       a folder of manifests, a kustomization or a Helm chart; it stays where it is,
            and is copied where it is in another repository than the project
  FILE, -   manifests, such as the output of "kustomize build" or "helm template"; they are
            copied, without hooks of Helm that no installation runs and without what an
            export from a cluster adds
  FILE, -   one Application of Argo CD, or one Kustomization of Flux with its GitRepository:
            its source becomes that of the component

The files of --values become those of the chart, --name is the name of the component, and
of a chart that of its release (default the name of the folder DIR), and --namespace,
--kube-version, --cluster-domain and --dialect are written to the context of the project.
Other inputs, such as --set, are refused.

At the end the project is rendered and compared with what it was made of. Exit code 4 says
that there is a difference; where the render fails, nothing is left behind. An Application
is not compared: its engine is not at hand.

` + command.ExitCodes,
		Example: `  ropewalk import ./deploy shop
  helm template web ./chart | ropewalk import - web
  kubectl get application shop -n argocd -o yaml | ropewalk import - shop`,
		Args: cobra.RangeArgs(1, 2),
	}
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		return a.runImport(ctx, &flags, cmd.Flags(), args[0], append(args, ".")[1])
	})
	flags.Add(cmd)
	cmd.Flags().Lookup("name").Usage = "name of the component, and of a chart its release, as helm list prints it\n(default that of the folder DIR)"
	return cmd
}

// imported is what a source becomes.
type imported struct {
	name  string
	built map[string]any
	// files are copied beside the component, by their path in the project.
	files map[string][]byte
	// copied is the folder in the project that a folder was copied to; "" where it stays.
	copied string
	// root is the folder that the project may read, "" where the source was copied.
	root string
	// before is what the render is compared with; "" where nothing is at hand.
	before string
	// context is that of the project.
	context map[string]any
	// left are the fields that are not carried over.
	left []string
	// cut are the names of hooks that are left out of copied text, and moved is true where its
	// lines are not those of the source.
	cut   []string
	moved bool
}

// importedFile is where text is copied to.
const importedFile = "manifests/imported.yaml"

// maxImported is how much of a folder is copied, in bytes.
const maxImported = 256 << 20

func (a commands) runImport(ctx context.Context, flags *command.ProjectFlags, given *pflag.FlagSet, from, dir string) error {
	// Read the source, and lay the flags over it.
	in, err := a.readSource(from, dir)
	if err == nil {
		err = in.keepFlags(given)
	}
	if err == nil && len(flags.Values) > 0 {
		err = in.keepValues(flags.Values, dir)
	}
	if err != nil {
		return err
	}

	// Keep what the source is before files are written.
	old, err := a.beforeImport(ctx, flags, in, from, dir)
	if err != nil {
		return err
	}
	defer old.close()

	// Write the files, and remove them if their render fails.
	fsys, err := in.project()
	if err != nil {
		return err
	}
	made, err := missing(dir, fsys)
	if err != nil {
		return err
	}
	names, err := command.CopyNew(dir, fsys)
	var report diff.Report
	var warnings object.Errors
	if err == nil && in.before != "" {
		report, warnings, err = a.compareImported(ctx, given, old, in, from, dir)
	}
	if err != nil {
		for _, name := range slices.Backward(made) {
			_ = os.Remove(name) // It may not have been written.
		}
		return err
	}

	// Report what was written, and what differs.
	a.noteImported(in, from, dir, names)
	a.Warn(warnings)
	if _, chart := in.built["helm"]; chart && in.before != "" && !given.Changed("name") {
		a.Note("the chart is rendered as release %q: pass --name RELEASE where the cluster has it under another name (helm list)\n", in.name)
	}
	switch {
	case in.before == "":
		return nil
	case report.Empty():
		without := ""
		if len(in.cut) > 0 {
			without = ", without what is left out: " + strings.Join(in.cut, ", ")
		}
		a.Note("0 differences between %s and the render of %s%s\n", in.before, dir, without)
		return nil
	}
	if err := a.printDiff(report, "text"); err != nil {
		return err
	}
	return command.ErrDifferentReported()
}

// project returns the files of the project.
func (i imported) project() (fs.FS, error) {
	files := maps.Clone(i.files)
	if files == nil {
		files = map[string][]byte{}
	}
	built := map[string]any{"specs": []any{"component.yaml"}}
	if len(i.context) > 0 {
		built["context"] = i.context
	}
	for name, doc := range map[string]struct {
		kind string
		spec map[string]any
	}{"component.yaml": {spec.KindComponent, i.built}, spec.ProjectFile: {spec.KindProject, built}} {
		data, err := yaml.Marshal(map[string]any{
			"apiVersion": spec.APIVersion, "kind": doc.kind, "metadata": map[string]any{"name": i.name}, "spec": doc.spec,
		})
		if err != nil {
			return nil, err
		}
		files[name] = data
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
func (a commands) noteImported(in imported, from, dir string, names []string) {
	if in.copied != "" {
		a.Note("copied %s to %s, because it is outside of the root of the project\n", from, path.Join(filepath.ToSlash(dir), in.copied))
	}
	for _, name := range names {
		if in.copied == "" || !strings.HasPrefix(name, in.copied+"/") {
			a.Note("wrote %s\n", path.Join(filepath.ToSlash(dir), name))
		}
	}
	for _, field := range in.left {
		a.Note("not carried over: %s\n", field)
	}
}

// readSource reads a source of an import. The argument dir is the folder of the new project.
func (a commands) readSource(from, dir string) (imported, error) {
	// A folder is not read before it is known what it is.
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return importFolder(from, dir)
	}
	if strings.HasPrefix(from, "oci://") || path.Ext(from) == ".tgz" {
		return imported{}, command.Usagef("unpack it (helm pull --untar, tar xzf) and import its folder", "%s: a chart is imported from its folder", from)
	}
	if strings.Contains(from, "://") {
		return imported{}, command.Usagef("fetch it first: curl -L URL | ropewalk import -, or git clone for a repository", "%s: a source is a file, a folder or -", from)
	}

	// Read the objects of a file.
	data, err := a.read(from)
	if err != nil {
		return imported{}, err
	}
	docs, err := spec.ParseManifests(spec.File{Name: from, Data: data}, project.MaxManifests)
	if err != nil {
		return imported{}, err
	}
	objects, at, err := imports.Objects(docs)
	if err != nil {
		return imported{}, err
	}
	if err := imports.Check(from, objects, at); err != nil {
		return imported{}, err
	}

	// An Application or a Kustomization names its source.
	for n, o := range objects {
		switch {
		case o.Kind() == "Application" && o.Group() == "argoproj.io":
			out, err := importApplication(o)
			return out, cmp.Or(cannotImport(from, err), imports.Alone(objects, at, n))
		case o.Kind() == "Kustomization" && o.Group() == "kustomize.toolkit.fluxcd.io":
			out, source, err := importKustomization(o, objects)
			return out, cmp.Or(cannotImport(from, err), imports.Alone(objects, at, n, source))
		}
	}

	// Other objects are copied, without what only a cluster or an installation has.
	kept, cut, hooks := imports.WithoutHooks(data, docs)
	for _, hook := range hooks {
		a.Note("%s\n", hook)
	}
	switch {
	case len(objects) == 0:
		return imported{}, cannotImport(from, errors.New("it holds no object"))
	case len(kept) == 0:
		return imported{}, cannotImport(from, errors.New("it holds nothing but hooks that no installation runs"))
	}
	docs, err = spec.ParseManifests(spec.File{Name: from, Data: kept}, project.MaxManifests)
	if err != nil {
		return imported{}, err
	}
	text, left := imports.WithoutExport(kept, docs)
	return imported{
		name: nameOfFolder(dir), files: map[string][]byte{importedFile: text}, before: filepath.Join(dir, importedFile),
		cut: cut, left: left, moved: len(text) != len(data), built: map[string]any{"manifests": map[string]any{"paths": []any{importedFile}}},
	}, nil
}

// read returns the content of a file, or of standard input.
func (a commands) read(name string) ([]byte, error) {
	r := a.In
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names it
		if err != nil {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = fmt.Errorf("%s: %w", name, at.Err)
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
func importFolder(from, dir string) (imported, error) {
	// Find the folder as the project sees it.
	base, err := filepath.Abs(dir)
	if err != nil {
		return imported{}, err
	}
	full, err := filepath.Abs(from)
	if err != nil {
		return imported{}, err
	}
	rel, err := filepath.Rel(base, full)
	if err != nil {
		return imported{}, err
	}
	at := filepath.ToSlash(rel)

	// The project reads within its repository, or within its own folder without one.
	out := imported{name: nameOfFolder(dir), before: from}
	root, ok := project.Nearest(base, ".git")
	if !ok {
		root = base
	}

	// A folder elsewhere is copied.
	if inRoot, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(inRoot) {
		at = nameOfFolder(from)
		root = ""
		out.copied = at
		out.files, out.left, err = filesOf(full, at)
		if err != nil {
			return imported{}, &command.EnvironmentError{Err: err}
		}
	}
	out.root = root
	out.built, err = imports.Folder(from, at)
	return out, err
}

// filesOf reads the files of a folder, by their path below into. It leaves out those of Git. Links
// that leave the repository or lead to a folder are returned as left.
func filesOf(dir, into string) (files map[string][]byte, left []string, err error) {
	// Links may lead anywhere in the repository, and nowhere else.
	base, ok := project.Nearest(dir, ".git")
	if !ok {
		base = dir
	}
	below, err := filepath.Rel(base, dir)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written

	// Bound the size of all files together.
	size := 0
	files = map[string][]byte{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := root.ReadFile(filepath.Join(below, name))
		if err != nil && d.Type()&fs.ModeSymlink != 0 {
			left = append(left, "the link "+name)
			return nil
		}
		size += len(data)
		if err == nil && size > maxImported {
			err = fmt.Errorf("%s has more than %d bytes", dir, maxImported)
		}
		files[path.Join(into, name)] = data
		return err
	})
	return files, left, err
}

// cannotImport returns err as a mistake in a file, or nil if err is nil.
func cannotImport(file string, err error) error {
	if err == nil {
		return nil
	}
	return &object.Error{Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: err}
}

// notKept returns the flags that the project has not kept, so that it is rendered as it is written.
func notKept(given *pflag.FlagSet) (*command.ProjectFlags, error) {
	var out command.ProjectFlags
	var err error
	cmd := &cobra.Command{}
	out.Add(cmd)
	given.Visit(func(f *pflag.Flag) {
		to := cmd.Flags().Lookup(f.Name)
		kept := contextFlags()[f.Name] != "" || f.Name == "name" || f.Name == "values"
		if to == nil || kept || err != nil {
			return
		}
		from, isList := f.Value.(pflag.SliceValue)
		list, same := to.Value.(pflag.SliceValue)
		if isList && same {
			err = list.Replace(from.GetSlice())
		} else {
			err = to.Value.Set(f.Value.String())
		}
	})
	return &out, err
}
