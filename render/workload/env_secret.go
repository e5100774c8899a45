// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// direct reports whether a piece can be read from a Secret of the cluster as it
// is.
func (l *lowering) direct(p piece) bool { return l.clustered(p) && !p.escape }

// clustered reports whether a piece is a Secret of the cluster: by its own word,
// or because the backend has no other.
func (l *lowering) clustered(p piece) bool {
	return p.secret != nil && (p.secret.kubernetes || !l.external())
}

// external reports whether External Secrets brings secrets to the pods.
func (l *lowering) external() bool {
	return l.r.config.Secrets.Backend != spec.BackendKubernetes
}

// templated reports whether a text becomes a template of an ExternalSecret. One
// that holds Secrets of the cluster does where a store for them is named, unless
// it can do without: what is read in place is never out of date.
func (l *lowering) templated(pieces []piece) bool {
	if !l.external() {
		return false
	}
	clustered := func(p piece) bool { return l.clustered(p) }
	if !slices.ContainsFunc(pieces, clustered) {
		return true
	}
	needs := func(p piece) bool { return p.secret != nil && !l.direct(p) }
	return l.r.config.Secrets.KubernetesStore != "" && slices.ContainsFunc(pieces, needs)
}

// kubernetesStoreHint says how External Secrets comes to read Secrets of the
// cluster.
const kubernetesStoreHint = "name a SecretStore of the provider kubernetes in spec.workloads.secrets.kubernetesStore of the Project"

// expressible reports whether every secret of a text of a variable can be read,
// and tells what cannot.
func (l *lowering) expressible(pieces []piece, pos object.Pos, at object.Path) bool {
	for _, p := range pieces {
		if p.secret == nil || !l.clustered(p) {
			continue
		}
		if !l.readable(p.secret, pos, at) {
			return false
		}
		switch {
		case !p.escape:
		case !l.external():
			l.fail(pos, at, "use the secret by itself, or the backend external-secrets",
				"%s is part of a URL, which the backend kubernetes cannot write", p.secret.said())
			return false
		case l.r.config.Secrets.KubernetesStore == "":
			l.fail(pos, at, kubernetesStoreHint,
				"%s is a Secret of the cluster and part of a URL, which Kubernetes cannot write", p.secret.said())
			return false
		}
	}
	return true
}

// readable reports whether a Secret of the cluster is named in full, and tells
// what is missing.
func (l *lowering) readable(s *secret, pos object.Pos, at object.Path) bool {
	switch {
	case s.property == "":
		l.fail(pos, at, "the provisioner must give property: the key inside of the Secret",
			"%s names no key of the Secret %q of the cluster", s.said(), s.key)
	case s.version != "":
		l.fail(pos, at, "the provisioner must leave version out",
			"%s asks for version %q: a Secret of the cluster has none", s.said(), s.version)
	default:
		return true
	}
	return false
}

// secretVariable is an item of env that reads a Secret of the cluster.
func secretVariable(name string, namePos, pos object.Pos, s *secret) object.Value {
	key := mapOf(pos, stringMember("name", s.key, pos), stringMember("key", s.property, pos))
	return mapOf(pos, stringMember("name", name, namePos), with("valueFrom", mapOf(pos, with("secretKeyRef", key))))
}

// helperKey is what a helper stands for.
type helperKey struct {
	secret string
	escape bool
}

// helper is the name of the variable that holds a secret, for texts that are
// composed; it makes the variable.
func (e *environment) helper(p piece) string {
	key := helperKey{p.secret.name, p.escape}
	if name, ok := e.names[key]; ok {
		return name
	}
	if e.names == nil {
		e.names, e.reserved = map[helperKey]string{}, e.namesMentioned()
	}
	name := "ROPEWALK_SECRET_" + strings.ToUpper(p.secret.name)
	if p.escape {
		name += "_URL"
	}
	for e.reserved[name] {
		name += "_"
	}
	e.names[key], e.reserved[name] = name, true
	if e.l.direct(p) {
		e.helpers = append(e.helpers, secretVariable(name, object.Pos{}, object.Pos{}, p.secret))
	} else {
		e.secret.template(e.l, name, object.Pos{}, []piece{p}, object.Pos{})
	}
	return name
}

// namesMentioned are all names of variables, and all NAME of $(NAME) in any
// text that Kubernetes expands: a helper with such a name would put a secret where
// the author wrote text.
func (e *environment) namesMentioned() map[string]bool {
	names := map[string]bool{}
	for name := range e.known {
		names[name] = true
	}
	note := func(name string) { names[name] = true }
	skip := func(string) {}
	for _, v := range e.c.variables {
		names[v.name] = true
		for _, p := range joined(v.value.pieces) {
			scan(p.literal, skip, note)
		}
	}
	for _, t := range slices.Concat(e.c.spec.Command, e.c.spec.Args) {
		scan(t.Value, skip, note)
	}
	return names
}

// externalSecret is an ExternalSecret in the making.
type externalSecret struct {
	data      []object.Value
	seen      map[string]bool
	templates members
}

// template adds a key of the Secret: a Go template over the secrets of pieces.
func (x *externalSecret) template(l *lowering, key string, keyPos object.Pos, pieces []piece, pos object.Pos) {
	var b strings.Builder
	for i, p := range pieces {
		if p.secret == nil {
			templateLiteral(&b, p.literal, i+1 < len(pieces))
			continue
		}
		x.read(l, p.secret)
		templateSecret(&b, p)
	}
	x.templates = append(x.templates, object.Member{Name: key, Pos: keyPos, Value: lowerText(b.String(), pos)})
}

// templateLiteral writes literal text in a Go template. Only {{ means anything
// there, and { before an action would be read as a part of it: runs of { that
// could are the output of an action themselves.
func templateLiteral(b *strings.Builder, s string, actionFollows bool) {
	for s != "" {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		rest := strings.TrimLeft(s[i:], "{")
		run := s[i : len(s)-len(rest)]
		if len(run) > 1 || rest == "" && actionFollows {
			b.WriteString(`{{ "` + run + `" }}`)
		} else {
			b.WriteString(run)
		}
		s = rest
	}
}

// templateSecret writes the value of a secret. In a URL it is escaped as for a
// query, but a space is %20, which is right in every part of a URL.
func templateSecret(b *strings.Builder, p piece) {
	name := p.secret.name
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		b.WriteString(`{{ index . "` + name + `"`)
	} else {
		b.WriteString("{{ ." + name)
	}
	if p.escape {
		b.WriteString(` | urlquery | replace "+" "%20"`)
	}
	b.WriteString(" }}")
}

// read adds a secret to the data, once.
func (x *externalSecret) read(l *lowering, s *secret) {
	if x.seen[s.name] {
		return
	}
	if x.seen == nil {
		x.seen = map[string]bool{}
	}
	x.seen[s.name] = true
	none := object.Pos{}
	ref := mapOf(none, stringMember("key", s.key, none),
		with("property", lowerGiven(s.property, none)), with("version", lowerGiven(s.version, none)))
	var source object.Value
	if s.kubernetes {
		source = mapOf(none, with("storeRef", mapOf(none,
			stringMember("name", l.r.config.Secrets.KubernetesStore, none), stringMember("kind", "SecretStore", none))))
	}
	x.data = append(x.data, mapOf(none, stringMember("secretKey", s.name, none), with("remoteRef", ref), with("sourceRef", source)))
}

// value is the ExternalSecret (#Secret of the module).
func (x *externalSecret) value(l *lowering) object.Value {
	none := object.Pos{}
	slices.SortFunc(x.data, func(a, b object.Value) int {
		// Members[0] is secretKey, as read writes it.
		return strings.Compare(a.Members[0].Value.Text, b.Members[0].Value.Text)
	})
	return mapOf(none, with("data", lowerList(x.data, none)), with("template", x.templates.value(none)),
		stringMember("refreshInterval", l.r.config.Secrets.RefreshInterval, none))
}
