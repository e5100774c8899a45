// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// walkFields walks what the fields of k refer to.
func (w *walker) walkFields(k *kustomization) {
	t := &k.types
	w.warnOfDeprecated(k)

	// Resources and components may be folders.
	for i := range t.Resources {
		w.walkResource(k, &t.Resources[i], item("resources", i), false)
	}
	for i := range t.Bases { //nolint:staticcheck // Files of others have deprecated fields.
		w.walkResource(k, &t.Bases[i], item("bases", i), false) //nolint:staticcheck // As above.
	}
	for i := range t.Components {
		w.walkResource(k, &t.Components[i], item("components", i), true)
	}

	// Some files are read for their YAML only.
	for name, list := range map[string][]string{"crds": t.Crds, "configurations": t.Configurations} {
		for i := range list {
			w.readYAML(k, &list[i], item(name, i))
		}
	}
	if ref, ok := t.OpenAPI["path"]; ok {
		w.readYAML(k, &ref, object.Fields("openapi", "path"))
		t.OpenAPI["path"] = ref
	}

	// Patches and replacements may be in files.
	for i := range t.PatchesStrategicMerge { //nolint:staticcheck // As above.
		w.checkInlineOr(k, (*string)(&t.PatchesStrategicMerge[i]), item("patchesStrategicMerge", i), w.readYAML) //nolint:staticcheck // As above.
	}
	for name, list := range map[string][]types.Patch{"patches": t.Patches, "patchesJson6902": t.PatchesJson6902} { //nolint:staticcheck // As above.
		for i := range list {
			w.readPatch(k, &list[i], item(name, i))
		}
	}
	for i := range t.Replacements {
		if t.Replacements[i].Path != "" {
			w.readYAML(k, &t.Replacements[i].Path, item("replacements", i).Append(object.Field("path")))
		}
	}

	// Generators read files of any kind.
	for i := range t.ConfigMapGenerator {
		w.readSources(k, &t.ConfigMapGenerator[i].KvPairSources, item("configMapGenerator", i), w.readFile)
	}
	for i := range t.SecretGenerator {
		w.readSources(k, &t.SecretGenerator[i].KvPairSources, item("secretGenerator", i), w.readFile)
	}

	// Plugins are configured by files, which are checked.
	for name, list := range map[string][]string{"generators": t.Generators, "transformers": t.Transformers, "validators": t.Validators} {
		for i := range list {
			w.checkInlineOr(k, &list[i], item(name, i), func(k *kustomization, ref *string, p object.Path) {
				w.walkResource(k, ref, p, false)
				w.checkConfigured(k, path.Join(k.dir, *ref), map[string]bool{})
			})
		}
	}

	// Charts come last. The library then writes old fields as new ones.
	w.findCharts(k)
	t.FixKustomization()
}

func item(name string, i int) object.Path { return object.Fields(name).Append(object.Index(i)) }

// deprecations returns the fields that kustomize has deprecated, each with what is written instead.
func deprecations() [][2]string {
	return [][2]string{
		{"bases", "resources"}, {"commonLabels", "labels, with includeSelectors: true"}, {"imageTags", "images"},
		{"patchesJson6902", "patches"}, {"patchesStrategicMerge", "patches"}, {"vars", "replacements"},
	}
}

// warnOfDeprecated warns of fields that a later kustomize may not read, in files of the user.
func (w *walker) warnOfDeprecated(k *kustomization) {
	if k.repository != "." {
		return
	}
	for _, f := range deprecations() {
		if _, ok := k.value.Get(f[0]); ok {
			e := component.Fail(w.pos(k, object.Fields(f[0])), object.Fields(f[0]), "write it as "+f[1], "kustomize has deprecated this field")
			e.Severity = object.SeverityWarning
			w.warnings = append(w.warnings, e)
		}
	}
}

// readYAML reads a file of YAML that makes no objects.
func (w *walker) readYAML(k *kustomization, ref *string, p object.Path) {
	name, data, ok := w.readFile(k, ref, p)
	if !ok {
		return
	}
	w.rules[name] = true
	docs, line, err := documents(data)
	if err != nil {
		w.errs = append(w.errs, component.Fail(w.posOf(name, line, 0), nil, "", "%w", err))
		return
	}
	pos := func(d document) object.Pos { return w.posOf(name, d.line, d.column) }
	w.patches = append(w.patches, patch{text: string(data), docs: docs, field: w.pos(k, p), pos: pos})
}

// readPatch reads a patch, and requires a target if it does not name its object itself.
func (w *walker) readPatch(k *kustomization, t *types.Patch, p object.Path) {
	if (t.Path == "") == (t.Patch == "") {
		w.fail(k, p)("write one of path and patch", "a patch is a file or a text")
		return
	}
	before := len(w.patches)
	if t.Path != "" {
		w.readYAML(k, &t.Path, p.Append(object.Field("path")))
	} else {
		w.checkInline(k, t.Patch, p.Append(object.Field("patch")))
	}
	for _, patched := range w.patches[before:] {
		if strings.HasPrefix(patched.text, "[") && !json.Valid([]byte(patched.text)) {
			w.fail(k, p)("put names and texts into double quotes, or write the list with dashes", "operations in brackets have to be JSON")
			continue
		}
		if t.Target == nil && len(patched.docs) == 0 && operations.MatchString(patched.text) {
			w.fail(k, p)("add target: {kind: …, name: …}", "a patch of operations needs a target")
		}
		posOf := func(n *yaml.Node) object.Pos { return patched.pos(document{line: n.Line, column: n.Column}) }
		if t.Path == "" {
			posOf = w.inText(k, k.value.NearestPos(p.Append(object.Field("patch"))), patched.text)
		}
		w.checkOperations(patched.text, p, posOf)
	}
}

// operations matches the beginning of a JSON patch, as YAML or JSON, behind comments.
var operations = regexp.MustCompile(`^(?:\s*#.*\n|---\s*\n|\s)*[-\[][\s{"]`)

// checkInline checks YAML in a string.
func (w *walker) checkInline(k *kustomization, text string, p object.Path) []document {
	docs, _, err := documents([]byte(text))
	if err != nil {
		w.fail(k, p)("", "%w", err)
	}
	pos := w.pos(k, p)
	w.patches = append(w.patches, patch{text: text, docs: docs, field: pos, pos: func(document) object.Pos { return pos }})
	return docs
}

// checkInlineOr checks YAML in a string, or what it refers to.
func (w *walker) checkInlineOr(k *kustomization, text *string, p object.Path, refer func(*kustomization, *string, object.Path)) {
	if !strings.ContainsAny(*text, "\n{") {
		refer(k, text, p)
		return
	}
	for _, d := range w.checkInline(k, *text, p) {
		if p[0].Name != "patchesStrategicMerge" {
			w.checkPlugin(k, d, w.pos(k, p))
		}
	}
}

// reader is [walker.readFile], or [walker.readLocal].
type reader func(k *kustomization, ref *string, p object.Path) (name string, data []byte, ok bool)

// readLocal reads a file that cannot be remote.
func (w *walker) readLocal(k *kustomization, ref *string, p object.Path) (name string, data []byte, ok bool) {
	if _, isRemote := parseRemote(*ref); isRemote && strings.Contains(*ref, "://") {
		w.fail(k, p)("put the file beside the kustomization", "expected a path, got a URL")
		return "", nil, false
	}
	return w.readFile(k, ref, p)
}

// readSources reads the files of a generator.
func (w *walker) readSources(k *kustomization, s *types.KvPairSources, p object.Path, read reader) {
	for i, text := range s.FileSources {
		key, file, ok := strings.Cut(text, "=")
		if !ok {
			key = path.Base(text)
			file = text
		}
		ref := file
		read(k, &ref, p.Append(object.Field("files"), object.Index(i)))
		if ref != file {
			s.FileSources[i] = key + "=" + ref
		}
	}
	for i, text := range s.LiteralSources {
		if strings.IndexByte(text, '=') < 1 {
			w.fail(k, p.Append(object.Field("literals"), object.Index(i)))("", "expected NAME=VALUE")
			w.errs[len(w.errs)-1].Secret = true // An excerpt would show the value.
		}
	}
	for i := range s.EnvSources {
		w.readEnv(k, &s.EnvSources[i], p.Append(object.Field("envs"), object.Index(i)), read)
	}
	if s.EnvSource != "" {
		w.readEnv(k, &s.EnvSource, p.Append(object.Field("env")), read)
	}
}

// variable is a line of a file of variables.
var variable = regexp.MustCompile(`^([-._a-zA-Z0-9]+)(=|$)`)

// readEnv reads a file of variables. An older kustomize takes those without a value from its
// environment. No message has a part of a line.
func (w *walker) readEnv(k *kustomization, ref *string, p object.Path, read reader) {
	name, data, _ := read(k, ref, p)
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	line := 1
	for ; lines.Scan(); line++ {
		text := strings.TrimLeftFunc(lines.Text(), unicode.IsSpace)
		m := variable.FindStringSubmatch(text)
		switch {
		case !utf8.ValidString(text):
			w.errs = append(w.errs, component.Fail(w.posOf(name, line, 0), nil, "save the file as UTF-8", "the line is not valid UTF-8"))
		case text == "" || text[0] == '#':
		case m == nil:
			const hint, message = "a value over several lines is a file of its own, in files", "expected NAME=VALUE, with a name of letters, digits, -, _ and ."
			w.errs = append(w.errs, component.Fail(w.posOf(name, line, 0), nil, hint, message))
		case m[2] == "":
			e := component.Fail(w.posOf(name, line, 0), nil, "write NAME=", "a variable without = is empty")
			e.Severity = object.SeverityWarning
			w.warnings = append(w.warnings, e)
		}
	}
	if lines.Err() != nil {
		const format = "the line has %d bytes or more: kustomize leaves out the rest of the file"
		w.errs = append(w.errs, component.Fail(w.posOf(name, line, 0), nil, "", format, bufio.MaxScanTokenSize))
	}
}

// findCharts finds the charts of k and what they read.
func (w *walker) findCharts(k *kustomization) {
	t := &k.types
	if n := len(t.HelmChartInflationGenerator); n > 0 {
		w.fail(k, object.Fields("helmChartInflationGenerator"))("write it as helmCharts", "kustomize has replaced this field")
		return
	}

	// Charts are in a folder beside the kustomization.
	home := types.HelmDefaultHome
	if t.HelmGlobals != nil && t.HelmGlobals.ChartHome != "" {
		home = t.HelmGlobals.ChartHome
	}
	k.charts = make([]string, len(t.HelmCharts))
	for i := range t.HelmCharts {
		c := &t.HelmCharts[i]
		p := item("helmCharts", i)
		fail := w.fail(k, p)
		if !w.c.EnableHelm {
			fail("set enableHelm: true in kustomize of the component", "the kustomization has helmCharts")
			continue
		}

		// Some fields are required, and some are not supported.
		switch {
		case c.Name == "":
			fail("", "a chart needs a name")
			continue
		case c.NameTemplate != "" || c.Debug || c.Devel:
			fail("remove it; a version names a prerelease", "nameTemplate, debug and devel of a chart are not supported")
		case c.ReleaseName == "":
			fail("set releaseName: without one each build has another", "chart %q has no releaseName", c.Name)
		case c.ValuesMerge != "" && !slices.Contains([]string{"override", "replace", "merge"}, c.ValuesMerge):
			fail("write override, replace or merge", "unknown valuesMerge %q", c.ValuesMerge)
		}

		// The values and the chart itself are read.
		if c.ValuesFile != "" {
			w.readYAML(k, &c.ValuesFile, p.Append(object.Field("valuesFile")))
		}
		for j := range c.AdditionalValuesFiles {
			w.readYAML(k, &c.AdditionalValuesFiles[j], p.Append(object.Field("additionalValuesFiles"), object.Index(j)))
		}
		dir := path.Join(home, c.Name)
		if c.Version != "" && c.Repo != "" {
			dir = path.Join(home, c.Name+"-"+c.Version, c.Name)
		}
		k.charts[i] = w.readChart(k, c, dir, p)
	}
}

// readChart reads the files of a chart and returns its folder. The folder is "" if the chart is not
// there yet.
func (w *walker) readChart(k *kustomization, c *types.HelmChart, dir string, p object.Path) string {
	fail := w.fail(k, p)
	folder, ok := w.join(k, dir, fail)
	if !ok {
		return ""
	}

	// A chart that is not in the folder is fetched.
	if info, err := fs.Stat(w.fsys, folder); err != nil || !info.IsDir() {
		key := spec.ChartKey(c.Repo, c.Name, c.Version)
		folder, ok = w.c.Charts[key]
		if !ok {
			if c.Repo == "" {
				fail("name the repository in repo, or put the chart there", "chart %q is not in folder %q", c.Name, path.Join(k.dir, dir))
			} else if !slices.ContainsFunc(w.charts, func(o Chart) bool { return spec.ChartKey(o.Repo, o.Name, o.Version) == key }) {
				w.charts = append(w.charts, Chart{Repo: c.Repo, Name: c.Name, Version: c.Version, Pos: w.pos(k, p)})
			}
			return ""
		}
	}

	// All files of the chart are read.
	err := fs.WalkDir(w.fsys, folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if _, ok := w.read(name, fail); !ok {
			return errors.New("stopped")
		}
		return nil
	})
	if err != nil && len(w.errs) == 0 {
		fail("", "the files of chart %q cannot be read", c.Name)
	}
	return folder
}

// parse reads the file of k, with the mistakes that the library would find, too.
func (w *walker) parse(k *kustomization, fail failure) bool {
	data, ok := w.read(k.name, fail)
	if !ok {
		return false
	}
	w.rules[k.name] = true
	v, err := spec.ParseValue(spec.File{Name: k.name, Data: data})
	if err != nil {
		for _, e := range object.AsErrors(err, object.StageEvaluate) {
			e.Stage = object.StageEvaluate
			e.Pos = w.posOf(k.name, e.Pos.Line, e.Pos.Column)
			w.errs = append(w.errs, e)
		}
		return false
	}
	k.value = v
	return w.decode(k, data)
}

// decode reads a kustomization as the library does.
func (w *walker) decode(k *kustomization, data []byte) bool {
	before := len(w.errs)
	w.reportUnknown(k, k.value, reflect.TypeFor[types.Kustomization](), nil)
	if len(w.errs) > before {
		return false
	}
	if err := k.types.Unmarshal(data); err != nil {
		w.fail(k, typePath(k.value, err))("", "%w", errors.New(typeText(err)))
		return false
	}
	fixed := k.types
	fixed.FixKustomization()
	if k.name != "" && fixed.CheckEmpty() != nil {
		w.fail(k, nil)("list files in resources", "the kustomization is empty")
	}
	for _, text := range fixed.EnforceFields() {
		w.fail(k, object.Fields("apiVersion"))("", "%w", errors.New(text))
	}
	return len(w.errs) == before
}

// typePath returns the path to the field that has another type in the library, which reads YAML
// 1.1, or to the list or map around it.
func typePath(v object.Value, err error) (p object.Path) {
	var typeErr *json.UnmarshalTypeError
	if !errors.As(err, &typeErr) {
		return nil
	}
	kind, _, _ := strings.Cut(typeErr.Value, " ")
	for name := range strings.SplitSeq(typeErr.Field, ".") {
		if v.Kind == object.KindList { // The library does not say which item.
			i := slices.IndexFunc(v.Items, func(item object.Value) bool { m, _ := item.Get(name); return m.Kind.String() == kind })
			if i < 0 {
				return p
			}
			v = v.Items[i]
			p = p.Append(object.Index(i))
		}
		m, ok := v.Get(name)
		if !ok {
			return p
		}
		v = m
		p = p.Append(object.Field(name))
	}
	return p
}

// typeText returns what is wrong, without the value.
func typeText(err error) string {
	text := "it is no kustomization"
	if typeErr := (*json.UnmarshalTypeError)(nil); errors.As(err, &typeErr) {
		kind, _, _ := strings.Cut(typeErr.Value, " ") // Of a number the digits follow.
		if typeErr.Type.Kind() == reflect.Int64 {
			return strings.TrimSuffix("expected an integer, got a "+kind, ", got a number") // It has a fraction.
		}
		text += fmt.Sprintf(": cannot unmarshal %s into %s of type %s", kind, typeErr.Field, typeErr.Type)
	}
	return text
}
