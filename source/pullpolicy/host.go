// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// dockerHub is the name of Docker's registry, which has others.
const dockerHub = "docker.io"

// dockerNames are all names of Docker's registry.
func dockerNames() []string { return []string{dockerHub, "index.docker.io", "registry-1.docker.io"} }

// usualPort is the port that a scheme has where none is written. Registries that
// are reached by plain http have another; see [host.ports].
func usualPort(scheme string) string {
	switch scheme {
	case schemeHTTP:
		return portHTTP
	case schemeSSH:
		return "22"
	}
	return portHTTPS
}

// Ports that registries have where none is written.
const (
	portHTTPS = "443"
	portHTTP  = "80"
)

// host is a server. All spellings of it give the same value.
type host struct {
	scheme string
	// name is in lower case, without a dot at its end; an address as RFC 5952 has
	// it, that of IPv6 in brackets.
	name string
	// port is always there, without zeros before it.
	port string
}

var errHost = errors.New("its host has no form that everybody reads alike: write a name of letters, digits, dashes and dots, " +
	"an address of IPv4 as four decimal numbers, or one of IPv6 in brackets")

// errPort does not repeat the port, which may be a password that was cut in two.
var errPort = errors.New("its port is no number from 1 to 65535")

// hostOf is the host in a URL of a scheme, without a user.
func hostOf(scheme, text string) (host, error) {
	name, port, err := cutPort(text)
	if err != nil {
		return host{}, err
	}
	if name, err = canonicalName(name); err != nil {
		return host{}, err
	}
	if port, err = canonicalPort(port); err != nil {
		return host{}, err
	}
	if scheme == schemeOCI && slices.Contains(dockerNames(), name) {
		name = dockerHub
	}
	if port == "" {
		port = usualPort(scheme)
	}
	return host{scheme: scheme, name: name, port: port}, nil
}

// cutPort parts a host from the port behind it.
func cutPort(text string) (name, port string, err error) {
	if !strings.HasPrefix(text, "[") {
		name, port, _ = strings.Cut(text, ":")
		return name, port, nil
	}
	name, rest, closed := strings.Cut(text, "]")
	port, colon := strings.CutPrefix(rest, ":")
	if !closed || rest != "" && !colon {
		return "", "", errHost
	}
	return name + "]", port, nil
}

// canonicalPort is a port without zeros before it; "" where none is written.
func canonicalPort(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || strings.Trim(text, "0123456789") != "" || n < 1 || n > 65535 {
		return "", errPort
	}
	return strconv.Itoa(n), nil
}

// canonicalName is the one form of a name or an address. What net/http, a resolver
// or an operating system maps to another name is refused: letters that are not of
// ASCII, numbers that only some read as an address, and the address that stands for
// every one of this machine.
func canonicalName(text string) (string, error) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inside, "]"))
		if err != nil || a.Is4() || a.Zone() != "" || a.IsUnspecified() {
			return "", errHost
		}
		if a = a.Unmap(); a.Is4() { // ::ffff:192.0.2.1 is reached as 192.0.2.1
			return canonicalName(a.String())
		}
		return "[" + a.String() + "]", nil
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !isHostRune(r) }) {
		return "", errHost
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	labels := strings.Split(name, ".")
	if slices.Contains(labels, "") || len(name) > 253 {
		return "", errHost
	}
	if isNumber(labels[len(labels)-1]) {
		a, err := netip.ParseAddr(name)
		if err != nil || a.IsUnspecified() {
			return "", errHost
		}
	}
	return name, nil
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

// isNumber reports whether a label at the end of a name makes it an address; see
// the WHATWG URL standard, "ends in a number checker".
func isNumber(label string) bool {
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == "" || strings.Trim(label, "0123456789") == ""
}

// String is the host as in a URL, without the usual port.
func (h host) String() string {
	if h.port == usualPort(h.scheme) {
		return h.name
	}
	return h.name + ":" + h.port
}

// names are all names of the host.
func (h host) names() []string {
	if h.scheme == schemeOCI && h.name == dockerHub {
		return dockerNames()
	}
	return []string{h.name}
}

// ports are the ways to write the port, "" among them where it need not be written.
// Strict takes that of plain http for the usual one too in registries, because
// nothing in a reference says how its registry is reached.
func (h host) ports(strict bool) []string {
	switch {
	case strict && h.scheme == schemeOCI && (h.port == portHTTP || h.port == portHTTPS):
		return []string{"", portHTTP, portHTTPS}
	case h.port == usualPort(h.scheme):
		return []string{"", h.port}
	}
	return []string{h.port}
}

// hostPattern is a host with * in it.
type hostPattern struct {
	name string
	// port is "" for the usual one.
	port string
}

// parseHostPattern reads a host of a pattern.
func parseHostPattern(scheme, text string) (hostPattern, error) {
	if text == "" {
		return hostPattern{}, errors.New("it has no host")
	}
	if !strings.Contains(text, "*") {
		h, err := hostOf(scheme, text)
		if err != nil {
			return hostPattern{}, err
		}
		p := hostPattern{name: h.name}
		if _, port, _ := cutPort(text); port != "" && (scheme == anyScheme || h.port != usualPort(scheme)) {
			p.port = h.port
		}
		return p, nil
	}
	name, port, err := cutPort(text)
	if err != nil {
		return hostPattern{}, err
	}
	p := hostPattern{name: strings.ToLower(strings.TrimSuffix(name, ".")), port: port}
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isHostRune(r) && r != '*' }):
		return hostPattern{}, fmt.Errorf("%w; * may stand in a name, or for all of an address of IPv6", errHost)
	case p.name == "" || strings.HasPrefix(p.name, ".") || strings.Contains(p.name, ".."):
		return hostPattern{}, errHost
	case !strings.Contains(name, "*"):
		if p.name, err = canonicalName(name); err != nil {
			return hostPattern{}, err
		}
	}
	switch {
	case port == "" && strings.HasSuffix(name, "*"):
		p.port = "*" // it stands for the port too
	case !strings.Contains(port, "*"):
		p.port, err = canonicalPort(port)
	case strings.Trim(port, "0123456789*") != "" || strings.HasPrefix(port, "0") || len(strings.ReplaceAll(port, "*", "")) > 5:
		err = errPort
	}
	return p, err
}

// matches reports whether the pattern is about a host; see [host.ports] for strict.
func (p hostPattern) matches(at host, strict bool) bool {
	return slices.ContainsFunc(at.names(), func(name string) bool { return glob(p.name, name) }) &&
		slices.ContainsFunc(at.ports(strict), func(port string) bool { return glob(p.port, port) })
}
