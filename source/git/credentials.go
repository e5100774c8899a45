// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
)

// credentials are the entries of a Secret for a server, under the names of Flux.
type credentials struct {
	// secret is the name of the Secret; "" without a Secret.
	secret string
	// user and password, or token, are for http.
	user, password, token string
	// ca is the authorities that sign for the server, in PEM.
	ca []byte
	// identity is a private key of SSH in PEM, without passphrase.
	identity []byte
	// knownHosts is the text of a known_hosts file.
	knownHosts []byte
}

// readSecret returns a Secret, or an error if there is no such Secret.
func (f *Fetcher) readSecret(ctx context.Context, name string) (map[string][]byte, error) {
	switch {
	case name == "":
		return nil, source.Refuse(source.ErrReference, "verify.secret is empty: name the Secret with the public keys")
	case f.Secrets == nil:
		return nil, source.Refuse(source.ErrUnauthorized, fmt.Sprintf("secret %q cannot be read: no Secrets are configured", name))
	}
	return f.Secrets.Secret(ctx, name)
}

// readCredentials reads the Secret of a reference.
func (f *Fetcher) readCredentials(ctx context.Context, name string) (credentials, error) {
	if name == "" {
		return credentials{}, nil
	}
	entries, err := f.readSecret(ctx, name)
	if err != nil {
		return credentials{}, err
	}
	c := credentials{
		secret: name, user: string(entries["username"]), password: string(entries["password"]),
		token: strings.TrimSpace(string(entries["bearerToken"])), ca: entries["ca.crt"],
		identity: entries["identity"], knownHosts: entries["known_hosts"],
	}
	if len(c.ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.ca) {
		return credentials{}, source.Refuse(source.ErrUnauthorized, fmt.Sprintf(
			"entry \"ca.crt\" of secret %q holds no certificate in PEM", name))
	}
	if len(c.identity) > 0 {
		c.identity, err = decryptIdentity(c.identity, entries["password"])
		if err != nil {
			return credentials{}, source.Refuse(source.ErrUnauthorized, fmt.Sprintf("entry \"identity\" of secret %q: %v", name, err))
		}
	}
	return c, nil
}

// decryptIdentity removes the passphrase from a private key.
func decryptIdentity(identity, passphrase []byte) ([]byte, error) {
	_, err := ssh.ParseRawPrivateKey(identity)
	var closed *ssh.PassphraseMissingError
	switch {
	case err == nil:
		// ssh wants a line end behind the last line.
		return append([]byte(strings.TrimRight(string(identity), "\r\n")), '\n'), nil
	case !errors.As(err, &closed):
		return nil, errors.New("is not a private key in PEM")
	case len(passphrase) == 0:
		return nil, errors.New("has a passphrase, which must be in entry \"password\"")
	}
	key, err := ssh.ParseRawPrivateKeyWithPassphrase(identity, passphrase)
	if err != nil {
		return nil, errors.New("cannot be opened with the passphrase in entry \"password\"")
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, errors.New("is of a kind that cannot be used")
	}
	return pem.EncodeToMemory(block), nil
}

// header returns the value of the header Authorization; "" where there are no credentials.
func (c credentials) header() string {
	switch {
	case c.token != "":
		return "Bearer " + c.token
	case c.user != "" || c.password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user+":"+c.password))
	}
	return ""
}

// check refuses credentials that a server of that scheme cannot use.
func (c credentials) check(scheme string) error {
	missing := func(is error, entry, why string) error {
		if c.secret == "" {
			return source.Refuse(is, fmt.Sprintf("ssh needs a Secret with the entries identity and known_hosts: %s", why))
		}
		return source.Refuse(is, fmt.Sprintf("secret %q has no entry %q: %s", c.secret, entry, why))
	}
	switch {
	case strings.ContainsAny(c.token+c.user+c.password, "\r\n\x00") && scheme != schemeSSH:
		return source.Refuse(source.ErrUnauthorized, fmt.Sprintf("secret %q holds a line break in username, password or bearerToken", c.secret))
	case scheme == schemeSSH && len(c.knownHosts) == 0:
		return missing(source.ErrHostKey, "known_hosts",
			"without it the server cannot be authenticated; get the keys with ssh-keyscan, check them, and add them")
	case scheme == schemeSSH && len(c.identity) == 0:
		return missing(source.ErrUnauthorized, "identity", "it is the private key, in PEM")
	}
	return nil
}

// scrub hides the credentials in a message.
func (c credentials) scrub(message string) string {
	for _, secret := range []string{c.header(), strings.TrimPrefix(c.header(), "Basic "), c.token, c.password, string(c.identity)} {
		if len(secret) > 3 {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}
