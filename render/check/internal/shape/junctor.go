// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/render/check/internal/structural"
)

// junctors judges v by anyOf, oneOf, allOf and not.
func (j *judge) junctors(v any, s view) (r result) {
	r.matches++
	if s.values == nil {
		return r
	}
	if len(s.values.AnyOf) > 0 {
		r.merge(j.any(v, s.values.AnyOf))
	}
	if len(s.values.OneOf) > 0 {
		r.merge(j.one(v, s.values.OneOf))
	}
	if len(s.values.AllOf) > 0 {
		r.merge(j.all(v, s.values.AllOf))
	}
	if s.values.Not != nil {
		if sub := j.value(v, nestedView(s.values.Not, j.raw)); sub.ok() {
			r.add(j.composite("must not validate the schema (not)"))
		}
	}
	return r
}

// composite is a mistake about alternatives.
func (j *judge) composite(detail string) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, Field: j.at(), BadValue: "", Detail: detail}
}

// any wants at least one alternative to fit. Where none does, the mistakes of
// the nearest are reported too.
func (j *judge) any(v any, choices []structural.NestedValueValidation) (r result) {
	var best result
	for i := range choices {
		sub := j.value(v, nestedView(&choices[i], j.raw))
		if sub.ok() {
			return sub
		}
		if i == 0 || sub.matches > best.matches {
			best = sub
		}
	}
	r.add(j.composite("must validate at least one schema (anyOf)"))
	r.merge(best)
	return r
}

// one wants exactly one alternative to fit.
func (j *judge) one(v any, choices []structural.NestedValueValidation) (r result) {
	var best, fit result
	fits := 0
	for i := range choices {
		sub := j.value(v, nestedView(&choices[i], j.raw))
		switch {
		case sub.ok():
			if fits == 0 {
				fit = sub
			}
			fits++
		case i == 0 || sub.matches > best.matches:
			best = sub
		}
	}
	switch fits {
	case 1:
		return fit
	case 0:
		r.add(j.composite("must validate one and only one schema (oneOf). Found none valid"))
		r.merge(best)
	default:
		r.add(j.composite(fmt.Sprintf("must validate one and only one schema (oneOf). Found %d valid alternatives", fits)))
	}
	return r
}

// all wants every part to fit.
func (j *judge) all(v any, parts []structural.NestedValueValidation) (r result) {
	fits := 0
	for i := range parts {
		sub := j.value(v, nestedView(&parts[i], j.raw))
		if sub.ok() {
			fits++
		}
		r.merge(sub)
	}
	switch fits {
	case len(parts):
	case 0:
		r.add(j.composite("must validate all the schemas (allOf). None validated"))
	default:
		r.add(j.composite("must validate all the schemas (allOf)"))
	}
	return r
}
