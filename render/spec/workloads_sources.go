// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"regexp"
	"strings"

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

// envFiles returns the files of variables.
func (p part) envFiles() []EnvFile {
	before := len(p.Errs)
	defer func() { p.Hide(before) }()
	var out []EnvFile
	for _, item := range p.items("envFiles") {
		switch {
		case item.Text == "" || strings.HasPrefix(item.Text, "/") || strings.Contains(item.Text, `\`):
			item.Fail("", "expected a path relative to the project's folder, with / between folders")
		case variable.MatchString(item.Text):
			item.Fail("write the variable into a file, and its path here; a path with = or : begins with ./", "expected the path of a file, got a variable")
		default:
			out = append(out, EnvFile{Path: item.Text, Pos: item.Pos})
		}
	}
	return out
}

// allEnvFiles returns the files of the project and, after them, those of an environment, whose list
// would otherwise replace that of the project.
func allEnvFiles(project, environment object.Value) []EnvFile {
	var out []EnvFile
	for _, v := range []object.Value{project, environment} {
		d := &decoder{}
		out = append(out, d.hold(workloadsTable(), v, nil).envFiles()...)
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
	// Keys are those of a binding that exist; any may if there are none.
	Keys []string
	Pos  object.Pos
}

// storeProviders returns the providers with a store of their own.
func storeProviders() []string { return []string{"aws", "azure", "gcp", "vault"} }

// decodeProviders decodes the stores of the providers, the default provider and the bindings.
func (p part) decodeProviders(out *Secrets) {
	for _, name := range storeProviders() {
		s := p.at("providers", name)
		if !s.Given() {
			continue
		}
		if out.Providers == nil {
			out.Providers = map[string]SecretProvider{}
		}
		out.DefaultProvider = name
		out.Providers[name] = SecretProvider{
			StoreName: cmp.Or(s.at("store").Text, name), StoreKind: cmp.Or(s.at("kind").Text, clusterStoreKind), RefreshInterval: s.at("refreshInterval").Text,
		}
	}
	if len(out.Providers) > 1 {
		out.DefaultProvider = ""
	}
	if chosen := p.at("defaultProvider"); chosen.Given() {
		if _, ok := out.Providers[chosen.Text]; !ok {
			chosen.Fail("add it to providers", "%q is not one of the providers here", chosen.Text)
		}
		out.DefaultProvider = chosen.Text
	}
	out.Bindings = p.at("bindings").sources(func(b part, s *SecretSource) {
		s.Keys = b.Words("keys")
		if s.Provider == ProviderLocal && s.Version != "" {
			p.Decoder.Fail(s.Pos, b.Path.Append(object.Field("version")), "remove it", "a Secret of the namespace has no versions")
		}
	})
}

// sources returns secrets by name. Each is called so at its provider, if it has no other name
// there. The function rest reads what only some sources have.
func (p part) sources(rest func(b part, s *SecretSource)) map[string]SecretSource {
	if !p.Given() {
		return nil
	}
	out := map[string]SecretSource{}
	for _, m := range p.Members {
		b := p.at(m.Name)
		s := SecretSource{Pos: m.Value.Pos, Provider: b.at("provider").Text, Secret: cmp.Or(b.at("secret").Text, m.Name), Version: b.at("version").Text}
		rest(b, &s)
		out[m.Name] = s
	}
	return out
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

// images returns the mirrors and the pull secrets.
func (p part) images() Images {
	out := Images{PullSecrets: p.Words("pullSecrets")}
	mirrors := p.Texts("mirrors")
	for _, prefix := range object.SortedKeys(mirrors) {
		for _, text := range []string{prefix, mirrors[prefix]} {
			host, _, _ := strings.Cut(text, "/")
			if !imagePrefix.MatchString(text) || !strings.ContainsAny(host, ".:") && host != "localhost" {
				p.at("mirrors", prefix).Fail("write it without https:// and without a slash at the end; docker.io is the registry of images without one",
					"%q is no registry with the first parts of a repository, such as docker.io or ghcr.io/acme", text)
			}
		}
		out.Mirrors = append(out.Mirrors, Mirror{Prefix: prefix, To: mirrors[prefix]})
	}
	out.PullSecretsFrom = p.at("pullSecretsFrom").sources(func(s part, from *SecretSource) { from.Key = s.at("key").Text })
	return out
}

// SplitGoogleSecret returns the parts of the full name of a secret of Google Cloud, such as
// projects/acme/secrets/db/versions/3, of which the version may be missing. The project of any other
// name is "".
func SplitGoogleSecret(full string) (project, name, version string) {
	parts := strings.Split(full, "/")
	if len(parts) == 6 && parts[4] == "versions" {
		version = parts[5]
		parts = parts[:4]
	}
	if len(parts) != 4 || parts[0] != "projects" || parts[1] == "" || parts[2] != "secrets" {
		return "", full, ""
	}
	return parts[1], parts[3], version
}
