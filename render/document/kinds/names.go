// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
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

// Subdomain reports whether name is a DNS subdomain whose labels have the given
// number of letters at least.
func Subdomain(name string, least int) bool {
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

// short returns what is wrong with a name that has fewer letters than least, or "" if it has
// enough. Only Score requires two.
func short(name string, least int) string {
	if len(name) < least {
		return "has one letter, and Score requires 2 to 63"
	}
	return ""
}

// name returns the rule for the name of a part of a workload: a DNS label, which has two letters
// at least in Score.
func name(least int) rule {
	return rule{Pattern: map[int]string{1: label().Pattern, 2: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])$"}[least], Hint: labelOf, Why: func(name string) string {
		switch {
		case name == "":
			return "must not be empty"
		case utf8.RuneCountInString(name) > labelLength:
			return fmt.Sprintf("has %d characters, more than %d", utf8.RuneCountInString(name), labelLength)
		case !only(name, "-", lower+digit):
			return "is not a DNS label: expected a-z, 0-9 and -, with a letter or a digit at both ends"
		}
		return short(name, least)
	}}
}

// labelOf returns how to write the DNS label that was most likely meant.
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
	switch {
	case utf8.RuneCountInString(name) > labelLength:
		return ""
	case only(name, "-", lower+digit):
		return "a document of ropewalk.dev/v1alpha1 and kind Workload may have such a name"
	case len(label) > 1:
		return "write " + strconv.Quote(label)
	}
	return ""
}

// word returns the rule for the type or the class of a resource.
func word(least int) rule {
	return rule{Why: func(text string) string {
		if len(text) > labelLength || !only(text, "-", letter+digit) {
			return fmt.Sprintf("must have 1 to %d letters, digits and -, with a letter or a digit at both ends", labelLength)
		}
		return short(text, least)
	}}
}

// id returns the rule for the id of a resource: DNS labels with dots between them.
func id(least int) rule {
	return rule{Why: func(text string) string {
		ok := len(text) <= labelLength
		for label := range strings.SplitSeq(text, ".") {
			ok = ok && only(label, "-", lower+digit)
		}
		if !ok {
			return fmt.Sprintf("is not an id: expected 1 to %d of a-z, 0-9, - and dots, such as shop.db", labelLength)
		}
		return short(text, least)
	}}
}

func namespace() rule {
	return rule{Pattern: label().Pattern, Words: fmt.Sprintf("a namespace: expected up to %d of a-z, 0-9 and -", labelLength)}
}

func account() rule {
	return rule{Words: "a service account name: expected a-z, 0-9, - and dots", Holds: func(text string) bool { return Subdomain(text, 1) }}
}

// host returns the rule for a host that requests are for.
func host() rule {
	return rule{Words: "a host: expected a DNS name such as api.example.com, *.example.com or *", Holds: func(text string) bool {
		return text == "*" || Subdomain(strings.TrimPrefix(text, "*."), 1)
	}}
}

// outside returns the rule for a host outside of the cluster.
func outside() rule { return rule{Why: BadOutside} }

// BadOutside returns what is wrong with a host outside of the cluster, which is a DNS name or an
// address, or "" if nothing is.
func BadOutside(host string) string {
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil && (address.IsLoopback() || address.IsUnspecified() || address.Zone() != ""):
		return "is no address outside of the pod"
	case err == nil:
		return ""
	case !Subdomain(host, 1) || !strings.Contains(host, "."):
		return "is not a host: expected a DNS name such as api.example.com, or an address"
	case strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local"):
		return "is in the cluster: give a resource of its type params.host and params.podLabels"
	}
	return ""
}

// key returns the rule for the key of an annotation: an optional DNS subdomain and a slash before
// a name. Score requires two letters in each label.
func key(least int) rule {
	return rule{Why: func(key string) string {
		prefix, name, found := strings.Cut(key, "/")
		if !found {
			prefix, name = "", key
		}
		switch {
		case len(key) > annotationKey:
			return fmt.Sprintf("has %d characters, more than %d", len(key), annotationKey)
		case len(name) < least || len(name) > labelLength || !only(name, "-_.", letter+digit):
			return fmt.Sprintf("is not a key: the name must have %d to %d letters, digits, -, _ and dots, with a letter or a digit at both ends", least, labelLength)
		case found && !Subdomain(prefix, least):
			return "is not a key: the part before the / must be a DNS name, such as example.com"
		}
		return ""
	}}
}

// labelKey returns the rule for the key of a label. The labels by which objects find their pods,
// and the one that says what configuration holds, are set by Ropewalk, and refused.
func labelKey() rule {
	return rule{Why: func(text string) string {
		switch text {
		case "app.kubernetes.io/name", "ropewalk.dev/workload":
			return "is set by Ropewalk, because objects find their pods by it"
		case "ropewalk.dev/config-type":
			return "is set by Ropewalk, to what a ConfigMap or an ExternalSecret holds"
		}
		return key(1).Why(text)
	}}
}

func labelValue() rule {
	words := fmt.Sprintf("the value of a label: expected up to %d letters, digits, -, _ and dots, with a letter or a digit at both ends", labelLength)
	return rule{Words: words, Holds: func(text string) bool {
		return text == "" || len(text) <= labelLength && only(text, "-_.", letter+digit)
	}}
}

// variableName returns the rule for the name of a variable: Kubernetes accepts the printable
// characters of ASCII except =.
func variableName() rule {
	return rule{Why: func(name string) string {
		switch {
		case name == "":
			return "must not be empty"
		case strings.Contains(name, "="):
			return "may not hold ="
		case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
			return "may hold only printable characters of ASCII"
		}
		return ""
	}}
}

func noZero() rule {
	return rule{Short: "string", Why: func(text string) string {
		if strings.Contains(text, "\x00") {
			return "may not hold a zero byte"
		}
		return ""
	}}
}

// interval returns the rule for the time between two steps of a canary.
func interval() rule {
	return rule{Words: "a number of minutes or seconds, such as 1m or 30s", Short: "duration such as 1m or 30s", Pattern: "^0*[1-9][0-9]*[ms]$"}
}

func headerName() rule {
	return rule{Words: "a header name: expected letters, digits, _ and -", Holds: func(text string) bool { return strings.Trim(text, letter+digit+"_-") == "" }}
}

// fileMode returns the rule for the permission bits of a file.
func fileMode() rule { return rule{Words: "a file mode", Pattern: "^0?[0-7]{3}$"} }

// asSeconds returns what to write where a number of seconds is meant.
func asSeconds(v object.Value) string {
	text := v.Text
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 && d%time.Second == 0 {
		return "write " + strconv.FormatInt(int64(d/time.Second), 10)
	}
	return "write one such as 30"
}

// asList returns what to write where a list of words is meant.
func asList(v object.Value) string {
	if v.Kind == object.KindString {
		return `write a list, such as ["/bin/app", "--verbose"]`
	}
	return ""
}

// asText returns what to write where text is meant.
func asText(v object.Value) string {
	if v.Kind == object.KindNull {
		return `write "" for empty text`
	}
	return ""
}
