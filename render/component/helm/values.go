// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Values are values as Helm reads them, with their places.
type Values struct {
	Map map[string]any
	// Places are the same values, as far as they are known.
	Places object.Value
}

// FromValue returns v as values; v may be KindNone.
func FromValue(v object.Value) (Values, error) {
	if v.Kind == object.KindNone || v.Kind == object.KindNull {
		return Values{}, nil
	}
	values := Values{Places: v}
	err := json.Unmarshal(v.JSON(), &values.Map)
	if err != nil {
		err = errors.New("values are a map")
	}
	return values, err
}

// ReadValues reads a values file. The argument name is the name that positions have.
func ReadValues(name string, data []byte) (Values, error) {
	places, wrong := spec.ParseValue(spec.File{Name: name, Data: data})
	m, err := loader.LoadValues(bytes.NewReader(data))
	switch {
	case wrong != nil && (err != nil || errors.Is(wrong, spec.ErrSecondDocument)): // Helm leaves the second out.
		return Values{}, wrong
	case err != nil:
		return Values{}, object.Errors{component.Fail(object.Pos{File: name, Line: 1}, nil, "values are a map", "the file holds no values: %s", plain(err.Error()))}
	}
	if !places.Pos.IsValid() {
		places.Pos = object.Pos{File: name}
	}
	return Values{Map: m, Places: places}, nil
}

// setValues returns values with arguments of the command line over them, in the order of Helm
// (helm.sh/helm/v4 v4.2.4, pkg/cli/values/options.go). It returns only the places of the
// arguments.
func setValues(values []Values, sets []spec.HelmSet) (laid Values, errs object.Errors) {
	laid.Map = map[string]any{}
	for _, v := range values {
		laid.Map = loader.MergeMaps(laid.Map, v.Map)
	}
	for _, flag := range []string{"--set-json", "--set", "--set-string", "--set-file"} {
		for _, s := range sets {
			if s.Flag != flag {
				continue
			}
			merged, err := setOver(laid.Map, s)
			if err != nil { // The error of Helm shows parts of the value.
				errs = append(errs, component.Fail(s.Pos, nil, "write NAME=VALUE as for helm template, such as a.b=1,c={x,y}", "Helm cannot read the argument, or it is in conflict with other values"))
				continue
			}
			laid.Map = merged
			alone, _ := setOver(map[string]any{}, s)
			laid.Places = laid.Places.Merge(placed(alone, s.Pos))
		}
	}
	return laid, errs
}

// setOver changes values by laying one argument over them, and returns them.
func setOver(values map[string]any, s spec.HelmSet) (map[string]any, error) {
	switch s.Flag {
	case "--set-string":
		return values, strvals.ParseIntoString(s.Text, values)
	case "--set-file":
		return values, strvals.ParseIntoFile(s.Text, values, func([]rune) (any, error) { return s.Content, nil })
	case "--set-json":
		if !strings.HasPrefix(strings.TrimSpace(s.Text), "{") {
			return values, strvals.ParseJSON(s.Text, values)
		}
		var over map[string]any
		err := json.Unmarshal([]byte(s.Text), &over)
		return loader.MergeMaps(values, over), err
	}
	return values, strvals.ParseInto(s.Text, values)
}

// placed returns v with every part at pos. Places need no texts.
func placed(v any, pos object.Pos) object.Value {
	value := object.Value{Kind: object.KindString, Pos: pos}
	switch v := v.(type) {
	case map[string]any:
		value.Kind = object.KindMap
		for _, k := range object.SortedKeys(v) {
			value.Members = append(value.Members, object.Member{Name: k, Pos: pos, Value: placed(v[k], pos)})
		}
	case []any:
		value.Kind = object.KindList
		for _, item := range v {
			value.Items = append(value.Items, placed(item, pos))
		}
	}
	return value
}

var inQuotes = regexp.MustCompile(`"[^"]*"|'[^']*'|\x60[^\x60]*\x60`)

// plain returns what a parser says, in one line and without the text that it shows.
func plain(text string) string {
	text = inQuotes.ReplaceAllString(text, "…")
	for _, prefix := range []string{"cannot unmarshal yaml document: ", "error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: "} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "yaml: "), ": yaml: ", ": ")
	return printable.OneLine(text)
}

// checkSchemas checks the values of a chart and its subcharts.
func (r *run) checkSchemas(c *chart.Chart, values map[string]any, path object.Path) (errs object.Errors) {
	if c.Schema != nil {
		errs = append(errs, r.checkSchema(c, values, path)...)
	}
	for _, sub := range c.Dependencies() {
		if below, ok := values[sub.Name()].(map[string]any); ok {
			errs = append(errs, r.checkSchemas(sub, below, path.Append(object.Field(sub.Name())))...)
		}
	}
	return errs
}

// allValues matches a use of all values at once: any name may be read then.
var allValues = regexp.MustCompile(`\.Values([^.\w]|$)`)

// warnOfUnread warns of values that no file of the chart reads. A value of the first level is
// read as .Values.NAME, or is for a chart that Chart.yaml names. A value below is read by any
// text with its name. It may also be part of what a template writes as it is, so there is a
// warning only if a value of nearly the same name is known.
func (r *run) warnOfUnread(c *chart.Chart) {
	// A template that uses all values at once reads each of them.
	var files []*common.File
	for charts := []*chart.Chart{c}; len(charts) > 0; charts = append(charts[1:], charts[0].Dependencies()...) {
		files = append(files, charts[0].Raw...)
	}
	if slices.ContainsFunc(files, func(f *common.File) bool { return strings.HasPrefix(f.Name, "templates/") && allValues.Match(f.Data) }) {
		return
	}

	// A file reads a value if it holds its name.
	named := func(name string) bool {
		word := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`)
		return slices.ContainsFunc(files, func(f *common.File) bool { return word.Match(f.Data) })
	}
	reads := func(name string) bool {
		value := regexp.MustCompile(`\.Values\.` + regexp.QuoteMeta(name) + `($|[^\w-])`)
		return slices.ContainsFunc(files, func(f *common.File) bool {
			return value.Match(f.Data) || (f.Name == "Chart.yaml" || f.Name == "requirements.yaml") && bytes.Contains(f.Data, []byte(name))
		})
	}

	// Walk the values that the chart does not set itself.
	var walk func(v object.Value, known map[string]any, p object.Path)
	walk = func(v object.Value, known map[string]any, p object.Path) {
		for _, m := range v.Members {
			path := p.Append(object.Field(m.Name))
			_, ok := known[m.Name]
			if ok || len(p) == 0 && (m.Name == "global" || m.Name == "tags") || len(p) == 0 && reads(m.Name) || len(p) > 0 && named(m.Name) {
				below, _ := known[m.Name].(map[string]any)
				walk(m.Value, below, path)
				continue
			}
			hint := object.Suggest(m.Name, object.SortedKeys(known))
			if other := valueLike(m, known); other != "" && len(p) == 0 && !strings.HasPrefix(hint, "did you mean") {
				hint = fmt.Sprintf("did you mean %q?", other)
			}
			if len(p) == 0 || strings.HasPrefix(hint, "did you mean") {
				r.warn(r.value(path), fmt.Errorf("chart %q does not read the value %s anywhere", c.Name(), path), hint)
			}
		}
	}
	walk(r.places, c.Values, nil)
}

// valueLike returns the path of a value of the chart whose name begins as the last name of m does,
// such as web.replicaCount for replicas. It returns "" if there is no such value.
func valueLike(m object.Member, known map[string]any) string {
	for len(m.Value.Members) == 1 {
		m = m.Value.Members[0]
	}
	name := strings.ToLower(strings.TrimSuffix(m.Name, "s"))
	for _, k := range object.SortedKeys(known) {
		below, _ := known[k].(map[string]any)
		if len(name) > 2 && strings.HasPrefix(strings.ToLower(k), name) {
			return k
		}
		if found := valueLike(m, below); found != "" {
			return k + "." + found
		}
	}
	return ""
}

// here loads no schema.
type here struct{}

// Load implements jsonschema.URLLoader.
func (here) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not fetched", url) }

func (r *run) checkSchema(c *chart.Chart, values map[string]any, path object.Path) object.Errors {
	const name = "file:///values.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(here{})
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err == nil {
		err = compiler.AddResource(name, doc)
	}
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = compiler.Compile(name)
	}
	file := c.ChartFullPath() + "/values.schema.json"
	var elsewhere *jsonschema.LoadURLError
	if errors.As(err, &elsewhere) {
		r.warn(r.fileOf(c, "values.schema.json"), fmt.Errorf("values are not checked by the schema of chart %q, which refers to %s", c.Name(), elsewhere.URL), "nothing is fetched: copy what it refers to into the schema")
		return nil
	}
	if err != nil {
		return object.Errors{component.Fail(r.fileOf(c, "values.schema.json"), nil, "report it to the authors of the chart", "%s is no JSON schema", file)}
	}
	var wrong *jsonschema.ValidationError
	if !errors.As(compiled.Validate(values), &wrong) {
		return nil
	}
	return r.invalid(c, wrong, path)
}

// invalid returns the mistakes that a schema finds: the innermost ones.
func (r *run) invalid(c *chart.Chart, wrong *jsonschema.ValidationError, path object.Path) (errs object.Errors) {
	// Report the causes of a mistake; alternatives are one mistake without causes.
	if _, reported := wrong.ErrorKind.(*kind.AnyOf); !reported && len(wrong.Causes) > 0 {
		if _, one := wrong.ErrorKind.(*kind.OneOf); !one {
			for _, cause := range wrong.Causes {
				errs = append(errs, r.invalid(c, cause, path)...)
			}
			return errs
		}
	}

	// Find the value, which may be an item of a list.
	p := path
	for _, step := range wrong.InstanceLocation {
		if v, found := r.places.Lookup(p); found == len(p) && v.Kind == object.KindList {
			if n, err := strconv.Atoi(step); err == nil {
				p = p.Append(object.Index(n))
				continue
			}
		}
		p = p.Append(object.Field(step))
	}
	if extra, ok := wrong.ErrorKind.(*kind.AdditionalProperties); ok {
		for _, name := range extra.Properties {
			errs = append(errs, component.Fail(r.value(p.Append(object.Field(name))), p.Append(object.Field(name)), "remove it, or look at the values of the chart", "chart %q has no such value", c.Name()))
		}
		return errs
	}

	// Say what is wrong without the value itself.
	text := wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	switch k := wrong.ErrorKind.(type) {
	case *kind.Pattern:
		text = "does not match pattern " + k.Want
	case *kind.Format:
		text = "is not a valid " + k.Want
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		text = "is none of what the schema of the chart allows"
	}
	return object.Errors{component.Fail(r.value(p), p, "", "values do not match the schema of chart %q: %s", c.Name(), r.hide(text))}
}

// value returns the position of a value in the files of the user, or of the field of the chart.
func (r *run) value(p object.Path) object.Pos {
	if pos := r.places.NearestPos(p); pos.IsValid() {
		return pos
	}
	return r.opts.Pos
}
