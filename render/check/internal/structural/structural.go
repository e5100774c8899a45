// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

// Structural is a schema of the spine: it says of what type a value and its
// parts are. What else has to hold of the value is in ValueValidation.
type Structural struct {
	Items                *Structural
	Properties           map[string]Structural
	AdditionalProperties *StructuralOrBool

	Generic
	Extensions
	ValidationExtensions

	ValueValidation *ValueValidation
}

// StructuralOrBool is the schema of members that have none of their own, or
// whether there may be such members.
type StructuralOrBool struct {
	Structural *Structural
	Bool       bool
}

// Generic is what a schema says of a value besides its validation. Type is "",
// object, array, number, integer, boolean or string.
type Generic struct {
	Description  string
	Type         string
	Title        string
	Default      JSON
	Nullable     bool
	ExternalDocs *ExternalDocumentation
	Example      JSON
}

// ExternalDocumentation is where more is written on a value.
type ExternalDocumentation struct {
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
}

// Extensions is the members x-kubernetes-… that describe a value.
type Extensions struct {
	XPreserveUnknownFields bool
	XEmbeddedResource      bool
	XIntOrString           bool
	XListMapKeys           []string
	XListType              *string // atomic, set or map
	XMapType               *string // atomic or granular
}

// ValidationExtensions is x-kubernetes-validations.
type ValidationExtensions struct {
	XValidations []ValidationRule
}

// ValidationRule is a CEL rule.
type ValidationRule struct {
	Rule              string  `json:"rule"`
	Message           string  `json:"message,omitempty"`
	MessageExpression string  `json:"messageExpression,omitempty"`
	Reason            *Reason `json:"reason,omitempty"`
	FieldPath         string  `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool   `json:"optionalOldSelf,omitempty"`
}

// Reason is of which kind the error of a broken rule is.
type Reason string

// The reasons that a rule may give.
const (
	FieldValueRequired  Reason = "FieldValueRequired"
	FieldValueDuplicate Reason = "FieldValueDuplicate"
	FieldValueInvalid   Reason = "FieldValueInvalid"
	FieldValueForbidden Reason = "FieldValueForbidden"
)

// ValueValidation is what has to hold of a value of the right type.
type ValueValidation struct {
	Format           string
	Maximum          *float64
	ExclusiveMaximum bool
	Minimum          *float64
	ExclusiveMinimum bool
	MaxLength        *int64
	MinLength        *int64
	Pattern          string
	MaxItems         *int64
	MinItems         *int64
	UniqueItems      bool
	MultipleOf       *float64
	Enum             []JSON
	MaxProperties    *int64
	MinProperties    *int64
	Required         []string
	AllOf            []NestedValueValidation
	OneOf            []NestedValueValidation
	AnyOf            []NestedValueValidation
	Not              *NestedValueValidation
}

// NestedValueValidation is a schema below allOf, anyOf, oneOf or not. It must not
// say anything of types: ForbiddenGenerics and ForbiddenExtensions keep what one
// says nevertheless, for [Faults].
type NestedValueValidation struct {
	ValueValidation
	ValidationExtensions

	Items                *NestedValueValidation
	Properties           map[string]NestedValueValidation
	AdditionalProperties *NestedValueValidation

	ForbiddenGenerics   Generic
	ForbiddenExtensions Extensions
}

// JSON is a value as JSON decodes to it: nil, bool, int64, float64, string, []any
// or map[string]any. Nil stands for no value, too.
type JSON struct {
	Object any
}
