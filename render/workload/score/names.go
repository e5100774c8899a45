// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ropewalk/ropewalk/render/object"
)

// The limits of names in Kubernetes and Score.
const (
	labelLength     = 63
	subdomainLength = 253
	annotationKey   = 316
)

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	letter = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit  = "0123456789"
)

// only reports whether text holds nothing but the given characters and begins
// and ends with one that is no mark.
func only(text, marks, letters string) bool {
	return text != "" && strings.Trim(text, letters+marks) == "" &&
		!strings.ContainsAny(text[:1]+text[len(text)-1:], marks)
}

// short reports a name that has fewer letters than Score allows. Kubernetes and
// our own documents accept one letter.
func (d *decoder) short(name string) string {
	if d.doc.Score && len(name) == 1 {
		return "has one letter, and Score requires 2 to 63"
	}
	return ""
}

// name checks a DNS label (RFC 1123), which Score wants to have two letters at
// least; false is none.
func (d *decoder) name(pos object.Pos, at *location, name string) bool {
	bad, hint := "", ""
	switch {
	case name == "":
		bad = "must not be empty"
	case utf8.RuneCountInString(name) > labelLength:
		bad = fmt.Sprintf("has %d characters, more than %d", utf8.RuneCountInString(name), labelLength)
	case !only(name, "-", lower+digit):
		bad = "is not a DNS label: expected a-z, 0-9 and -, with a letter or a digit at both ends"
		if label := labelOf(name); label != "" {
			hint = "write " + strconv.Quote(label)
		}
	case d.short(name) != "":
		bad, hint = d.short(name), "a document of ropewalk.dev/v1alpha1 and kind Workload may have such a name"
	default:
		return true
	}
	d.fail(pos, at, hint, "%s %s", shown(name), bad)
	return false
}

// labelOf is the DNS label that was most likely meant.
func labelOf(name string) string {
	label := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(lower+digit, r):
			return r
		case r == '_' || r == '.' || r == ' ' || r == '/' || r == '-':
			return '-'
		}
		return -1
	}, strings.ToLower(name)), "-")
	if len(label) > 1 {
		return label
	}
	return ""
}

// word checks a type or class of a resource; one that is wrong is empty.
func (p part) word() Text {
	t := p.text()
	if p.Kind != object.KindString {
		return t
	}
	switch {
	case p.short(t.Value) != "":
		p.fail("", "%s %s", shown(t.Value), p.short(t.Value))
		t.Value = ""
	case len(t.Value) > labelLength || !only(t.Value, "-", letter+digit):
		p.fail("", "%s must have 1 to %d letters, digits and -, with a letter or a digit at both ends", shown(t.Value), labelLength)
		t.Value = ""
	}
	return t
}

// id checks the id of a resource: DNS labels with dots between them.
func (p part) id() Text {
	t := p.text()
	if p.Kind != object.KindString {
		return t
	}
	ok := len(t.Value) <= labelLength
	for label := range strings.SplitSeq(t.Value, ".") {
		ok = ok && only(label, "-", lower+digit)
	}
	switch {
	case !ok:
		p.fail("", "%s is not an id: expected 1 to %d of a-z, 0-9, - and dots, such as shop.db", shown(t.Value), labelLength)
	case p.short(t.Value) != "":
		p.fail("", "%s %s", shown(t.Value), p.short(t.Value))
	}
	return t
}

// badKey reports what is wrong with the key of an annotation: an optional DNS
// subdomain and a slash before a name. Score wants two letters in each label.
func (d *decoder) badKey(key string) string {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	least := 1
	if d.doc.Score {
		least = 2
	}
	switch {
	case len(key) > annotationKey:
		return fmt.Sprintf("has %d characters, more than %d", len(key), annotationKey)
	case len(name) < least || len(name) > labelLength || !only(name, "-_.", letter+digit):
		return fmt.Sprintf("is not a key: the name must have %d to %d letters, digits, -, _ and dots, with a letter or a digit at both ends", least, labelLength)
	case found && !subdomain(prefix, least):
		return "is not a key: the part before the / must be a DNS name, such as example.com"
	}
	return ""
}

// subdomain reports whether name is a DNS subdomain whose labels have the given
// number of letters at least.
func subdomain(name string, least int) bool {
	if len(name) > subdomainLength {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) < least || len(label) > labelLength || !only(label, "-", lower+digit) {
			return false
		}
	}
	return true
}

// badLabelKey reports what is wrong with the key of a label; those by which objects
// find their pods are ours.
func (d *decoder) badLabelKey(key string) string {
	if key == "app.kubernetes.io/name" || key == "ropewalk.dev/workload" {
		return "is set by Ropewalk, because objects find their pods by it"
	}
	return (&decoder{}).badKey(key)
}

// badLabelValue reports what is wrong with the value of a label.
func badLabelValue(value string) string {
	if value != "" && (len(value) > labelLength || !only(value, "-_.", letter+digit)) {
		return fmt.Sprintf("of a label must have up to %d letters, digits, -, _ and dots, with a letter or a digit at both ends", labelLength)
	}
	return ""
}

// badVariable reports what is wrong with the name of a variable: Kubernetes accepts
// the printable characters of ASCII but =.
func badVariable(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case strings.Contains(name, "="):
		return "may not hold ="
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		return "may hold only printable characters of ASCII"
	}
	return ""
}

// badValue reports what is wrong with the value of a variable.
func badValue(value string) string {
	if strings.Contains(value, "\x00") {
		return "may not hold a zero byte"
	}
	return ""
}

// anything is the check of a value that may be any text.
func anything(string) string { return "" }
