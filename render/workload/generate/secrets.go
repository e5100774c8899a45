// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// backend describes the way in which the secrets of a project reach its pods.
type backend struct{ config *spec.Secrets }

// external reports whether External Secrets brings secrets to the pods.
func (b backend) external() bool { return b.config.Backend != spec.BackendKubernetes }

// clustered reports whether a piece is a Secret of the cluster: because the author or the
// provisioner refers to one, or because the backend has no other secrets.
func (b backend) clustered(p Piece) bool {
	return p.Secret != nil && (p.Secret.Kubernetes || !b.external())
}

// direct reports whether a piece can be read unchanged from a Secret of the cluster.
func (b backend) direct(p Piece) bool { return b.clustered(p) && !p.Escape }

// templated reports whether a text becomes a template of an ExternalSecret. A text with Secrets of
// the cluster does if a store for them is named and they cannot be read directly, because a direct
// reference is never out of date.
func (b backend) templated(pieces []Piece) bool {
	if !b.external() {
		return false
	}
	if !slices.ContainsFunc(pieces, b.clustered) {
		return true
	}
	needs := func(p Piece) bool { return p.Secret != nil && !b.direct(p) }
	return b.config.KubernetesStore != "" && slices.ContainsFunc(pieces, needs)
}

// joined reports whether an ExternalSecret can make a text of pieces.
func (b backend) joined(pieces []Piece) bool {
	return b.external() && (b.config.KubernetesStore != "" || !slices.ContainsFunc(pieces, b.clustered))
}

// kubernetesStoreHint is the hint for texts that join Secrets of the cluster.
const kubernetesStoreHint = "name a SecretStore of the provider kubernetes in spec.workloads.secrets.kubernetesStore of the Project"

// checkExpressible reports whether every secret in the text of a variable can be read, and adds a
// mistake if it cannot.
func (b backend) checkExpressible(errs *mistakes, pieces []Piece, pos object.Pos, path object.Path) bool {
	for _, p := range pieces {
		if p.Secret == nil || !b.clustered(p) {
			continue
		}
		if !checkReadable(errs, p.Secret, pos, path) {
			return false
		}
		switch {
		case !p.Escape:
		case !b.external():
			errs.fail(pos, path, "use the secret by itself, or the backend external-secrets",
				"%s is part of a URL, which the backend kubernetes cannot write", p.Secret.reference())
			return false
		case b.config.KubernetesStore == "":
			errs.fail(pos, path, kubernetesStoreHint,
				"%s is a Secret of the cluster and part of a URL, which Kubernetes cannot write", p.Secret.reference())
			return false
		}
	}
	return true
}

// checkReadable reports whether a Secret of the cluster is named in full, and adds a mistake if it is
// not.
func checkReadable(errs *mistakes, s *Secret, pos object.Pos, path object.Path) bool {
	switch {
	case s.Property == "":
		errs.fail(pos, path, "the provisioner must give property: the key inside of the Secret",
			"%s names no key of the Secret %q of the cluster", s.reference(), s.Key)
	case s.Version != "":
		errs.fail(pos, path, "the provisioner must leave version out",
			"%s sets version %q, but a Secret of the cluster has no versions", s.reference(), s.Version)
	default:
		return true
	}
	return false
}

// secretVariable returns an item of env that reads a Secret of the cluster.
func secretVariable(name string, namePos, pos object.Pos, s *Secret) object.Value {
	key := MapOf(pos, StringMember("name", s.Key, pos), StringMember("key", s.Property, pos))
	return MapOf(pos, StringMember("name", name, namePos), member("valueFrom", MapOf(pos, member("secretKeyRef", key))))
}

// externalSecret collects the parts of an ExternalSecret.
type externalSecret struct {
	reads     []*Secret
	seen      map[string]bool
	templates members
}

// addTemplate adds a key of the Secret: a Go template over the secrets of pieces.
func (x *externalSecret) addTemplate(key string, keyPos object.Pos, pieces []Piece, pos object.Pos) {
	var b strings.Builder
	for i, p := range pieces {
		if p.Secret == nil {
			writeLiteral(&b, p.Literal, i+1 < len(pieces))
			continue
		}
		x.read(p.Secret)
		writeSecret(&b, p)
	}
	x.templates = append(x.templates, object.Member{Name: key, Pos: keyPos, Value: object.TextAt(b.String(), pos)})
}

// writeLiteral writes literal text in a Go template. Only {{ has a meaning there, and { before an
// action would be read as a part of it: such runs of { are written as the output of an action.
func writeLiteral(b *strings.Builder, s string, actionFollows bool) {
	for s != "" {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		after := strings.TrimLeft(s[i:], "{")
		run := s[i : len(s)-len(after)]
		if len(run) > 1 || (after == "" && actionFollows) {
			b.WriteString(`{{ "` + run + `" }}`)
		} else {
			b.WriteString(run)
		}
		s = after
	}
}

// writeSecret writes the value of a secret in a Go template. In a URL it is escaped as for a
// query, but a space is %20, which is right in every part of a URL.
func writeSecret(b *strings.Builder, p Piece) {
	name := p.Secret.Name
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		b.WriteString(`{{ index . "` + name + `"`)
	} else {
		b.WriteString("{{ ." + name)
	}
	if p.Escape {
		b.WriteString(` | urlquery | replace "+" "%20"`)
	}
	b.WriteString(" }}")
}

// read adds a secret to the data, once.
func (x *externalSecret) read(s *Secret) {
	if x.seen[s.Name] {
		return
	}
	if x.seen == nil {
		x.seen = map[string]bool{}
	}
	x.seen[s.Name] = true
	x.reads = append(x.reads, s)
}

// value returns the ExternalSecret (#Secret of the module). Its store is the store of the environment
// if a part is read from there, and otherwise the store of the first provider. Parts of other stores
// name theirs.
func (x *externalSecret) value(config *spec.Secrets) object.Value {
	noPos := object.Pos{}
	slices.SortFunc(x.reads, func(a, b *Secret) int { return strings.Compare(a.Name, b.Name) })
	provider := x.provider()
	store := config.Providers[provider]
	data := make([]object.Value, len(x.reads))
	for i, s := range x.reads {
		ref := MapOf(noPos, StringMember("key", s.Key, noPos),
			member("property", lowerGiven(s.Property, noPos)), member("version", lowerGiven(s.Version, noPos)))
		var source object.Value
		switch otherStore := config.Providers[s.Provider]; {
		case s.Kubernetes:
			source = MapOf(noPos, member("storeRef", storeOf(config.KubernetesStore, "SecretStore")))
		case s.Provider != provider:
			source = MapOf(noPos, member("storeRef", storeOf(otherStore.StoreName, otherStore.StoreKind)))
		}
		data[i] = MapOf(noPos, StringMember("secretKey", s.Name, noPos), member("remoteRef", ref), member("sourceRef", source))
	}
	var storeRef object.Value
	if provider != "" {
		storeRef = storeOf(store.StoreName, store.StoreKind)
	}
	return MapOf(noPos, member("data", lowerList(data, noPos)), member("template", x.templates.value(noPos)), member("store", storeRef),
		StringMember("refreshInterval", cmp.Or(store.RefreshInterval, config.RefreshInterval), noPos))
}

// lowerPulls returns the ExternalSecrets of the Secrets that images are pulled with (#Pull of the
// module), by the end of the name of their node.
func lowerPulls(r *Resolved) object.Value {
	var out members
	for _, name := range object.SortedKeys(r.Pulls) {
		const longest = 63 - len("pull-")
		pos := r.Config.Images.PullSecretsFrom[name].Pos
		var x externalSecret
		x.addTemplate(".dockerconfigjson", pos, []Piece{{Secret: &Secret{Name: "config", Reference: r.Pulls[name]}}}, pos)
		out.put(object.Shorten(name, longest), x.value(&r.Config.Secrets).Merge(MapOf(pos, StringMember("name", name, pos))))
	}
	return out.value(object.Pos{})
}

func storeOf(name, kind string) object.Value {
	return MapOf(object.Pos{}, StringMember("name", name, object.Pos{}), StringMember("kind", kind, object.Pos{}))
}

// provider returns the provider whose store x has, or "" for the store of the environment.
func (x *externalSecret) provider() string {
	found := ""
	for _, s := range x.reads {
		switch {
		case s.Kubernetes:
		case s.Provider == "":
			return ""
		case found == "" || s.Provider < found:
			found = s.Provider
		}
	}
	return found
}
