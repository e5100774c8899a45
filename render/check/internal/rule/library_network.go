// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"net/netip"
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// urlLibrary is url, isURL and what one may ask of a URL.
func urlLibrary() []cel.EnvOption {
	get := func(name, id string, f func(link) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, []*cel.Type{urlType()}, cel.StringType,
			unary(func(l link) ref.Val { return types.String(f(l)) })))
	}
	return []cel.EnvOption{
		cel.Function("url", cel.Overload("string_to_url", []*cel.Type{cel.StringType}, urlType(), unary(parseURL))),
		cel.Function("isURL", cel.Overload("is_url_string", []*cel.Type{cel.StringType}, cel.BoolType, unary(func(text string) ref.Val {
			_, err := url.ParseRequestURI(text)
			return types.Bool(err == nil)
		}))),
		get("getScheme", "url_get_scheme", func(l link) string { return l.Scheme }),
		get("getHost", "url_get_host", func(l link) string { return l.Host }),
		get("getHostname", "url_get_hostname", func(l link) string { return l.Hostname() }),
		get("getPort", "url_get_port", func(l link) string { return l.Port() }),
		get("getEscapedPath", "url_get_escaped_path", func(l link) string { return l.EscapedPath() }),
		cel.Function("getQuery", cel.MemberOverload("url_get_query", []*cel.Type{urlType()}, cel.MapType(cel.StringType, cel.ListType(cel.StringType)),
			unary(func(l link) ref.Val {
				query := map[ref.Val]ref.Val{}
				for name, values := range l.Query() {
					query[types.String(name)] = texts(values)
				}
				return types.NewRefValMap(types.DefaultTypeAdapter, query)
			}))),
	}
}

// parseURL wants an absolute URL or path, and reads a fragment too.
func parseURL(text string) ref.Val {
	if _, err := url.ParseRequestURI(text); err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	u, err := url.Parse(text)
	if err != nil {
		return types.NewErr("URL parse error during conversion from string: %v", err)
	}
	return box(link{u})
}

// networkLibrary is ip, cidr and what one may ask of them.
func networkLibrary() []cel.EnvOption {
	ip, cidr, text := []*cel.Type{ipType()}, []*cel.Type{cidrType()}, []*cel.Type{cel.StringType}
	is := func(name, id string, f func(netip.Addr) bool) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload(id, ip, cel.BoolType, unary(func(a address) ref.Val { return types.Bool(f(a.Addr)) })))
	}
	return []cel.EnvOption{
		cel.Types(ipType()), cel.Types(cidrType()),
		cel.Function("ip",
			cel.Overload("string_to_ip", text, ipType(), unary(parseIP)),
			cel.MemberOverload("cidr_ip", cidr, ipType(), unary(func(n network) ref.Val { return box(address{n.Addr()}) }))),
		cel.Function("isIP", cel.Overload("is_ip", text, cel.BoolType, unary(func(t string) ref.Val {
			_, err := readIP(t)
			return types.Bool(err == nil)
		}))),
		cel.Function("ip.isCanonical", cel.Overload("ip_is_canonical", text, cel.BoolType, unary(func(t string) ref.Val {
			a, err := readIP(t)
			if err != nil {
				return types.NewErr("%v", err)
			}
			return types.Bool(a.String() == t)
		}))),
		cel.Function("family", cel.MemberOverload("ip_family", ip, cel.IntType, unary(func(a address) ref.Val {
			if a.Is4() {
				return types.Int(4)
			}
			return types.Int(6)
		}))),
		is("isUnspecified", "ip_is_unspecified", netip.Addr.IsUnspecified),
		is("isLoopback", "ip_is_loopback", netip.Addr.IsLoopback),
		is("isLinkLocalMulticast", "ip_is_link_local_multicast", netip.Addr.IsLinkLocalMulticast),
		is("isLinkLocalUnicast", "ip_is_link_local_unicast", netip.Addr.IsLinkLocalUnicast),
		is("isGlobalUnicast", "ip_is_global_unicast", netip.Addr.IsGlobalUnicast),
		cel.Function("string",
			cel.Overload("ip_to_string", ip, cel.StringType, unary(func(a address) ref.Val { return types.String(a.String()) })),
			cel.Overload("cidr_to_string", cidr, cel.StringType, unary(func(n network) ref.Val { return types.String(n.String()) }))),
		cel.Function("cidr", cel.Overload("string_to_cidr", text, cidrType(), unary(parseCIDR))),
		cel.Function("isCIDR", cel.Overload("is_cidr", text, cel.BoolType, unary(func(t string) ref.Val {
			_, err := readCIDR(t)
			return types.Bool(err == nil)
		}))),
		cel.Function("prefixLength", cel.MemberOverload("cidr_prefix_length", cidr, cel.IntType,
			unary(func(n network) ref.Val { return types.Int(n.Bits()) }))),
		cel.Function("masked", cel.MemberOverload("cidr_masked", cidr, cidrType(),
			unary(func(n network) ref.Val { return box(network{n.Masked()}) }))),
		containsIP(), containsCIDR(),
	}
}

func containsIP() cel.EnvOption {
	contains := func(n network, a address) ref.Val { return types.Bool(n.Contains(a.Addr)) }
	return cel.Function("containsIP",
		cel.MemberOverload("cidr_contains_ip_string", []*cel.Type{cidrType(), cel.StringType}, cel.BoolType, binary(func(n network, text string) ref.Val {
			a, err := readIP(text)
			if err != nil {
				// The server does not say why, either.
				return types.NoSuchOverloadErr()
			}
			return contains(n, address{a})
		})),
		cel.MemberOverload("cidr_contains_ip_ip", []*cel.Type{cidrType(), ipType()}, cel.BoolType, binary(contains)))
}

func containsCIDR() cel.EnvOption {
	contains := func(n, o network) ref.Val { return types.Bool(n.Overlaps(o.Prefix) && n.Bits() <= o.Bits()) }
	return cel.Function("containsCIDR",
		cel.MemberOverload("cidr_contains_cidr_string", []*cel.Type{cidrType(), cel.StringType}, cel.BoolType, binary(func(n network, text string) ref.Val {
			parsed := parseCIDR(text)
			o, ok := as[network](parsed)
			if !ok {
				return parsed
			}
			return contains(n, o)
		})),
		cel.MemberOverload("cidr_contains_cidr", []*cel.Type{cidrType(), cidrType()}, cel.BoolType, binary(contains)))
}

func parseIP(text string) ref.Val {
	a, err := readIP(text)
	if err != nil {
		return types.NewErr("%v", err)
	}
	return box(address{a})
}

// readIP wants an address without a zone, and no IPv4 in IPv6.
func readIP(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return a, fmt.Errorf("IP Address %q parse error during conversion from string: %w", text, err)
	case a.Zone() != "":
		return a, fmt.Errorf("IP address %q with zone value is not allowed", text)
	case a.Is4In6():
		return a, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return a, nil
}

func parseCIDR(text string) ref.Val {
	n, err := readCIDR(text)
	if err != nil {
		return types.NewErr("network address parse error during conversion from string: %v", err)
	}
	return box(network{n})
}

func readCIDR(text string) (netip.Prefix, error) {
	n, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return n, fmt.Errorf("network address parse error during conversion from string: %w", err)
	case n.Addr().Is4In6():
		return n, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return n, nil
}
