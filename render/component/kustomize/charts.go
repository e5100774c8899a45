// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// ChartOptions are the options of an entry of helmCharts.
type ChartOptions struct {
	Name, ReleaseName, Namespace string
	// Values are files of values, which go over the values of the chart. A later file wins.
	Values                            [][]byte
	IncludeCRDs, SkipHooks, SkipTests bool
	APIVersions                       []string
	KubeVersion                       string
}

// Charts renders the chart in the folder dir to YAML, in the order of helm template.
type Charts func(ctx context.Context, chart fs.FS, dir string, options ChartOptions) ([]byte, error)

// inflate replaces helmCharts by what they render to. That becomes a component of kustomize, which
// comes after the generators, as charts do.
func (b *build) inflate(ctx context.Context, charts Charts) error {
	// A chart may have the namespace of its kustomization, or of one above.
	namespaces := map[*kustomization][]string{}
	b.inherit(b.root, "", namespaces)
	if b.top != nil {
		clear(namespaces)
		b.inherit(b.root, b.top.types.Namespace, namespaces)
	}

	// Each chart renders to a file.
	var errs object.Errors
	for _, k := range b.made {
		var files []string
		for i := range k.types.HelmCharts {
			c := k.types.HelmCharts[i]
			p := item("helmCharts", i)
			fail := func(hint, format string, args ...any) {
				errs = append(errs, component.Fail(b.pos(k, p), p, hint, format, args...))
			}
			if charts == nil {
				fail("install it beside ropewalk", "%w", component.ErrNoEngine)
				continue
			}
			if inherited := namespaces[k]; c.Namespace == "" && len(inherited) > 1 {
				fail("set namespace of the chart", "its kustomization is built for the namespaces %q", inherited)
				continue
			} else if c.Namespace == "" && len(inherited) == 1 {
				c.Namespace = inherited[0]
			}
			file := fmt.Sprintf("%d.yaml", i)
			data, err := b.render(ctx, charts, k, c, k.charts[i])
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				errs = append(errs, placeErrors(err, b.pos(k, p), p)...)
				continue
			case len(data) > 0:
				files = append(files, file)
				at := path.Join(b.dirOf(k), chartsDir, file)
				b.rendered[at] = b.pos(k, p)
				if err := b.fs.WriteFile(at, data); err != nil {
					return err
				}
			}
		}

		// The files are resources of a component beside the kustomization.
		k.types.HelmCharts, k.types.HelmGlobals = nil, nil
		if len(files) == 0 {
			continue
		}
		k.types.Components = slices.Insert(k.types.Components, 0, chartsDir)
		part := types.Kustomization{TypeMeta: types.TypeMeta{APIVersion: types.ComponentVersion, Kind: types.ComponentKind}, Resources: files}
		if err := b.write(path.Join(b.dirOf(k), chartsDir, "kustomization.yaml"), part); err != nil {
			return err
		}
	}
	return errs.Sorted().Err()
}

// chartsDir holds what the charts of a kustomization render to.
const chartsDir = ".ropewalk-charts"

// placeErrors places mistakes without a place at the chart.
func placeErrors(err error, pos object.Pos, p object.Path) object.Errors {
	errs := object.AsErrors(err, object.StageEvaluate)
	for _, e := range errs {
		if !e.Pos.IsValid() {
			e.Pos = pos
			e.Path = p.String()
		}
	}
	return errs
}

// inherit finds the namespaces in which the charts of k and its bases are built.
func (b *build) inherit(k *kustomization, ns string, known map[*kustomization][]string) {
	if k.types.Namespace != "" {
		ns = k.types.Namespace
	}
	if slices.Contains(known[k], ns) {
		return
	}
	known[k] = append(known[k], ns)
	for _, base := range k.bases {
		b.inherit(base, ns, known)
	}
}

// render returns what a chart of k renders to, with a mark that keeps the namespaces that it chose.
func (b *build) render(ctx context.Context, charts Charts, k *kustomization, c types.HelmChart, dir string) ([]byte, error) {
	values, err := b.values(k, c, dir)
	if err != nil {
		return nil, err
	}
	data, err := charts(ctx, b.fsys, dir, ChartOptions{
		Name: c.Name, ReleaseName: c.ReleaseName, Namespace: c.Namespace, Values: values, IncludeCRDs: c.IncludeCRDs,
		SkipHooks: c.SkipHooks, SkipTests: c.SkipTests, APIVersions: c.ApiVersions, KubeVersion: c.KubeVersion,
	})
	if err != nil {
		return nil, err
	}
	marked, err := b.library.Mark(data)
	if err != nil {
		return nil, fmt.Errorf("chart %q renders to %w", c.Name, err)
	}
	return marked, nil
}

// values returns the values of a chart in the order in which Helm lays them over each other.
func (b *build) values(k *kustomization, c types.HelmChart, dir string) ([][]byte, error) {
	file := path.Join(dir, "values.yaml")
	if c.ValuesFile != "" {
		file = path.Join(k.dir, c.ValuesFile)
	}
	files := [][]byte{b.files[file]}
	if len(c.ValuesInline) > 0 {
		inline, err := json.Marshal(c.ValuesInline)
		if err != nil {
			return nil, fmt.Errorf("valuesInline cannot be written: %w", err)
		}
		switch c.ValuesMerge {
		case "replace":
			files = [][]byte{inline}
		case "merge":
			files = [][]byte{inline, b.files[file]}
		default:
			files = append(files, inline)
		}
	}
	for _, name := range c.AdditionalValuesFiles {
		files = append(files, b.files[path.Join(k.dir, name)])
	}
	return files, nil
}
