// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// Check judges an object of a kind by its schema and its rules.
func (c *Components) Check(a *finding.Value, k Kind) { c.check(a, &schema{Ref: k.component}) }

// ObjectMeta judges metadata by its schema.
func (c *Components) ObjectMeta(a *finding.Value) { c.check(a, &schema{Ref: "meta.v1.ObjectMeta"}) }

// EmbeddedMeta judges the metadata of a resource that is a part of another resource.
func (c *Components) EmbeddedMeta(a *finding.Value) {
	c.ObjectMeta(a)
	checkPathSegment(a.Field("name"))
	checkLabel(a.Field("namespace"))
	checkTemplateMeta(a)
}

// check checks a against s. Null is the same as nothing, as in the decoder of an API server.
func (c *Components) check(a *finding.Value, s *schema) {
	if a.Raw == nil {
		return
	}

	// A reference to a component replaces the schema; the bounds of the member itself hold too.
	s.constrain(a)
	enum := s.Enum
	if s.Ref != "" {
		s = c.get(s.Ref)
	}
	if checkSpecial(a, s) {
		return
	}

	// Each type has checks of its own.
	switch s.Type {
	case "object":
		c.checkObject(a, s)
	case "array":
		c.checkArray(a, s)
	case "string":
		c.checkText(a, s, enum)
	case "integer":
		c.checkInteger(a, s)
	case "number":
		switch a.Raw.(type) {
		case int64, float64:
		default:
			a.Mistyped(s.Type)
		}
	case "boolean":
		if _, ok := a.Raw.(bool); !ok {
			a.Mistyped(s.Type)
		}
	}
}

// checkSpecial checks the components whose form in JSON differs from their schema. It reports whether
// s is such a component.
func checkSpecial(a *finding.Value, s *schema) bool {
	switch s.name {
	case "":
		return false
	case "apimachinery.pkg.api.resource.Quantity":
		checkQuantity(a)
	case "apimachinery.pkg.util.intstr.IntOrString":
		switch a.Raw.(type) {
		case int64:
			checkInt32(a)
		case string:
		default:
			a.WrongType("an integer or a string")
		}
	case "meta.v1.Time", "meta.v1.MicroTime":
		t, ok := a.Raw.(string)
		if !ok {
			a.WrongType("a time such as \"2026-01-31T12:00:00Z\"")
			return true
		}
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			a.Fail(finding.RuleFormat, "expected a time such as \"2026-01-31T12:00:00Z\", found %s", a.Show())
		}
	case "apimachinery.pkg.runtime.RawExtension", "meta.v1.FieldsV1":
		if _, ok := a.Raw.(map[string]any); !ok {
			a.WrongType("a map")
		}
	default:
		return false
	}
	return true
}

// checkQuantity checks an amount such as 500m or 1Gi.
func checkQuantity(a *finding.Value) {
	switch v := a.Raw.(type) {
	case int64, float64:
		return
	case string:
		if _, err := resource.ParseQuantity(v); err == nil {
			return
		}
		f := a.Fail(finding.RuleFormat, "expected a quantity such as \"500m\" or \"1Gi\", found %s", a.Show())
		if fixed := quantitySlip(v); fixed != "" && !a.Secret() {
			f.Hint = "write " + strconv.Quote(fixed)
		}
	default:
		a.WrongType("a quantity such as \"500m\" or \"1Gi\"")
	}
}

// quantitySlip corrects the usual slips: spaces, GB for G, gi for Gi.
func quantitySlip(v string) string {
	digits := strings.TrimRight(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSpace(v[len(digits):])
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "b")
	for _, known := range []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "k", "M", "G", "T", "P", "E", "m"} {
		if strings.EqualFold(unit, known) {
			if _, err := resource.ParseQuantity(digits + known); err == nil {
				return digits + known
			}
		}
	}
	return ""
}

// checkObject checks the members of a map.
func (c *Components) checkObject(a *finding.Value, s *schema) {
	m, ok := a.Raw.(map[string]any)
	if !ok {
		a.WrongType("a map")
		return
	}

	// A map with free names has one schema for all values.
	if s.Properties == nil {
		if s.Values != nil {
			for _, name := range object.SortedKeys(m) {
				c.check(a.Field(name), s.Values)
			}
		}
		if s.Values == nil && s.name != "" {
			for _, name := range object.SortedKeys(m) {
				c.reportUnknown(a, name, s)
			}
		}
		c.applyRule(a, s)
		return
	}

	// Unknown names are reported after the known members are judged.
	var unknown []string
	for _, name := range object.SortedKeys(m) {
		if p, ok := s.Properties[name]; ok {
			member := a.Field(name)
			reportSince(member, s.name+"."+name)
			c.check(member, p)
		} else {
			unknown = append(unknown, name)
		}
	}
	for _, name := range unknown {
		c.reportUnknown(a, name, s)
	}

	// What is missing, and what the schema cannot say, comes last.
	c.reportAbsent(a, s, m)
	c.applyRule(a, s)
}

// reportSince reports a member, and values of it, that a later version of Kubernetes brought: the
// server of the version refuses it, or drops it without a word.
func reportSince(a *finding.Value, name string) {
	target := a.Report.Minor
	if target == 0 || a.Raw == nil {
		return
	}
	if minor := schemas.Since(name); minor > target {
		a.Fail(finding.RuleUnknownField, "is not in Kubernetes 1.%d: it came with 1.%d", target, minor).Hint = sinceHint
		return
	}
	for _, item := range append(a.Items(), a) {
		if text, ok := item.Raw.(string); ok && !a.Secret() {
			if minor := schemas.Since(name + "=" + text); minor > target {
				item.Fail(finding.RuleEnum, "%s is not in Kubernetes 1.%d: it came with 1.%d", item.Show(), target, minor).Hint = sinceHint
			}
		}
	}
}

const sinceHint = "leave it out for clusters of that version"

// reportAbsent reports which members are missing: members that the schema requires, and
// members that the server adds empty where they are absent and then refuses.
func (c *Components) reportAbsent(a *finding.Value, s *schema, m map[string]any) {
	for _, name := range s.structs {
		if m[name] == nil && !c.emptyIsFine(s.Properties[name]) {
			a.Missing(name)
		}
	}
	for _, name := range s.Required {
		if p := s.Properties[name]; p != nil && p.Struct {
			continue
		}
		switch v := m[name].(type) {
		case nil:
			a.Missing(name)
		case string:
			if v == "" {
				a.Field(name).Fail(finding.RuleRequired, "must not be empty")
			}
		case []any:
			if len(v) == 0 {
				a.Field(name).Fail(finding.RuleRequired, "must not be empty")
			}
		}
	}
}

// emptyIsFine reports whether an empty object of the component that s refers
// to is good.
func (c *Components) emptyIsFine(s *schema) bool {
	verdicts := &c.empty
	if fine, ok := verdicts.Load(s.Ref); ok {
		return fine.(bool)
	}
	probe := &finding.Report{Root: object.Object{}}
	c.check(finding.NewValue(probe).Field("").WithRaw(map[string]any{}), &schema{Ref: s.Ref})
	fine := !slices.ContainsFunc(probe.Findings, func(f finding.Finding) bool { return f.Severity == object.SeverityError })
	verdicts.Store(s.Ref, fine)
	return fine
}

// applyRule runs the rule of the component, if it has a rule.
func (c *Components) applyRule(a *finding.Value, s *schema) {
	if s.rule != nil {
		s.rule(a)
	}
}

// reportUnknown reports a field that does not exist, and which one was probably meant.
func (c *Components) reportUnknown(a *finding.Value, name string, s *schema) {
	f := a.Field(name).Fail(finding.RuleUnknownField, "is not a known field")
	knownFields := make([]string, 0, len(s.Properties))
	for _, n := range object.SortedKeys(s.Properties) {
		if _, taken := a.Raw.(map[string]any)[n]; !taken {
			knownFields = append(knownFields, n)
		}
	}
	f.Hint = object.DidYouMean(name, knownFields)
	if f.Hint == "" && len(knownFields) > 0 && len(knownFields) <= 8 {
		f.Hint = "known fields: " + strings.Join(object.SortedKeys(s.Properties), ", ")
	}
}

// checkArray checks the items of a list.
func (c *Components) checkArray(a *finding.Value, s *schema) {
	if _, ok := a.Raw.([]any); !ok {
		a.WrongType("a list")
		return
	}
	items := a.Items()
	for _, item := range items {
		if item.Raw == nil && s.Items != nil {
			// A null item decodes to an empty item, which lacks what is required.
			item.Raw = emptyItem(c, s.Items)
		}
		c.check(item, s.Items)
	}
	switch {
	case s.List == "map" && len(items) > 1:
		checkUniqueKeys(items, s.Keys)
	case s.List == "set" && len(items) > 1:
		checkUnique(items, finding.RuleListType, "is in the list already, as item %d")
	}
}

// emptyItem returns what null in a list decodes to.
func emptyItem(c *Components, s *schema) any {
	if s.Ref != "" {
		s = c.get(s.Ref)
	}
	switch s.Type {
	case "object":
		return map[string]any{}
	case "string":
		return ""
	case "integer":
		return int64(0)
	}
	return nil
}

// checkUniqueKeys reports which items of a list share their keys: a server-side apply
// cannot tell them apart.
func checkUniqueKeys(items []*finding.Value, keys []string) {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		var id []any
		complete := true
		for _, k := range keys {
			v := item.Field(k)
			// The defaults of keys: protocol is TCP, an address has no default.
			if (v.Raw == nil || v.Raw == "") && k == "protocol" {
				v.Raw = "TCP"
			}
			complete = complete && v.Raw != nil
			id = append(id, v.Raw)
		}
		first, dup := seen[identity(id)]
		switch {
		case !dup:
			seen[identity(id)] = i
		case complete:
			item.Fail(finding.RuleListType, "has the same %s as item %d of the list", strings.Join(keys, " and "), first)
		}
	}
}

// checkUnique reports which items are in a list twice.
func checkUnique(items []*finding.Value, rule, format string) {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		id := identity(item.Raw)
		if first, dup := seen[id]; dup {
			item.Fail(rule, format, first)
		} else {
			seen[id] = i
		}
	}
}

// identity returns a text that two values have in common only if they are equal.
func identity(v any) string {
	text, _ := json.Marshal(v) // Values of objects always encode.
	return string(text)
}

// checkText checks a string.
func (c *Components) checkText(a *finding.Value, s *schema, enum []string) {
	t, ok := a.Raw.(string)
	if !ok {
		a.Mistyped(s.Type)
		return
	}
	if s.Format == "byte" {
		if _, err := base64.StdEncoding.DecodeString(t); err != nil {
			a.Fail(finding.RuleFormat, "is not base64").Hint = "encode the value, or use stringData where the kind has it"
		}
	}
	given := t != "" || a.Step.IsIndex
	if given && len(enum) > 0 && !slices.Contains(enum, t) {
		f := a.Fail(finding.RuleEnum, "expected %s, found %s", finding.OneOf(enum), a.Show())
		if !a.Secret() {
			f.Hint = object.DidYouMean(t, enum)
		}
	}
}

// checkInteger checks a whole number.
func (c *Components) checkInteger(a *finding.Value, s *schema) {
	if _, ok := a.Int(); !ok {
		a.Mistyped(s.Type)
		return
	}
	if s.Format == "int32" {
		checkInt32(a)
	}
}

// checkInt32 requires an integer of 32 bits.
func checkInt32(a *finding.Value) {
	if i, _ := a.Int(); i > math.MaxInt32 || i < math.MinInt32 {
		a.Fail(finding.RuleRange, "expected a number that fits into 32 bits, found %s", a.Show())
	}
}
