// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// checkEmbedded checks the resources that a value holds. Each must have its apiVersion and kind,
// and metadata of the usual form.
func (s *Schemas) checkEmbedded(a *finding.Value, part *structural.Structural) {
	if part == nil {
		return
	}
	if _, isMap := a.Raw.(map[string]any); isMap && part.XEmbeddedResource {
		checkIdentity(a)
		s.Components.EmbeddedMeta(a.Field("metadata"))
	}
	for _, item := range a.Items() {
		s.checkEmbedded(item, part.Items)
	}
	for _, name := range a.Names() {
		if p, ok := part.Properties[name]; ok {
			s.checkEmbedded(a.Field(name), &p)
		} else if part.AdditionalProperties != nil {
			s.checkEmbedded(a.Field(name), part.AdditionalProperties.Structural)
		}
	}
}

// checkIdentity judges apiVersion and kind of a resource that is a part of another resource.
func checkIdentity(a *finding.Value) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		part := a.Field(name)
		text, isText := part.Raw.(string)
		switch {
		case part.Raw == nil || part.Raw == "":
			a.Missing(name)
		case !isText:
			part.WrongType("a string")
		case name == "apiVersion" && strings.Count(text, "/") > 1:
			part.Fail(finding.RuleFormat, "expected a version such as \"v1\" or \"example.com/v1\", found %s", part.Show())
		case name == "kind" && len(validation.IsDNS1035Label(strings.ToLower(text))) > 0:
			part.Fail(finding.RuleName, "expected letters, digits and \"-\" (at most 63) that begin with a letter, found %s", part.Show())
		}
	}
}
