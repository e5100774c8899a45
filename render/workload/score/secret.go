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
	texts := p
	texts.Members = make([]object.Member, 0, len(p.Members))
	var secrets []SecretVariable
	for _, m := range p.Members {
		if m.Value.Kind != object.KindMap {
			texts.Members = append(texts.Members, m)
			continue
		}
		e := entry{part{p.decoder, m.Value, p.at.To(m.Name)}, m.Name, m.Pos}
		s := e.secret()
		if !p.Known(e.at.To("provider").Path()) {
			secrets = append(secrets, s)
		}
	}
	slices.SortFunc(secrets, func(a, b SecretVariable) int { return strings.Compare(a.Name, b.Name) })
	return texts.pairs(), secrets
}

// secret decodes one variable that is a secret.
func (e entry) secret() SecretVariable {
	secret, local, provider, version := e.get("secret"), e.get("local"), e.get("provider"), e.get("version")
	out := SecretVariable{
		Name: e.name, NamePos: e.namePos, Pos: e.Pos, Secret: secret.Text, Provider: provider.Text,
		Version: version.text().Value, Key: e.get("key").Text,
	}
	switch {
	case local.given() && provider.given():
		provider.fail("remove provider, or write secret in place of local", "local is a Secret of the namespace, which has no provider")
	case local.given():
		out.Secret, out.Provider = local.Text, spec.ProviderLocal
	}
	if secret.given() == local.given() {
		e.fail("write {secret: NAME, key: KEY}, or {local: NAME, key: KEY} for a Secret of the namespace", "expected one of secret and local")
	}
	if out.Provider == spec.ProviderLocal {
		if out.Key == "" {
			e.fail("write key: KEY", "key is missing: a Secret of the namespace is read key by key")
		}
		if version.given() {
			version.fail("remove it", "a Secret of the namespace has no versions")
		}
	}
	return out
}
