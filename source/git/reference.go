// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// form is what a reference looks like, for errors.
const form = "write https://host/org/repo.git?tag=v1.2.0, ssh://git@host/org/repo.git?branch=main " +
	"or git@host:org/repo.git?commit=<40 or 64 hex digits>, with one of branch, tag, semver and commit, or none"

// What a reference chooses a commit by.
const (
	byHead   = ""
	byBranch = "branch"
	byTag    = "tag"
	bySemver = "semver"
	byCommit = "commit"
)

// The schemes of a location.
const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
	schemeSSH   = "ssh"
)

// location is a repository on a server.
type location struct {
	// url is what a user wrote, without the query.
	url    string
	scheme string
	// user is the user of ssh; "" where none is written.
	user string
	host string
	// port is "" where it is that of the scheme.
	port string
	// path is that on the server: as it is in the URL for http, and as the server
	// gets it for ssh.
	path string
}

// reference is a location with a choice.
type reference struct {
	location
	// by is one of the constants above, and choice what follows it.
	by, choice string
	submodules bool
}

// parse reads a reference.
func parse(ref string) (reference, error) {
	base, query, _ := strings.Cut(ref, "?")
	at, err := parseLocation(base)
	if err != nil {
		return reference{}, err
	}
	r := reference{location: at}
	if query == "" {
		return r, nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		if err != nil || value == "" {
			return reference{}, bad("%q in the query has no value that can be read", key)
		}
		switch key {
		case byBranch, byTag, bySemver, byCommit:
			if r.by != byHead {
				return reference{}, bad("the query asks for %s and for %s", r.by, key)
			}
			r.by, r.choice = key, value
		case "submodules":
			if r.submodules, err = strconv.ParseBool(value); err != nil {
				return reference{}, bad("submodules is true or false, not %q", value)
			}
		default:
			return reference{}, bad("the query has an unknown key %q", key)
		}
	}
	return r, r.checkChoice()
}

// checkChoice refuses names that Git would not take, or could take for
// something else, and makes hashes lower case.
func (r *reference) checkChoice() error {
	switch r.by {
	case byCommit:
		r.choice = strings.ToLower(r.choice)
		if !isHash(r.choice) {
			return bad("commit %q is no full hash", r.choice)
		}
	case byBranch, byTag:
		if !isRefName(r.choice) {
			return bad("%s %q is no name that Git takes", r.by, r.choice)
		}
	case bySemver:
		if _, err := constraint(r.choice); err != nil {
			return err
		}
	}
	return nil
}

// parseLocation reads a URL, or what scp takes.
func parseLocation(base string) (location, error) {
	if strings.ContainsFunc(base, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return location{}, bad("the URL holds characters that are no text")
	}
	if strings.Contains(base, "#") {
		return location{}, bad("the URL has a fragment")
	}
	scheme, _, ok := strings.Cut(base, "://")
	if !ok {
		return parseSCP(base)
	}
	u, err := url.Parse(base)
	if err != nil {
		return location{}, bad("the URL cannot be read")
	}
	l := location{url: base, scheme: scheme, host: u.Hostname(), port: u.Port(), path: u.EscapedPath()}
	switch scheme {
	case schemeHTTP, schemeHTTPS:
		if u.User != nil {
			return location{}, credentialsInside()
		}
	case schemeSSH:
		if _, ok := u.User.Password(); ok {
			return location{}, credentialsInside()
		}
		l.user, l.path = u.User.Username(), u.Path
		if strings.HasPrefix(l.path, "/~") {
			l.path = l.path[1:]
		}
	default:
		return location{}, bad("%q is no scheme of a server that this program asks: it is https or ssh", scheme)
	}
	return l, l.check()
}

// parseSCP reads user@host:path.
func parseSCP(base string) (location, error) {
	where, path, ok := strings.Cut(base, ":")
	user, host, named := strings.Cut(where, "@")
	if !ok || !named || strings.Contains(where, "/") {
		return location{}, bad("that is no URL")
	}
	l := location{url: base, scheme: schemeSSH, user: user, host: host, path: path}
	return l, l.check()
}

// check refuses what a program that gets these parts could take for an option
// (CVE-2017-1000117).
func (l location) check() error {
	for _, part := range []string{l.user, l.host, l.path} {
		if strings.HasPrefix(part, "-") {
			return bad("%q begins with a dash", part)
		}
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:", r)
	}
	switch {
	case l.host == "" || strings.ContainsFunc(l.host, func(r rune) bool { return !plain(r) }):
		return bad("%q is no name of a host", l.host)
	case strings.ContainsFunc(l.user, func(r rune) bool { return !plain(r) && r != '+' }):
		return bad("the name of the user holds more than letters and digits")
	case strings.Trim(l.path, "/") == "":
		return bad("the URL has no path")
	case l.port != "":
		if n, err := strconv.Atoi(l.port); err != nil || n < 1 || n > 65535 {
			return bad("%q is no port", l.port)
		}
	}
	return nil
}

// sameHost reports whether credentials for l are for o too.
func (l location) sameHost(o location) bool {
	return l.scheme == o.scheme && strings.EqualFold(l.host, o.host) && l.portNumber() == o.portNumber()
}

// portNumber is the port, that of the scheme where none is written.
func (l location) portNumber() string {
	if l.port != "" {
		return l.port
	}
	return map[string]string{schemeHTTP: "80", schemeHTTPS: "443", schemeSSH: "22"}[l.scheme]
}

// hostPort is the host, in lower case, with the port where one is written.
func (l location) hostPort() string {
	host := strings.ToLower(l.host)
	switch {
	case l.port != "":
		return net.JoinHostPort(host, l.port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// at is the reference to a commit of the same repository.
func (r reference) at(commit string) string {
	pinned := r.url + "?commit=" + commit
	if r.submodules {
		pinned += "&submodules=true"
	}
	return pinned
}

// isHash reports whether s is the name of an object, of SHA-1 or SHA-256, in
// lower case.
func isHash(s string) bool {
	if len(s) != 40 && len(s) != 64 || s != strings.ToLower(s) {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

// isRefName reports whether s may follow refs/heads/ or refs/tags/; see
// git-check-ref-format(1).
func isRefName(s string) bool {
	if s == "" || s == "@" || len(s) > 1024 || strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func bad(format string, args ...any) error {
	return source.Refuse(source.ErrReference, fmt.Sprintf(format, args...)+": "+form)
}

func credentialsInside() error {
	return source.Refuse(source.ErrReference,
		"a URL must hold no credentials, because it ends up in files and logs: put them into a Secret, as username and password or bearerToken")
}

// scrub hides what stands before the host of a URL, but for the user of ssh.
func scrub(ref string) string {
	scheme, rest, ok := strings.Cut(ref, "://")
	if !ok {
		where, _, _ := strings.Cut(ref, "@")
		if _, secret, ok := strings.Cut(where, ":"); ok && secret != "" && len(where) < len(ref) {
			return "***" + ref[len(where):]
		}
		return ref
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	// A password may hold slashes that nobody escaped.
	if at := strings.LastIndexByte(rest, '@'); at > end && strings.Contains(rest[:end], ":") && !strings.ContainsAny(rest[:at], "?") {
		end = at + 1
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 || scheme == schemeSSH && !strings.Contains(rest[:at], ":") {
		return ref
	}
	return scheme + "://***" + rest[at:]
}

// shown is a reference that may be no good, without credentials, and not long.
func shown(ref string) string {
	const longest = 240
	if ref = scrub(ref); len(ref) > longest {
		ref = strings.ToValidUTF8(ref[:longest], "") + "…"
	}
	return ref
}
