// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	googleSTS = "sts.googleapis.com"
	googleIAM = "iamcredentials.googleapis.com"
)

// What a node of GKE knows about itself: the pool whose members are the service accounts
// of its cluster, and that cluster as the provider of the pool.
const (
	GooglePool     = "shop-prod.svc.id.goog"
	GoogleProvider = "https://container.googleapis.com/v1/projects/shop-prod/locations/europe-west1/clusters/shop"
)

// googleExchange gives a token of a pool for one of a cluster, by RFC 8693.
// See https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token.
func (c *Cloud) googleExchange(w http.ResponseWriter, r *http.Request) {
	// A cluster of GKE is "identitynamespace:POOL:PROVIDER", and its accounts have
	// tokens for the pool. Any other is named as its accounts have them.
	member := r.PostForm.Get("audience")
	audience := member
	if pool, ok := strings.CutPrefix(member, "identitynamespace:"); ok {
		audience, _, _ = strings.Cut(pool, ":")
	}
	if err := c.Trust(member, audience, r.PostForm.Get("subject_token")); err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": err.Error()})
		return
	}
	token := c.Password
	if c.Impersonated != "" {
		token = c.session()
	}
	//nolint:gosec // that is what RFC 8693 calls a kind of token
	answerJSON(w, http.StatusOK, map[string]any{
		"access_token": token, "token_type": "Bearer", "expires_in": 3600, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
	})
}

// googleImpersonation gives a token of a service account for one of a pool.
// See https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken.
func (c *Cloud) googleImpersonation(w http.ResponseWriter, r *http.Request) {
	if c.Impersonated == "" || r.URL.Path != "/v1/projects/-/serviceAccounts/"+c.Impersonated+":generateAccessToken" ||
		r.Header.Get("Authorization") != "Bearer "+c.session() {
		answerJSON(w, http.StatusForbidden, map[string]any{"error": map[string]any{
			"code": http.StatusForbidden, "status": "PERMISSION_DENIED", "message": "Permission 'iam.serviceAccounts.getAccessToken' denied",
		}})
		return
	}
	answerJSON(w, http.StatusOK, map[string]string{"accessToken": c.Password, "expireTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
}

// Metadata is the host and the port of what a node of GKE asks about itself, and has its
// own tokens from, for the variable GCE_METADATA_HOST.
// See https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#metadata_server.
func (c *Cloud) Metadata(t testing.TB) string {
	t.Helper()
	of, err := url.Parse(GoogleProvider)
	require.NoError(t, err)
	names := strings.Split(of.Path, "/")
	mux := http.NewServeMux()
	for path, value := range map[string]string{
		"project/project-id": names[3], "instance/attributes/cluster-location": names[5], "instance/attributes/cluster-name": names[7],
	} {
		mux.HandleFunc("GET /computeMetadata/v1/"+path, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(value))
		})
	}
	mux.HandleFunc("GET /computeMetadata/v1/instance/service-accounts/default/token", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, map[string]any{"access_token": c.Password, "expires_in": 3600, "token_type": "Bearer"})
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(w, "Metadata-Flavor is missing", http.StatusForbidden)
			return
		}
		w.Header().Set("Metadata-Flavor", "Google")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
