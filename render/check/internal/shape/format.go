// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Formats judges texts by the formats that Kubernetes knows, and keeps the
// regular expressions that it has met. The zero value is ready and safe for
// concurrent use.
type Formats struct {
	expressions sync.Map // of text to compiledOnce
}

// compiledOnce is a regular expression, or what is wrong with it.
type compiledOnce struct {
	expression *regexp.Regexp
	err        error
}

// Compile is a regular expression in the syntax of RE2, compiled once.
func (f *Formats) Compile(text string) (*regexp.Regexp, error) {
	if known, ok := f.expressions.Load(text); ok {
		once, _ := known.(compiledOnce)
		return once.expression, once.err
	}
	var once compiledOnce
	once.expression, once.err = regexp.Compile(text)
	f.expressions.Store(text, once)
	return once.expression, once.err
}

// matches reports whether text fits an expression of this package.
func (f *Formats) matches(expression, text string) bool {
	compiled, err := f.Compile(expression)
	return err == nil && compiled.MatchString(text)
}

// Known reports whether format is one that Kubernetes 1.36 enforces in custom
// resources. Dashes do not count: date-time is datetime (apiextensions-apiserver,
// pkg/apiserver/validation/formats.go).
func (f *Formats) Known(format string) bool {
	switch strings.ReplaceAll(format, "-", "") {
	case "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac",
		"uuid", "uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn",
		"hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
		"k8sshortname", "k8slongname":
		return true
	}
	return false
}

// Match reports whether text has a format that is [Formats.Known] (kube-openapi,
// pkg/validation/strfmt). Every text has an unknown format.
func (f *Formats) Match(format, text string) bool {
	switch strings.ReplaceAll(format, "-", "") {
	case "uri":
		_, err := url.ParseRequestURI(text)
		return err == nil
	case "email":
		address, err := mail.ParseAddress(text)
		return err == nil && address.Address != ""
	case "byte":
		return isBase64(text)
	case "bsonobjectid":
		id, err := hex.DecodeString(text)
		return err == nil && len(id) == 12
	case "date":
		return isDate(text)
	case "datetime":
		return f.dateTime(text)
	case "duration":
		_, err := f.Duration(text)
		return err == nil
	case "isbn":
		return isISBN10(text) || isISBN13(text)
	case "isbn10":
		return isISBN10(text)
	case "isbn13":
		return isISBN13(text)
	case "creditcard":
		return f.creditCard(text)
	case "ssn":
		return len(text) == 11 && f.matches(`^\d{3}[- ]?\d{2}[- ]?\d{4}$`, text)
	case "hexcolor":
		return f.matches(`^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`, text)
	case "rgbcolor":
		return f.rgb(text)
	}
	return f.matchName(format, text)
}

// matchName judges the formats that name something.
func (f *Formats) matchName(format, text string) bool {
	switch strings.ReplaceAll(format, "-", "") {
	case "hostname":
		return f.hostname(text)
	case "ipv4":
		return strings.Contains(text, ".") && sloppyIP(text) != nil
	case "ipv6":
		return strings.Contains(text, ":") && net.ParseIP(text) != nil
	case "cidr":
		return sloppyCIDR(text)
	case "mac":
		_, err := net.ParseMAC(text)
		return err == nil
	case "uuid":
		return f.uuid(text, "[0-9a-f]", "[0-9a-f]")
	case "uuid3":
		return f.uuid(text, "3", "[0-9a-f]")
	case "uuid4":
		return f.uuid(text, "4", "[89ab]")
	case "uuid5":
		return f.uuid(text, "5", "[89ab]")
	case "k8sshortname":
		return len(text) <= 63 && f.matches("^"+label+"$", text)
	case "k8slongname":
		return len(text) <= 253 && f.matches("^"+label+`(\.`+label+")*$", text)
	}
	return true
}

// label is a segment of a name of Kubernetes.
const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

// uuid judges a UUID with or without dashes, in either case, by the digits that
// tell its version and variant.
func (f *Formats) uuid(text, version, variant string) bool {
	return f.matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?"+version+"[0-9a-f]{3}-?"+variant+"[0-9a-f]{3}-?[0-9a-f]{12}$", text)
}

// hostname judges a name of a host: labels of letters, digits and symbols of
// any script, the last one of letters.
func (f *Formats) hostname(text string) bool {
	const sign = `[a-zA-Z0-9\p{S}\p{L}]`
	single := sign + `((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)`
	dotted := `(` + sign + `(([a-zA-Z0-9-\p{S}\p{L}]{0,61}` + sign + `)?)(\.)){1,}([a-zA-Z\p{L}]){2,63}`
	if len(text) > 255 || !f.matches(`^(`+single+`|`+dotted+`)$`, text) {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if len(part) > 63 {
			return false
		}
	}
	return true
}

func (f *Formats) rgb(text string) bool {
	const part = `\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`
	return f.matches(`^rgb\(`+part+`,`+part+`,`+part+`\)$`, text)
}

// isBase64 reports whether text is Base64 of the standard alphabet with
// padding. The empty text is not.
func isBase64(text string) bool {
	if text == "" || len(text)%4 != 0 {
		return false
	}
	body := strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	for _, c := range []byte(body) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// dateTime judges a date and a time of RFC 3339. Whatever follows another
// letter t does not count.
func (f *Formats) dateTime(text string) bool {
	parts := strings.Split(strings.ToLower(text), "t")
	if len(parts) < 2 || !isDate(parts[0]) {
		return false
	}
	expression, err := f.Compile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$`)
	if err != nil {
		return false
	}
	match := expression.FindStringSubmatch(parts[1])
	return match != nil && match[1] <= "23" && match[2] <= "59" && match[3] <= "59"
}

// Duration reads a duration as Go writes it, or as numbers with units such as
// "3 days 4 hours", in which anything may stand between.
func (f *Formats) Duration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	expression, err := f.Compile(`(\d+)\s*([A-Za-zµ]+)`)
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	known := false
	for _, match := range expression.FindAllStringSubmatch(text, -1) {
		factor, err := parseInt(match[1])
		if err != nil {
			return 0, err
		}
		for _, unit := range units(strings.ToLower(match[2])) {
			known = true
			sum += time.Duration(factor) * unit
		}
	}
	if !known {
		return 0, fmt.Errorf("unable to parse %s as duration", text)
	}
	return sum, nil
}

// units is the units that a name means: the full names may go on in any way.
func units(name string) (found []time.Duration) {
	for _, u := range [...]struct {
		unit  time.Duration
		short []string
		full  string
	}{
		{time.Nanosecond, []string{"ns"}, "nano"},
		{time.Microsecond, []string{"us", "µs"}, "micro"},
		{time.Millisecond, []string{"ms"}, "milli"},
		{time.Second, []string{"s"}, "sec"},
		{time.Minute, []string{"m"}, "min"},
		{time.Hour, []string{"h", "hr"}, "hour"},
		{24 * time.Hour, []string{"d"}, "day"},
		{7 * 24 * time.Hour, []string{"w", "wk"}, "week"},
	} {
		for _, short := range u.short {
			if strings.EqualFold(short, name) {
				found = append(found, u.unit)
			}
		}
		if strings.HasPrefix(name, u.full) {
			found = append(found, u.unit)
		}
	}
	return found
}
