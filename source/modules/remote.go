// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"cuelabs.dev/go/oci/ociregistry"
	"cuelabs.dev/go/oci/ociregistry/ociauth"
	"cuelabs.dev/go/oci/ociregistry/ociclient"
	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/ropewalk/ropewalk/source"
)

// maxManifest is how large the manifest of a module may be, in bytes. That of
// the specification has two layers; 4 MiB is what registries accept.
const maxManifest = 4 << 20

// remote is the registries of a configuration. Connections to a host and the
// tokens for it are shared.
type remote struct {
	resolver  *modconfig.Resolver
	client    *modregistry.Client
	transport http.RoundTripper

	mu    sync.Mutex
	hosts map[modconfig.Host]ociregistry.Interface
}

var _ modregistry.Resolver = (*remote)(nil)

func newRemote(r *Registry) (*remote, error) {
	resolver, err := resolve(r.Config)
	if err != nil {
		return nil, err
	}
	credentials, err := credentialsOf(r)
	if err != nil {
		return nil, err
	}
	transport := r.Transport
	if transport == nil {
		transport = retry.NewTransport(trusting(r.CA))
	}
	out := &remote{
		resolver: resolver, hosts: map[modconfig.Host]ociregistry.Interface{},
		transport: ociauth.NewStdTransport(ociauth.StdTransportParams{Config: credentials, Transport: transport}),
	}
	out.client = modregistry.NewClientWithResolver(out)
	return out, nil
}

// trusting is the transport of net/http, which trusts the authorities in ca too.
func trusting(ca []byte) http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if len(ca) == 0 || !ok {
		return http.DefaultTransport
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without authorities
	}
	pool.AppendCertsFromPEM(ca)
	own := standard.Clone()
	own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return own
}

// resolve reads the syntax of CUE_REGISTRY. The environment of the resolver is
// empty and not nil, for nil is that of the process.
func resolve(config string) (*modconfig.Resolver, error) {
	secret := source.Refuse(source.ErrReference,
		"the configuration of CUE registries holds an @: write credentials into a docker config.json, and versions into the module file")
	if !strings.HasPrefix(config, "file:") && strings.Contains(config, "@") {
		return nil, secret
	}
	resolver, err := modconfig.NewResolver(&modconfig.Config{CUERegistry: config, Env: []string{}})
	if err != nil && strings.Contains(err.Error(), "@") {
		return nil, secret // the error repeats what is written in the file
	}
	if err != nil {
		return nil, source.Refuse(source.ErrReference, fmt.Sprintf(
			"the configuration of CUE registries: %s; expected host/repository, or prefix=host/repository with commas between, such as example.com=registry.example.com/modules",
			strings.TrimPrefix(oneLine(err), "bad value for registry: ")))
	}
	return resolver, nil
}

// credentialsFunc is a function that is ociauth.Config.
type credentialsFunc func(host string) (Credential, error)

// EntryForRegistry implements ociauth.Config.
func (f credentialsFunc) EntryForRegistry(host string) (ociauth.ConfigEntry, error) {
	c, err := f(host)
	return ociauth.ConfigEntry{
		Username: c.Username, Password: c.Password, RefreshToken: c.RefreshToken, AccessToken: c.AccessToken,
	}, err
}

// credentialsOf is where credentials come from. The library reads docker's file
// out of an environment; this one has the file in it and nothing else. Helpers
// run in the environment of the process.
func credentialsOf(r *Registry) (ociauth.Config, error) {
	if r.Credentials != nil {
		return credentialsFunc(r.Credentials), nil
	}
	env := []string{}
	if len(r.Docker) > 0 {
		if !json.Valid(r.Docker) {
			return nil, source.Refuse(source.ErrReference, "the docker config with credentials of registries is no JSON")
		}
		env = append(env, "DOCKER_AUTH_CONFIG="+string(r.Docker))
	}
	config, err := ociauth.LoadWithEnv(ociauth.ExecHelper, env)
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), "$DOCKER_AUTH_CONFIG: ")
		return nil, source.Refuse(source.ErrReference, "the docker config with credentials of registries: "+why)
	}
	return config, nil
}

// origin is where the module is; "" where no registry has it.
func (r *remote) origin(mv module.Version) string {
	at, ok := r.resolver.ResolveToLocation(mv.BasePath(), mv.Version())
	if !ok {
		return ""
	}
	return fmt.Sprintf("oci://%s/%s:%s", at.Host, at.Repository, at.Tag)
}

// ResolveToRegistry implements modregistry.Resolver.
func (r *remote) ResolveToRegistry(path, version string) (modregistry.RegistryLocation, error) {
	at, ok := r.resolver.ResolveToLocation(path, version)
	if !ok {
		return modregistry.RegistryLocation{}, modregistry.ErrRegistryNotFound
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	host := modconfig.Host{Name: at.Host, Insecure: at.Insecure}
	registry, known := r.hosts[host]
	if !known {
		var err error
		if registry, err = ociclient.New(at.Host, &ociclient.Options{Transport: r.transport, Insecure: at.Insecure}); err != nil {
			return modregistry.RegistryLocation{}, err
		}
		r.hosts[host] = registry
	}
	return modregistry.RegistryLocation{Registry: registry, Repository: at.Repository, Tag: at.Tag}, nil
}

// zip is the archive of a module and where it is, also with an error. The
// manifest is read here, because the library tells a refusal (403) from nothing
// to be found (404) no more once it has read it.
func (r *remote) zip(ctx context.Context, mv module.Version, limits source.Limits) (data []byte, origin string, err error) {
	origin = r.origin(mv)
	at, err := r.ResolveToRegistry(mv.BasePath(), mv.Version())
	if err != nil {
		return nil, origin, err
	}
	manifest, err := at.Registry.GetTag(ctx, at.Repository, at.Tag)
	if err != nil {
		return nil, origin, err
	}
	text, err := readAll(manifest, maxManifest, "manifest")
	if err != nil {
		return nil, origin, err
	}
	m, err := r.client.GetModuleWithManifest(mv, text, manifest.Descriptor().MediaType)
	if err != nil {
		return nil, origin, &shapeError{err}
	}
	var layers struct {
		Layers []struct{ Digest string } `json:"layers"`
	}
	if err := json.Unmarshal(text, &layers); err != nil {
		return nil, origin, &shapeError{err}
	}
	blob, err := m.GetZip(ctx)
	if err != nil {
		return nil, origin, err
	}
	if data, err = readAll(blob, limits.WithDefaults().Bytes, "zip"); err != nil {
		return nil, origin, err
	}
	if want := layers.Layers[0].Digest; sum(data) != want {
		return nil, origin, source.Refuse(source.ErrDigest, fmt.Sprintf("its zip has the digest %s, and its manifest names %s", sum(data), want))
	}
	return data, origin, nil
}

// readAll reads r, which is at most limit bytes long, and closes it.
func readAll(r io.ReadCloser, limit int64, what string) ([]byte, error) {
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if int64(len(data)) > limit {
		return nil, source.Refuse(source.ErrLimit, fmt.Sprintf("its %s is larger than %d bytes", what, limit))
	}
	// The client compares digests too, with an error of its own that has no name.
	if err != nil && strings.Contains(err.Error(), "digest mismatch") {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("its %s is not what its digest says", what))
	}
	if err != nil {
		return nil, &cutError{what: what, got: len(data), err: err}
	}
	return data, nil
}
