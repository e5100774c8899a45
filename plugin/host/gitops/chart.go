// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// chartFile makes a folder a chart.
const chartFile = "Chart.yaml"

// kindChart is the kind of units that are charts which nothing in the repository renders.
const kindChart = "Chart"

// makes is an object of an engine in a template.
var makes = regexp.MustCompile(`(?m)^\s*(- )?kind: (Application|ApplicationSet|Kustomization|HelmRelease|ResourceSet)\s*$`)

// appsChart is the chart of Argo CD that makes Applications of its values.
var appsChart = regexp.MustCompile(`(?m)name: "?argocd-apps"?\s*$`)

// makesUnits reports whether the chart in a folder makes objects of an engine, by its templates or
// the chart argocd-apps. The charts inside of another one are a part of that.
func (r Repository) makesUnits(folder string) bool {
	if above := path.Dir(folder); path.Base(above) == "charts" && isFile(r.FS, path.Join(path.Dir(above), chartFile)) {
		return false
	}
	if data, err := readFile(r.FS, path.Join(folder, chartFile)); err == nil && appsChart.Match(data) {
		return true
	}
	found := false
	err := fs.WalkDir(r.FS, path.Join(folder, "templates"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := readFile(r.FS, name)
		if err != nil {
			return nil //nolint:nilerr // Helm says what is wrong with it.
		}
		text := string(data)
		found = (strings.Contains(text, groupArgo) || strings.Contains(text, "toolkit.fluxcd.io") || strings.Contains(text, groupOperator)) && makes.MatchString(text)
		if found {
			return fs.SkipAll
		}
		return nil
	})
	return found && err == nil
}

// expandCharts adds the charts that make objects of an engine and that no unit renders. Such
// a chart is installed by hand, as the first Application of an app of apps is.
func (x *expanding) expandCharts(ctx context.Context) error {
	used := map[string]bool{}
	for _, u := range x.units {
		for _, component := range u.Components {
			used[lookup(component, "helm", "chart").Text] = true
		}
	}
	for _, folder := range x.written.charts {
		isRead := slices.ContainsFunc(object.SortedKeys(x.read), func(name string) bool { return strings.HasPrefix(name, path.Join(folder, "templates")+"/") })
		if used[folder] || isRead {
			continue
		}
		at := object.Pos{File: path.Join(folder, chartFile), Line: 1, Column: 1}
		name := path.Base(folder)
		if folder == "." {
			name = "root"
		}
		chart := mapOf(at, member("chart", object.TextAt(folder, at)), member("releaseName", object.TextAt(name, at)))
		u := Unit{
			ID: ID{Cluster: x.clusterOf(at.File), Kind: kindChart, Name: folder}, Pos: at,
			Components: []object.Value{mapOf(at, member("helm", chart))},
		}
		before := len(x.units)
		below, err := x.addAndRender(ctx, u)
		if err != nil {
			return err
		}
		// A chart that others are to install makes nothing by its own values.
		if len(below) == 0 {
			reason := "has none with its own values"
			if p := x.units[before].Problem; p != nil {
				reason = "does not render with its own values: " + p.Err.Error()
			}
			x.units = x.units[:before]
			delete(x.index, u.ID)
			x.warn(at, "", "the chart %q makes Applications or objects of Flux, and %s: they are not looked at", folder, reason)
		}
		for _, f := range below {
			if err := x.expand(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}
