// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
)

// kustomizations returns the names that the file of a kustomization may have.
func kustomizations() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// IsBuilt reports whether a folder is a chart or a kustomization.
func IsBuilt(dir string) bool {
	return slices.ContainsFunc(append(kustomizations(), "Chart.yaml"), func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && !info.IsDir()
	})
}

// Folder returns the engine, with its fields, of a component of the folder dir, which the
// project calls at: of a chart, a kustomization or manifests. A folder of kustomizations that is
// none itself is refused: they are no manifests.
func Folder(dir, at string) (map[string]any, error) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			info, err := os.Stat(filepath.Join(dir, name))
			return err == nil && !info.IsDir()
		})
	}
	switch {
	case has("Chart.yaml"):
		return map[string]any{"helm": map[string]any{"chart": at}}, nil
	case has(kustomizations()...):
		return map[string]any{"kustomize": map[string]any{"path": at}}, nil
	}
	if below := kustomizationsIn(dir); len(below) > 0 {
		return nil, mistake(object.Pos{File: filepath.ToSlash(dir)}, "import one of them", "it is no kustomization itself; kustomizations are in %s", printable.List(below, 5))
	}
	return map[string]any{"manifests": map[string]any{"paths": []any{at}}}, nil
}

// kustomizationsIn returns the folders below dir that hold a kustomization, without those that
// a component of manifests skips.
func kustomizationsIn(dir string) (out []string) {
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // The render reports it.
		case e.IsDir() && name != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.IsDir() && slices.Contains(kustomizations(), e.Name()):
			out = append(out, filepath.ToSlash(filepath.Join(dir, path.Dir(name))))
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// maxImported is how much of a folder is copied, in bytes.
const maxImported = 256 << 20

// Files reads the files of a folder, by their path below into. It leaves out those of Git. Links
// that leave the repository or lead to a folder are returned as left.
func Files(dir, into string) (files map[string][]byte, left []string, err error) {
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

// Check refuses objects of the file from that are no manifests, and the files of folders that
// are imported as a whole.
func Check(from string, objects []object.Object, at []object.Pos) error {
	var errs object.Errors
	name := filepath.Base(from)
	hint := "import its folder"
	if from != "-" {
		hint += " " + filepath.ToSlash(filepath.Dir(from))
	}
	for n, o := range objects {
		switch {
		case o.Kind() == "" && name == "Chart.yaml":
			return mistake(at[n], hint, "a chart is more than this file")
		case o.Kind() == "" && slices.Contains(kustomizations(), name), o.Group() == "kustomize.config.k8s.io":
			return mistake(at[n], hint, "a kustomization is more than this file")
		case o.Kind() == "" || o.APIVersion() == "" || o.Name() == "":
			errs = append(errs, mistake(at[n], "", "not a manifest: expected apiVersion, kind and metadata.name")...)
		}
	}
	return errs.Err()
}

// Unexpanded warns of objects that make others in the cluster, which the project holds as they
// are.
func Unexpanded(nodes []*object.Node) (out object.Errors) {
	for _, n := range nodes {
		o := n.Object
		hint := ""
		switch o.Kind() + "." + o.Group() {
		case "HelmRelease.helm.toolkit.fluxcd.io":
			hint = "import it with its source from a file of their own to render what it installs"
		case "ApplicationSet.argoproj.io":
			hint = "import it from a file of its own to render what its Applications apply"
		case "Application.argoproj.io":
			hint = "import it from a file of its own to render what it applies"
		case "Kustomization.kustomize.toolkit.fluxcd.io":
			hint = "import it with its source from a file of their own to render what it applies"
		default:
			continue
		}
		warning := mistake(n.Pos, hint, "%s %q is kept as an object: what it makes is not rendered", o.Kind(), o.Name())
		warning[0].Severity = object.SeverityWarning
		out = append(out, warning...)
	}
	return out
}

// mistake returns a mistake in what is imported.
func mistake(pos object.Pos, hint, format string, args ...any) object.Errors {
	return object.Errors{{Stage: object.StageSpec, Pos: pos, Hint: hint, Err: fmt.Errorf(format, args...)}}
}
