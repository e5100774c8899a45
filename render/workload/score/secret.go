// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// SecretVariable is a variable whose value is a secret: {secret, provider, version, key}, or
// {local, key} for a Secret of the namespace.
type SecretVariable struct {
	Name         string
	NamePos, Pos object.Pos
	// Secret is the name of the secret at its provider, or of the Secret if Provider is
	// local; Provider is "" for the default provider.
	Secret, Provider string
	// Version is "" for the newest version. Key selects a part of the secret; "" means all of it.
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
		e := entry{part{p.decoder, m.Value, p.loc.To(m.Name)}, m.Name, m.Pos}
		s := e.secret()
		if !p.Known(e.loc.To("provider").Path()) {
			secrets = append(secrets, s)
		}
	}
	slices.SortFunc(secrets, func(a, b SecretVariable) int { return strings.Compare(a.Name, b.Name) })
	return texts.pairs(), secrets
}

// secret decodes one variable whose value is a secret.
func (e entry) secret() SecretVariable {
	secret, local, provider, version := e.field("secret"), e.field("local"), e.field("provider"), e.field("version")
	out := SecretVariable{
		Name: e.name, NamePos: e.namePos, Pos: e.Pos, Secret: secret.Text, Provider: provider.Text,
		Version: version.asText().Value, Key: e.field("key").Text,
	}
	switch {
	case local.given() && provider.given():
		provider.reject("remove provider, or write secret in place of local", "local is a Secret of the namespace, which has no provider")
	case local.given():
		out.Secret, out.Provider = local.Text, spec.ProviderLocal
	}
	if secret.given() == local.given() {
		e.reject("write {secret: NAME, key: KEY}, or {local: NAME, key: KEY} for a Secret of the namespace", "expected one of secret and local")
	}

	// A Secret has keys and no versions.
	if out.Provider == spec.ProviderLocal {
		if out.Key == "" {
			e.reject("write key: KEY", "key is missing: a Secret of the namespace is read key by key")
		}
		if version.given() {
			version.reject("remove it", "a Secret of the namespace has no versions")
		}
	}
	return out
}
