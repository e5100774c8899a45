// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"errors"
	"strings"
)

// Schemes of sources.
const (
	schemeOCI   = "oci"
	schemeHTTPS = "https"
	schemeHTTP  = "http"
	schemeSSH   = "ssh"
	anyScheme   = "*"
)

// gitSuffix is what names of repositories of Git may end with.
const gitSuffix = ".git"

// place is where something lies, without what leads to one version of it.
type place struct {
	host host
	// segments are those of the path, without gitSuffix for Git.
	segments []string
}

// String is the place as a source.
func (p place) String() string {
	return p.host.scheme + "://" + p.host.String() + "/" + strings.Join(p.segments, "/")
}

var (
	errUnclear = errors.New("its path has empty, dotted or escaped segments, or unusual characters, which servers may read in more than one way: write it plainly")
	errNoPlace = errors.New("it has no host, or no path")
	errScheme  = errors.New("its scheme is not oci, https, http or ssh")
	errUser    = errors.New("it has a user or a password before its host")
)

// placeOf is where a reference of the type oci or git leads. Credentials that
// somebody wrote into it are neither in the place nor in the error.
func placeOf(ref string) (place, error) {
	base, _, _ := strings.Cut(ref, "?")
	scheme, rest, ok := strings.Cut(base, "://")
	if !ok {
		// git@host:path
		where, path, ok := strings.Cut(base, ":")
		if !ok || strings.Contains(where, "/") {
			return place{}, errors.New("it is no URL")
		}
		scheme, rest = schemeSSH, where+"/"+strings.TrimPrefix(path, "/")
	}
	scheme = strings.ToLower(scheme)
	if !isScheme(scheme) {
		return place{}, errScheme
	}
	server, path, _ := strings.Cut(rest, "/")
	if scheme == schemeOCI {
		path, _, _ = strings.Cut(path, "@")
		path, _, _ = strings.Cut(path, ":")
	}
	if at := strings.LastIndexByte(server, '@'); at >= 0 {
		if scheme != schemeSSH {
			return place{}, errUser
		}
		server = server[at+1:]
	}
	if server == "" || path == "" {
		return place{}, errNoPlace
	}
	h, err := hostOf(scheme, server)
	if err != nil {
		return place{}, err
	}
	p := place{host: h, segments: strings.Split(path, "/")}
	if scheme != schemeOCI {
		p.segments = strings.Split(strings.TrimSuffix(path, "/"), "/")
		p.segments, ok = withoutSuffix(p.segments)
		if !ok {
			return place{}, errUnclear
		}
	}
	for _, s := range p.segments {
		if !isPlain(s) || strings.Contains(s, "*") {
			return place{}, errUnclear
		}
	}
	return p, nil
}

func isScheme(s string) bool {
	return s == schemeOCI || s == schemeHTTPS || s == schemeHTTP || s == schemeSSH
}

// withoutSuffix is a path of Git without what its last segment may leave out. Where
// that could be left out twice, or is in upper case, servers do not agree what it is.
func withoutSuffix(path []string) (short []string, ok bool) {
	last := len(path) - 1
	name := strings.TrimSuffix(path[last], gitSuffix)
	short = append(short, path[:last]...)
	return append(short, name), !strings.HasSuffix(strings.ToLower(name), gitSuffix)
}

// isPlain reports whether every server takes a segment as it stands. Semicolons are
// out because some servers cut them off, with what follows; dots at the end, because
// some leave them out; ~ is whatever folder the user has that logs in.
func isPlain(segment string) bool {
	return segment != "" && segment != "~" && !strings.HasSuffix(segment, ".") && !strings.ContainsFunc(segment, func(r rune) bool {
		return !isHostRune(r) && !strings.ContainsRune("~+,=:*", r)
	})
}

// pattern is a place with * in it.
type pattern struct {
	scheme string
	host   hostPattern
	// segments are those of the path, as they are written; repository is the same
	// for Git.
	segments, repository []string
	// deep says that ** ended it.
	deep bool
}

func parsePattern(text string) (pattern, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		return pattern{}, errors.New("expected scheme://host/path, such as oci://ghcr.io/acme/**")
	case !isScheme(scheme) && scheme != anyScheme:
		return pattern{}, errors.New("the scheme is oci, https, http, ssh or *")
	case rest == "**":
		return pattern{scheme: scheme, host: hostPattern{name: "*", port: "*"}, deep: true}, nil
	case strings.ContainsAny(rest, "%?@\\#"):
		return pattern{}, errors.New("it has a user, an escape, a query or a digest: only host and path count")
	}
	p := pattern{scheme: scheme}
	rest, p.deep = strings.CutSuffix(rest, "/**")
	if strings.Contains(rest, "**") {
		return pattern{}, errors.New("** stands alone, at the end")
	}
	server, path, slash := strings.Cut(rest, "/")
	var err error
	if p.host, err = parseHostPattern(scheme, server); err != nil {
		return pattern{}, err
	}
	if scheme != schemeOCI && !p.deep {
		path = strings.TrimSuffix(path, "/")
	}
	switch {
	case path != "" || slash && p.deep:
		p.segments = strings.Split(path, "/")
	case !p.deep:
		return pattern{}, errors.New("it names a host and no path: add /** for all of it")
	}
	return p, p.checkPath()
}

// checkPath refuses paths that no reference has, because a rule without effect is
// one that somebody believes in, and fills in repository.
func (p *pattern) checkPath() error {
	for _, s := range p.segments {
		switch {
		case p.scheme == schemeOCI && strings.Contains(s, ":"):
			return errors.New("it has a tag: only host and path count, so a rule is about all tags")
		case p.scheme == schemeOCI && strings.ToLower(s) != s:
			return errors.New("it has upper case in its path, which no repository of a registry has")
		case !isPlain(s), p.scheme == schemeOCI && strings.ContainsAny(s, "~+,="):
			return errors.New("it has an empty or dotted segment, or characters that no reference may have here: no source is ever like that")
		}
	}
	p.repository = p.segments
	if p.deep || p.scheme == schemeOCI {
		return nil
	}
	var ok bool
	if p.repository, ok = withoutSuffix(p.segments); !ok || p.repository[len(p.repository)-1] == "" {
		return errors.New("its last segment is .git, or ends with it twice or in upper case: no source is ever like that")
	}
	return nil
}

// matches reports whether p is about a place. Strict is for rules that refuse: it
// takes upper case for lower case in paths, and one port of a registry for another.
func (p pattern) matches(at place, strict bool) bool {
	if p.scheme != anyScheme && p.scheme != at.host.scheme || !p.host.matches(at.host, strict) {
		return false
	}
	segments := p.repository
	if at.host.scheme == schemeOCI {
		segments = p.segments
	}
	if len(at.segments) < len(segments) || p.deep != (len(at.segments) > len(segments)) {
		return false
	}
	for i, s := range segments {
		name := at.segments[i]
		if strict {
			s, name = strings.ToLower(s), strings.ToLower(name)
		}
		if !glob(s, name) {
			return false
		}
	}
	return true
}

// glob matches a segment, in which * is any run of characters.
func glob(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}
