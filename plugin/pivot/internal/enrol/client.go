// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// Client requests certificates from the registration endpoint of a parent. It does not retry: the
// caller does, and the same request gets the same answer. A refused request returns a *Refusal.
type Client struct {
	// Endpoint is https://HOST:PORT.
	Endpoint string
	Now      func() time.Time
}

// requestTimeout bounds a request.
const requestTimeout = 30 * time.Second

// Enrol returns c with the certificate for a token.
func (a Client) Enrol(ctx context.Context, c *Credentials, token string) (*Credentials, error) {
	// The certificate is left out: one that has expired would end the handshake.
	return a.post(ctx, &Credentials{Key: c.Key, Trust: c.Trust}, "v1/enrol", token)
}

// Renew returns c with a new certificate. The key stays: a new key needs a token, as a lost answer
// must not leave the agent with a key that is not enrolled.
func (a Client) Renew(ctx context.Context, c *Credentials) (*Credentials, error) {
	if err := c.Valid(a.Now()); err != nil {
		return nil, err
	}
	return a.post(ctx, c, "v1/renew", "")
}

// post sends a request for a certificate, and returns c with the certificate of the answer.
func (a Client) post(ctx context.Context, c *Credentials, path, token string) (*Credentials, error) {
	// Ask for a certificate of the key.
	csr, err := certutil.MakeCSRFromTemplate(c.Key, &x509.CertificateRequest{})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(question{Token: token, CSR: string(csr)})
	if err != nil {
		return nil, err
	}
	address, err := url.JoinPath(a.Endpoint, path)
	if err != nil {
		return nil, err
	}

	// Each request has a connection of its own, and follows no redirect.
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS(a.Now), DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: noRedirect}
	response, err := client.Do(request)
	if err != nil {
		return nil, a.explainClock(err)
	}
	defer response.Body.Close() //nolint:errcheck // It is read.

	// Read a bounded answer. A status other than 200 is a refusal.
	text, err := io.ReadAll(io.LimitReader(response.Body, bodyBytes))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, refused(response, text)
	}
	return a.accept(c, text)
}

// explainClock returns err. If a certificate of the parent is not valid now, it returns an error
// with the difference of the clocks instead.
func (a Client) explainClock(err error) error {
	var invalid x509.CertificateInvalidError
	expired := errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil
	if expired {
		if clockErr := validAt("the certificate of the parent", invalid.Cert, a.Now()); clockErr != nil {
			return fmt.Errorf("%s: %w", a.Endpoint, clockErr)
		}
	}
	return err
}

// refused returns the error for an answer with a status other than 200.
func refused(response *http.Response, text []byte) error {
	refusal := &Refusal{}
	if json.Unmarshal(text, refusal) != nil || refusal.Reason == "" {
		const format = "%s: answer %s of a server that is no registration endpoint"
		return fmt.Errorf(format, response.Request.URL.Redacted(), response.Status)
	}
	return refusal
}

// accept reads the answer, and checks that the agent can go on with it.
func (a Client) accept(c *Credentials, text []byte) (*Credentials, error) {
	// Read the trust and the certificate.
	var out answer
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("%s: the answer is no JSON", a.Endpoint)
	}
	trust, err := ParseTrust([]byte(out.Authorities), out.Pins)
	if err != nil {
		return nil, fmt.Errorf("%s: the answer: %w", a.Endpoint, err)
	}
	certificates, err := certutil.ParseCertsPEM([]byte(out.Certificate))
	if err != nil || len(certificates) != 1 || !c.Key.PublicKey.Equal(certificates[0].PublicKey) {
		return nil, fmt.Errorf("%s: the answer has no certificate of the key of the agent", a.Endpoint)
	}

	// The identity must stay the same, and the certificate must be valid by the clock here.
	renewed := &Credentials{Key: c.Key, Certificate: certificates[0], Trust: trust}
	identity, err := renewed.Identity()
	if err != nil {
		return nil, err
	}
	if before, err := c.Identity(); err == nil && identity != before {
		return nil, fmt.Errorf("%s: the answer has a certificate of %q for the agent of %q", a.Endpoint, identity, before)
	}
	if err := renewed.Valid(a.Now()); err != nil {
		return nil, err
	}
	return renewed, nil
}
