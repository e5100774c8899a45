// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// documents are the items that are rendered, as one text that the host reads.
type documents struct {
	config   item
	settings settings
	text     []byte
	parts    []part
	// files are the files of specs and projects among the items. Other functions may have changed
	// the items since, so such a file is not read where the project names it.
	files []string
	// owner begins the mark of everything that this run may replace.
	owner owner
}

// part is one document of the text.
type part struct {
	item item
	// first and last are its first line and its last line, counted from 1.
	first, last int
}

// owner says which objects are ours.
type owner struct {
	// project is "" where functionConfig is a spec.
	project, spec string
}

// mark returns the value of RenderedBy for an object of a spec.
func (o owner) mark(spec string) string {
	if o.project != "" {
		return o.project + "/" + spec
	}
	return spec
}

// owns reports whether a mark is of this functionConfig.
func (o owner) owns(mark string) bool {
	if o.project != "" {
		return strings.HasPrefix(mark, o.project+"/")
	}
	return mark == o.spec && mark != ""
}

// gather finds what is to be rendered. If there is an error, the result still has the positions of
// mistakes.
func gather(l *list) (documents, error) {
	// A functionConfig that is nothing to render ends the search.
	config := l.config.object
	out := documents{config: l.config, owner: owner{spec: config.Name()}}
	if err := checkConfig(config); err != nil {
		return out, err
	}
	var err error
	out.settings, err = settingsOf(config)
	if err != nil {
		return out, err
	}

	// A project renders the specs among the items, and a spec only itself.
	specs := []item{l.config}
	if config.Kind() == spec.KindProject {
		out.owner = owner{project: config.Name()}
		for _, i := range slices.Concat(l.items, []item{l.config}) {
			if i.isSpec() {
				specs = append(specs, i)
			}
			if name, _ := i.file(); name != "" && (i.isSpec() || i.object.Kind() == spec.KindProject) {
				out.files = append(out.files, name)
			}
		}
	}

	// Of ConfigMaps only those are read that a module is in.
	named := map[string]bool{}
	for _, s := range specs {
		collectModules(map[string]any(s.object), named)
		out.add(s)
	}
	for _, i := range l.items {
		if i.object.APIVersion() == "v1" && i.object.Kind() == "ConfigMap" && named[i.object.Name()] {
			out.add(i)
		}
	}
	return out, nil
}

// scorePrefix begins the apiVersion of Score files, old files too.
const scorePrefix = "score."

// checkConfig refuses a functionConfig that is nothing to render. A mistake inside is found when
// it is read.
func checkConfig(config object.Object) error {
	kinds := append(spec.SpecKinds(), spec.KindProject)
	expected := "expected kind " + strings.Join(kinds, ", ") + " of " + spec.APIVersion
	group, _, _ := strings.Cut(config.APIVersion(), "/")
	ourGroup, _, _ := strings.Cut(spec.APIVersion, "/")
	switch {
	case config == nil:
		return mistake(expected, "functionConfig is missing")
	case strings.HasPrefix(group, scorePrefix):
		return mistake("write it below spec of kind Workload, apiVersion "+spec.APIVersion,
			"functionConfig is a Score file, which has no kind")
	case ourGroup != group || !slices.Contains(kinds, config.Kind()):
		return mistake(expected, "functionConfig is of kind %q, apiVersion %q", config.Kind(), config.APIVersion())
	case config.Name() == "":
		return mistake("set it: rendered objects are marked with it", "functionConfig has no metadata.name")
	}
	return nil
}

// isSpec reports whether an item is a spec: one of Ropewalk, or a Score file, or an item that was
// meant to be one and is a mistake.
func (i item) isSpec() bool {
	if strings.HasPrefix(i.object.APIVersion(), scorePrefix) {
		return true
	}
	if i.object.APIVersion() == spec.APIVersion {
		return slices.Contains(spec.SpecKinds(), i.object.Kind())
	}
	return spec.IsNear(i.object)
}

// add writes an item to the text. Its keys are sorted. A position in the text stays right because
// it is converted to a field.
func (d *documents) add(i item) {
	first := bytes.Count(d.text, []byte("\n")) + 1
	data := without(i.object, isRun)
	text := emit.YAML(asWritten(i.value, map[string]any(data.Clone())))
	if again, err := object.Decode(jsonOf(text)); err != nil || !reflect.DeepEqual(again, data) {
		text = emit.YAML(data)
	}
	d.text = append(append(d.text, "---\n"...), text...)
	d.parts = append(d.parts, part{item: i, first: first, last: bytes.Count(d.text, []byte("\n"))})
}

// asWritten returns data with numbers and bools as v has them: 01234 and 1.10 are texts where a
// spec wants text.
func asWritten(v object.Value, data any) any {
	switch d := data.(type) {
	case map[string]any:
		for _, m := range v.Members {
			if e, ok := d[m.Name]; ok {
				d[m.Name] = asWritten(m.Value, e)
			}
		}
	case []any:
		for i := range d {
			d[i] = asWritten(v.Items[i], d[i])
		}
	default:
		if v.Raw != "" {
			return json.Number(v.Raw)
		}
	}
	return data
}

// jsonOf returns a document of YAML as JSON, or nil if it cannot be read.
func jsonOf(text []byte) []byte {
	docs, err := spec.ParseDocuments(spec.File{Name: stdin, Data: text}, MaxList)
	if err != nil || len(docs) != 1 {
		return nil
	}
	return docs[0].Value.JSON()
}

// collectModules collects the names of the ConfigMaps that references in v lead to. Only these are
// read, so that a mistake in another one is not reported.
func collectModules(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["ref"].(string); ok && v["type"] == string(spec.RefConfigMap) {
			into[name] = true
		}
		for _, e := range v {
			collectModules(e, into)
		}
	case []any:
		for _, e := range v {
			collectModules(e, into)
		}
	}
}

// settings are the values of the annotations of functionConfig; "" is nothing.
type settings struct {
	dialect, environment, kubeVersion string
	// allowEmpty is "true" where a render without objects is meant.
	allowEmpty string
	// runtime are lines of NAME=VALUE.
	runtime string
}

// The annotations of functionConfig.
const (
	settingPrefix  = "ropewalk.dev/"
	settingDialect = settingPrefix + "dialect"
	settingEnv     = settingPrefix + "environment"
	settingVersion = settingPrefix + "kube-version"
	settingEmpty   = settingPrefix + "allow-empty"
	settingRuntime = settingPrefix + "runtime"
)

// settingNames returns the annotations that set options.
func settingNames() []string {
	return []string{settingDialect, settingEnv, settingVersion, settingEmpty, settingRuntime}
}

// settingsOf reads the annotations. An annotation of this package that is not known is a mistake:
// a dialect that is silently plain would be found in the cluster.
func settingsOf(config object.Object) (settings, error) {
	a := config.Annotations()
	for _, key := range object.SortedKeys(a) {
		if strings.HasPrefix(key, settingPrefix) && !slices.Contains(settingNames(), key) {
			return settings{}, mistake(object.Suggest(key, settingNames()), "annotation %q is not known", key)
		}
	}

	if d := a[settingDialect]; d != "" && !slices.Contains(dialect.Names(), d) {
		return settings{}, object.Errors{{
			Stage: object.StageSpec, Pos: object.Pos{File: stdin}, Hint: object.Suggest(d, dialect.Names()),
			Path: object.Fields("metadata", "annotations", settingDialect).String(), Err: fmt.Errorf("dialect %q is not known", d),
		}}
	}

	// A value of several lines would be cut at its line ends.
	for i, line := range strings.Split(a[settingRuntime], "\n") {
		if _, _, ok := host.CutRuntime(line); !ok && line != "" {
			const hint = "a value that has several lines cannot be given here"
			return settings{}, mistake(hint, "annotation %q, line %d: expected NAME=VALUE", settingRuntime, i+1)
		}
	}
	return settings{
		dialect:     a[settingDialect],
		environment: a[settingEnv],
		kubeVersion: a[settingVersion],
		allowEmpty:  a[settingEmpty],
		runtime:     a[settingRuntime],
	}, nil
}

// fillOptions sets the options that opts leaves empty.
func (s settings) fillOptions(opts *host.Options) {
	if opts.Context.Engine == "" && opts.Emit.Dialect == "" {
		opts.Context.Engine = s.dialect
		opts.Emit.Dialect = dialect.Name(s.dialect)
	}
	if opts.Environment == "" {
		opts.Environment = s.environment
	}
	opts.AllowEmpty = opts.AllowEmpty || s.allowEmpty == "true"
	if opts.Context.KubeVersion == "" {
		opts.Context.KubeVersion = s.kubeVersion
	}
	// Those of the caller come later, and win.
	opts.Runtime = slices.Concat(strings.FieldsFunc(s.runtime, func(r rune) bool { return r == '\n' }), opts.Runtime)
}

// annotation returns the annotation that the position of an option stands for, or "".
func (s settings) annotation(file string) string {
	for _, o := range []struct{ option, value, name string }{
		{"--dialect ", s.dialect, settingDialect}, {"--env ", s.environment, settingEnv},
		{"--kube-version ", s.kubeVersion, settingVersion},
	} {
		if o.value != "" && file == o.option+o.value {
			return o.name
		}
	}
	return ""
}
