// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/version"
)

// form describes references, for errors.
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
	// url repeats the text of the user, without the query.
	url    string
	scheme string
	// user is the user of ssh; "" where none is written.
	user string
	host string
	// port is "" for the usual port of the scheme.
	port string
	// path lies on the server: as it is in the URL for http, and as the server gets it for ssh.
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
	place, err := parseLocation(base)
	if err != nil {
		return reference{}, err
	}

	// Without a query it is the default branch.
	r := reference{location: place}
	if query == "" {
		return r, nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		// One key says what is chosen, and is there once.
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(raw)
		if err != nil || value == "" {
			return reference{}, bad("%q in the query has no valid value", key)
		}
		switch key {
		case byBranch, byTag, bySemver, byCommit:
			if r.by != byHead {
				return reference{}, bad("the query has both %s and %s", r.by, key)
			}
			r.by, r.choice = key, value
		case "submodules":
			r.submodules, err = strconv.ParseBool(value)
			if err != nil {
				return reference{}, bad("submodules is true or false, not %q", value)
			}
		default:
			return reference{}, errUnknownKey(key)
		}
	}
	return r, r.checkChoice()
}

// errUnknownKey returns the error for a key of the query. For a key of another tool it names
// the key to use.
func errUnknownKey(key string) error {
	switch key {
	case "ref", "rev", "revision", "version", "targetRevision":
		return bad("%q in the query is of another tool: it is ?tag=NAME, ?branch=NAME or ?commit=HASH here", key)
	case "path", "dir", "subdir", "folder":
		return bad("%q in the query is of another tool: the folder goes into the field path, beside ref", key)
	}
	return bad("unknown key %q in the query", key)
}

// checkChoice refuses names that Git refuses, or could take for something else, and makes
// hashes lower case.
func (r *reference) checkChoice() error {
	switch r.by {
	case byCommit:
		r.choice = strings.ToLower(r.choice)
		if !isHash(r.choice) {
			return bad("commit %q is not a full hash", r.choice)
		}
	case byBranch, byTag:
		if !isRefName(r.choice) {
			return bad("%s %q is not a valid name in Git", r.by, r.choice)
		}
	case bySemver:
		if _, err := parseConstraint(r.choice); err != nil {
			return err
		}
	}
	return nil
}

// parseLocation reads a URL, or a location in the form of scp.
func parseLocation(base string) (location, error) {
	if strings.ContainsFunc(base, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return location{}, bad("the URL holds spaces or control characters")
	}
	if strings.Contains(base, "#") {
		return location{}, bad("the URL has a fragment")
	}

	// Forms of other tools get an error that says what to write.
	base = strings.TrimPrefix(base, "git::") // of Terraform
	if scheme, rest, ok := strings.Cut(base, "://"); ok && strings.Contains(rest, "//") && scheme != schemeHTTP {
		return location{}, bad("a folder behind // is of another tool: it goes into the field path, beside ref")
	}
	scheme, _, ok := strings.Cut(base, "://")
	if !ok {
		return parseSCP(base)
	}

	// Credentials are refused, except for the user of ssh.
	u, err := url.Parse(base)
	if err != nil {
		return location{}, bad("the URL cannot be read")
	}
	l := location{url: base, scheme: scheme, host: u.Hostname(), port: u.Port(), path: u.EscapedPath()}
	switch scheme {
	case schemeHTTP, schemeHTTPS:
		if u.User != nil {
			return location{}, errCredentialsInside()
		}
	case schemeSSH:
		if _, ok := u.User.Password(); ok {
			return location{}, errCredentialsInside()
		}
		l.user, l.path = u.User.Username(), u.Path
		if strings.HasPrefix(l.path, "/~") {
			l.path = l.path[1:]
		}
	default:
		return location{}, bad("unsupported scheme %q: use https or ssh", scheme)
	}
	return l, l.check()
}

// parseSCP reads user@host:path.
func parseSCP(base string) (location, error) {
	where, path, ok := strings.Cut(base, ":")
	user, host, named := strings.Cut(where, "@")
	if !ok || !named || strings.Contains(where, "/") {
		return location{}, bad("it is not a URL")
	}
	l := location{url: base, scheme: schemeSSH, user: user, host: host, path: path}
	return l, l.check()
}

// check refuses parts that a program that gets them could take for an option
// (CVE-2017-1000117).
func (l location) check() error {
	for _, part := range []string{l.user, l.host, l.path} {
		if strings.HasPrefix(part, "-") {
			return bad("%q begins with a dash", part)
		}
	}
	plain := func(r rune) bool {
		isLetter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		isDigit := r >= '0' && r <= '9'
		return isLetter || isDigit || strings.ContainsRune("-._:", r)
	}
	switch {
	case l.host == "" || strings.ContainsFunc(l.host, func(r rune) bool { return !plain(r) }):
		return bad("%q is not a host name", l.host)
	case strings.ContainsFunc(l.user, func(r rune) bool { return !plain(r) && r != '+' }):
		return bad("the user name holds invalid characters")
	case strings.Trim(l.path, "/") == "":
		return bad("the URL has no path")
	case l.port != "":
		if n, err := strconv.Atoi(l.port); err != nil || n < 1 || n > 65535 {
			return bad("%q is not a port", l.port)
		}
	}
	return nil
}

// sameHost reports whether credentials for l are for o too.
func (l location) sameHost(o location) bool {
	return l.scheme == o.scheme && strings.EqualFold(l.host, o.host) && l.portNumber() == o.portNumber()
}

// portNumber returns the port, or the usual port of the scheme if no port is written.
func (l location) portNumber() string {
	if l.port != "" {
		return l.port
	}
	return map[string]string{schemeHTTP: "80", schemeHTTPS: "443", schemeSSH: "22"}[l.scheme]
}

// hostPort returns the host in lower case, with the port where one is written.
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

// at returns the reference to a commit of the same repository.
func (r reference) at(commit string) string {
	pinned := r.url + "?commit=" + commit
	if r.submodules {
		pinned += "&submodules=true"
	}
	return pinned
}

// isHash reports whether s is the name of an object, of SHA-1 or SHA-256, in lower case.
func isHash(s string) bool {
	hasLength := len(s) == 40 || len(s) == 64
	if !hasLength || s != strings.ToLower(s) {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

// isRefName reports whether s may follow refs/heads/ or refs/tags/; see
// git-check-ref-format(1).
func isRefName(s string) bool {
	return len(s) <= 1024 && plumbing.NewBranchReferenceName(s).Validate() == nil
}

func bad(format string, args ...any) error {
	return source.Refuse(source.ErrReference, fmt.Sprintf(format, args...)+": "+form)
}

func errCredentialsInside() error {
	return source.Refuse(source.ErrReference,
		"a URL must hold no credentials, because it ends up in files and logs: put them into a Secret, as username and password or bearerToken")
}

// scrub hides what stands before the host of a URL, except for the user of ssh. A password
// may hold slashes that are not escaped.
func scrub(ref string) string {
	return regexp.MustCompile(`^(\w+://([^/?#@]*:[^?]*|[^/?#]*)|[^/:@]*:[^/@][^@]*)@`).ReplaceAllStringFunc(ref, func(text string) string {
		scheme, access, ok := strings.Cut(text, "://")
		switch {
		case !ok:
			return "***@"
		case scheme == schemeSSH && !strings.Contains(access, ":"):
			return text
		}
		return scheme + "://***@"
	})
}

// redactReference returns a reference for an error: without credentials, and not long. The
// reference may be malformed.
func redactReference(ref string) string {
	const longest = 240
	return printable.Cut(scrub(ref), longest, "…")
}

// The folders of references, and what marks the commit of an annotated tag.
const (
	heads  = "refs/heads/"
	tags   = "refs/tags/"
	peeled = "^{}"
)

// advert is a reference of a repository, as the server lists it.
type advert struct {
	name string
	// id is the object that it names: the tag itself for an annotated tag.
	id string
	// commit is the target of an annotated tag; "" for all else.
	commit string
	// symref is the reference that HEAD stands for; "" where that is not known.
	symref string
}

// target returns the commit that a reference leads to.
func (a advert) target() string {
	if a.commit != "" {
		return a.commit
	}
	return a.id
}

// chosen is the commit that a reference leads to now.
type chosen struct {
	commit string
	// name names the branch or tag; "" for a bare commit.
	name string
	// tag is the object of an annotated tag, or "".
	tag string
}

// revision returns the commit, and the name that led to it.
func (c chosen) revision() string {
	algorithm := "sha1:"
	if len(c.commit) == 64 {
		algorithm = "sha256:"
	}
	if c.name == "" {
		return algorithm + c.commit
	}
	return c.name + "@" + algorithm + c.commit
}

// patterns returns the patterns of the references that a choice is made among.
func (r reference) patterns() []string {
	switch r.by {
	case byBranch:
		return []string{heads + r.choice}
	case byTag:
		return []string{tags + r.choice, tags + r.choice + peeled}
	case bySemver:
		return []string{tags + "*"}
	default:
		return []string{"HEAD"}
	}
}

// choose returns the commit of a reference, as a server has it.
func (r reference) choose(ctx context.Context, server remote) (chosen, error) {
	if r.by == byCommit {
		return chosen{commit: r.choice}, nil
	}
	adverts, err := server.listRefs(ctx, r.patterns())
	if err != nil {
		return chosen{}, err
	}

	// The hashes go into commands and messages, so the server must list nothing else.
	for _, a := range adverts {
		isTag := a.commit != ""
		if !isHash(a.target()) || (isTag && !isHash(a.id)) {
			return chosen{}, source.Refuse(source.ErrDigest, fmt.Sprintf(
				"the server lists %q with %q, which is not a hash", a.name, a.target()))
		}
	}

	// A choice that leads to nothing says what the server lacks.
	switch r.by {
	case bySemver:
		return chooseHighest(adverts, r.choice)
	case byTag:
		return chooseNamed(adverts, tags+r.choice, r.choice, fmt.Sprintf("no tag %q", r.choice))
	case byBranch:
		return chooseNamed(adverts, heads+r.choice, r.choice, fmt.Sprintf("no branch %q", r.choice))
	default:
		c, err := chooseNamed(adverts, "HEAD", "HEAD", "no default branch, or is empty: write ?branch=<name>")
		if err != nil {
			return c, err
		}
		for _, a := range adverts {
			if name, ok := strings.CutPrefix(a.symref, heads); ok && a.name == "HEAD" {
				c.name = name
			}
		}
		return c, nil
	}
}

// chooseNamed chooses the reference of a full name.
func chooseNamed(adverts []advert, full, short, missing string) (chosen, error) {
	i := slices.IndexFunc(adverts, func(a advert) bool { return a.name == full })
	if i < 0 {
		return chosen{}, source.Refuse(source.ErrAbsent, "the repository has "+missing)
	}
	return choice(adverts[i], short), nil
}

func choice(a advert, name string) chosen {
	c := chosen{commit: a.target(), name: name}
	if a.commit != "" {
		c.tag = a.id
	}
	return c
}

// parseConstraint reads a range of versions.
func parseConstraint(text string) (version.Range, error) {
	r, err := version.ParseRange(text)
	if err != nil {
		return r, source.Refuse(source.ErrReference, fmt.Sprintf("semver: %v (?semver=^1.2)", err))
	}
	return r, nil
}

// chooseHighest chooses the tag with the highest version in a range. A leading v does not
// count, and of two tags with equal versions the first by name wins.
func chooseHighest(adverts []advert, text string) (chosen, error) {
	in, err := parseConstraint(text)
	if err != nil {
		return chosen{}, err
	}
	best := in.Highest()
	byName := map[string]advert{}
	for _, a := range adverts {
		if name, ok := strings.CutPrefix(a.name, tags); ok {
			best.Add(name)
			byName[name] = a
		}
	}
	name, ok := best.Tag()
	if !ok {
		return chosen{}, source.Refuse(source.ErrAbsent, fmt.Sprintf(
			"none of the %d tags of the repository is a version in %q", len(adverts), text))
	}
	return choice(byName[name], name), nil
}
