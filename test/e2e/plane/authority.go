// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientcmd "k8s.io/client-go/tools/clientcmd/api"
)

// Authority signs what the programs of a cluster know each other by. Its files
// are in a folder, by names that the arguments of programs use.
type Authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// ca is the certificate in PEM.
	ca []byte
}

// Pair is a certificate with its key, both in PEM.
type Pair struct{ certificate, key []byte }

// NewAuthority makes the authority, the certificate of the API server, and the
// keys that tokens of service accounts are signed with.
func NewAuthority(t testing.TB, dir string) *Authority {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o750))
	a := &Authority{dir: dir}
	template := certificate("ropewalk e2e", nil)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	root := a.sign(t, template)
	a.ca = root.certificate
	block, _ := pem.Decode(root.certificate)
	parsed, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	a.certificate = parsed
	a.write(t, "ca.crt", root.certificate)

	server := certificate("kube-apiserver", nil)
	server.IPAddresses = []net.IP{net.ParseIP(Loopback), net.ParseIP("10.0.0.1")}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	of := a.sign(t, server)
	a.write(t, "server.crt", of.certificate)
	a.write(t, "server.key", of.key)

	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(accounts.Public())
	require.NoError(t, err)
	a.write(t, "accounts.key", privatePEM(t, accounts))
	a.write(t, "accounts.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	return a
}

// Client is the certificate of a user, who is in groups.
func (a *Authority) Client(t testing.TB, user string, groups ...string) Pair {
	t.Helper()
	return a.sign(t, certificate(user, groups))
}

func certificate(name string, groups []string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(7 * 24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// sign makes a key and signs its certificate; the first one is signed by itself.
func (a *Authority) sign(t testing.TB, template *x509.Certificate) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	require.NoError(t, err)
	parent := a.certificate
	if parent == nil {
		parent, a.key = template, key
	}
	data, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	require.NoError(t, err)
	return Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: data}), privatePEM(t, key)}
}

func privatePEM(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	data, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: data})
}

func (a *Authority) write(t testing.TB, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(a.File(name), data, 0o600))
}

// File is the path of a file of the authority.
func (a *Authority) File(name string) string { return filepath.Join(a.dir, name) }

// Kubeconfig is a configuration of clients for one user of one server.
func (a *Authority) Kubeconfig(server string, user *clientcmd.AuthInfo) *clientcmd.Config {
	config := clientcmd.NewConfig()
	config.Clusters["e2e"] = &clientcmd.Cluster{Server: server, CertificateAuthorityData: a.ca}
	config.AuthInfos["user"] = user
	config.Contexts["e2e"] = &clientcmd.Context{Cluster: "e2e", AuthInfo: "user"}
	config.CurrentContext = "e2e"
	return config
}

// User is what a certificate is in a configuration of clients.
func (p Pair) User() *clientcmd.AuthInfo {
	return &clientcmd.AuthInfo{ClientCertificateData: p.certificate, ClientKeyData: p.key}
}
