// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// layerDir is what the folders of the flux dialect are called, with the number
// of the layer behind it.
const layerDir = "layer-"

// packDir packs the manifests of a directory. Folders below it are the barrier layers of the flux
// dialect. Links, files that are no manifests, and Secrets with data are refused: what is pushed
// can be read by many, for long.
//
// The argument project is the name of the project, or "" if it is not known.
func packDir(ctx context.Context, dir, project string, opts artifact.Options) (artifact.Set, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return artifact.Set{}, &command.EnvironmentError{Err: err}
	}
	defer root.Close() //nolint:errcheck // it is read only
	set, err := packTree(ctx, dir, root.FS(), project, opts)
	if err != nil && !command.IsSystem(err) {
		return artifact.Set{}, &object.Error{Stage: object.StageCheck, Err: fmt.Errorf("%s: %w", dir, err)}
	}
	return set, err
}

func packTree(ctx context.Context, dir string, tree fs.FS, project string, opts artifact.Options) (artifact.Set, error) {
	files, layers, err := dirFiles(tree)
	if err != nil {
		return artifact.Set{}, err
	}
	side, err := snapshot.OfFiles(ctx, dir, tree, nil)
	if err != nil {
		return artifact.Set{}, err
	}
	if err := snapshot.CheckSecrets(side); err != nil {
		return artifact.Set{}, err
	}
	files, layers = nameLayers(files, layers, project, deliveredAs(side))
	return publishing.Pack(files, layers, opts)
}

// dirFiles returns the files of a directory, and a layer for each folder.
func dirFiles(tree fs.FS) (files []emit.File, layers []emit.Layer, _ error) {
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != ".":
			layers = append(layers, emit.Layer{Name: e.Name(), Dir: name})
			return nil
		case e.IsDir() || strings.HasPrefix(e.Name(), "."):
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%q is a link or no file at all: an artifact holds regular files only", name)
		}
		data, err := fs.ReadFile(tree, name)
		files = append(files, emit.File{Path: name, Data: data})
		return err
	})
	return files, layers, err
}

// nameLayers names the layers that a render wrote as the render names them, so that they are the
// same artifacts as those of build: after the project, or after the Kustomizations that were
// written beside them. Those apply the artifact from outside and are left out, as build leaves them
// out.
func nameLayers(files []emit.File, layers []emit.Layer, project string, delivered map[string]string) ([]emit.File, []emit.Layer) {
	isDelivery := func(l emit.Layer) bool { return l.Dir == emit.DeliveryDir }
	if !slices.ContainsFunc(layers, func(l emit.Layer) bool { return strings.HasPrefix(l.Dir, layerDir) }) ||
		slices.ContainsFunc(layers, func(l emit.Layer) bool { return !isDelivery(l) && !isNumbered(l.Dir) }) {
		return files, layers
	}
	if slices.ContainsFunc(layers, isDelivery) {
		for i, l := range layers {
			layers[i].Name = cmp.Or(delivered[l.Dir], l.Name)
		}
		files = slices.DeleteFunc(files, func(f emit.File) bool { return path.Dir(f.Path) == emit.DeliveryDir })
		layers = slices.DeleteFunc(layers, isDelivery)
	}
	for i, l := range layers {
		if project != "" {
			layers[i].Name = project + "-" + strings.TrimPrefix(l.Dir, layerDir)
		}
	}
	return files, layers
}

func isNumbered(dir string) bool {
	number, ok := strings.CutPrefix(dir, layerDir)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// deliveredAs returns the names of the Kustomizations of a directory, by the folders that they
// apply.
func deliveredAs(side diff.Snapshot) map[string]string {
	out := map[string]string{}
	for _, i := range side.Items {
		if o := i.Object; o.Kind() == "Kustomization" && o.Group() == "kustomize.toolkit.fluxcd.io" {
			out[path.Clean(o.Text("spec", "path"))] = o.Name()
		}
	}
	return out
}

// isLayerName says whether layers can be called after a name as it is: in build
// other names are made fit first.
func isLayerName(name string) bool {
	return name != "" && len(name) <= 59 && strings.Trim(name, "-") == name && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}
