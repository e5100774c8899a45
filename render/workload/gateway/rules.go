// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/spec"
)

// rule describes a valid text in words, which messages repeat.
type rule string

// The rules. Paths and names of headers follow HTTPRoute, the strictest of the
// targets; a value that a target writes into its own configuration holds no character with
// a meaning there.
const (
	label     rule = "a name: expected a-z, 0-9 and -, at most 63"
	name      rule = "a name: expected a-z, 0-9, - and ."
	exactHost rule = "a host: expected one such as shop.example.com, without scheme and port"
	host      rule = "a host: expected one such as shop.example.com or *.example.com, without scheme and port"
	urlPath   rule = "a path: it begins with /, and has no query, no fragment, " +
		"no //, no /../ and no %, which the targets decode in different ways"
	newPath     rule = "a path to write: it begins with /, and may hold letters, digits and -/._~+@=,:"
	headerName  rule = "the name of a header"
	headerValue rule = "plain text: it may hold no \" \\ ` % $ and no control characters"
	method      rule = "a method: expected *, GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, TRACE or CONNECT"
	origin      rule = "an origin: expected scheme, host and perhaps a port, such as https://shop.example.com"
	webURL      rule = "an address: expected one such as " +
		"http://oauth2-proxy.auth.svc.cluster.local:4180/oauth2/auth, without user and password"
	httpsURL rule = "an address that begins with https://, without user and password"
	duration rule = "a duration above 0: expected a number and one of ms, s, m and h, such as 30s"
	positive rule = "an integer above 0"
	seconds  rule = "a number of seconds above 0"
	cidr     rule = "a range of addresses: expected one such as 10.0.0.0/8, without bits beside its mask"
	size     rule = "a size: expected a number of bytes, or one such as 10Mi, up to 2Gi"
)

const (
	alphanumeric  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	longestDomain = 253
)

// of returns the rule in the form of tables.
func (r rule) of() document.Rule {
	short := map[rule]string{duration: "duration such as 30s", seconds: "number of seconds such as 600"}[r]
	return document.Rule{Words: string(r), Short: short, Holds: r.holds, Secret: func(text string) bool {
		return strings.Contains(text, "@") || r == headerValue
	}}
}

// holds reports whether text follows the rule.
func (r rule) holds(s string) bool {
	switch r {
	case label:
		return spec.CheckName(s) == nil
	case name:
		return len(s) <= longestDomain && spec.CheckDomain(s) == nil
	case exactHost:
		_, address := netip.ParseAddr(s)
		return name.holds(s) && address != nil
	case host:
		return exactHost.holds(strings.TrimPrefix(s, "*."))
	case urlPath:
		return isPath(s)
	case newPath:
		return isPath(s) && isOf(s, "-/._~+@=,:")
	case headerName:
		return isOf(s, "-!#$%&'*+.^_`|~")
	case headerValue:
		return isPlain(s)
	case method:
		return slices.Contains([]string{"*", "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}, s)
	case origin:
		return s == "*" || isOrigin(s)
	case webURL:
		return isURL(s)
	case httpsURL:
		return isURL(s) && strings.HasPrefix(s, "https://")
	case duration:
		return isDuration(s)
	case positive, seconds:
		return isPositive(s)
	case cidr:
		return isRange(s)
	case size:
		return bytes(s) > 0
	}
	return true
}

// isOf reports whether a text has only letters, digits and the characters of others.
func isOf(s, others string) bool { return s != "" && strings.Trim(s, alphanumeric+others) == "" }

// isPath reports whether a text is a path that all targets read in the same way.
func isPath(s string) bool {
	never := []string{"//", "/./", "/../"}
	return strings.HasPrefix(s, "/") && isOf(s, "-/._~!$&'()*+,;=:@") &&
		!slices.ContainsFunc(never, func(n string) bool { return strings.Contains(strings.TrimSuffix(s, "/")+"/", n) })
}

// isPlain reports whether a text has no character with a meaning in the configuration of a
// target.
func isPlain(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune("\"\\`%$", c) })
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isURL(s) && (name.holds(u.Hostname()) || host.holds(u.Hostname())) && u.Scheme+"://"+u.Host == s
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && isPlain(s) && !strings.Contains(s, " ")
}

func isDuration(s string) bool {
	digits := strings.TrimRight(s, "msh")
	return slices.Contains([]string{"ms", "s", "m", "h"}, s[len(digits):]) && len(digits) < 6 && isPositive(digits)
}

func isPositive(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && n > 0 && strconv.FormatInt(n, 10) == s
}

// isRange reports whether a text is an address, or a range without bits beside its mask.
func isRange(s string) bool {
	p, err := netip.ParsePrefix(s)
	_, single := netip.ParseAddr(s)
	return single == nil || err == nil && p.Masked() == p
}

// bytes returns how many bytes a size means, or 0 if it is no size.
func bytes(s string) int {
	digits := strings.TrimRight(s, "kMGi")
	unit, ok := map[string]int{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil || n < 1 || int(n) > (2<<30)/unit {
		return 0
	}
	return int(n) * unit
}
