// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// SecretVariable is a variable that is a secret: {secret, provider, version, key}, or
// {local, key} for a Secret of the namespace.
type SecretVariable struct {
	Name         string
	NamePos, Pos object.Pos
	// Secret is the name of the secret at its provider, or of the Secret where Provider is
	// local; Provider is "" for the default one.
	Secret, Provider string
	// Version is "" for the newest. Key is the part of the secret; "" is all of it.
	Version, Key string
}

// variables decodes texts, and in a Workload secrets too. Both are sorted by name.
func (p part) variables() ([]Pair, []SecretVariable) {
	if !p.given() || p.Kind != object.KindMap {
		return p.pairs(badVariable, badValue), nil
	}
	texts := p
	texts.Members = nil
	var secrets []SecretVariable
	for _, m := range p.Members {
		e := entry{part{p.decoder, m.Value, p.field(m.Name)}, m.Name, m.Pos}
		switch {
		case m.Value.Kind != object.KindMap:
			texts.Members = append(texts.Members, m)
		case p.doc.Score:
			e.fail("write ${secrets.name.key}, with name in spec.workloads.secrets.bindings of the Project", "a variable of a Score file is a string, got a map")
		default:
			if bad := badVariable(m.Name); bad != "" {
				p.decoder.fail(m.Pos, e.at, "", "%s %s", shown(m.Name), bad)
			}
			s := e.secret()
			if p, _ := e.Get("provider"); p.Kind != object.KindString || s.Provider != "" { // An unknown provider is reported.
				secrets = append(secrets, s)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b SecretVariable) int { return strings.Compare(a.Name, b.Name) })
	return texts.pairs(badVariable, badValue), secrets
}

// secret decodes one variable that is a secret.
func (e entry) secret() SecretVariable {
	out := SecretVariable{Name: e.name, NamePos: e.namePos, Pos: e.Pos}
	f := e.fields()
	text := func(name string) (part, string) {
		p := f.get(name)
		if !p.given() {
			return p, ""
		}
		if name == "version" {
			return p, p.loose().Value
		}
		return p, p.filled().Value
	}
	_, secret := text("secret")
	local, name := text("local")
	version, wanted := text("version")
	_, out.Key = text("key")
	provider := f.get("provider")
	if provider.given() {
		out.Provider = provider.enum("aws", "azure", "gcp", "vault", spec.ProviderLocal).Value
	}
	out.Secret, out.Version = secret, wanted
	switch {
	case local.given() && provider.given():
		provider.fail("remove provider, or write secret in place of local", "local is a Secret of the namespace, which has no provider")
	case local.given():
		out.Secret, out.Provider = name, spec.ProviderLocal
	}
	_, hasSecret := f.Get("secret")
	if hasSecret == local.given() && !f.misspelt("secret", "local") {
		e.fail("write {secret: NAME, key: KEY}, or {local: NAME, key: KEY} for a Secret of the namespace", "expected one of secret and local")
	}
	if out.Provider == spec.ProviderLocal {
		if version.given() {
			version.fail("remove it", "a Secret of the namespace has no versions")
		}
		if out.Key == "" && !f.misspelt("key") {
			e.fail("write key: KEY", "key is missing: a Secret of the namespace is read key by key")
		}
	}
	f.done(nil)
	return out
}
