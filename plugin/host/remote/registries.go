// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/source"
)

// Defaults of [Registries].
const (
	DefaultUserAgent = "ropewalk"
	DefaultAttempts  = 5
	DefaultBackoff   = 250 * time.Millisecond
	DefaultMaxWait   = 30 * time.Second
	DefaultTimeout   = 30 * time.Second
	DefaultManifest  = 4 << 20
)

// dialTimeout is how long connecting may take, without TLS, and TLS as well.
const dialTimeout = 10 * time.Second

// maxPages is how many pages a list of tags or referrers may have.
const maxPages = 1000

// maxClients is how many sets of credentials are kept: Secrets change, and a controller
// runs for months.
const maxClients = 256

// Registries connects to registries. The zero value connects by https, without
// credentials. Fields must not change after the first call. It is safe for concurrent
// use.
type Registries struct {
	// Credentials returns the credential of a host, with its port, for repositories without
	// a Secret; the empty one means that there is none. Nil has none.
	Credentials auth.CredentialFunc
	// PlainHTTP reports whether a host, with its port, is connected to without TLS; nil
	// is none, not even the loopback.
	PlainHTTP func(host string) bool
	// CA is PEM of certificate authorities by host with its port, beside those of
	// the system; those at "" are for every host.
	CA map[string][]byte
	// Proxy is that of http.Transport; nil uses no proxy. Commands set
	// http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is sent to servers; DefaultUserAgent where empty.
	UserAgent string
	// Attempts is how often a request is sent at most, the first time included;
	// DefaultAttempts where zero.
	Attempts int
	// Backoff is how long to wait before the second attempt; each wait is twice
	// the one before it. DefaultBackoff where zero.
	Backoff time.Duration
	// MaxWait is the longest wait between two attempts. A longer Retry-After ends the
	// retries. DefaultMaxWait where zero.
	MaxWait time.Duration
	// Timeout is how long a server may take to begin a response, and how long it may
	// pause in one; DefaultTimeout where zero.
	Timeout time.Duration
	// Manifest is how many bytes a manifest, or a page of a list, may have;
	// DefaultManifest where zero.
	Manifest int64

	mu      sync.Mutex
	clients *lru.Cache[login, *auth.Client]
}

// login identifies repositories that may share tokens and connections.
type login struct {
	host, ca   string
	own        bool // the credentials are those of Registries
	credential auth.Credential
}

// Repository returns a connection to a repository, such as ghcr.io/org/repo. It sends no request
// yet. The secret holds entries as in [source.Secrets]: a .dockerconfigjson, or username and
// password, or bearerToken, and ca.crt. A nil secret takes Credentials. A secret for other hosts
// is not used.
//
// Errors are source.ErrReference for a name that is none, and
// source.ErrUnauthorized for a secret that cannot be read. Those of the
// repository itself go through [Explain].
func (r *Registries) Repository(ctx context.Context, name string, secret map[string][]byte) (*remote.Repository, error) {
	// A name that is no repository is refused before the secret is read.
	ref, err := parse(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	// Logins with the same credential share connections and tokens.
	host := ref.Host()
	key := login{host: host, own: secret == nil, ca: string(r.CA[""]) + "\n" + string(r.CA[ref.Registry])}
	if secret != nil {
		key.credential, err = SecretCredential(secret, name)
		if err != nil {
			return nil, err
		}
		key.ca += "\n" + string(secret["ca.crt"])
	}
	client, err := r.client(key)
	if err != nil {
		return nil, err
	}
	return &remote.Repository{
		Client:    client,
		Reference: ref,
		PlainHTTP: r.PlainHTTP != nil && r.PlainHTTP(ref.Registry),
		// Many registries refuse DELETE, and a refused one would lose the tag that
		// comes after it.
		SkipReferrersGC: true,
		// One byte more than transport passes, so that a list that is too long is an
		// error of its own and does not look truncated.
		MaxMetadataBytes:     cmp.Or(r.Manifest, DefaultManifest) + 1,
		TagListMaxPages:      maxPages,
		ReferrerListMaxPages: maxPages,
	}, nil
}

// Repositories calls fn with the names of the repositories of a registry, such as ghcr.io or
// localhost:5000. Many registries do not list them, or only for administrators. Errors are those
// of [Registries.Repository], which go through [Explain].
func (r *Registries) Repositories(ctx context.Context, host string, fn func(names []string) error) error {
	repository, err := r.Repository(ctx, host+"/any", nil)
	if err != nil {
		return err
	}
	list := remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Client: repository.Client, Reference: registry.Reference{Registry: repository.Reference.Registry},
		PlainHTTP: repository.PlainHTTP, MaxMetadataBytes: repository.MaxMetadataBytes,
	}}
	return list.Repositories(ctx, "", fn)
}

// parse returns the reference of a repository, without a tag or a digest.
func parse(name string) (registry.Reference, error) {
	shown := fmt.Sprintf("%q", line(name))
	if repo, _, _ := strings.Cut(name, "@sha256:"); strings.Contains(repo, "@") {
		shown = "the name" // what is before the @ may be a password
	}
	bad := func(why string) (registry.Reference, error) {
		return registry.Reference{}, source.Refuse(source.ErrReference,
			fmt.Sprintf("%s is not a repository (%s): write it as host/name, such as ghcr.io/org/repo", shown, why))
	}
	host, _, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return bad("it has no host")
	case strings.Contains(host, "@"):
		return bad("it must not hold credentials")
	}
	ref, err := registry.ParseReference(name)
	switch {
	case err != nil:
		return bad("its host or name has invalid characters")
	case ref.Reference != "":
		return bad("it has a tag or a digest")
	}
	return ref, nil
}

// client returns the client of a login, with its cache of tokens.
func (r *Registries) client(key login) (*auth.Client, error) {
	// A login has one client, so that its tokens are used again.
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients == nil {
		r.clients = lru.New[login, *auth.Client](maxClients)
	}
	if c, ok := r.clients.Get(key); ok {
		return c, nil
	}
	base, err := r.base(key)
	if err != nil {
		return nil, err
	}

	// Every client tries again, and bounds what it waits for and reads.
	c := &auth.Client{
		Client: &http.Client{
			Transport: &transport{
				base: base, attempts: cmp.Or(r.Attempts, DefaultAttempts), backoff: cmp.Or(r.Backoff, DefaultBackoff),
				maxWait: cmp.Or(r.MaxWait, DefaultMaxWait), idle: cmp.Or(r.Timeout, DefaultTimeout), manifest: cmp.Or(r.Manifest, DefaultManifest),
			},
			CheckRedirect: redirect,
		},
		Header:   http.Header{"User-Agent": {cmp.Or(r.UserAgent, DefaultUserAgent)}},
		Cache:    auth.NewCache(),
		ClientID: DefaultUserAgent,
	}
	c.Credential = r.Credentials
	if !key.own {
		c.Credential = auth.StaticCredential(key.host, key.credential)
	}
	r.clients.Put(key, c, 1)
	return c, nil
}

// base returns the pool of connections of a login.
func (r *Registries) base(key login) (*http.Transport, error) {
	ca := strings.TrimSpace(key.ca)
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a system without authorities
		}
		if !pool.AppendCertsFromPEM([]byte(ca)) {
			return nil, source.Refuse(source.ErrUnauthorized,
				fmt.Sprintf("the certificate authority for %q (ca.crt) is not a certificate in PEM", key.host))
		}
		config.RootCAs = pool
	}
	return &http.Transport{
		Proxy:                 r.Proxy,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		TLSClientConfig:       config,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ResponseHeaderTimeout: cmp.Or(r.Timeout, DefaultTimeout),
		// Content must match its digest as it is stored.
		DisableCompression: true,
	}, nil
}

// errDowngrade reports a redirect that leaves TLS.
var errDowngrade = errors.New("the server redirects from https to http")

// redirect follows ten redirects, and none that leaves TLS.
func redirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 10:
		return errors.New("the server redirects more than 10 times")
	case r.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return errDowngrade
	}
	return nil
}
