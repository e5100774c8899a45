// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// text judges the length of a string and its pattern; one mistake is enough.
func (j *judge) text(t string, s view) *field.Error {
	if s.values == nil {
		return nil
	}
	if most := s.values.MaxLength; most != nil && int64(utf8.RuneCountInString(t)) > *most {
		return j.placed(field.TooLong(nil, "", int(*most)))
	}
	if least := s.values.MinLength; least != nil && int64(utf8.RuneCountInString(t)) < *least {
		return j.invalid(t, "should be at least "+number(*least)+" chars long")
	}
	if pattern := s.values.Pattern; pattern != "" {
		expression, err := j.formats.Compile(pattern)
		if err != nil {
			return j.invalid(t, "should match '"+pattern+", but pattern is invalid: "+err.Error()+"'")
		}
		if !expression.MatchString(t) {
			return j.invalid(t, "should match '"+pattern+"'")
		}
	}
	return nil
}

// formatted judges a string by its format.
func (j *judge) formatted(t, format string) *field.Error {
	if !j.formats.Known(format) || j.formats.Match(format, t) {
		return nil
	}
	return &field.Error{Type: field.ErrorTypeTypeInvalid, Field: j.at(), BadValue: t, Detail: "must be of type " + format + ": " + strconv.Quote(t)}
}

// number judges an int64 or a float64 by its width, factor and bounds.
func (j *judge) number(v any, s view, format string) result {
	r := result{matches: 1}
	kind := s.types.only()
	switch kind + " " + format {
	case "integer int32", "integer int64", "number float", "number double":
	default:
		format = ""
	}
	r.add(j.fits(v, kind, format, "Checked"))
	if s.values == nil {
		return r
	}
	for _, c := range [...]struct {
		limit *float64
		name  string
		judge func(v any, limit float64) string
	}{
		{s.values.MultipleOf, "MultipleOf", multiple},
		{s.values.Maximum, "Maximum boundary", bound(false, s.values.ExclusiveMaximum)},
		{s.values.Minimum, "Minimum boundary", bound(true, s.values.ExclusiveMinimum)},
	} {
		if c.limit == nil {
			continue
		}
		found := v
		if e := j.fits(*c.limit, kind, format, c.name); e != nil {
			r.add(e)
			found = float(v)
		}
		if detail := c.judge(found, *c.limit); detail != "" {
			r.add(j.invalid(v, detail))
		}
	}
	return r
}

// fits reports a number that a type and a format cannot hold. role says which
// number it is: the value, or a limit of the schema.
func (j *judge) fits(v any, kind, format, role string) *field.Error {
	ok := true
	switch {
	case kind == "integer" && format == "int32":
		_, err := strconv.ParseInt(digits(v), 10, 32)
		ok = err == nil
	case kind == "integer":
		if _, isInt := v.(int64); !isInt {
			_, err := strconv.ParseInt(digits(v), 10, 64)
			ok = err == nil
		}
	case kind == "number" && format == "float":
		_, err := strconv.ParseFloat(digits(v), 32)
		ok = err == nil
	}
	if ok {
		return nil
	}
	if format == "" {
		return j.invalid("", role+" value must be of type "+kind+" (default format)")
	}
	return j.invalid("", role+" value must be of type "+kind+" with format "+format)
}

// digits writes a number without exponent.
func digits(v any) string {
	if i, ok := v.(int64); ok {
		return strconv.FormatInt(i, 10)
	}
	return strconv.FormatFloat(float(v), 'f', -1, 64)
}

// float is an int64 or a float64 as a float64.
func float(v any) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

// bound is the test of a bound.
func bound(below, exclusive bool) func(v any, limit float64) string {
	words := "less than"
	if below {
		words = "greater than"
	}
	if !exclusive {
		words += " or equal to"
	}
	return func(v any, limit float64) string {
		var order int
		var shown any = limit
		if i, ok := v.(int64); ok {
			// Integers are compared as such, with the limit cut to one.
			whole := int64(limit)
			shown, order = whole, compare(i, whole)
		} else {
			order = compare(float(v), limit)
		}
		if below {
			order = -order
		}
		if order < 0 || order == 0 && !exclusive {
			return ""
		}
		return fmt.Sprintf("should be %s %v", words, shown)
	}
}

func compare[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// multiple is the test of multipleOf.
func multiple(v any, factor float64) string {
	if i, ok := v.(int64); ok {
		whole := int64(factor)
		switch {
		case whole <= 0:
			return fmt.Sprintf("factor MultipleOf declared must be positive: %v", whole)
		case i%whole != 0:
			return fmt.Sprintf("should be a multiple of %v", whole)
		}
		return ""
	}
	quotient := float(v) / factor
	if factor < 1 {
		quotient = 1 / factor * float(v)
	}
	switch {
	case factor <= 0:
		return fmt.Sprintf("factor MultipleOf declared must be positive: %v", factor)
	case !integral(quotient):
		return fmt.Sprintf("should be a multiple of %v", factor)
	}
	return ""
}

// integral reports whether f is an integer that JSON carries without loss, as
// go-openapi/swag sees it: within 2^53, and with an error of a billionth allowed.
func integral(f float64) bool {
	const largest, epsilon = 1<<53 - 1, 1e-9
	if math.IsNaN(f) || math.IsInf(f, 0) || f < -largest || f > largest {
		return false
	}
	rounded := math.Round(f)
	return f == rounded || rounded != 0 && math.Abs(f-rounded) < epsilon*math.Abs(rounded)
}
