// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Rule is what a text has to be. The zero value allows all texts.
type Rule struct {
	// Words complete "is not …" in a message: they name what it has to be, and what to write.
	Words string
	// Short names it in place of its kind where a value is of another kind: a duration such
	// as 30s.
	Short string
	// Pattern is for schemas; "" where no pattern says it.
	Pattern string
	// Holds reports whether a text keeps the rule; where it is nil, Pattern decides.
	Holds func(text string) bool
	// Why is what is wrong with a text, in place of Words and Holds: it follows the text in a
	// message. "" is nothing.
	Why func(text string) string
	// Hint is what to write in place of a text that does not keep the rule; "" is not known.
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

// patterns are those of rules, compiled.
var patterns sync.Map //nolint:gochecknoglobals // a cache

// hint returns what to write in place of a text.
func (r Rule) hint(text string) string {
	if r.Hint == nil {
		return ""
	}
	return r.Hint(text)
}

// wrong returns what is wrong with a text. The argument shown is the text as a message repeats
// it.
func (r Rule) wrong(shown, text string) string {
	switch {
	case r.Why == nil:
		return shown + " is not " + r.Words
	case text == "":
		return r.Why(text)
	}
	return shown + " " + r.Why(text)
}

// Label returns the rule of names: labels of DNS (RFC 1123), as Kubernetes has them.
func Label() Rule {
	return Rule{Pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", Why: BadLabel}
}

// BadLabel returns what is wrong with a label of DNS, or "" if nothing is.
func BadLabel(text string) string {
	const most = 63
	switch {
	case text == "":
		return "must not be empty"
	case len(text) > most:
		return fmt.Sprintf("has %d characters, more than %d", len(text), most)
	case strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return "may hold only a-z, 0-9 and -"
	case text[0] == '-' || text[len(text)-1] == '-':
		return "must begin and end with a letter or a digit"
	}
	return ""
}
