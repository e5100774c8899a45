// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/object"
	"k8s.io/apimachinery/pkg/util/validation"
)

// definition is what checking needs of a CustomResourceDefinition.
type definition struct {
	Group string `json:"group"`
	Names struct {
		Kind string `json:"kind"`
	} `json:"names"`
	Scope    string               `json:"scope"`
	Versions []*definitionVersion `json:"versions"`

	digest  [sha256.Size]byte
	builtIn bool
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
}

func (d *definition) key() string { return d.Group + "/" + d.Names.Kind }

// version is the version called name, nil where there is none.
func (d *definition) version(name string) *definitionVersion {
	for _, v := range d.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// served is the names of the versions that a server serves.
func (d *definition) served() (names []string) {
	for _, v := range d.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// isDefinition reports whether o defines a kind.
func isDefinition(o object.Object) bool {
	return o.Kind() == "CustomResourceDefinition" && o.Group() == "apiextensions.k8s.io"
}

// readDefinition reads a CustomResourceDefinition from JSON.
func readDefinition(content []byte) (*definition, error) {
	var file struct {
		Spec definition `json:"spec"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	d := &file.Spec
	d.digest = sha256.Sum256(content)
	return d, nil
}

// definitionOf reads a CustomResourceDefinition that is an object; problem
// says why it cannot be used.
func definitionOf(o object.Object) (d *definition, problem string) {
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
	case !isDefinition(o):
		return nil, "is a " + o.Kind() + ", not a CustomResourceDefinition"
	case o.Version() != "v1":
		return nil, "has the apiVersion " + quote(o.APIVersion()) + ", expected \"apiextensions.k8s.io/v1\""
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

// definition judges a CustomResourceDefinition beyond its own schema: names,
// versions, and whether the schemas are structural. What the API server checks
// and this does not is the estimated cost of CEL rules.
func (c *Checker) definition(a *at) {
	spec := a.field("spec")
	definitionNames(a, spec)
	versions := spec.field("versions")
	if versions.has() && versions.size() == 0 {
		versions.fail(RuleRequired, "needs at least one version")
	}
	stored := 0
	for _, v := range versions.items() {
		if v.field("storage").truth() {
			stored++
		}
		if !v.in("schema", "openAPIV3Schema").has() {
			v.in("schema", "openAPIV3Schema").fail(RuleRequired, "is required")
		}
		definitionVersionName(v.field("name"))
	}
	if versions.size() > 0 && stored != 1 {
		versions.fail(RuleDefinition, "exactly one version must have storage: true, found %d", stored)
	}
	if spec.field("preserveUnknownFields").truth() {
		spec.field("preserveUnknownFields").fail(RuleDefinition, "must be false").Hint =
			"use x-kubernetes-preserve-unknown-fields in the schema"
	}
	c.definitionSchemas(a)
}

func definitionNames(a, spec *at) {
	group, plural := spec.field("group"), spec.in("names", "plural")
	if want := plural.text() + "." + group.text(); a.in("metadata", "name").text() != want {
		a.in("metadata", "name").fail(RuleDefinition, "expected %q, the plural with the group, found %s", want, a.in("metadata", "name").show())
	}
	subdomain(group)
	if t := group.text(); t != "" && !strings.Contains(t, ".") {
		group.fail(RuleName, "expected a domain name such as \"example.com\", found %s", group.show())
	}
	approved := a.in("metadata", "annotations", "api-approved.kubernetes.io")
	if t := group.text(); (strings.HasSuffix(t, ".k8s.io") || strings.HasSuffix(t, ".kubernetes.io")) && approved.text() == "" {
		approved.fail(RuleDefinition, "is required because the group belongs to Kubernetes: %s", group.show())
	}
	for _, n := range [...]*at{plural, spec.in("names", "singular")} {
		if t := n.text(); t != "" && len(validation.IsDNS1035Label(t)) > 0 {
			n.fail(RuleName, "expected lower-case letters, digits and \"-\" that begin with a letter, found %s", n.show())
		}
	}
	for _, n := range [...]*at{spec.in("names", "kind"), spec.in("names", "listKind")} {
		if t := n.text(); t != "" && len(validation.IsDNS1035Label(strings.ToLower(t))) > 0 {
			n.fail(RuleName, "expected letters, digits and \"-\" (at most 63) that begin with a letter, found %s", n.show())
		}
	}
	if s := spec.field("scope"); s.text() != "" && s.text() != "Namespaced" && s.text() != "Cluster" {
		s.fail(RuleEnum, "expected \"Namespaced\" or \"Cluster\", found %s", s.show())
	}
}

func definitionVersionName(a *at) {
	if t := a.text(); t != "" && len(validation.IsDNS1035Label(t)) > 0 {
		a.fail(RuleName, "expected a version such as \"v1alpha1\", found %s", a.show())
	}
}

// definitionSchemas compiles the schemas with all their rules.
func (c *Checker) definitionSchemas(a *at) {
	d, problem := definitionOf(a.w.root)
	if problem != "" {
		return
	}
	items := a.in("spec", "versions").items()
	for i, v := range d.Versions {
		if i >= len(items) {
			return
		}
		place := items[i].in("schema", "openAPIV3Schema")
		if len(v.Schema.OpenAPIV3Schema) == 0 || !place.has() {
			continue
		}
		compiled, err := c.schemas.compile(d, v)
		if err == nil {
			err = compiled.problems()
		}
		var problems field.ErrorList
		var many compileErrors
		if errors.As(err, &many) {
			problems = field.ErrorList(many)
		} else if err != nil {
			place.fail(RuleDefinition, "%s", err)
		}
		for _, p := range problems {
			path, _ := locate(place.v, strings.TrimPrefix(p.Field, "."))
			f := place.fail(RuleDefinition, "%s", structuralProblem(p))
			f.Path = f.Path.Append(path...)
		}
	}
}

// structuralProblem words a mistake in a schema.
func structuralProblem(p *field.Error) string {
	detail := strings.TrimSuffix(oneLine(p.Detail), ".")
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
		return "expected " + list(supported(p.Detail)) + ", found " + describe(p.BadValue, false)
	case detail == "":
		return "is not allowed here"
	}
	return detail
}

// supported reads the values out of: supported values: "a", "b".
func supported(detail string) []string {
	_, text, _ := strings.Cut(detail, "supported values: ")
	var out []string
	for text != "" {
		text = strings.TrimLeft(text, ", ")
		quoted := strings.HasPrefix(text, "\"")
		if !quoted {
			break
		}
		value, rest, ok := strings.Cut(text[1:], "\"")
		if !ok {
			break
		}
		out, text = append(out, value), rest
	}
	return out
}
