// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/ropewalk/ropewalk/source"
)

// DockerConfig returns the credentials of the file that docker login writes, with its credential
// helpers. The file is read at every login, so that a docker login applies at once. A missing file
// holds none.
//
// See https://docs.docker.com/reference/cli/docker/login/#credential-stores.
func DockerConfig(path string) auth.CredentialFunc {
	return func(ctx context.Context, host string) (auth.Credential, error) {
		store, err := credentials.NewStore(path, credentials.StoreOptions{})
		if err != nil {
			// The cause is left out: it may repeat the content of the file.
			return auth.EmptyCredential, source.Refuse(source.ErrUnauthorized,
				fmt.Sprintf("%q is not a docker configuration: correct it, or log in again", path))
		}
		credential, err := store.Get(ctx, credentials.ServerAddressFromHostname(host))
		if err != nil {
			return auth.EmptyCredential, source.Refuse(source.ErrUnauthorized,
				fmt.Sprintf("%q, or a credential helper that it names, gives no credentials for %q: log in again", path, host))
		}
		return credential, nil
	}
}

// PullSecret returns the credentials of a .dockerconfigjson of Kubernetes. Its credential helpers
// are ignored.
func PullSecret(config []byte) (auth.CredentialFunc, error) {
	entries, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, host string) (auth.Credential, error) {
		return entries.find(host), nil
	}, nil
}

// SecretCredential returns the credential of a secret for a repository, HOST/NAME: that of a
// .dockerconfigjson which is for it, else username and password, else bearerToken. A secret that
// has a ca.crt alone, or is for other hosts, has the empty credential. Errors are
// source.ErrUnauthorized, and repeat nothing of the secret.
func SecretCredential(secret map[string][]byte, name string) (auth.Credential, error) {
	text := func(entry string) string { return strings.TrimRight(string(secret[entry]), "\r\n") }
	_, docker := secret[".dockerconfigjson"]
	_, ca := secret["ca.crt"]
	user := text("username")
	password := text("password")
	token := text("bearerToken")
	switch {
	case docker:
		entries, err := parseConfig(secret[".dockerconfigjson"])
		if err != nil {
			return auth.EmptyCredential, err
		}
		return entries.find(name), nil
	case user != "" && password != "":
		return auth.Credential{Username: user, Password: password}, nil
	case user != "" || password != "":
		return auth.EmptyCredential, source.Refuse(source.ErrUnauthorized,
			fmt.Sprintf("the secret for %q has only one of username and password: it needs both", name))
	case token != "":
		return auth.Credential{AccessToken: token}, nil
	case ca:
		return auth.EmptyCredential, nil
	}
	return auth.EmptyCredential, source.Refuse(source.ErrUnauthorized, fmt.Sprintf(
		"the secret for %q has no credentials: it needs .dockerconfigjson, or username and password, or bearerToken", name))
}

// entries are credentials by scope: a host, or a host and the first segments of a name.
type entries map[string]auth.Credential

// parseConfig reads the auths of a docker configuration. Its errors repeat none of its content.
func parseConfig(data []byte) (entries, error) {
	// Only these fields of the file are read.
	var config struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if json.Unmarshal(data, &config) != nil {
		return nil, source.Refuse(source.ErrUnauthorized, "the pull secret is not JSON in the form of docker: create it with kubectl create secret docker-registry")
	}

	// Each key becomes a scope with one credential.
	out := entries{}
	exact := map[string]string{} // the key that an entry comes from
	for key, a := range config.Auths {
		credential := auth.Credential{Username: a.Username, Password: a.Password, RefreshToken: a.IdentityToken, AccessToken: a.RegistryToken}
		if a.Auth != "" {
			pair, err := base64.StdEncoding.DecodeString(a.Auth)
			user, password, ok := strings.Cut(string(pair), ":")
			if err != nil || !ok {
				return nil, source.Refuse(source.ErrUnauthorized, fmt.Sprintf("the pull secret has no name and password for %q: auth is not base64 of name:password", scrub(key)))
			}
			credential.Username = user
			credential.Password = strings.TrimRight(password, "\x00")
		}
		// Two keys may be one scope: https://host/v1/ and host. The shorter one, which is
		// the newer form, wins.
		scope := scopeOf(key)
		if old, twice := exact[scope]; twice && (len(old) < len(key) || len(old) == len(key) && old < key) {
			continue
		}
		out[scope] = credential
		exact[scope] = key
	}
	return out, nil
}

// scopeOf returns the scope of a key of a docker configuration, without the scheme and the version
// that old releases added.
func scopeOf(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, path, _ := strings.Cut(key, "/")
	path = strings.Trim(path, "/")
	if path == "v1" || path == "v2" {
		path = ""
	}
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		host = "docker.io"
	}
	if path == "" {
		return host
	}
	return host + "/" + path
}

// find returns the credential of the longest scope that contains name, a host with or without a
// repository.
func (e entries) find(name string) auth.Credential {
	name = scopeOf(name)
	for {
		if credential, ok := e[name]; ok {
			return credential
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return auth.EmptyCredential
		}
		name = name[:i]
	}
}
