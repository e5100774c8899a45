// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"k8s.io/apimachinery/pkg/util/validation"
)

// embeds reports whether a value of s can hold resources
// (x-kubernetes-embedded-resource).
func embeds(s *structural.Structural) bool {
	if s == nil {
		return false
	}
	if s.XEmbeddedResource || embeds(s.Items) || s.AdditionalProperties != nil && embeds(s.AdditionalProperties.Structural) {
		return true
	}
	for name := range s.Properties {
		p := s.Properties[name]
		if embeds(&p) {
			return true
		}
	}
	return false
}

// embedded wants the resources that a value holds to say what they are, and
// their metadata to have the form that it has everywhere.
func embedded(a *at, s *structural.Structural) {
	if s == nil || !isMap(a.v) {
		return
	}
	if s.XEmbeddedResource {
		identity(a)
	}
	for _, item := range a.items() {
		embedded(item, s.Items)
	}
	for _, name := range a.names() {
		if p, ok := s.Properties[name]; ok {
			embedded(a.field(name), &p)
		} else if s.AdditionalProperties != nil {
			embedded(a.field(name), s.AdditionalProperties.Structural)
		}
	}
}

// identity judges apiVersion, kind and metadata of a resource in another one.
func identity(a *at) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		part := a.field(name)
		text, isText := part.v.(string)
		switch {
		case part.v == nil || isText && text == "":
			a.missing(name)
		case !isText:
			wrongType(part, "a string")
		case name == "apiVersion" && strings.Count(text, "/") > 1:
			part.fail(RuleFormat, "expected a version such as \"v1\" or \"example.com/v1\", found %s", part.show())
		case name == "kind" && len(validation.IsDNS1035Label(strings.ToLower(text))) > 0:
			part.fail(RuleName, "expected letters, digits and \"-\" (at most 63) that begin with a letter, found %s", part.show())
		}
	}
	meta := a.field("metadata")
	a.w.value(meta, &schema{Ref: "meta.v1.ObjectMeta"})
	pathSegment(meta.field("name"))
	label(meta.field("namespace"))
	templateMeta(meta)
}
