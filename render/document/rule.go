// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Rule describes a valid text. The zero value allows all texts.
type Rule struct {
	// Words complete "is not …" in a message: they name a valid text, and what to write.
	Words string
	// Short names a valid text in a message about a value of another kind: a duration such as
	// 30s.
	Short string
	// Pattern is for schemas; "" if no pattern expresses the rule.
	Pattern string
	// Holds reports whether a text keeps the rule; if it is nil, Pattern decides.
	Holds func(text string) bool
	// Why returns the problem of a text, in place of Words and Holds: it follows the text in a
	// message. "" means that the text is valid.
	Why func(text string) string
	// Hint returns the hint for a text that does not keep the rule, or "".
	Hint func(text string) string
	// Secret reports whether a text that does not keep the rule may be a password, which no
	// message repeats.
	Secret func(text string) bool
}

// Allows reports whether text keeps the rule.
func (r Rule) Allows(text string) bool {
	switch {
	case r.Why != nil:
		return r.Why(text) == ""
	case r.Holds != nil:
		return r.Holds(text)
	case r.Pattern != "":
		compiled, ok := patterns.Load(r.Pattern)
		if !ok {
			compiled, _ = patterns.LoadOrStore(r.Pattern, regexp.MustCompile(r.Pattern))
		}
		pattern, _ := compiled.(*regexp.Regexp)
		return pattern.MatchString(text)
	}
	return true
}

// patterns caches the compiled patterns of rules.
var patterns sync.Map //nolint:gochecknoglobals // a cache

// suggestion returns the hint for a text.
func (r Rule) suggestion(text string) string {
	if r.Hint == nil {
		return ""
	}
	return r.Hint(text)
}

// problem returns the message about a text that breaks the rule. The argument shown is the text in
// the form of messages.
func (r Rule) problem(shown, text string) string {
	switch {
	case r.Why == nil:
		return shown + " is not " + r.Words
	case text == "":
		return r.Why(text)
	}
	return shown + " " + r.Why(text)
}

// Label returns the rule of names: labels of DNS (RFC 1123), as in Kubernetes.
func Label() Rule {
	return Rule{Pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", Why: BadLabel}
}

// BadLabel returns the problem of a label of DNS, or "".
func BadLabel(text string) string {
	const longestLabel = 63
	switch {
	case text == "":
		return "must not be empty"
	case len(text) > longestLabel:
		return fmt.Sprintf("has %d characters, more than %d", len(text), longestLabel)
	case strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return "may hold only a-z, 0-9 and -"
	case text[0] == '-' || text[len(text)-1] == '-':
		return "must begin and end with a letter or a digit"
	}
	return ""
}
