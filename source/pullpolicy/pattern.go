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

// place is where something lies, without what leads to one version of it.
type place struct {
	scheme string
	// segments are the host, then those of the path.
	segments []string
}

// String is the place as a source.
func (p place) String() string { return p.scheme + "://" + strings.Join(p.segments, "/") }

var errUnclear = errors.New("its path has empty, dotted or escaped segments, which servers may read in more than one way: write it plainly")

// placeOf is where a reference of the type oci or git leads. Credentials that
// somebody wrote into it are not in the place.
func placeOf(ref string) (place, error) {
	base, _, _ := strings.Cut(ref, "?")
	scheme, rest, ok := strings.Cut(base, "://")
	if !ok {
		// git@host:path
		where, path, ok := strings.Cut(base, ":")
		if !ok {
			return place{}, errors.New("it is no URL")
		}
		scheme, rest = schemeSSH, where+"/"+strings.TrimPrefix(path, "/")
	}
	scheme = strings.ToLower(scheme)
	host, path, _ := strings.Cut(rest, "/")
	if scheme == schemeOCI {
		path, _, _ = strings.Cut(path, "@")
		path, _, _ = strings.Cut(path, ":")
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	p := place{scheme: scheme, segments: append([]string{canonicalHost(scheme, host)}, segments(path)...)}
	return p, p.check()
}

func (p place) check() error {
	if p.segments[0] == "" || len(p.segments) < 2 {
		return errors.New("it has no host, or no path")
	}
	for _, s := range p.segments {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "%\\@*") {
			return errUnclear
		}
	}
	return nil
}

// segments are those of a path, without what may be left out at its end.
func segments(path string) []string {
	path = strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// canonicalHost is one name for a host that has several.
func canonicalHost(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case schemeOCI, schemeHTTPS:
		host = strings.TrimSuffix(host, ":443")
	case schemeHTTP:
		host = strings.TrimSuffix(host, ":80")
	case schemeSSH:
		host = strings.TrimSuffix(host, ":22")
	}
	name, port, _ := strings.Cut(host, ":")
	if name = strings.TrimSuffix(name, "."); port != "" {
		name += ":" + port
	}
	if scheme == schemeOCI && (name == "index.docker.io" || name == "registry-1.docker.io") {
		return "docker.io"
	}
	return name
}

// pattern is a place with * in it.
type pattern struct {
	place
	// deep says that ** ended it.
	deep bool
}

func parsePattern(text string) (pattern, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		return pattern{}, errors.New("expected scheme://host/path, such as oci://ghcr.io/acme/**")
	case scheme != schemeOCI && scheme != schemeHTTPS && scheme != schemeHTTP && scheme != schemeSSH && scheme != anyScheme:
		return pattern{}, errors.New("the scheme is oci, https, http, ssh or *")
	}
	var p pattern
	p.scheme = scheme
	if rest == "**" {
		p.deep = true
		return p, nil
	}
	rest, p.deep = strings.CutSuffix(rest, "/**")
	host, path, _ := strings.Cut(rest, "/")
	p.segments = append([]string{canonicalHost(scheme, host)}, segments(path)...)
	for _, s := range p.segments {
		switch {
		case s == "" || s == "." || s == "..":
			return pattern{}, errors.New("it has an empty or dotted segment")
		case strings.Contains(s, "**"):
			return pattern{}, errors.New("** stands alone, at the end")
		case strings.ContainsAny(s, "%?@\\"):
			return pattern{}, errors.New("it has a user, an escape, a query or a digest: only host and path count")
		}
	}
	if len(p.segments) == 1 && !p.deep {
		return pattern{}, errors.New("it names a host and no path: add /** for all of it")
	}
	return p, nil
}

// matches reports whether p is about a place; fold takes upper case for lower case.
func (p pattern) matches(at place, fold bool) bool {
	if p.scheme != anyScheme && p.scheme != at.scheme {
		return false
	}
	if len(at.segments) < len(p.segments) || p.deep != (len(at.segments) > len(p.segments)) {
		return false
	}
	for i, s := range p.segments {
		name := at.segments[i]
		if fold {
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
