// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pattern is a location in its canonical form, with * in it.
type pattern struct {
	scheme string
	host   string
	port   string // "" for the usual port of the scheme, * for every port
	path   []string
	deep   bool // ** ended it
}

// parsePattern reads a source of a rule. It must be written as [location.String] writes a
// location, so that there is one way to read it. A source that no reference can match is an
// error, because such a rule protects nothing.
func parsePattern(text string) (pattern, error) {
	scheme, address, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		return pattern{}, errors.New("expected scheme://host/path, such as oci://ghcr.io/acme/**")
	case !isScheme(scheme) && scheme != anyScheme:
		return pattern{}, errors.New("the scheme is oci, https, http, ssh or *")
	case address == "**":
		return pattern{scheme: scheme, host: "*", port: "*", deep: true}, nil
	case strings.ContainsAny(address, "%?@\\#"):
		return pattern{}, errors.New("it has a user, an escape, a query or a digest: only host and path count")
	}

	// ** may only end the path, and then the path may be empty.
	p := pattern{scheme: scheme}
	address, p.deep = strings.CutSuffix(address, "/**")
	if strings.Contains(address, "**") {
		return pattern{}, errors.New("** stands alone, at the end")
	}
	server, path, slash := strings.Cut(address, "/")
	switch {
	case path != "" || (slash && p.deep):
		p.path = strings.Split(path, "/")
	case !p.deep:
		return pattern{}, errors.New("it has a host and no path: add /** for all of it")
	}
	if err := p.parseHost(server); err != nil {
		return pattern{}, err
	}
	return p, p.checkPath()
}

func (p *pattern) parseHost(server string) (err error) {
	p.host, p.port, err = cutPort(server)
	if err != nil {
		return err
	}
	if p.host == "" {
		return errors.New("it has no host")
	}
	// A letter in place of each * leaves the form of a name as it is.
	switch name, err := canonicalHost(strings.ReplaceAll(p.host, "*", "x")); {
	case err != nil:
		return err
	case name != strings.ReplaceAll(p.host, "*", "x"):
		return errors.New("its host is not in the canonical form: write it in lower case, without a dot at the end, and addresses as in RFC 5952")
	}

	// References have the main name of Docker's registry, so a rule for an old name would match
	// nothing.
	if p.scheme == schemeOCI || p.scheme == anyScheme {
		alias := slices.IndexFunc(dockerAliases(), func(a string) bool { return glob(p.host, a) })
		if alias >= 0 && !glob(p.host, dockerHub) {
			return fmt.Errorf("%s is another name of %s: write that", dockerAliases()[alias], dockerHub)
		}
	}

	// The usual port is never written, as in locations.
	switch {
	case p.port == "*":
		return nil
	case p.port != "":
		port, err := canonicalPort(p.port)
		isUsual := p.scheme != anyScheme && port == usualPort(p.scheme)
		if err == nil && (port != p.port || isUsual) {
			err = errors.New("its port is not in the canonical form: write no zeros before it, and leave out the usual port of the scheme")
		}
		return err
	case strings.HasSuffix(server, ":"):
		return errPort
	case strings.HasSuffix(p.host, "*"):
		p.port = "*" // it stands for the port too
	}
	return nil
}

// checkPath refuses a path that no reference has.
func (p *pattern) checkPath() error {
	for i, s := range p.path {
		last := i == len(p.path)-1 && !p.deep
		switch {
		case p.scheme == schemeOCI && strings.Contains(s, ":"):
			return errors.New("it has a tag: only host and path count, so a rule is about all tags")
		case p.scheme == schemeOCI && strings.ToLower(s) != s:
			return errUpperOCI
		case !isPlain(s), p.scheme == schemeOCI && strings.ContainsAny(s, "~+,="):
			return errors.New("it has an empty or dotted segment, or characters that no reference may have here: no source is ever like that")
		case last && p.scheme != schemeOCI && strings.HasSuffix(strings.ToLower(s), ".git"):
			return errors.New("it ends with .git: leave that out, the rule is about both ways to write it")
		}
	}
	return nil
}

// matches reports whether p is about a location. Strict is for rules that refuse: it ignores
// case in paths, and takes port 80 of a registry for 443, because nothing in a reference says
// whether its registry is reached by plain http.
func (p pattern) matches(place location, strict bool) bool {
	sameScheme := p.scheme == anyScheme || p.scheme == place.scheme
	if !sameScheme || !glob(p.host, place.host) {
		return false
	}
	port := p.port
	if port == "" {
		port = usualPort(place.scheme)
	}
	registryPorts := []string{portHTTP, portHTTPS}
	bothUsual := slices.Contains(registryPorts, port) && slices.Contains(registryPorts, place.port)
	samePort := port == "*" || port == place.port || (strict && place.scheme == schemeOCI && bothUsual)
	if !samePort {
		return false
	}
	if len(place.path) < len(p.path) || p.deep != (len(place.path) > len(p.path)) {
		return false
	}
	for i, s := range p.path {
		name := place.path[i]
		if strict {
			s, name = strings.ToLower(s), strings.ToLower(name)
		}
		if !glob(s, name) {
			return false
		}
	}
	return true
}

// glob reports whether a segment matches a pattern, in which * is any run of characters.
func glob(pattern, name string) bool {
	first, parts, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, remaining, hasMore := strings.Cut(parts, "*")
		if !hasMore {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, parts = name[i+len(part):], remaining
	}
}
