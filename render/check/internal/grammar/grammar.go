// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package grammar

import (
	"strconv"
	"strings"
)

// Longest names, in bytes (RFC 1123, RFC 1035, and a label key after its slash).
const (
	SubdomainLength = 253
	labelLength     = 63
	portNameLength  = 15
)

// The expressions that messages name.
const (
	labelPattern     = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	subdomainPattern = labelPattern + `(\.` + labelPattern + ")*"
	hostPattern      = "[a-z]([-a-z0-9]*[a-z0-9])?"
	keyPattern       = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
)

// Subdomain wants a DNS-1123 subdomain such as example.com.
func Subdomain(text string) []string {
	problems := tooLong(text, SubdomainLength, "characters")
	if !isSubdomain(text) {
		problems = append(problems, mismatch("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character", subdomainPattern, "example.com"))
	}
	return problems
}

// Label wants a DNS-1123 label such as my-name.
func Label(text string) []string {
	problems := tooLong(text, labelLength, "characters")
	switch {
	case isLabel(text):
	case isSubdomain(text):
		problems = append(problems, "must not contain dots")
	default:
		problems = append(problems, mismatch("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character", labelPattern, "my-name", "123-abc"))
	}
	return problems
}

// HostLabel wants a DNS-1035 label: a DNS-1123 label that begins with a letter.
func HostLabel(text string) []string {
	problems := tooLong(text, labelLength, "characters")
	if !isLabel(text) || !lower(text[0]) {
		problems = append(problems, mismatch("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character", hostPattern, "my-name", "abc-123"))
	}
	return problems
}

// Wildcard wants a subdomain after "*.".
func Wildcard(text string) []string {
	problems := tooLong(text, SubdomainLength, "characters")
	if rest, ok := strings.CutPrefix(text, "*."); !ok || !isSubdomain(rest) {
		problems = append(problems, mismatch("a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character", `\*\.`+subdomainPattern, "*.example.com"))
	}
	return problems
}

// LabelKey wants the key of a label or what is called a qualified name: a name,
// with a subdomain and a slash before it or not.
func LabelKey(text string) (problems []string) {
	const words = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
	form := mismatch(words, keyPattern, "MyName", "my.name", "123-abc")
	prefix, name, slash := strings.Cut(text, "/")
	switch {
	case !slash:
		name = prefix
	case strings.Contains(name, "/"):
		return []string{"a valid label key " + form + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"}
	case prefix == "":
		problems = append(problems, "prefix part must be non-empty")
	default:
		for _, p := range labelPrefix(prefix) {
			problems = append(problems, "prefix part "+p)
		}
	}
	if name == "" {
		problems = append(problems, "name part must be non-empty")
	}
	for _, p := range tooLong(name, labelLength, "bytes") {
		problems = append(problems, "name part "+p)
	}
	if !isName(name) {
		problems = append(problems, "name part "+form)
	}
	return problems
}

// labelPrefix is Subdomain in the words that label keys have for it.
func labelPrefix(text string) []string {
	problems := Subdomain(text)
	if len(text) > SubdomainLength {
		problems[0] = tooLong(text, SubdomainLength, "bytes")[0]
	}
	return problems
}

// LabelValue wants the value of a label, which may be empty.
func LabelValue(text string) []string {
	problems := tooLong(text, labelLength, "bytes")
	if text != "" && !isName(text) {
		problems = append(problems, mismatch("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character", "("+keyPattern+")?", "MyValue", "my_value", "12345"))
	}
	return problems
}

// PortName wants the name of a port (RFC 6335, in lower case).
func PortName(text string) []string {
	problems := tooLong(text, portNameLength, "characters")
	if text == "" || !all(text, func(c byte) bool { return lower(c) || digit(c) || c == '-' }) {
		problems = append(problems, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
	}
	if all(text, func(c byte) bool { return !lower(c) }) {
		problems = append(problems, "must contain at least one letter (a-z)")
	}
	if strings.Contains(text, "--") {
		problems = append(problems, "must not contain consecutive hyphens")
	}
	if strings.HasPrefix(text, "-") || strings.HasSuffix(text, "-") {
		problems = append(problems, "must not begin or end with a hyphen")
	}
	return problems
}

// HeaderName wants the name of an HTTP header.
func HeaderName(text string) []string {
	if text != "" && all(text, func(c byte) bool { return alphanumeric(c) || c == '-' }) {
		return nil
	}
	return []string{mismatch("a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name")}
}

// VariableName wants the name of an environment variable in the wide sense: any
// printable ASCII without "=".
func VariableName(text string) (problems []string) {
	if text == "" {
		problems = append(problems, "environment variable name must be non-empty")
	}
	if !all(text, func(c byte) bool { return c >= ' ' && c <= '~' && c != '=' }) {
		problems = append(problems, "a valid environment variable name must consist only of printable ASCII characters other than '='")
	}
	return problems
}

// ConfigKey wants the key of a ConfigMap or Secret, which becomes a file name.
func ConfigKey(text string) []string {
	problems := tooLong(text, SubdomainLength, "characters")
	if text == "" || !all(text, inName) {
		problems = append(problems, mismatch("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", "[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name"))
	}
	switch {
	case text == ".", text == "..":
		problems = append(problems, "must not be '"+text+"'")
	case strings.HasPrefix(text, ".."):
		problems = append(problems, "must not start with '..'")
	}
	return problems
}

// tooLong wants at most limit bytes, which the two packages that Kubernetes
// judges with call by different names.
func tooLong(text string, limit int, unit string) []string {
	if len(text) <= limit {
		return nil
	}
	return []string{"must be no more than " + strconv.Itoa(limit) + " " + unit}
}

// mismatch says what form is wanted, with examples and an expression for it.
func mismatch(words, pattern string, examples ...string) string {
	return words + " (e.g. '" + strings.Join(examples, "',  or '") + "', regex used for validation is '" + pattern + "')"
}
