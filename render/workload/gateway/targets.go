// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// The targets, which receive requests from outside and forward them.
const (
	// Haproxytech is the HAProxy Kubernetes Ingress Controller, haproxytech/kubernetes-ingress.
	Haproxytech = "haproxytech"
	// Jcmoraisjr is HAProxy Ingress, jcmoraisjr/haproxy-ingress.
	Jcmoraisjr = "jcmoraisjr"
	// Traefik is Traefik with its own resources.
	Traefik = "traefik"
	// GatewayAPI is any implementation of the Gateway API, without extensions.
	GatewayAPI = "gateway-api"
	// EnvoyGateway is the Gateway API with the policies of Envoy Gateway.
	EnvoyGateway = "envoy-gateway"
)

// Targets returns the names of the targets.
func Targets() []string {
	return []string{Haproxytech, Jcmoraisjr, Traefik, GatewayAPI, EnvoyGateway}
}

// Sets that fields and values need.
const (
	ht Set = 1 << iota
	jc
	tr
	gw
	eg
	all       = ht | jc | tr | gw | eg
	ingresses = ht | jc
	gateways  = gw | eg
)

// Has reports whether a target is in a set.
func Has(s Set, target string) bool {
	for i, name := range Targets() {
		if name == target {
			return s&(1<<i) != 0
		}
	}
	return false
}

// listed returns the targets of a set as messages write them: jcmoraisjr, traefik or
// envoy-gateway.
func listed(s Set) string {
	names := slices.DeleteFunc(Targets(), func(name string) bool { return !Has(s, name) })
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}

// instead returns the end of a hint: the targets of s that support the complete Gateway.
func instead(s, can Set) string {
	if s&can == 0 {
		return "; " + listed(s) + " can, but no target can do all of this Gateway"
	}
	return ", or set target: " + listed(s&can)
}

// can returns the targets that support a value.
func can(f Field, v object.Value) Set {
	out := cmp.Or(f.By, all)
	if v.Kind == object.KindNone || v.Kind == object.KindNull || (f.Off && v.Kind == object.KindBool) {
		return all
	}
	for _, c := range f.Values {
		if c.Name == v.Text {
			out &= cmp.Or(c.By, all)
		}
	}
	for _, item := range v.Items {
		out &= can(Field{Fields: f.Fields, Values: f.Values}, item)
	}
	for _, own := range f.Fields {
		switch given, ok := v.Get(own.Name); {
		case v.Kind != object.KindMap:
		case ok && given.Kind != object.KindNull:
			out &= can(own, given)
		default:
			out &= can(Field{Values: own.Values}, object.TextAt(own.Usual, v.Pos)) &^ own.NeedBy
		}
	}
	return out
}

// Secret is a kind of Secret that a Gateway names, and the keys that its target reads.
type Secret string

// The kinds of Secrets.
const (
	SecretTLS    Secret = "tls"
	SecretBasic  Secret = "basic"
	SecretAPIKey Secret = "api-key"
	SecretOAuth2 Secret = "oauth2"
)

// Keys of the Secret of a login.
const (
	keyClient = "client-secret"
	keyCookie = "cookie-secret"
)

// keys returns the keys of data that a target needs in a Secret. There are none if each key is
// the name of a user or of a client. It returns false if the target reads no such Secret.
func (s Secret) keys(target string) (keys []string, ok bool) {
	if s == SecretTLS {
		return []string{"tls.crt", "tls.key"}, true
	}
	keys, ok = map[Secret]map[string][]string{
		SecretBasic:  {Haproxytech: nil, Jcmoraisjr: {"auth"}, Traefik: {"users"}, EnvoyGateway: {".htpasswd"}},
		SecretAPIKey: {EnvoyGateway: nil},
		SecretOAuth2: {Jcmoraisjr: {keyClient, keyCookie}, Traefik: {keyClient, keyCookie}, EnvoyGateway: {keyClient}},
	}[s][target]
	return keys, ok
}

// Shape describes a Secret as a target reads it. It returns "" if the target reads no such Secret.
func (s Secret) Shape(target string) string {
	keys, ok := s.keys(target)
	switch {
	case !ok:
		return ""
	case s == SecretAPIKey:
		return "each key is the name of a client, its value the API key"
	case len(keys) == 0:
		return "each key is the name of a user, its value a hash of crypt(3)"
	case s == SecretBasic:
		return "key " + keys[0] + " with lines of user:hash"
	}
	return "keys: " + strings.Join(keys, ", ")
}
