// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import "regexp"

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
	// Secret reports whether a text that does not keep the rule may be a password, which no
	// message repeats.
	Secret func(text string) bool
}

// Given reports whether there is a rule.
func (r Rule) Given() bool { return r.Words != "" || r.Pattern != "" }

// Allows reports whether text keeps the rule.
func (r Rule) Allows(text string) bool {
	switch {
	case r.Holds != nil:
		return r.Holds(text)
	case r.Pattern != "":
		return regexp.MustCompile(r.Pattern).MatchString(text)
	}
	return true
}

// Label is the rule of names: labels of DNS (RFC 1123), as Kubernetes has them.
func Label() Rule {
	return Rule{Words: "a name: expected a-z, 0-9 and -, at most 63", Pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
}
