// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/cuetypes"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
)

func (a commands) vendorCommand() *cobra.Command {
	var flags command.SourceFlags
	cmd := &cobra.Command{
		Use:   "vendor [DIR]",
		Short: "Keep the dependencies of a CUE module in its folder",
		Long: `Write the CUE modules that the module in DIR depends on, as its cue.mod/module.cue lists
them, to DIR/cue.mod/vendor. Whatever renders the module takes them from there and asks
no registry; the manifests are the same. "cue vet" and "cue mod publish" pass over them.
Where the module, or one that it depends on, imports ropewalk.dev/schema, which no
registry has, it is written to DIR/cue.mod/pkg, where CUE's own commands and editors find
it.

DIR is the folder with cue.mod, the working directory where there is none. Vendored
files are not to be edited: a render refuses files that were. Modules that are in the
nearest ` + lock.Name + `, in DIR or above, must have the digests that it says.

The registries are those of $CUE_REGISTRY, with the credentials of docker, and the cache
is that of ropewalk ($ROPEWALK_CACHE).

One line for each module goes to standard output: path@version and the digest of its
zip.

` + command.ExitCodes,
		Example: `  ropewalk vendor modules/web             write modules/web/cue.mod/vendor
  ropewalk vendor modules/web --locked    the same, of nothing but what is locked
  ropewalk render shop --offline          needs no registry from then on`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.runVendor(ctx, &flags, dir)
		}),
	}
	// Only these flags of SourceFlags apply to CUE modules.
	cmd.Flags().BoolVar(&flags.Locked, "locked", false, "refuse modules that are not in "+lock.Name)
	cmd.Flags().BoolVar(&flags.Offline, "offline", false, "contact no registry: take modules from the cache")
	flags.AddCA(cmd)
	cmd.AddCommand(a.vendorKubernetes(), a.vendorDefinitions())
	return cmd
}

// typeFlags name the folder that definitions are written to.
type typeFlags struct{ module, folder string }

func (t *typeFlags) add(f *pflag.FlagSet) {
	f.StringVarP(&t.module, "module", "m", ".", "`DIR` of the module to write into")
	usage := "`FOLDER` of the module for packages that are published with it, imported below its path (default cue.mod/gen, which is not)"
	f.StringVar(&t.folder, "in", "", usage)
}

const typesHelp = `They are written to cue.mod/gen of the module, where CUE, its editors, Timoni and Ropewalk
find them by the paths that "cue get go" and "timoni mod vendor" use. A registry gets
nothing of cue.mod but the module file: for a module that is published there, --in writes
them into a folder of the module itself, and imports begin with its path.

`

func (a commands) vendorKubernetes() *cobra.Command {
	var flags typeFlags
	cmd := &cobra.Command{
		Use: "k8s [VERSION]", Short: "Write the kinds of Kubernetes as definitions of CUE",
		Long: `Write the kinds of a version of Kubernetes, the newest that is known where there is none,
as closed definitions with apiVersion and kind, such as #Deployment of k8s.io/api/apps/v1.

` + typesHelp + command.ExitCodes,
		Example: `  ropewalk vendor k8s
  ropewalk vendor k8s 1.34 --module modules/web
  ropewalk vendor k8s --in types            import "example.com/web/types/k8s.io/api/apps/v1"`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(_ context.Context, args []string) error {
			version := append(args, "")[0]
			ok, oldest, newest := render.HasSchemas(version)
			switch {
			case version == "":
				version = fmt.Sprintf("1.%d", newest)
			case !ok:
				hint := fmt.Sprintf("name a version from 1.%d to 1.%d", oldest, newest)
				return command.Usagef(hint, "the schemas of Kubernetes %q are not known", version)
			}
			prefix, err := flags.prefix()
			if err != nil {
				return err
			}
			files, err := cuetypes.Kubernetes(version, prefix)
			if err != nil {
				return err
			}
			return a.writeTypes(flags, files)
		}),
	}
	flags.add(cmd.Flags())
	return cmd
}

func (a commands) vendorDefinitions() *cobra.Command {
	var flags typeFlags
	cmd := &cobra.Command{
		Use: "crd FILE...", Short: "Write the kinds of CustomResourceDefinitions as definitions of CUE",
		Long: `Write each version of the CustomResourceDefinitions in files and folders as a definition
with apiVersion and kind, such as #Certificate of cert-manager.io/certificate/v1.

` + typesHelp + command.ExitCodes,
		Example: `  ropewalk vendor crd crds/
  ropewalk vendor crd cert-manager.crds.yaml --module modules/web`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.Run(func(_ context.Context, args []string) error {
			d, err := project.Open(project.Options{Stdin: a.In})
			if err != nil {
				return &command.EnvironmentError{Err: err}
			}
			defer d.Close()
			var files []cuetypes.File
			for _, arg := range args {
				for _, crd := range d.CRDs([]string{arg}) {
					definitions, err := cuetypes.Definitions(crd)
					if err != nil {
						d.Fail(object.Pos{File: arg}, "", fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name(), err))
					}
					files = append(files, definitions...)
				}
			}
			if err := d.Errs.Sorted().Err(); err != nil {
				return err
			}
			return a.writeTypes(flags, files)
		}),
	}
	flags.add(cmd.Flags())
	return cmd
}

// prefix returns the beginning of the import paths of the packages.
func (t typeFlags) prefix() (string, error) {
	file := filepath.Join(t.module, "cue.mod", "module.cue")
	data, err := os.ReadFile(file) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		hint := "name the folder of a CUE module with --module, or make it one: cue mod init example.com/NAME@v0"
		return "", command.Usagef(hint, "there is no %s", file)
	}
	if err != nil || t.folder == "" {
		return "", err
	}
	if !filepath.IsLocal(t.folder) {
		return "", command.Usagef("name a folder of the module", "--in %s leads out of the module", t.folder)
	}
	path, err := modules.Path(data)
	if err != nil {
		return "", &object.Error{Stage: object.StageResolve, Pos: object.Pos{File: file}, Err: err}
	}
	return path + "/" + filepath.ToSlash(filepath.Clean(t.folder)), nil
}

// writeTypes writes definitions into a module. If one package has files of another tool, no package
// is written: two files would define the same.
func (a commands) writeTypes(flags typeFlags, files []cuetypes.File) error {
	if _, err := flags.prefix(); err != nil {
		return err
	}

	// Check all packages before the first is written.
	target := cmp.Or(flags.folder, filepath.Join("cue.mod", "gen"))
	module, err := os.OpenRoot(flags.module)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	defer func() { _ = module.Close() }() // It was opened for its files.
	for _, f := range files {
		folder := filepath.ToSlash(filepath.Join(target, filepath.FromSlash(f.Package)))
		others, err := fs.Glob(module.FS(), folder+"/*.cue")
		if err != nil {
			return &command.EnvironmentError{Err: err}
		}
		for _, other := range others {
			if !bytes.HasPrefix(contentOf(module.FS(), other), []byte(cuetypes.Mark)) {
				hint := "delete the folder, or write elsewhere with --in"
				return command.Usagef(hint, "%s is of another tool, and defines the same", filepath.Join(flags.module, other))
			}
		}
	}

	// Write the files that differ.
	written := 0
	for _, f := range files {
		folder := filepath.Join(target, filepath.FromSlash(f.Package))
		name := filepath.Join(folder, cuetypes.FileName)
		if bytes.Equal(contentOf(module.FS(), filepath.ToSlash(name)), f.Content) {
			continue
		}
		written++
		err := module.MkdirAll(folder, 0o750)
		if err == nil {
			err = module.WriteFile(name, f.Content, 0o644) // It is public, as the files beside it.
		}
		if err != nil {
			return &command.EnvironmentError{Err: err}
		}
	}
	a.Note("%s: %s, %d written\n", filepath.Join(flags.module, target), printable.Count(len(files), "package"), written)
	return nil
}

func (a commands) runVendor(ctx context.Context, flags *command.SourceFlags, dir string) error {
	// Find the module and its lock.
	file := filepath.Join(dir, "cue.mod", "module.cue")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return command.Usagef("name the folder of a CUE module, or make it one: cue mod init example.com/NAME@v0", "there is no %s", file)
	}
	lockPath, err := nearestLock(dir)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	locked, found, err := command.ReadLock(lockPath)
	if err != nil {
		return err
	}
	if flags.Locked && !found {
		return command.Usagef("run \"ropewalk lock\" for the project", "--locked: there is no %s in %s or above", lock.Name, dir)
	}

	// Copy the dependencies, and print their digests as data.
	registry := command.ModuleRegistry(flags, sync.OnceValues(flags.Registries))
	if store, err := command.OpenCache(flags.CacheDir); err == nil { // without a cache it asks the registry
		registry.Store = store
	}
	deps, changed, err := registry.Vendor(ctx, dir, locked.Locked())
	if err != nil {
		return &object.Error{Stage: object.StageResolve, Pos: object.Pos{File: file}, Err: err}
	}
	var b strings.Builder
	for _, d := range deps {
		b.WriteString(printable.Linef("%s %s\n", d, d.Digest))
	}
	if err := a.Print(b.String()); err != nil {
		return err
	}

	// The schema is in no registry, and is written apart.
	schema, err := a.vendorSchema(dir)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}

	// Report what changed.
	folder := filepath.Join(dir, "cue.mod", "vendor")
	switch {
	case !changed && len(deps) == 0:
		if !schema { // The schema was reported already.
			a.Note("%s lists nothing to vendor\n", file)
		}
	case !changed:
		a.Note("%s is up to date\n", folder)
	case len(deps) == 0:
		a.Note("%s removed: %s lists nothing to vendor\n", folder, file)
	default:
		a.Note("%s written: %s\n", folder, printable.Count(len(deps), "module"))
	}
	return nil
}

// importsSchema matches a line of CUE that imports the schema.
var importsSchema = regexp.MustCompile(`(?m)^\s*(?:import\s+)?(?:\w+\s+)?"` + regexp.QuoteMeta(cue.SchemaPath) + `(?::\w+)?"`)

// vendored is the folder of the dependencies of a module, which may import the schema too.
const vendored = "cue.mod/vendor"

// vendorSchema writes the schema into the module in dir if the module or a dependency of it imports
// the schema, and reports whether this is so.
func (a commands) vendorSchema(dir string) (bool, error) {
	// Look for an import of the schema in all files of the module.
	module := os.DirFS(dir)
	imports := false
	err := fs.WalkDir(module, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || imports {
			return err
		}
		generated := path.Dir(name) == "cue.mod" && name != vendored
		hidden := name != "." && strings.HasPrefix(e.Name(), ".")
		switch {
		case e.IsDir() && (generated || hidden):
			return fs.SkipDir
		case !e.Type().IsRegular() || path.Ext(name) != ".cue":
			return nil
		}
		imports = importsSchema.Match(contentOf(module, name))
		return nil
	})
	if err != nil || !imports {
		return false, err
	}

	// Write the files of the schema that differ.
	folder := filepath.Join(dir, "cue.mod", "pkg", filepath.FromSlash(cue.SchemaPath))
	written := 0
	files, err := fs.Glob(cue.Schema(), "*.cue")
	for _, name := range files {
		if want := contentOf(cue.Schema(), name); err == nil && !bytes.Equal(contentOf(os.DirFS(folder), name), want) {
			written++
			err = os.MkdirAll(folder, 0o750)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), want, 0o644) //nolint:gosec // It is public, as the files beside it.
			}
		}
	}
	switch {
	case err != nil:
		return true, err
	case written == 0:
		a.Note("%s is up to date\n", folder)
	default:
		a.Note("%s written\n", folder)
	}
	return true, nil
}

// contentOf returns the content of a file, or nil if it cannot be read.
func contentOf(fsys fs.FS, name string) []byte {
	data, _ := fs.ReadFile(fsys, name) // A missing file counts as empty, and is written.
	return data
}

// nearestLock returns the path of the lock in dir or in the nearest folder above with a lock, since a
// module often lies inside of the project whose lock it is in. If there is no lock, it returns the
// path of a lock in dir.
func nearestLock(dir string) (string, error) {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if found, ok := project.Nearest(folder, lock.Name); ok {
		folder = found
	}
	return filepath.Join(folder, lock.Name), nil
}
