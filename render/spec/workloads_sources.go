// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
)

// EnvFile is a file of variables that a project declares.
type EnvFile struct {
	// Path is relative to the file of the project, with / between folders.
	Path string
	Pos  object.Pos
}

// variable is the beginning of NAME=VALUE, in the place of a path.
var variable = regexp.MustCompile(`^[\w ]+[=:]`)

// envFiles decodes the list of files of variables.
func (f *fields) envFiles(name string) []EnvFile {
	f.secret = true
	defer func(before int) {
		f.secret = false
		f.hide(before)
	}(len(f.errs))
	items, path := f.list(name)
	var out []EnvFile
	for i, v := range items {
		at := path.Append(object.Index(i))
		switch {
		case !f.kind(v, at, object.KindString):
		case v.Text == "" || strings.HasPrefix(v.Text, "/") || strings.Contains(v.Text, `\`):
			f.fail(v.Pos, at, "", "expected a path relative to the project's folder, with / between folders")
		case variable.MatchString(v.Text):
			f.fail(v.Pos, at, "write the variable into a file, and its path here; a path with = or : begins with ./", "expected the path of a file, got a variable")
		default:
			out = append(out, EnvFile{Path: v.Text, Pos: v.Pos})
		}
	}
	return out
}

// allEnvFiles are the files of the project and, after them, those of an environment, in
// which a list would otherwise replace that of the project.
func allEnvFiles(project, environment object.Value) []EnvFile {
	var out []EnvFile
	for _, v := range []object.Value{project, environment} {
		if list, ok := v.Get("envFiles"); ok && list.Kind == object.KindList {
			d := &decoder{}
			out = append(out, (&fields{decoder: d, value: v}).envFiles("envFiles")...)
		}
	}
	return out
}

// ProviderLocal is the provider of Secrets that are in the namespace of the workload.
const ProviderLocal = "local"

// SecretProvider is the store that the secrets of a provider are read from.
type SecretProvider struct {
	// StoreName is the name of the provider and StoreKind ClusterSecretStore where they
	// are not given, RefreshInterval that of all secrets.
	StoreName, StoreKind, RefreshInterval string
}

// SecretSource is a secret that a project declares.
type SecretSource struct {
	// Provider is gcp, aws, vault, azure or local; "" is the default one.
	Provider        string
	Secret, Version string
	// Key is the one of a pull secret; "" is all of the secret.
	Key string
	// Keys are those of a binding that exist; any may where there are none.
	Keys []string
	Pos  object.Pos
}

// storeProviders are the providers with a store of their own.
func storeProviders() []string { return []string{"aws", "azure", "gcp", "vault"} }

// providers decodes the stores of the providers, the default provider and the bindings.
func (f *fields) providers(out *Secrets) {
	stores, given := f.child("providers")
	for _, name := range storeProviders() {
		if !given {
			break
		}
		v, path, ok := stores.get(name)
		if !ok {
			continue
		}
		s := stores.fields(v, path)
		p := SecretProvider{StoreName: cmp.Or(s.label("store"), name), StoreKind: cmp.Or(s.enum("kind", clusterStoreKind, "SecretStore"), clusterStoreKind)}
		p.RefreshInterval = s.duration("refreshInterval")
		s.done()
		if out.Providers == nil {
			out.Providers = map[string]SecretProvider{}
		}
		out.Providers[name] = p
		out.DefaultProvider = name
	}
	if given {
		stores.done()
	}
	if len(out.Providers) > 1 {
		out.DefaultProvider = ""
	}
	if name := f.enum("defaultProvider", storeProviders()...); slices.Contains(storeProviders(), name) {
		if _, ok := out.Providers[name]; !ok {
			v, _ := f.value.Get("defaultProvider")
			f.fail(v.Pos, f.path.Append(object.Field("defaultProvider")), "add it to providers", "%q is not one of the providers here", name)
		}
		out.DefaultProvider = name
	}
	out.Bindings = f.sources("bindings", append(storeProviders(), ProviderLocal), func(b *fields, s *SecretSource) {
		s.Keys = b.words("keys")
		if s.Provider == ProviderLocal && s.Version != "" {
			b.fail(s.Pos, b.path.Append(object.Field("version")), "remove it", "a Secret of the namespace has no versions")
		}
	})
}

// sources decodes secrets by name, each of which is called so at its provider where it has
// no other name; rest decodes what others do not have.
func (f *fields) sources(name string, providers []string, rest func(b *fields, s *SecretSource)) map[string]SecretSource {
	all, ok := f.child(name)
	if !ok {
		return nil
	}
	out := map[string]SecretSource{}
	for _, m := range all.value.Members {
		at := all.path.Append(object.Field(m.Name))
		if bad := badLabel(m.Name); bad != "" {
			f.fail(m.Pos, at, "", "%q %s", m.Name, bad)
		}
		if m.Value.Kind == object.KindNull {
			continue
		}
		before := len(f.errs)
		b := f.fields(m.Value, at)
		s := SecretSource{Pos: m.Value.Pos, Provider: b.enum("provider", providers...)}
		s.Secret, _ = b.text("secret")
		s.Secret = cmp.Or(s.Secret, m.Name)
		s.Version, _ = b.text("version")
		rest(b, &s)
		b.done()
		if !object.IsReference(m.Value) || slices.ContainsFunc(m.Value.Members, func(m object.Member) bool { return m.Value.Kind == object.KindMap }) {
			f.hide(before) // The author may have written the value.
		}
		out[m.Name] = s
	}
	return out
}

// words is an optional list of strings that are not empty.
func (f *fields) words(name string) []string {
	items, path := f.list(name)
	var out []string
	for i, v := range items {
		at := path.Append(object.Index(i))
		if f.kind(v, at, object.KindString) && v.Text == "" {
			f.fail(v.Pos, at, "", "must not be empty")
		}
		out = append(out, v.Text)
	}
	return out
}

// duration is an optional duration of Go.
func (f *fields) duration(name string) string {
	v, path, ok := f.get(name)
	d, err := time.ParseDuration(v.Text)
	if ok && (v.Kind != object.KindString || v.Text != "" && (err != nil || d < 0)) {
		f.fail(v.Pos, path, "", "%q is not a duration: expected one such as 30m or 1h", v.Text)
	}
	return v.Text
}

// Images is where the images of workloads are pulled from.
type Images struct {
	Mirrors []Mirror
	// PullSecrets are names of Secrets of the namespace, of type
	// kubernetes.io/dockerconfigjson.
	PullSecrets []string
	// PullSecretsFrom are Secrets of that type, by name, that are made in each namespace
	// with workloads from a secret of a store that is the JSON of such a Secret; with the
	// backend kubernetes they are in the namespaces already.
	PullSecretsFrom map[string]SecretSource
}

// Mirror replaces the beginning of the names of images: a registry, or a registry and the
// first parts of a repository.
type Mirror struct{ Prefix, To string }

var imagePrefix = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

// images decodes the mirrors and the pull secrets.
func (f *fields) images() Images {
	var out Images
	mirrors, path := f.texts("mirrors", false), f.path.Append(object.Field("mirrors"))
	written, _ := f.value.Get("mirrors")
	for _, prefix := range object.SortedKeys(mirrors) {
		v, _ := written.Get(prefix)
		for _, text := range []string{prefix, mirrors[prefix]} {
			host, _, _ := strings.Cut(text, "/")
			if !imagePrefix.MatchString(text) || !strings.ContainsAny(host, ".:") && host != "localhost" {
				f.fail(v.Pos, path.Append(object.Field(prefix)), "write it without https:// and without a slash at the end; docker.io is the registry of images without one",
					"%q is no registry with the first parts of a repository, such as docker.io or ghcr.io/acme", text)
			}
		}
		out.Mirrors = append(out.Mirrors, Mirror{Prefix: prefix, To: mirrors[prefix]})
	}
	f.secret = true
	names, path := f.list("pullSecrets")
	for i, v := range names {
		at, before := path.Append(object.Index(i)), len(f.errs)
		if f.kind(v, at, object.KindString) && len(validation.IsDNS1123Subdomain(v.Text)) > 0 {
			f.fail(v.Pos, at, "write the name of a Secret of the namespace, of a-z, 0-9, - and .", "expected the name of a Secret")
		}
		f.hide(before)
		out.PullSecrets = append(out.PullSecrets, v.Text)
	}
	out.PullSecretsFrom = f.sources("pullSecretsFrom", storeProviders(), func(s *fields, from *SecretSource) { from.Key, _ = s.text("key") })
	f.secret = false
	f.done()
	return out
}
