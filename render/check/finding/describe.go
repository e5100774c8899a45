// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// showLimit limits the part of a text that a message shows, in bytes.
const showLimit = 60

// Describe returns a value for a message. With hide, it returns only the type.
func Describe(v any, hide bool) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case bool:
		if hide {
			return "a boolean"
		}
		return strconv.FormatBool(v)
	case int64:
		if hide {
			return "a number"
		}
		return strconv.FormatInt(v, 10)
	case float64:
		if hide {
			return "a number"
		}
		return floatText(v)
	case string:
		if hide {
			return "a string"
		}
		return Quote(v)
	}
	return fmt.Sprintf("a value of type %T", v)
}

// floatText writes a float so that it does not read as an integer: 3.0, not 3.
func floatText(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eEIN") {
		text += ".0"
	}
	return text
}

// Quote quotes s and cuts it where it is long.
func Quote(s string) string {
	if len(s) <= showLimit {
		return strconv.Quote(s)
	}
	return strconv.Quote(printable.Cut(s, showLimit, "")) + "…"
}

// Typed returns a value with its type, for messages about a wrong type.
func Typed(v any, hide bool) string {
	switch v.(type) {
	case string:
		if !hide {
			return "the string " + Describe(v, false)
		}
	case bool:
		if !hide {
			return "the boolean " + Describe(v, false)
		}
	case int64, float64:
		if !hide {
			return "the number " + Describe(v, false)
		}
	}
	return Describe(v, hide)
}

// TypeName returns a type of OpenAPI in words, or "" for any other text.
func TypeName(kind string) string {
	switch kind {
	case "object":
		return "a map"
	case "array":
		return "a list"
	case "string":
		return "a string"
	case "integer":
		return "an integer"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	}
	return ""
}

// QuoteIt begins the hint for a number or a bool where text is expected, before the text.
const QuoteIt = "quote it: "

// TypeHint returns what to do about a value that should be of a type of OpenAPI, such as a number
// in quotes. It returns "" if there is no advice.
func TypeHint(kind string, v any) string {
	switch v := v.(type) {
	case int64, float64, bool:
		if kind == "string" {
			return QuoteIt + strconv.Quote(Describe(v, false))
		}
		f, isFloat := v.(float64)
		isWhole := isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<53
		if isWhole && kind == "integer" {
			return "write " + strconv.FormatInt(int64(f), 10)
		}
	case string:
		_, notInteger := strconv.ParseInt(v, 10, 64)
		_, notNumber := strconv.ParseFloat(v, 64)
		fits := false
		switch kind {
		case "integer":
			fits = notInteger == nil
		case "number":
			fits = notNumber == nil
		case "boolean":
			fits = v == "true" || v == "false"
		}
		if fits {
			return "write it without quotes"
		}
	}
	return ""
}

// OneOf joins alternatives for a message: "A", "B" or "C".
func OneOf(values []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		if v == "" && len(values) > 1 {
			// The empty text is the same as an absent text.
			continue
		}
		quoted = append(quoted, strconv.Quote(v))
	}
	return Join(quoted)
}

// Join joins words for a message: a, b or c.
func Join(words []string) string {
	switch len(words) {
	case 0:
		return "nothing"
	case 1:
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
