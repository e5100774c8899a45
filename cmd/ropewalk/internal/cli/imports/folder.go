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
	"github.com/ropewalk/ropewalk/render/object"
)

// kustomizations returns the names that the file of a kustomization may have.
func kustomizations() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
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
			hint = "import its chart with its values (ropewalk import CHART DIR -f FILE --name RELEASE) to render what it installs"
		case "ApplicationSet.argoproj.io":
			hint = "import an Application that it makes: kubectl get application NAME -n argocd -o yaml | ropewalk import - DIR"
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
