// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
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

// Ports of registries.
const (
	portHTTPS = "443"
	portHTTP  = "80"
)

const dockerHub = "docker.io"

// dockerAliases returns the old names of Docker's registry.
func dockerAliases() []string { return []string{"index.docker.io", "registry-1.docker.io"} }

// location names a place of modules, without their version. Every spelling of a reference gives the
// same location.
type location struct {
	scheme string
	// host is in lower case, without a dot at its end; an address is written as in RFC 5952, and an
	// IPv6 address in brackets.
	host string
	// port is never empty.
	port string
	path []string // its segments; a path of Git has no .git at the end
}

// String returns the location as a rule has to write it.
func (l location) String() string {
	host := l.host
	if l.port != usualPort(l.scheme) {
		host += ":" + l.port
	}
	return l.scheme + "://" + host + "/" + strings.Join(l.path, "/")
}

// usualPort returns the port of a scheme where none is written.
func usualPort(scheme string) string {
	switch scheme {
	case schemeHTTP:
		return portHTTP
	case schemeSSH:
		return "22"
	}
	return portHTTPS
}

var (
	errPath = errors.New("its path has empty, dotted or escaped segments, or unusual characters, " +
		"which servers may read in more than one way: write it plainly")
	errNoPath = errors.New("it has no host, or no path")
	errScheme = errors.New("its scheme is not oci, https, http or ssh")
	errUser   = errors.New("it has a user or a password before its host")
	errNotURL = errors.New("it is not a URL")
	errHost   = errors.New("its host is ambiguous: write a name of letters, digits, dashes and dots, " +
		"an address of IPv4 as four decimal numbers, or one of IPv6 in brackets")
	errPort     = errors.New("its port is not a number from 1 to 65535") // the port is not repeated: it may be part of a password
	errUpperOCI = errors.New("it has upper case in its path, which no repository of a registry has")
)

// locate returns the location of a reference of the type oci, git, helm or http. Credentials in
// the reference are neither in the location nor in the error.
func locate(ref string) (location, error) {
	base, _, _ := strings.Cut(ref, "#")
	base, query, _ := strings.Cut(base, "?")

	// The scheme decides what the rest means.
	scheme, address, ok := strings.Cut(base, "://")
	if !ok {
		// git@host:path
		where, path, ok := strings.Cut(base, ":")
		if !ok || strings.Contains(where, "/") {
			return location{}, errNotURL
		}
		scheme, address = schemeSSH, where+"/"+strings.TrimPrefix(path, "/")
	}
	scheme = strings.ToLower(scheme)
	if !isScheme(scheme) {
		return location{}, errScheme
	}

	// A user name is needed for ssh, and is a credential elsewhere.
	server, path, _ := strings.Cut(address, "/")
	if at := strings.LastIndexByte(server, '@'); at >= 0 {
		if scheme != schemeSSH {
			return location{}, errUser
		}
		server = server[at+1:]
	}

	// What one server takes for the same path gets one form.
	if scheme == schemeOCI {
		path, _, _ = strings.Cut(path, "@")
		path, _, _ = strings.Cut(path, ":")
	} else {
		path = strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git")
	}
	// A chart is below its repository, which may be the root of a host.
	if options, err := url.ParseQuery(query); err == nil && options.Has("chart") {
		path = strings.TrimPrefix(path+"/"+options.Get("chart"), "/")
	}

	// A path with segments that servers read in different ways has no one form.
	if server == "" || path == "" {
		return location{}, errNoPath
	}
	l := location{scheme: scheme, path: strings.Split(path, "/")}
	ambiguous := slices.ContainsFunc(l.path, func(s string) bool { return !isPlain(s) || strings.Contains(s, "*") })
	gitTwice := scheme != schemeOCI && strings.HasSuffix(strings.ToLower(path), ".git")
	if ambiguous || gitTwice {
		return location{}, errPath
	}

	// The host and the port get their one form too.
	name, port, err := cutPort(server)
	if err != nil {
		return location{}, err
	}
	l.host, err = canonicalHost(name)
	if err != nil {
		return location{}, err
	}
	if scheme == schemeOCI && slices.Contains(dockerAliases(), l.host) {
		l.host = dockerHub
	}
	l.port = usualPort(scheme)
	if port != "" {
		l.port, err = canonicalPort(port)
	}
	return l, err
}

func isScheme(s string) bool {
	return slices.Contains([]string{schemeOCI, schemeHTTPS, schemeHTTP, schemeSSH}, s)
}

// isPlain reports whether every server takes a segment as it is written. Semicolons
// are excluded because some servers cut them off with what follows, dots at the end
// because some leave them out, ~ because it is the home of the user that logs in.
func isPlain(segment string) bool {
	if segment == "" || segment == "~" || strings.HasSuffix(segment, ".") {
		return false
	}
	return !strings.ContainsFunc(segment, func(r rune) bool {
		return !isHostRune(r) && !strings.ContainsRune("~+,=:*", r)
	})
}

// cutPort splits a host and the port behind it; the port is "" if the server has no port.
func cutPort(server string) (host, port string, err error) {
	if !strings.HasPrefix(server, "[") {
		host, port, _ = strings.Cut(server, ":")
		return host, port, nil
	}
	host, suffix, closed := strings.Cut(server, "]")
	port, colon := strings.CutPrefix(suffix, ":")
	if !closed || (suffix != "" && !colon) {
		return "", "", errHost
	}
	return host + "]", port, nil
}

// canonicalPort returns a port without zeros before it.
func canonicalPort(port string) (string, error) {
	n, err := strconv.Atoi(port)
	onlyDigits := strings.Trim(port, "0123456789") == "" // Atoi also takes a sign
	if err != nil || !onlyDigits || n < 1 || n > 65535 {
		return "", errPort
	}
	return strconv.Itoa(n), nil
}

// canonicalHost returns the one form of a name or an address. Hosts that net/http, a resolver
// or an operating system maps to another name are refused: letters beyond ASCII, numbers that
// only some read as an address, and the unspecified address.
func canonicalHost(host string) (string, error) {
	if inside, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inside, "]"))
		isHost := a.Is6() && a.Zone() == "" && !a.IsUnspecified()
		if err != nil || !isHost {
			return "", errHost
		}
		a = a.Unmap()
		if a.Is4() { // ::ffff:192.0.2.1 is reached as 192.0.2.1
			return canonicalHost(a.String())
		}
		return "[" + a.String() + "]", nil
	}

	// Everything else is a name, or four numbers with dots between them.
	if strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }) {
		return "", errHost
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(host, ".")
	if slices.Contains(labels, "") || len(host) > 253 {
		return "", errHost
	}
	if isNumber(labels[len(labels)-1]) {
		if a, err := netip.ParseAddr(host); err != nil || a.IsUnspecified() {
			return "", errHost
		}
	}
	return host, nil
}

func isHostRune(r rune) bool {
	isLetter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
	isDigit := r >= '0' && r <= '9'
	return isLetter || isDigit || strings.ContainsRune("-_.", r)
}

// isNumber reports whether a label at the end of a name makes it an address; see
// the WHATWG URL standard, "ends in a number checker".
func isNumber(label string) bool {
	hex, ok := strings.CutPrefix(label, "0x")
	isHex := ok && strings.Trim(hex, "0123456789abcdef") == ""
	return isHex || strings.Trim(label, "0123456789") == ""
}
