// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"reflect"
	"slices"
	"strings"

	"deps.dev/util/semver"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/strictyaml"
)

// maxBytes is how large a document may be.
const maxBytes = 8 << 20

// ErrPlan is what errors.Is finds in the error of a plan that was altered or is newer than
// the program: such a plan is not as it was locked.
var ErrPlan = source.ErrLocked

// Kinds are the kinds of documents, sorted.
func Kinds() []string {
	return []string{KindArtifactSync, KindBuildPlan, KindDeployPlan, KindInstallation}
}

// KindOf is the kind of the only document of data, "" where it is none of this package.
func KindOf(data []byte) string {
	var header struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if len(data) > maxBytes || yaml.Unmarshal(data, &header) != nil || !slices.Contains(Kinds(), header.Kind) ||
		!strings.HasPrefix(header.APIVersion, "ropewalk.dev/") {
		return ""
	}
	return header.Kind
}

// Read reads a document, which is a *BuildPlan, *DeployPlan, *ArtifactSync or *Installation.
// Program is the version of the program. The error is a *strictyaml.Error.
func Read(name string, data []byte, program string) (any, error) {
	r := reader{Reader: strictyaml.Reader{Name: name}}
	var header struct {
		APIVersion string `yaml:"apiVersion"`
		Spec       struct {
			Ropewalk string `yaml:"ropewalk"`
		} `yaml:"spec"`
	}
	_ = yaml.Unmarshal(data, &header) // The strict reader reports what is wrong.
	kind, version := KindOf(data), header.Spec.Ropewalk
	var out any
	switch kind {
	case KindBuildPlan:
		out = &BuildPlan{}
	case KindDeployPlan:
		out = &DeployPlan{}
	case KindArtifactSync:
		out = &ArtifactSync{}
	case KindInstallation:
		out = &Installation{}
	default:
		r.Fail(nil, "it is none of %s with apiVersion %s", strings.Join(Kinds(), ", "), Version)
		return nil, r.Err("", nil)
	}
	if header.APIVersion != Version || newer(version, program) {
		r.Fail(nil, "it is of version %s, written by ropewalk %q, and this is ropewalk %s, which reads %s", header.APIVersion, version, program, Version)
		return nil, r.Err("use a newer ropewalk", ErrPlan)
	}
	var known []string
	value := reflect.ValueOf(out).Elem()
	eachField(value, func(f field) { known = append(known, f.name) })
	fields := r.Document(data, Version, kind, known[2:]...)
	if fields != nil {
		r.fill(value, fields, nil, "the "+kind)
	}
	if err := r.Err("", nil); err != nil {
		return nil, err
	}
	return out, r.check(out)
}

// newer compares two versions; what is none of a release is not newer.
func newer(version, program string) bool {
	a, errA := semver.Go.Parse(version)
	b, errB := semver.Go.Parse(program)
	return errA == nil && errB == nil && a.Compare(b) > 0
}

// check reports what is wrong with a document as a whole.
func (r *reader) check(document any) error {
	is := ErrPlan
	switch d := document.(type) {
	case *BuildPlan:
		if len(d.Spec.Destination.Tags) == 0 {
			r.Fail(nil, "destination.tags is empty")
		}
		r.unaltered(d, d.Checksum)
	case *DeployPlan:
		r.unaltered(d, d.Checksum)
	case *Installation:
		is = nil
		seen := map[string]bool{}
		for _, c := range d.Spec.Components {
			if seen[c.Name] {
				r.Fail(r.at[c.Name], "component %q is there twice", c.Name)
			}
			if seen[c.Name] = true; c.Version == "" && c.Digest == "" {
				r.Fail(r.at[c.Name], "component %q lacks version or digest", c.Name)
			}
		}
	}
	return r.Err("", is)
}

func (r *reader) unaltered(document any, want string) {
	if got, err := checksum(document); err != nil || got != want {
		r.Fail(nil, "the plan was altered: its checksum is %s, and the document says %s: restore it, or make it again with --plan", got, want)
	}
}

// reader fills the fields of documents.
type reader struct {
	strictyaml.Reader
	// at is where each text is that is a name.
	at map[string]*yaml.Node
}

// field is a field of a document.
type field struct {
	name, is string
	optional bool
	value    reflect.Value
}

// eachField calls do for the fields of a struct, those of embedded ones among them.
func eachField(v reflect.Value, do func(field)) {
	for i := range v.NumField() {
		tag, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if tag == "" {
			eachField(v.Field(i), do)
			continue
		}
		do(field{name: tag, is: v.Type().Field(i).Tag.Get("is"), optional: options == "omitempty", value: v.Field(i)})
	}
}

// fill sets the fields of a struct; n is nil for the document, whose fields are read already.
func (r *reader) fill(v reflect.Value, fields map[string]*yaml.Node, n *yaml.Node, what string) {
	if n != nil {
		var known []string
		eachField(v, func(f field) { known = append(known, f.name) })
		fields = r.Fields(n, what, known...)
	}
	eachField(v, func(f field) {
		switch at := fields[f.name]; {
		case at != nil:
			r.value(f.value, at, f.name, f.is)
		case f.optional:
		case n != nil && n.Kind == yaml.MappingNode:
			r.Fail(n, "%s lacks %s", what, f.name)
		case n == nil && f.name != "apiVersion" && f.name != "kind": // Document reports those.
			r.Fail(nil, "%s lacks %s", what, f.name)
		}
	})
}

func (r *reader) value(v reflect.Value, n *yaml.Node, name, is string) {
	switch v.Kind() { //nolint:exhaustive // documents have no others
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(v.Elem(), n, name, is)
	case reflect.Struct:
		r.fill(v, nil, n, name)
	case reflect.Slice:
		for _, item := range r.List(n, name) {
			one := reflect.New(v.Type().Elem()).Elem()
			r.value(one, item, name, is)
			v.Set(reflect.Append(v, one))
		}
	case reflect.Map:
		r.entries(v, n, name, is)
	case reflect.Bool:
		if v.SetBool(n.Value == "true"); n.Tag != "!!bool" {
			r.Fail(n, "%s: expected true or false", name)
		}
	default:
		v.SetString(r.text(n, name, is))
	}
}

func (r *reader) entries(v reflect.Value, n *yaml.Node, name, is string) {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "%s: expected a mapping", name)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		one := reflect.New(v.Type().Elem()).Elem()
		r.value(one, n.Content[i+1], name+"."+n.Content[i].Value, is)
		v.SetMapIndex(reflect.ValueOf(n.Content[i].Value), one)
	}
}

// forms are the texts of tag "is" that name something of a registry: what to write, and
// whether a location is that.
var forms = map[string]struct { //nolint:gochecknoglobals // a constant
	want string
	ok   func(at artifact.Location) bool
}{
	"pinned":     {"oci://REGISTRY/REPOSITORY@sha256:…", func(at artifact.Location) bool { return at.Digest != "" && at.Tag == "" }},
	"reference":  {"oci://REGISTRY/REPOSITORY with :TAG or @sha256:…", func(at artifact.Location) bool { return at.Digest != "" || at.Tag != "" }},
	"target":     {"oci://REGISTRY/REPOSITORY or oci://REGISTRY/REPOSITORY:TAG", func(at artifact.Location) bool { return at.Digest == "" }},
	"repository": {"oci://REGISTRY/REPOSITORY without a tag", func(at artifact.Location) bool { return at.Digest == "" && at.Tag == "" }},
	"folder":     {"oci://REGISTRY or oci://REGISTRY/FOLDER", func(at artifact.Location) bool { return at.Digest == "" && at.Tag == "" }},
}

// text is a text of a form.
func (r *reader) text(n *yaml.Node, name, is string) string {
	text := r.Text(n, name)
	want, ok := "", text == ""
	switch is {
	case "":
		ok = true
	case "name":
		if r.at == nil {
			r.at = map[string]*yaml.Node{}
		}
		r.at[text] = n
		want, ok = "a name of lower-case letters, digits and -", ok || spec.CheckName(text) == nil
	case "digest":
		_, err := artifact.ParseLocation("oci://a/b@" + text)
		want, ok = "sha256: and 64 digits of 0-9a-f", ok || err == nil && strings.HasPrefix(text, "sha256:")
	case "tag":
		want, ok = "a tag", ok || artifact.CheckTags([]string{text}) == nil
	case "engine":
		want, ok = "flux, argocd or transform", ok || slices.Contains(Engines(), text)
	default:
		whole := text
		if is == "folder" {
			whole += "/a"
		}
		at, err := artifact.ParseLocation(whole)
		want, ok = forms[is].want, ok || err == nil && strings.HasPrefix(text, "oci://") && forms[is].ok(at)
	}
	switch {
	case ok:
	case strings.Contains(text, "@") && !strings.Contains(text, "@sha256:"):
		r.Fail(n, "%s: expected %s, without credentials", name, want) // They are not repeated.
	default:
		r.Fail(n, "%s is %q: expected %s", name, text, want)
	}
	return text
}
