// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// HooksKeep leaves hooks what they are: objects with annotations.
const HooksKeep = "keep"

// Options say how a chart is rendered.
type Options struct {
	// ReleaseName and Namespace are the name and the namespace of Release.
	ReleaseName, Namespace string
	// KubeVersion is the version in Capabilities, such as 1.33; the version of Helm's client where "".
	KubeVersion string
	// Served returns the APIs of a version of Kubernetes; the APIs of Helm's client where nil.
	Served func(kubeVersion string) []string
	// APIVersions are added to the APIs of Kubernetes itself.
	APIVersions []string
	// Values go over the values of the chart, later values over earlier values.
	Values []Values
	// SkipCRDs leaves out what is in crds/.
	SkipCRDs bool
	// Hooks is spec.HooksReject, or HooksKeep, or else hooks are phases.
	Hooks string
	// Leave, if set, reports whether a hook of these events is left out where Hooks is
	// HooksKeep.
	Leave func(events string) bool
	// At is the place, as the user knows it, of a line and column of a file of the tree; its
	// name there where nil.
	At func(name string, line, column int) object.Pos
	// Pos and Path are the place of the field that names the chart.
	Pos  object.Pos
	Path object.Path
}

// Charts renders charts.
type Charts struct {
	// Served are the apiVersions and kinds that a version of Kubernetes serves, such as
	// apps/v1 and apps/v1/Deployment; nil are all versions that Helm's client knows, without
	// kinds.
	Served func(kubeVersion string) []string
}

// Engine implements [component.Engine].
func (c Charts) Engine(ctx context.Context, req component.Request) (component.Output, error) {
	// The options of a component are the options of helm template, with defaults of the context.
	h := req.Component.Helm
	if h == nil {
		return component.Output{}, object.Errors{component.Fail(req.Component.Pos, req.Component.Path, "", "the component is no Helm chart")}
	}
	o := Options{
		ReleaseName: h.ReleaseName, Namespace: h.Namespace, KubeVersion: req.Context.KubeVersion, APIVersions: h.APIVersions, Served: c.Served,
		SkipCRDs: h.SkipCRDs, Hooks: h.Hooks, At: req.At, Pos: h.Chart.Pos, Path: req.Component.Path.Append(object.Field("chart")),
	}
	if o.ReleaseName == "" {
		o.ReleaseName = req.Name
	}
	if o.Namespace == "" {
		o.Namespace = req.Context.Namespace
	}
	if !o.Pos.IsValid() {
		o.Pos = req.Component.Pos
	}

	// A later file wins, and values in the component win over files.
	var errs object.Errors
	for i, file := range h.ValuesFiles {
		name := path.Join(req.Dir, file.Text)
		at := req.Component.Path.Append(object.Field("valuesFiles"), object.Index(i))
		data, err := fs.ReadFile(req.FS, name)
		if err != nil {
			errs = append(errs, component.Fail(file.Pos, at, "", "there is no file %q", file.Text))
			continue
		}
		shown := name
		if req.At != nil {
			shown = req.At(name, 0, 0).File
		}
		v, err := ReadValues(shown, data)
		errs = append(errs, object.AsErrors(err, object.StageEvaluate)...)
		o.Values = append(o.Values, v)
	}
	v, err := FromValue(h.Values)
	if err != nil {
		errs = append(errs, component.Fail(h.Values.Pos, req.Component.Path.Append(object.Field("values")), "", "%w", err))
	}
	o.Values = append(o.Values, v)

	// Arguments of the command line win over all of them.
	if len(h.Sets) > 0 {
		laid, wrong := setValues(o.Values, h.Sets)
		o.Values = append(o.Values, laid)
		errs = append(errs, wrong...)
	}
	if len(errs) > 0 {
		return component.Output{}, errs.Sorted()
	}
	return Template(ctx, req.FS, path.Join(req.Dir, h.Chart.Text), o)
}

// run renders one chart.
type run struct {
	opts    Options
	fsys    fs.FS
	dir     string
	caps    *common.Capabilities
	loaded  *loaded
	sources map[string]source
	places  object.Value
	secrets *object.Secrets
	// words are patterns of the user's values under names of secrets, the longest first.
	words []string
	// crds are the objects in crds/, which no template changes.
	crds     []made
	warnings object.Errors
}

// Template makes the objects of the chart in dir, a folder or an archive of files. The error
// is an object.Errors.
func Template(ctx context.Context, files fs.FS, dir string, o Options) (component.Output, error) {
	if o.At == nil {
		o.At = func(name string, line, column int) object.Pos {
			return object.Pos{File: name, Line: line, Column: column}
		}
	}
	r := &run{opts: o, fsys: files, dir: dir}
	for _, v := range o.Values {
		r.places = r.places.Merge(v.Places)
	}
	if err := r.prepare(); err != nil {
		return component.Output{}, err
	}
	c := &calls{}
	output, err := r.render(c)
	if err == nil && len(c.made) > 0 {
		err = r.checkSame(c, output)
	}
	if err == nil && c.looked {
		r.warnOfLookup()
	}
	if err != nil {
		return component.Output{}, object.AsErrors(err, object.StageEvaluate).Sorted()
	}
	output.Warnings = append(output.Warnings, r.warnings...).Sorted()
	return output, nil
}

func (r *run) fail(pos object.Pos, hint, format string, args ...any) error {
	return object.Errors{component.Fail(pos, r.opts.Path, hint, format, args...)}
}

func (r *run) warn(pos object.Pos, err error, hint string) {
	r.warnings = append(r.warnings, &object.Error{
		Stage: object.StageEvaluate, Severity: object.SeverityWarning, Pos: pos, Err: err, Hint: hint,
	})
}

// fileOf returns the position of a file of c, which may be a subchart.
func (r *run) fileOf(c *chart.Chart, name string) object.Pos {
	for _, f := range slices.Concat(c.Templates, c.Files) {
		if filePlace, ok := r.loaded.files[f]; ok {
			up := strings.Count(f.Name, "/") + 1
			if filePlace.inner != "" {
				return r.loaded.pos(place{filePlace.file, path.Join(filePlace.inner, strings.Repeat("../", up), name)}, 0, 0)
			}
			return r.loaded.pos(place{file: path.Join(filePlace.file, strings.Repeat("../", up), name)}, 0, 0)
		}
	}
	return r.loaded.pos(r.loaded.root.join(name), 0, 0)
}

// prepare loads the chart and looks at what has nothing to do with values.
func (r *run) prepare() error {
	// Look at the chart itself.
	if err := chartutil.ValidateReleaseName(r.opts.ReleaseName); err != nil {
		const hint = "set releaseName: at most 53 lower-case letters, digits and -"
		return r.fail(r.opts.Pos, hint, "%q cannot be the name of a release", r.opts.ReleaseName)
	}
	if err := r.load(); err != nil {
		return err
	}
	c := r.loaded.chart
	yaml := r.loaded.root.join("Chart.yaml")
	if v := c.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		const hint = "take a version of the chart for Helm 3 or 4"
		return r.fail(r.loaded.pos(yaml, 0, 0), hint, "apiVersion %q of chart %q is unknown: v1 and v2 are known", v, c.Name())
	}
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return r.fail(r.opts.Pos, "name a chart that depends on it", "chart %q is a %s chart, which makes no objects", c.Name(), kind)
	}

	// The context says what the cluster can do.
	caps := common.DefaultCapabilities.Copy()
	if r.opts.KubeVersion != "" {
		version, err := common.ParseKubeVersion(r.opts.KubeVersion)
		if err != nil {
			return r.fail(r.opts.Pos, "", "kubeVersion %q is no version", r.opts.KubeVersion)
		}
		caps.KubeVersion = *version
	}
	if r.opts.Served != nil {
		caps.APIVersions = r.opts.Served(caps.KubeVersion.Version)
	}
	caps.APIVersions = slices.Concat(caps.APIVersions, r.opts.APIVersions)
	r.caps = caps
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		const hint = "set kubeVersion of the context, or take another version of the chart"
		version := caps.KubeVersion.Version
		return r.fail(r.opts.Pos, hint, "chart %q wants Kubernetes %s, and this render is for %s", c.Name(), want, version)
	}

	// All that the chart depends on must be in it.
	var errs object.Errors
	for _, d := range missing(c) {
		hint := "run helm dependency build, and commit the folder charts"
		pos := r.chartLine(yaml, c, d.Name)
		const format = "chart %q needs chart %q %s, which is not in its folder charts"
		errs = append(errs, component.Fail(pos, nil, hint, format, c.Name(), d.Name, d.Version))
	}
	return errs.Err()
}

// chartLine returns the line of a dependency in Chart.yaml.
func (r *run) chartLine(yaml place, c *chart.Chart, name string) object.Pos {
	for _, f := range c.Raw {
		if f.Name != "Chart.yaml" {
			continue
		}
		if v, err := spec.ParseValue(spec.File{Name: "Chart.yaml", Data: f.Data}); err == nil {
			list, _ := v.Get("dependencies")
			for _, item := range list.Items {
				if n, _ := item.Get("name"); n.Text == name {
					return r.loaded.pos(yaml, n.Pos.Line, n.Pos.Column)
				}
			}
		}
	}
	return r.loaded.pos(yaml, 0, 0)
}

// load loads the chart anew. Its error says what is wrong with the chart.
func (r *run) load() error {
	l, err := load(r.fsys, r.dir, r.opts.At)
	r.loaded = l
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return r.fail(r.opts.Pos, "", "there is no chart at %q", r.dir)
	}
	pos := r.opts.Pos
	if _, missing := fs.Stat(r.fsys, path.Join(r.dir, "Chart.yaml")); missing == nil {
		pos = l.pos(l.root.join("Chart.yaml"), 0, 0)
	}
	text := plain(err.Error())
	if strings.Contains(text, "Chart.yaml file is missing") {
		return r.fail(r.opts.Pos, "name the folder that holds Chart.yaml", "%q is no chart: it has no Chart.yaml", r.dir)
	}
	return r.fail(pos, "", "the chart cannot be read: %s", text)
}

// prepareValues returns the values of the templates. It loads the chart anew if it was used
// before, because Helm changes it.
func (r *run) prepareValues() (common.Values, error) {
	if r.sources != nil {
		if err := r.load(); err != nil {
			return nil, err
		}
	}

	// Later values win over earlier ones.
	user := map[string]any{}
	for _, v := range r.opts.Values {
		user = loader.MergeMaps(user, v.Map)
	}
	c := r.loaded.chart
	if r.sources == nil {
		r.warnOfUnread(c)
	}

	// Dependencies decide which subcharts there are, and the values of the chart are filled in.
	err := chartutil.ProcessDependencies(c, user)
	var values common.Values
	if err == nil {
		withSubcharts(c, user)
		release := common.ReleaseOptions{Name: r.opts.ReleaseName, Namespace: r.opts.Namespace, Revision: 1, IsInstall: true}
		values, err = util.ToRenderValuesWithSchemaValidation(c, user, release, r.caps, true)
	}
	if err != nil {
		return nil, r.fail(r.value(nil), "", "values cannot be used with the chart: %s", r.hide(plain(err.Error())))
	}

	// Check the values against the schemas the first time.
	if r.sources == nil {
		r.sources = r.loaded.sources()
		all, _ := values["Values"].(common.Values)
		if all == nil {
			all, _ = values["Values"].(map[string]any)
		}
		if errs := r.checkSchemas(c, all, nil); len(errs) > 0 {
			return nil, errs
		}
	}
	return values, nil
}

// withSubcharts adds a map for each subchart that values do not name. Helm drops a null in the
// values of a chart which removes a value of a subchart where the user has none for it
// (helm.sh/helm/v4 v4.2.4, pkg/chart/common/util/coalesce.go, coalesceValues); Helm 3 does not.
func withSubcharts(c *chart.Chart, values map[string]any) {
	for _, sub := range c.Dependencies() {
		if _, given := values[sub.Name()]; !given {
			values[sub.Name()] = map[string]any{}
		}
		if below, ok := values[sub.Name()].(map[string]any); ok {
			withSubcharts(sub, below)
		}
	}
}

// execute runs the templates. It returns the error of the engine.
func (r *run) execute(c *calls) (map[string]string, error) {
	values, err := r.prepareValues()
	if err != nil {
		return nil, err
	}
	return engine.Engine{CustomTemplateFuncs: c.functions()}.Render(r.loaded.chart, values)
}

// render makes the objects once.
func (r *run) render(c *calls) (component.Output, error) {
	// An error of the engine is translated into one of the chart.
	texts, err := r.execute(c)
	if err != nil {
		var own object.Errors
		if errors.As(err, &own) {
			return component.Output{}, own
		}
		return component.Output{}, r.broken(err)
	}

	// Notes and partials make no objects, and all texts together are bounded.
	size := 0
	for name, text := range texts {
		size += len(text)
		if strings.HasSuffix(name, "NOTES.txt") || strings.HasPrefix(path.Base(name), "_") {
			delete(texts, name)
		}
	}
	if size > component.MaxBytes {
		const format = "the chart makes %d bytes, and %d are allowed"
		return component.Output{}, r.fail(r.opts.Pos, "make several components of it", format, size, component.MaxBytes)
	}

	// Definitions come first; they are the same in each render.
	m := &manifests{run: r, objects: slices.Clone(r.crds)}
	if !r.opts.SkipCRDs && r.crds == nil {
		for _, crd := range r.loaded.chart.CRDObjects() {
			m.addFile(crd.Filename, string(crd.File.Data), r.loaded.files[crd.File], true)
		}
		r.crds = slices.Clone(m.objects)
	}

	// The rest follows in the order of the files.
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		m.addFile(name, texts[name], r.sources[name].place, false)
	}
	return m.output()
}

// hide removes the texts of the user's values that the chart does not hold itself.
func (r *run) hide(text string) string {
	if r.secrets == nil {
		r.secrets = &object.Secrets{}
		var chartText strings.Builder
		if r.loaded != nil && r.loaded.chart != nil {
			for _, f := range r.loaded.chart.Raw {
				chartText.Write(f.Data)
			}
		}
		chartWords := chartText.String()
		for _, v := range r.opts.Values {
			leaves(v.Map, false, func(text string, secret bool) {
				if !strings.Contains(chartWords, text) {
					r.secrets.Add(text)
				}
				if secret && text != "" {
					r.words = append(r.words, regexp.QuoteMeta(text))
				}
			})
		}
		slices.SortFunc(r.words, func(a, b string) int { return len(b) - len(a) })
	}
	if len(r.words) > 0 { // A secret is hidden as a word, however short or common it is.
		text = regexp.MustCompile(`(^|\W)(?:`+strings.Join(r.words, "|")+`)(\W|$)`).ReplaceAllString(text, "$1(hidden)$2")
	}
	return r.secrets.Hide(text)
}

// leaves calls each for every text and number below v. The argument secret says whether a name
// above it is sensitive.
func leaves(v any, secret bool, each func(text string, secret bool)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			leaves(v[k], secret || object.SensitiveName(k), each)
		}
	case []any:
		for _, item := range v {
			leaves(item, secret, each)
		}
	case string:
		each(v, secret)
	case float64, int64:
		each(fmt.Sprint(v), secret)
	}
}
