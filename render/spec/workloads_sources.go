// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// EnvFile is a file of variables that a project declares.
type EnvFile struct {
	// Path is relative to the file of the project, with / between folders.
	Path string
	Pos  object.Pos
}

// variable matches the beginning of NAME=VALUE, in the place of a path.
var variable = regexp.MustCompile(`^[\w ]+[=:]`)

// envFiles returns the files of variables.
func (p part) envFiles() []EnvFile {
	before := len(p.Errs)
	defer func() { p.Hide(before) }()
	var out []EnvFile
	for _, item := range p.children("envFiles") {
		switch {
		case item.Text == "" || strings.HasPrefix(item.Text, "/") || strings.Contains(item.Text, `\`):
			item.Fail("", "expected a path relative to the project's folder, with / between folders")
		case variable.MatchString(item.Text):
			item.Fail("write the variable into a file, and its path here; a path with = or : begins with ./",
				"expected the path of a file, got a variable")
		default:
			out = append(out, EnvFile{Path: item.Text, Pos: item.Pos})
		}
	}
	return out
}

// allEnvFiles returns the files of the project and, after them, the files of an environment, whose
// list would otherwise replace the list of the project.
func allEnvFiles(project, environment object.Value) []EnvFile {
	var out []EnvFile
	for _, v := range []object.Value{project, environment} {
		d := &decoder{}
		out = append(out, d.check(workloadsTable(), v, nil).envFiles()...)
	}
	return out
}

// ProviderLocal is the provider of Secrets in the namespace of the workload.
const ProviderLocal = "local"

// SecretProvider is the store that the secrets of a provider are read from.
type SecretProvider struct {
	// The default of StoreName is the name of the provider, of StoreKind ClusterSecretStore, and of
	// RefreshInterval the interval of all secrets.
	StoreName, StoreKind, RefreshInterval string
}

// SecretSource is a secret that a project declares.
type SecretSource struct {
	// Provider is gcp, aws, vault, azure or local; "" is the default provider.
	Provider        string
	Secret, Version string
	// Key is the key of a pull secret; "" is all of the secret.
	Key string
	// Keys are the existing keys of a binding; an empty list allows any key.
	Keys []string
	Pos  object.Pos
}

// storeProviders returns the providers with a store of their own.
func storeProviders() []string { return []string{"aws", "azure", "gcp", "vault"} }

// decodeProviders decodes the stores of the providers, the default provider and the bindings.
func (p part) decodeProviders(out *Secrets) {
	for _, name := range storeProviders() {
		s := p.child("providers", name)
		if !s.Given() {
			continue
		}
		if out.Providers == nil {
			out.Providers = map[string]SecretProvider{}
		}
		out.DefaultProvider = name
		out.Providers[name] = SecretProvider{
			StoreName:       cmp.Or(s.child("store").Text, name),
			StoreKind:       cmp.Or(s.child("kind").Text, clusterStoreKind),
			RefreshInterval: s.child("refreshInterval").Text,
		}
	}
	if len(out.Providers) > 1 {
		out.DefaultProvider = ""
	}
	if chosen := p.child("defaultProvider"); chosen.Given() {
		if _, ok := out.Providers[chosen.Text]; !ok {
			chosen.Fail("add it to providers", "%q is not one of the providers here", chosen.Text)
		}
		out.DefaultProvider = chosen.Text
	}
	out.Bindings = p.child("bindings").sources(func(b part, s *SecretSource) {
		s.Keys = b.Words("keys")
		if s.Provider == ProviderLocal && s.Version != "" {
			p.Decoder.Fail(s.Pos, b.Path.Append(object.Field("version")), "remove it", "a Secret of the namespace has no versions")
		}
	})
}

// sources returns secrets by name, which is also the default of their name at the provider. The
// function readMore reads the fields that only some sources have.
func (p part) sources(readMore func(b part, s *SecretSource)) map[string]SecretSource {
	if !p.Given() {
		return nil
	}
	out := map[string]SecretSource{}
	for _, m := range p.Members {
		b := p.child(m.Name)
		s := SecretSource{
			Pos: m.Value.Pos, Provider: b.child("provider").Text,
			Secret: cmp.Or(b.child("secret").Text, m.Name), Version: b.child("version").Text,
		}
		readMore(b, &s)
		out[m.Name] = s
	}
	return out
}

// Images configures the registries of the images of workloads.
type Images struct {
	Mirrors []Mirror
	// PullSecrets are names of Secrets of the namespace, of type
	// kubernetes.io/dockerconfigjson.
	PullSecrets []string
	// PullSecretsFrom are Secrets of that type, by name. They are made in each namespace with
	// workloads from a secret of a store that is the JSON of such a Secret; with the
	// backend kubernetes they must exist already.
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
			isRegistry := strings.ContainsAny(host, ".:") || host == "localhost"
			if !imagePrefix.MatchString(text) || !isRegistry {
				p.child("mirrors", prefix).Fail("write it without https:// and without a slash at the end; "+
					"docker.io is the registry of images without one",
					"%q is no registry with the first parts of a repository, such as docker.io or ghcr.io/acme", text)
			}
		}
		out.Mirrors = append(out.Mirrors, Mirror{Prefix: prefix, To: mirrors[prefix]})
	}
	out.PullSecretsFrom = p.child("pullSecretsFrom").sources(func(s part, source *SecretSource) { source.Key = s.child("key").Text })
	return out
}

// ExternalService is a host outside of the cluster that a project declares.
type ExternalService struct {
	Name string
	Pos  object.Pos
	// Host is a DNS name or an address; it is "" for a service without a host, which an
	// environment may add.
	Host string
	// Ports are the ports of the host: at least one, unless the document gives no port.
	Ports []int
	// Protocol is the scheme of the URL, or one of grpc, http, https, tcp, tls and udp.
	Protocol string
	// URL is the URL as written, or is made of the host, the first port and the protocol.
	URL string
}

// Complete reports whether the service has an address and ports.
func (s ExternalService) Complete() bool { return s.Host != "" && len(s.Ports) > 0 }

// CIDR returns the host as a range of one address, or "" if it is a name.
func (s ExternalService) CIDR() string {
	address, err := netip.ParseAddr(s.Host)
	if err != nil {
		return ""
	}
	return netip.PrefixFrom(address, address.BitLen()).String()
}

// externalServices returns the services by their ids.
func (p part) externalServices() map[string]ExternalService {
	if !p.Given() {
		return nil
	}
	out := map[string]ExternalService{}
	for _, m := range p.Members {
		if s := p.child(m.Name); s.Given() { // An environment removes a service by null.
			out[m.Name] = s.externalService(m.Name)
		}
	}
	return out
}

// externalService returns a service with its defaults: the port from the protocol, or the protocol
// from the port.
func (p part) externalService(name string) ExternalService {
	out := ExternalService{Name: name, Pos: p.Pos, Host: p.child("host").Text, Protocol: p.child("protocol").Text}
	for _, item := range p.List("ports") {
		port, _ := item.Number() // The table has checked it.
		out.Ports = append(out.Ports, port)
	}

	// A URL says everything, and other fields could only contradict it.
	if written := p.child("url"); written.Given() {
		for _, beside := range []string{"host", "ports", "protocol"} {
			if o := p.child(beside); o.Given() {
				o.Fail("keep one of them; an environment takes the other one of the project away by null, such as url: null",
					"the url says the host, the port and the protocol already")
			}
		}
		before := len(written.Errs)
		written.decodeURL(&out)
		written.Hide(before)
		return out
	}

	// One of port and protocol may be absent.
	switch {
	case len(out.Ports) == 0:
		if port := PortOfScheme(out.Protocol); port > 0 {
			out.Ports = []int{port}
		}
	case out.Protocol == "":
		out.Protocol = cmp.Or(map[int]string{80: "http", 443: "https"}[out.Ports[0]], "tcp")
	}
	if address, err := netip.ParseAddr(out.Host); err == nil {
		out.Host = address.Unmap().String()
	}
	if len(out.Ports) > 0 {
		out.URL = out.Protocol + "://" + net.JoinHostPort(out.Host, strconv.Itoa(out.Ports[0]))
	}
	return out
}

// decodeURL decodes the URL of a service. No message repeats it, because it may hold a password.
func (p part) decodeURL(out *ExternalService) {
	const example = "expected one such as https://api.example.com/v1"
	u, err := url.Parse(p.Text)
	if err != nil || u.Hostname() == "" {
		p.Fail(example, "is not a URL with a host")
		return
	}
	host := strings.ToLower(u.Hostname())
	port, err := strconv.Atoi(cmp.Or(u.Port(), strconv.Itoa(PortOfScheme(u.Scheme))))
	switch problem := kinds.BadOutside(host); {
	case u.User != nil:
		p.Fail("remove them from the url, and give the workload a secret of spec.workloads.secrets.bindings for them",
			"the url has a user or a password, which would be in plain text")
	case strings.Contains(p.Text, "${"):
		p.Fail("write the url itself, in each environment where it differs", "placeholders are not resolved here")
	case problem != "":
		p.Fail("", "the host of the url %s", problem)
	case port == 0 && u.Port() == "":
		p.Fail("write it, such as "+u.Scheme+"://HOST:PORT", "the url has no port, and the one of %s is not known", u.Scheme)
	case err != nil || port < 1 || port > 65535:
		p.Fail("", "the port of the url is out of range: expected 1 to 65535")
	}
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Unmap().String()
	}
	out.URL, out.Host, out.Ports, out.Protocol = p.Text, host, []int{port}, strings.ToLower(u.Scheme)
}

// PortOfScheme returns the default port of a scheme, or 0 if it is not known.
func PortOfScheme(scheme string) int {
	switch scheme {
	case "https", "wss":
		return 443
	case "http", "ws":
		return 80
	case "postgres", "postgresql":
		return 5432
	case "mysql":
		return 3306
	case "mongodb":
		return 27017
	case "redis", "rediss":
		return 6379
	case "amqp":
		return 5672
	case "amqps":
		return 5671
	}
	return 0
}

// SplitGoogleSecret returns the parts of the full name of a secret of Google Cloud, such as
// projects/acme/secrets/db/versions/3, in which the version may be missing. For any other name the
// project is "".
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
