// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"encoding/json"
	"errors"

	literal "k8s.io/apimachinery/pkg/util/json"
)

// text is a schema as CustomResourceDefinitions write it.
type text struct {
	ID               string            `json:"id"`
	Schema           string            `json:"$schema"`
	Ref              *string           `json:"$ref"`
	Description      string            `json:"description"`
	Type             string            `json:"type"`
	Format           string            `json:"format"`
	Title            string            `json:"title"`
	Default          json.RawMessage   `json:"default"`
	Maximum          *float64          `json:"maximum"`
	ExclusiveMaximum bool              `json:"exclusiveMaximum"`
	Minimum          *float64          `json:"minimum"`
	ExclusiveMinimum bool              `json:"exclusiveMinimum"`
	MaxLength        *int64            `json:"maxLength"`
	MinLength        *int64            `json:"minLength"`
	Pattern          string            `json:"pattern"`
	MaxItems         *int64            `json:"maxItems"`
	MinItems         *int64            `json:"minItems"`
	UniqueItems      bool              `json:"uniqueItems"`
	MultipleOf       *float64          `json:"multipleOf"`
	Enum             []json.RawMessage `json:"enum"`
	MaxProperties    *int64            `json:"maxProperties"`
	MinProperties    *int64            `json:"minProperties"`
	Required         []string          `json:"required"`
	Items            *textOrList       `json:"items"`
	AllOf            []text            `json:"allOf"`
	OneOf            []text            `json:"oneOf"`
	AnyOf            []text            `json:"anyOf"`
	Not              *text             `json:"not"`

	Properties           map[string]text            `json:"properties"`
	AdditionalProperties *textOrBool                `json:"additionalProperties"`
	PatternProperties    map[string]text            `json:"patternProperties"`
	Dependencies         map[string]json.RawMessage `json:"dependencies"`
	AdditionalItems      *textOrBool                `json:"additionalItems"`
	Definitions          map[string]text            `json:"definitions"`
	ExternalDocs         *ExternalDocumentation     `json:"externalDocs"`
	Example              json.RawMessage            `json:"example"`
	Nullable             bool                       `json:"nullable"`

	XPreserveUnknownFields *bool            `json:"x-kubernetes-preserve-unknown-fields"`
	XEmbeddedResource      bool             `json:"x-kubernetes-embedded-resource"`
	XIntOrString           bool             `json:"x-kubernetes-int-or-string"`
	XListMapKeys           []string         `json:"x-kubernetes-list-map-keys"`
	XListType              *string          `json:"x-kubernetes-list-type"`
	XMapType               *string          `json:"x-kubernetes-map-type"`
	XValidations           []ValidationRule `json:"x-kubernetes-validations"`
}

// textOrList is the schema of items. A list of schemas is read so that it can be
// refused.
type textOrList struct {
	one  *text
	many []text
}

var _ json.Unmarshaler = (*textOrList)(nil)

// UnmarshalJSON reads either form; what is neither is nothing, as the server
// takes it.
func (l *textOrList) UnmarshalJSON(content []byte) error {
	*l = textOrList{}
	switch {
	case len(content) > 1 && content[0] == '{':
		l.one = &text{}
		return literal.Unmarshal(content, l.one)
	case len(content) > 1 && content[0] == '[':
		return literal.Unmarshal(content, &l.many)
	}
	return nil
}

// textOrBool is the schema of additional members, or whether there may be some.
type textOrBool struct {
	one     *text
	allowed bool
}

var _ json.Unmarshaler = (*textOrBool)(nil)

var errNeither = errors.New("boolean or JSON schema expected")

// UnmarshalJSON reads either form.
func (b *textOrBool) UnmarshalJSON(content []byte) error {
	switch {
	case len(content) > 0 && content[0] == '{':
		*b = textOrBool{one: &text{}, allowed: true}
		return literal.Unmarshal(content, b.one)
	case string(content) == "true" || string(content) == "false":
		*b = textOrBool{allowed: content[0] == 't'}
		return nil
	}
	return errNeither
}

// value reads a literal, whose integers are int64.
func value(raw json.RawMessage) (JSON, error) {
	var j JSON
	if len(raw) == 0 {
		return j, nil
	}
	err := literal.Unmarshal(raw, &j.Object)
	return j, err
}
