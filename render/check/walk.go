// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

// value checks what stands at a against s. Null is what is not there, as in
// the decoder of an API server.
func (w *walk) value(a *at, s *schema) {
	enum := s.Enum
	if s.Ref != "" {
		s = w.schemas.components.get(s.Ref)
	}
	if a.v == nil {
		return
	}
	if special(a, s) {
		return
	}
	switch s.Type {
	case "object":
		w.object(a, s)
	case "array":
		w.array(a, s)
	case "string":
		w.text(a, s, enum)
	case "integer":
		w.integer(a, s)
	case "number":
		switch a.v.(type) {
		case int64, float64:
		default:
			wrongType(a, "a number")
		}
	case "boolean":
		if _, ok := a.v.(bool); !ok {
			f := wrongType(a, "true or false")
			if t := a.text(); !w.secret && (t == "true" || t == "false") {
				f.Hint = "write it without quotes"
			}
		}
	}
}

func wrongType(a *at, expected string) *Finding {
	return a.fail(RuleSchema, "expected %s, found %s", expected, typed(a.v, a.w.secret))
}

// special checks the components whose form in JSON is not that of their
// schema.
func special(a *at, s *schema) bool {
	switch s.name {
	case "":
		return false
	case "apimachinery.pkg.api.resource.Quantity":
		quantity(a)
	case "apimachinery.pkg.util.intstr.IntOrString":
		switch a.v.(type) {
		case int64:
			fits(a)
		case string:
		default:
			wrongType(a, "an integer or a string")
		}
	case "meta.v1.Time", "meta.v1.MicroTime":
		t, ok := a.v.(string)
		if !ok {
			wrongType(a, "a time such as \"2026-01-31T12:00:00Z\"")
			return true
		}
		if _, err := time.Parse(time.RFC3339, t); err != nil {
			a.fail(RuleFormat, "expected a time such as \"2026-01-31T12:00:00Z\", found %s", a.show())
		}
	case "apimachinery.pkg.runtime.RawExtension", "meta.v1.FieldsV1":
		if _, ok := a.v.(map[string]any); !ok {
			wrongType(a, "a map")
		}
	default:
		return false
	}
	return true
}

// quantity checks an amount such as 500m or 1Gi.
func quantity(a *at) {
	switch v := a.v.(type) {
	case int64, float64:
		return
	case string:
		if _, err := resource.ParseQuantity(v); err == nil {
			return
		}
		f := a.fail(RuleFormat, "expected a quantity such as \"500m\" or \"1Gi\", found %s", a.show())
		if fixed := quantitySlip(v); fixed != "" && !a.w.secret {
			f.Hint = "write " + strconv.Quote(fixed)
		}
	default:
		wrongType(a, "a quantity such as \"500m\" or \"1Gi\"")
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

// object checks the members of a map.
func (w *walk) object(a *at, s *schema) {
	m, ok := a.v.(map[string]any)
	if !ok {
		wrongType(a, "a map")
		return
	}
	if s.Properties == nil {
		if s.Values != nil {
			for _, name := range object.SortedKeys(m) {
				w.value(a.field(name), s.Values)
			}
		}
		if s.Values == nil && s.name != "" {
			for _, name := range object.SortedKeys(m) {
				w.unknown(a, name, s)
			}
		}
		w.rule(a, s)
		return
	}
	var unknown []string
	for _, name := range object.SortedKeys(m) {
		if p, ok := s.Properties[name]; ok {
			place := &at{w: w, parent: a, step: object.Field(name), v: m[name]}
			if m[name] == "" && emptyRefused(s.name, name) {
				place.fail(RuleEnum, "must not be empty").Hint = "leave it out for the default"
				continue
			}
			w.value(place, p)
		} else {
			unknown = append(unknown, name)
		}
	}
	for _, name := range unknown {
		w.unknown(a, name, s)
	}
	w.absent(a, s, m)
	w.rule(a, s)
}

// absent says which members are missing: those that the schema requires, and
// those that the server makes up where they are absent and then refuses.
func (w *walk) absent(a *at, s *schema, m map[string]any) {
	for _, name := range s.structs() {
		if m[name] == nil && !w.emptyIsFine(s.Properties[name]) {
			a.missing(name)
		}
	}
	for _, name := range s.Required {
		if p := s.Properties[name]; p != nil && p.Struct || zeroIsFine(s.name, name) {
			continue
		}
		switch v := m[name].(type) {
		case nil:
			a.missing(name)
		case string:
			if v == "" {
				a.field(name).fail(RuleRequired, "must not be empty")
			}
		case []any:
			if len(v) == 0 {
				a.field(name).fail(RuleRequired, "must not be empty")
			}
		}
	}
}

// emptyIsFine reports whether an empty object of the component that s refers
// to is good.
func (w *walk) emptyIsFine(s *schema) bool {
	known := &w.schemas.components.empty
	if fine, ok := known.Load(s.Ref); ok {
		return fine.(bool)
	}
	probe := &walk{schemas: w.schemas, root: object.Object{}}
	root := &at{w: probe, v: map[string]any{}}
	probe.value(&at{w: probe, parent: root, v: map[string]any{}}, &schema{Ref: s.Ref})
	fine := !slices.ContainsFunc(probe.findings, func(f Finding) bool { return f.Severity == object.SeverityError })
	known.Store(s.Ref, fine)
	return fine
}

func (w *walk) rule(a *at, s *schema) {
	if s.rule != nil {
		s.rule(a)
	}
}

// unknown says that a field has no meaning, and which one was probably meant.
func (w *walk) unknown(a *at, name string, s *schema) {
	f := a.field(name).fail(RuleUnknownField, "is not a known field")
	known := make([]string, 0, len(s.Properties))
	for _, n := range object.SortedKeys(s.Properties) {
		if _, taken := a.v.(map[string]any)[n]; !taken {
			known = append(known, n)
		}
	}
	if best := nearest(name, known); best != "" {
		f.Hint = "did you mean " + strconv.Quote(best) + "?"
	} else if len(known) > 0 && len(known) <= 8 {
		f.Hint = "known fields: " + strings.Join(object.SortedKeys(s.Properties), ", ")
	}
}

// array checks the items of a list.
func (w *walk) array(a *at, s *schema) {
	if _, ok := a.v.([]any); !ok {
		wrongType(a, "a list")
		return
	}
	items := a.items()
	for _, item := range items {
		if item.v == nil && s.Items != nil {
			// A null item decodes to an empty one, and that lacks what is required.
			item.v = emptyItem(w, s.Items)
		}
		w.value(item, s.Items)
	}
	switch {
	case s.List == "map" && len(items) > 1:
		uniqueKeys(items, s.Keys)
	case s.List == "set" && len(items) > 1:
		unique(items, RuleListType, "stands in the list already, as item %d")
	}
}

// emptyItem is what null in a list decodes to.
func emptyItem(w *walk, s *schema) any {
	if s.Ref != "" {
		s = w.schemas.components.get(s.Ref)
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

// uniqueKeys says which items of a list share their keys: a server-side apply
// cannot tell them apart.
func uniqueKeys(items []*at, keys []string) {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		var id strings.Builder
		complete := true
		for _, k := range keys {
			v := item.field(k)
			// The defaults of keys: protocol is TCP, an address has none.
			if (v.v == nil || v.v == "") && k == "protocol" {
				v.v = "TCP"
			}
			complete = complete && v.v != nil
			id.WriteString(describe(v.v, false) + "\x00")
		}
		first, dup := seen[id.String()]
		switch {
		case !dup:
			seen[id.String()] = i
		case complete:
			item.fail(RuleListType, "has the same %s as item %d of the list", strings.Join(keys, " and "), first)
		}
	}
}

// unique says which items stand in a list twice.
func unique(items []*at, rule, format string) {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		id := describe(item.v, false)
		if s, ok := item.v.(string); ok {
			id = s
		}
		if first, dup := seen[id]; dup {
			item.fail(rule, format, first)
		} else {
			seen[id] = i
		}
	}
}

// text checks a string.
func (w *walk) text(a *at, s *schema, enum []string) {
	t, ok := a.v.(string)
	if !ok {
		f := wrongType(a, "a string")
		switch a.v.(type) {
		case int64, float64, bool:
			if !w.secret {
				f.Hint = "quote it: " + strconv.Quote(describe(a.v, false))
			}
		}
		return
	}
	if s.Format == "byte" {
		if _, err := base64.StdEncoding.DecodeString(t); err != nil {
			a.fail(RuleFormat, "is not base64").Hint = "encode the value, or use stringData where the kind has it"
		}
	}
	if len(enum) > 0 && (t != "" || a.step.IsIndex) && !slices.Contains(enum, t) {
		f := a.fail(RuleEnum, "expected %s, found %s", list(enum), a.show())
		if best := nearest(t, enum); best != "" && !w.secret {
			f.Hint = "did you mean " + strconv.Quote(best) + "?"
		}
	}
}

// integer checks a whole number.
func (w *walk) integer(a *at, s *schema) {
	if _, ok := a.integer(); !ok {
		f := wrongType(a, "an integer")
		switch v := a.v.(type) {
		case float64:
			if v == math.Trunc(v) && math.Abs(v) < 1<<53 && !w.secret {
				f.Hint = "write " + strconv.FormatInt(int64(v), 10)
			}
		case string:
			if _, err := strconv.ParseInt(v, 10, 64); err == nil && !w.secret {
				f.Hint = "write it without quotes"
			}
		}
		return
	}
	if s.Format == "int32" {
		fits(a)
	}
}

// fits wants an integer of 32 bits.
func fits(a *at) {
	if i, _ := a.integer(); i > math.MaxInt32 || i < math.MinInt32 {
		a.fail(RuleRange, "expected a number that fits into 32 bits, found %s", a.show())
	}
}
