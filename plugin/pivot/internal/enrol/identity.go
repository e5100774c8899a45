// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// Identity identifies the cluster of an agent: Parent is the UID of the parent's namespace
// kube-system, and Cluster the UID of the PivotCluster there.
type Identity struct{ Parent, Cluster string }

const identityScheme = "ropewalk"

func (i Identity) url() *url.URL {
	return &url.URL{Scheme: identityScheme, Host: i.Parent, Path: "/" + i.Cluster}
}

// String returns the URI in certificates.
func (i Identity) String() string { return i.url().String() }

// Peer is an agent, as its verified certificate describes it.
type Peer struct {
	Identity
	// PublicKey is the sum of its key, as in status.enrolment.publicKey.
	PublicKey string
	NotAfter  time.Time
}

// PeerOf returns the agent at the other end of a connection, or an error if the agent has shown no
// certificate that was verified.
func PeerOf(state tls.ConnectionState) (Peer, error) {
	if len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return Peer{}, errors.New("the connection has no verified certificate")
	}
	leaf := state.VerifiedChains[0][0]
	identity, err := identityOf(leaf)
	if err != nil {
		return Peer{}, err
	}
	sum, err := PublicKeySum(leaf.PublicKey)
	if err != nil {
		return Peer{}, err
	}
	return Peer{Identity: identity, PublicKey: sum, NotAfter: leaf.NotAfter}, nil
}

// identityOf reads the one URI of a certificate.
func identityOf(c *x509.Certificate) (Identity, error) {
	uid := regexp.MustCompile(`^[0-9a-z][0-9a-z-]{0,62}$`)
	if len(c.URIs) != 1 {
		return Identity{}, fmt.Errorf("the certificate has %d URIs: expected ropewalk://PARENT/CLUSTER", len(c.URIs))
	}
	u := c.URIs[0]
	i := Identity{Parent: u.Host, Cluster: strings.TrimPrefix(u.Path, "/")}
	if i.String() != u.String() || !uid.MatchString(i.Parent) || !uid.MatchString(i.Cluster) {
		return Identity{}, fmt.Errorf("the certificate is of %q: expected ropewalk://PARENT/CLUSTER", u.String())
	}
	return i, nil
}

// parseRequest returns the key of a CSR in PEM, after a check of its signature and its strength.
// The other fields are not read.
func parseRequest(text []byte) (*ecdsa.PublicKey, error) {
	block, rest := pem.Decode(text)
	isRequest := block != nil && block.Type == certutil.CertificateRequestBlockType
	if !isRequest || strings.TrimSpace(string(rest)) != "" {
		return nil, errors.New("csr: expected one CERTIFICATE REQUEST in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, errors.New("csr: it cannot be read")
	}

	// The owner of the key must have signed the request.
	key, err := strongKey(request.PublicKey)
	if err == nil {
		err = checkSignature(request.SignatureAlgorithm)
	}
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("csr: %w", err)
	}
	return key, nil
}

// Issue makes a certificate for the agent of a cluster.
func (a *Authority) Issue(key *ecdsa.PublicKey, identity Identity, now time.Time) (*x509.Certificate, error) {
	if _, err := strongKey(key); err != nil {
		return nil, err
	}
	return sign(&x509.Certificate{
		URIs:        []*url.URL{identity.url()},
		NotBefore:   now.Add(-backdated),
		NotAfter:    a.until(now),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, key, a.current)
}

// until returns the end of a certificate that is issued now: it does not outlive the current CA.
func (a *Authority) until(now time.Time) time.Time {
	until := now.Add(Lifetime)
	if a.current.certificate.NotAfter.Before(until) {
		return a.current.certificate.NotAfter
	}
	return until
}

// issued reports whether the current CA issued a certificate.
func (a *Authority) issued(c *x509.Certificate) bool {
	return c.CheckSignatureFrom(a.current.certificate) == nil
}

// makeServing makes a certificate for the names and addresses of an endpoint, with the bridge for
// agents that do not have the current CA yet.
func (a *Authority) makeServing(hosts []string, now time.Time) (*tls.Certificate, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}

	// Agents reach the endpoint by an address or by a name.
	template := &x509.Certificate{
		NotBefore:   now.Add(-backdated),
		NotAfter:    a.until(now),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, err := sign(template, &key.PublicKey, a.current)
	if err != nil {
		return nil, err
	}

	// Add the bridge during a rotation.
	chain := [][]byte{leaf.Raw}
	if a.bridge != nil {
		chain = append(chain, a.bridge.Raw)
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: leaf}, nil
}
