// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// showLimit is how much of a text a message shows, in bytes.
const showLimit = 60

// Describe is a value for a message. With hide, it is the type alone.
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

// floatText writes a number that is no integer so that one sees it: 3.0, not 3.
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
	cut := showLimit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// Typed is a value with its type, for messages about a wrong type.
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

// OneOf joins alternatives for a message: "A", "B" or "C".
func OneOf(values []string) string {
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		if v == "" && len(values) > 1 {
			// The empty text is the same as none at all.
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

// Nearest is the one of names that name is probably a slip of, "" where none
// is near.
func Nearest(name string, names []string) string {
	best, limit := "", max(1, min(len(name)/3, 3))+1
	lower := strings.ToLower(name)
	for _, n := range names {
		d := distance(lower, strings.ToLower(n), limit)
		if strings.EqualFold(name, n) {
			d = 0
		}
		if d < limit {
			best, limit = n, d
		}
	}
	if best != "" {
		return best
	}
	// A name that was cut short or grew: replica, and portNumber for port.
	for _, n := range names {
		l := strings.ToLower(n)
		if len(lower) >= 4 && len(l) >= 4 && (strings.HasPrefix(l, lower) || strings.HasPrefix(lower, l)) {
			return n
		}
	}
	return ""
}

// distance is how many letters must be changed, added, removed or swapped to
// turn a into b; at least limit where it is not below it.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit || len(a) > 64 || len(b) > 64 {
		return limit
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		above, now, before := &rows[i%3], &rows[(i+1)%3], &rows[(i+2)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(above[j]+1, now[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}

func abs(i int) int {
	if i < 0 {
		return -i
	}
	return i
}
