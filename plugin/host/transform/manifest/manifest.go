// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/json"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// defaultNamespace is the one of a Transform that names none, as for kubectl.
const defaultNamespace = "default"

// maxWrong is how many values of another type are reported.
const maxWrong = 20

// Manifest is the Transform in a file.
type Manifest struct {
	transform v1alpha1.Transform
	file      spec.File
	doc       spec.Manifest
	// beside are the ConfigMaps of its namespace in the same file.
	beside map[string]spec.Manifest
	source folder
	// entries are the texts of inputsFrom, by the name that messages give them.
	entries  map[string]entry
	warnings object.Errors
	loaded   transform.Loaded
}

// Find returns the Transform in a file. It returns nil if the file holds no Transform that was
// made for a cluster, or other documents of Ropewalk beside it. With named, any Transform is one
// for a cluster. The error is an object.Errors.
func Find(file spec.File, named bool) (*Manifest, error) {
	// Most files are none, and need not be parsed.
	if !bytes.Contains(file.Data, []byte(v1alpha1.Group+"/")) || !bytes.Contains(file.Data, []byte(v1alpha1.TransformKind)) {
		return nil, nil //nolint:nilnil // it holds none
	}
	docs, err := spec.ParseManifests(file, project.MaxManifests)
	if err != nil && !named {
		return nil, nil //nolint:nilnil // the reader of specs reports it
	} else if err != nil {
		return nil, err
	}

	// A Transform that is alone may be one for a cluster.
	var ours []spec.Manifest
	for _, d := range docs {
		if text(d.Value, "apiVersion") == spec.APIVersion {
			ours = append(ours, d)
		}
	}
	isOne := func(d spec.Manifest) bool {
		_, ok := spec.InCluster(d.Value)
		return text(d.Value, "kind") == spec.KindTransform && (named || ok)
	}
	if len(ours) == 0 || !slices.ContainsFunc(ours, isOne) || len(ours) > 1 && !named {
		return nil, nil //nolint:nilnil // it holds none, or specs
	}
	if len(ours) > 1 {
		return nil, object.Errors{{
			Stage: object.StageSpec, Pos: ours[1].Pos, Hint: "put each Transform into a file of its own",
			Err: errors.New("the file holds another document of Ropewalk: expected one Transform"),
		}}
	}

	// ConfigMaps beside it are in its namespace.
	m := &Manifest{file: file, doc: ours[0], beside: map[string]spec.Manifest{}, entries: map[string]entry{}}
	if err := m.decode(); err != nil {
		return nil, err
	}
	for _, d := range docs {
		if isConfigMap(d.Value) && cmp.Or(text(d.Value, "metadata", "namespace"), m.transform.Namespace) == m.transform.Namespace {
			m.beside[text(d.Value, "metadata", "name")] = d
		}
	}
	return m, nil
}

// decode reads the Transform as the API server does, which refuses unknown fields.
func (m *Manifest) decode() error {
	// Every mistake is at its field.
	t := &m.transform
	var found object.Errors
	fail := func(field, hint, format string, args ...any) {
		pos, path := m.place(field)
		found = append(found, &object.Error{Stage: object.StageSpec, Pos: pos, Path: path, Hint: hint, Err: fmt.Errorf(format, args...)})
	}
	// A decoder stops at the first value of another type, so that it goes on without it.
	value := m.doc.Value
	var wrong *stdjson.UnmarshalTypeError
	for range maxWrong {
		*t = v1alpha1.Transform{}
		unknown, err := json.UnmarshalStrict(value.JSON(), t)
		if errors.As(err, &wrong) {
			// The decoder names embedded types, and leaves out indexes of lists.
			field := strings.ReplaceAll(wrong.Field, "RenderSpec.", "")
			at := object.ParsePath(field)
			fail(field, "", "expected %s, got %s", expected(wrong.Type.Kind()), wrong.Value)
			if _, n := value.Lookup(at); n == len(at) {
				value = value.Without(at)
				continue
			}
			break
		}
		if name := wrongDuration(value); err != nil && name != nil {
			v, _ := value.Lookup(name)
			fail(name.String(), "write a number and a unit, such as 10m", "%q is no duration", v.Text)
			value = value.Without(name)
			continue
		}
		if err != nil {
			fail("", "", "%w", err)
		}
		for _, e := range unknown {
			fail(unknownField(e), "", "a Transform has no such field")
		}
		break
	}

	// What the definition of the kind requires is checked here too.
	if len(found) > 0 {
		return found.Sorted()
	}
	t.Namespace = cmp.Or(t.Namespace, defaultNamespace)
	if t.Name == "" {
		fail("metadata", "", "metadata.name is missing")
	}
	if t.SourceRef() == nil && !t.Spec.One() {
		fail("spec", "", "one of sourceRef, source, cueRef and component is needed: a source with a project in it, a module, or a component")
	}
	if t.Spec.SourceRef != nil && t.Spec.Source != nil {
		fail("spec.source", "take one of them away", "source makes a GitRepository, and sourceRef names one that is there")
	}
	if own := t.Spec.Source; own != nil && own.Git.URL == "" {
		fail("spec.source", "write git: {url: …}", "spec.source.git.url is missing")
	}
	if ref := t.Spec.SourceRef; ref != nil && !slices.Contains(sourceKinds(), ref.Kind) {
		fail("spec.sourceRef.kind", object.Suggest(ref.Kind, sourceKinds()), "%q is not a kind of source: expected %s", ref.Kind, strings.Join(sourceKinds(), ", "))
	}
	for i, in := range t.Spec.InputsFrom {
		if in.Kind != "Secret" && in.Kind != kindConfigMap {
			fail(fmt.Sprintf("spec.inputsFrom[%d].kind", i), "", "%q is not known: expected ConfigMap, Secret", in.Kind)
		}
	}
	for _, e := range object.AsErrors(transform.CheckNames(t), object.StageSpec) {
		e.Pos, e.Path = m.place(e.Pos.File)
		found = append(found, e)
	}
	return found.Sorted().Err()
}

// wrongDuration returns the first field of a Transform with a text that is no duration, or nil if
// there is none. The decoder does not report its position.
func wrongDuration(value object.Value) object.Path {
	for _, at := range []object.Path{
		object.Fields("spec", "interval"), object.Fields("spec", "retryInterval"), object.Fields("spec", "source", "git", "interval"), object.Fields("spec", "delivery", "flux", "interval"),
		object.Fields("spec", "delivery", "flux", "retryInterval"), object.Fields("spec", "delivery", "flux", "timeout"),
	} {
		v, found := value.Lookup(at)
		if _, err := time.ParseDuration(v.Text); found == len(at) && v.Kind == object.KindString && err != nil {
			return at
		}
	}
	return nil
}

// unknownField returns the field that an error of a strict decoder names.
func unknownField(err error) string {
	_, name, _ := strings.Cut(err.Error(), ` field "`)
	return strings.TrimSuffix(name, `"`)
}

// expected returns a kind of Go as users of YAML call it.
func expected(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct, reflect.Map:
		return "a map"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default: // The API has no other kinds.
		return "an integer"
	}
}

// place returns the position of a field, and its path. A field may end in a line and a column of
// its text.
func (m *Manifest) place(field string) (object.Pos, string) {
	match := regexp.MustCompile(`^(.*):(\d+):(\d+)$`).FindStringSubmatch(field)
	if match == nil {
		return m.doc.Value.NearestPos(object.ParsePath(field)), field
	}
	line, _ := strconv.Atoi(match[2])
	column, _ := strconv.Atoi(match[3])
	v, _ := m.doc.Value.Lookup(object.ParsePath(match[1]))
	return inText(v, m.doc.Blocks, line, column), match[1]
}

// inText returns the position of a line and a column of a text that is written as a block, or else
// that of the text.
func inText(v object.Value, blocks map[object.Pos]spec.Block, line, column int) object.Pos {
	block, ok := blocks[v.Pos]
	if !ok || line < 1 {
		return v.Pos
	}
	return object.Pos{File: v.Pos.File, Line: block.Pos.Line + line - 1, Column: column + block.Indent}
}

// text returns the text at a path, or "" if there is none.
func text(v object.Value, names ...string) string {
	for _, name := range names {
		v, _ = v.Get(name)
	}
	return v.Text
}

// isConfigMap reports whether a document is a ConfigMap.
func isConfigMap(v object.Value) bool {
	return text(v, "apiVersion") == "v1" && text(v, "kind") == kindConfigMap
}
