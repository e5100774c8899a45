// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/object"
)

// Definition is the part of a CustomResourceDefinition that checking needs.
type Definition struct {
	Group string `json:"group"`
	Names struct {
		Kind string `json:"kind"`
	} `json:"names"`
	Scope    string               `json:"scope"`
	Versions []*definitionVersion `json:"versions"`

	digest [sha256.Size]byte
}

// definitionVersion is one version; its schema stays text until an object of
// the version comes.
type definitionVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	Schema  struct {
		OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status *struct{} `json:"status"`
	} `json:"subresources"`
}

// Key returns the group and the kind: group/Kind.
func (d *Definition) Key() string { return d.Group + "/" + d.Names.Kind }

// ServesStatus reports whether the status of a version is a subresource.
func (d *Definition) ServesStatus(version string) bool {
	v := d.version(version)
	return v != nil && v.Subresources.Status != nil
}

// version returns the version called name, or nil if the definition lacks it.
func (d *Definition) version(name string) *definitionVersion {
	for _, v := range d.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// served returns the names of the versions that a server serves.
func (d *Definition) served() (names []string) {
	for _, v := range d.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// IsDefinition reports whether o defines a kind.
func IsDefinition(o object.Object) bool {
	return o.Kind() == "CustomResourceDefinition" && o.Group() == "apiextensions.k8s.io"
}

// readDefinition reads a CustomResourceDefinition from JSON.
func readDefinition(content []byte) (*Definition, error) {
	var file struct {
		Spec Definition `json:"spec"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	d := &file.Spec
	d.digest = sha256.Sum256(content)
	return d, nil
}

// Read reads a CustomResourceDefinition that is an object; problem
// says why it cannot be used.
func Read(o object.Object) (d *Definition, problem string) {
	content, err := json.Marshal(map[string]any(o))
	if err == nil {
		d, err = readDefinition(content)
	}
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return nil, fmt.Sprintf("has a %s where %s should be", mistyped.Value, mistyped.Field)
	case err != nil:
		return nil, "is not JSON"
	case !IsDefinition(o):
		return nil, "is a " + o.Kind() + ", not a CustomResourceDefinition"
	case o.Version() != "v1":
		return nil, "has the apiVersion " + finding.Quote(o.APIVersion()) + ", expected \"apiextensions.k8s.io/v1\""
	case d.Group == "" || d.Names.Kind == "" || len(d.Versions) == 0:
		return nil, "lacks spec.group, spec.names.kind or spec.versions"
	}
	for _, v := range d.Versions {
		if v == nil {
			return nil, "has an empty version"
		}
	}
	return d, ""
}

// CheckDefinition judges a CustomResourceDefinition beyond its own schema: names,
// versions, and whether the schemas are structural. What the API server checks
// and this does not is the estimated cost of CEL rules.
func (s *Schemas) CheckDefinition(ctx context.Context, a *finding.Value) {
	spec := a.Field("spec")
	checkNames(a, spec)
	versions := spec.Field("versions")
	if versions.Has() && versions.Size() == 0 {
		versions.Fail(finding.RuleRequired, "needs at least one version")
	}
	stored := 0
	for _, v := range versions.Items() {
		if v.Field("storage").Bool() {
			stored++
		}
		if !v.In("schema", "openAPIV3Schema").Has() {
			v.In("schema", "openAPIV3Schema").Fail(finding.RuleRequired, "is required")
		}
		checkVersionName(v.Field("name"))
	}
	if versions.Size() > 0 && stored != 1 {
		versions.Fail(finding.RuleDefinition, "exactly one version must have storage: true, found %d", stored)
	}
	if spec.Field("preserveUnknownFields").Bool() {
		spec.Field("preserveUnknownFields").Fail(finding.RuleDefinition, "must be false").Hint =
			"use x-kubernetes-preserve-unknown-fields in the schema"
	}
	s.checkSchemas(ctx, a)
}

func checkNames(a, spec *finding.Value) {
	group, plural := spec.Field("group"), spec.In("names", "plural")
	name := a.In("metadata", "name")
	if want := plural.Text() + "." + group.Text(); name.Text() != want {
		name.Fail(finding.RuleDefinition, "expected %q, which is spec.names.plural and spec.group, found %s", want, name.Show())
	}
	kubernetes.Subdomain(group)
	if t := group.Text(); t != "" && !strings.Contains(t, ".") {
		group.Fail(finding.RuleName, "expected a domain name such as \"example.com\", found %s", group.Show())
	}
	approved := a.In("metadata", "annotations", "api-approved.kubernetes.io")
	if t := group.Text(); (strings.HasSuffix(t, ".k8s.io") || strings.HasSuffix(t, ".kubernetes.io")) && approved.Text() == "" {
		approved.Fail(finding.RuleDefinition, "is required because the group belongs to Kubernetes: %s", group.Show())
	}
	for _, n := range [...]*finding.Value{plural, spec.In("names", "singular")} {
		if t := n.Text(); t != "" && len(validation.IsDNS1035Label(t)) > 0 {
			n.Fail(finding.RuleName, "expected lower-case letters, digits and \"-\" that begin with a letter, found %s", n.Show())
		}
	}
	for _, n := range [...]*finding.Value{spec.In("names", "kind"), spec.In("names", "listKind")} {
		if t := n.Text(); t != "" && len(validation.IsDNS1035Label(strings.ToLower(t))) > 0 {
			n.Fail(finding.RuleName, "expected letters, digits and \"-\" (at most 63) that begin with a letter, found %s", n.Show())
		}
	}
}

func checkVersionName(a *finding.Value) {
	if t := a.Text(); t != "" && len(validation.IsDNS1035Label(t)) > 0 {
		a.Fail(finding.RuleName, "expected a version such as \"v1alpha1\", found %s", a.Show())
	}
}

// checkSchemas compiles the schemas with all their rules.
func (s *Schemas) checkSchemas(ctx context.Context, a *finding.Value) {
	d, problem := Read(a.Root())
	if problem != "" {
		return
	}

	// Versions and items have the same order.
	items := a.In("spec", "versions").Items()
	for i, v := range d.Versions {
		if i >= len(items) {
			return
		}
		schema := items[i].In("schema", "openAPIV3Schema")
		if len(v.Schema.OpenAPIV3Schema) == 0 || !schema.Has() {
			continue
		}
		compiled, err := s.compile(d, v)
		if err == nil {
			err = compiled.problems(ctx)
		}

		// Each problem is reported at its own part of the schema.
		var problems field.ErrorList
		var many compileErrors
		if errors.As(err, &many) {
			problems = field.ErrorList(many)
		} else if err != nil {
			schema.Fail(finding.RuleDefinition, "%s", err)
		}
		for _, p := range problems {
			path, _ := locate(schema.Raw, strings.TrimPrefix(p.Field, "."))
			schema.FailAt(schema.Path().Append(path...), finding.RuleDefinition, structuralProblem(p))
		}
	}
}

// structuralProblem returns a mistake in a schema in words.
func structuralProblem(p *field.Error) string {
	detail := strings.TrimSuffix(printable.OneLine(p.Detail), ".")
	if _, rest, ok := strings.Cut(detail, "in body "); ok {
		detail = rest // kube-openapi repeats the path
	}
	if p.Type == field.ErrorTypeTypeInvalid {
		detail, _, _ = strings.Cut(detail, ": ")
	}
	switch {
	case p.Type == field.ErrorTypeRequired && detail == "":
		return "is required"
	case p.Type == field.ErrorTypeRequired:
		return "is required: " + detail
	case p.Type == field.ErrorTypeForbidden:
		return "is not allowed: " + detail
	case p.Type == field.ErrorTypeNotSupported:
		return "expected " + finding.OneOf(supported(p.Detail)) + ", found " + finding.Describe(p.BadValue, false)
	case detail == "":
		return "is not allowed here"
	}
	return detail
}

// supported reads the values out of: supported values: "a", "b".
func supported(detail string) []string {
	_, text, _ := strings.Cut(detail, "supported values: ")
	var values []string
	for text != "" {
		text = strings.TrimLeft(text, ", ")
		quoted := strings.HasPrefix(text, "\"")
		if !quoted {
			break
		}
		value, after, ok := strings.Cut(text[1:], "\"")
		if !ok {
			break
		}
		values = append(values, value)
		text = after
	}
	return values
}
