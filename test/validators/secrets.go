// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Secrets are those that the routes of a render name, in the shapes that the documentation of
// Gateways gives them for the target: of cert-manager, of users, of API keys and of a client.
func Secrets(t testing.TB, r Rendered) []*core.Secret {
	t.Helper()
	certificate, key := keyPair(t)
	byName := map[string]*core.Secret{}
	add := func(o *unstructured.Unstructured, name string, data map[string][]byte) {
		if name == "" {
			return
		}
		of := core.SecretTypeOpaque
		if data[core.TLSCertKey] != nil {
			of = core.SecretTypeTLS
		}
		byName[o.GetNamespace()+"/"+name] = &core.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: name}, Type: of, Data: data,
		}
	}
	text := func(o *unstructured.Unstructured, path ...string) string {
		value, _, err := unstructured.NestedString(o.Object, path...)
		require.NoError(t, err)
		return value
	}
	const users = "jane:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n" // The hash of "password".
	for _, o := range r.Objects {
		switch o.GetKind() {
		case "Certificate":
			add(o, text(o, "spec", "secretName"), map[string][]byte{core.TLSCertKey: certificate, core.TLSPrivateKeyKey: key})
		case "Middleware":
			add(o, text(o, "spec", "basicAuth", "secret"), map[string][]byte{"users": []byte(users)})
		case "SecurityPolicy":
			add(o, text(o, "spec", "basicAuth", "users", "name"), map[string][]byte{".htpasswd": []byte(users)})
			add(o, text(o, "spec", "oidc", "clientSecret", "name"), map[string][]byte{"client-secret": []byte("x")})
			keys, _, err := unstructured.NestedSlice(o.Object, "spec", "apiKeyAuth", "credentialRefs")
			require.NoError(t, err)
			for _, k := range keys {
				add(o, k.(map[string]any)["name"].(string), map[string][]byte{"partner": []byte("x")})
			}
		}
	}
	var out []*core.Secret
	for _, s := range byName {
		out = append(out, s)
	}
	return out
}

// keyPair is a certificate that signs itself, and its key.
func keyPair(t testing.TB) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shop.example.com"}, DNSNames: []string{"shop.example.com"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
