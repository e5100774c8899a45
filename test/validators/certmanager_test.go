// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	webhook "github.com/cert-manager/cert-manager/test/webhook"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The server is that of cert-manager, whose project starts it in tests in this way.
func TestCertManagerTakesCertificates(t *testing.T) {
	// It asks an API server about approvals only, which there are none of.
	server, stop := webhook.StartWebhookServer(t, []string{"--api-server-host=http://127.0.0.1:1"})
	t.Cleanup(stop)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(server.CAPEM))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}}
	// It has its port before it listens.
	require.Eventually(t, func() bool {
		response, err := client.Get(server.URL)
		return err == nil && response.Body.Close() == nil
	}, 10*time.Second, 20*time.Millisecond)
	review := func(o *unstructured.Unstructured) string { return Review(t, client, server.URL+"/validate", o) }

	var found *unstructured.Unstructured
	for _, r := range Examples(t) {
		for _, o := range r.Of("cert-manager.io", "Certificate") {
			require.Empty(t, review(o), r.Name)
			found = o
		}
	}
	require.NotNil(t, found)
	// The mistakes of the same fields are in the tests of render/workload/gateway.
	for _, c := range []struct {
		want  string
		value any
		field []string
	}{
		{"at least one of commonName", []any{}, []string{"spec", "dnsNames"}},
		{"spec.secretName: Invalid value", "A_B", []string{"spec", "secretName"}},
		{"must be one of Issuer or ClusterIssuer", "Isuer", []string{"spec", "issuerRef", "kind"}},
	} {
		wrong := found.DeepCopy()
		require.NoError(t, unstructured.SetNestedField(wrong.Object, c.value, c.field...))
		require.Contains(t, review(wrong), c.want)
	}
}
