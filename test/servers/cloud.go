// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Registries of the clouds, as [Cloud] has them.
const (
	AmazonRegistry = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	AzureRegistry  = "shop.azurecr.io"
	GoogleRegistry = "europe-west1-docker.pkg.dev"
)

// Cloud is what clouds do between the token of a service account and a login at a
// registry, under the names that their hosts have: AWS (STS and ECR), Azure (Entra and
// ACR) and Google (STS, IAM and Artifact Registry). Who goes through Proxy and trusts CA,
// as HTTPS_PROXY and SSL_CERT_FILE have it, finds them.
//
// It speaks the protocols of their documentation, checks no signatures of requests, and
// leaves it to Trust who is who.
type Cloud struct {
	// Proxy leads to every host of a cloud, and nowhere else.
	Proxy *url.URL
	// CA is the authority of their certificates, in PEM.
	CA []byte
	// Password is what a registry is to ask for; User has the name for each cloud. It
	// has the form of a token, as that of Azure must.
	Password string
	// Trust says whether the token, which was made for the audience, may stand for the
	// identity: a role of AWS, a client of Azure, a member of a pool of Google. What its
	// error says is said to the client.
	Trust func(identity, audience, token string) error
	// Impersonated is the service account of Google that may push. Where it is empty,
	// members of pools may.
	Impersonated string

	mu         sync.Mutex
	registries map[string]http.Handler
	asked      []string
	fault      http.Handler
}

// NewCloud runs until the test ends. It has no registries yet.
func NewCloud(t testing.TB, trust func(identity, audience, token string) error) *Cloud {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"exp": time.Now().Add(time.Hour).Unix(), "jti": rand.Text()})
	require.NoError(t, err)
	part := base64.RawURLEncoding.EncodeToString
	c := &Cloud{Trust: trust, Password: part([]byte(`{"alg":"none"}`)) + "." + part(claims) + "." + rand.Text(), registries: map[string]http.Handler{}}
	server := httptest.NewUnstartedServer(c)
	certificate := c.certificate(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	proxy := httptest.NewServer(connecting(server.Listener.Addr().String(), certificate.Leaf.DNSNames))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		server.CloseClientConnections()
		server.Close()
	})
	c.Proxy, err = url.Parse(proxy.URL)
	require.NoError(t, err)
	return c
}

// User is the name with which a cloud, such as aws, has its clients log in.
func (c *Cloud) User(cloud string) string {
	return map[string]string{"aws": "AWS", "azure": "00000000-0000-0000-0000-000000000000", "gcp": "oauth2accesstoken"}[cloud]
}

// Serve puts a registry behind a name, one of the constants.
func (c *Cloud) Serve(host string, registry http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registries[host] = registry
}

// Fault has f answer in place of what gives credentials from now on; nil ends that.
func (c *Cloud) Fault(f http.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Asked are the exchanges since the start, as host and path, but for registries.
func (c *Cloud) Asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// Through is Proxy as http.Transport asks for one: for all but the loopback.
func (c *Cloud) Through(r *http.Request) (*url.URL, error) {
	if address := net.ParseIP(r.URL.Hostname()); address != nil && address.IsLoopback() {
		return nil, nil //nolint:nilnil // what net/http wants for no proxy
	}
	return c.Proxy, nil
}

// session is the token between the two steps of an exchange.
func (c *Cloud) session() string {
	return base64.StdEncoding.EncodeToString([]byte("session of " + c.Password))
}

// ServeHTTP is every host of the clouds.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	c.mu.Lock()
	registry, fault := c.registries[host], c.fault
	exchange := registry == nil || r.URL.Path == "/oauth2/exchange"
	if exchange {
		c.asked = append(c.asked, host+r.URL.Path)
	}
	c.mu.Unlock()
	r.Body = http.MaxBytesReader(w, r.Body, 1<<30)
	switch {
	case !exchange:
		registry.ServeHTTP(w, r)
		return
	case fault != nil:
		fault.ServeHTTP(w, r)
		return
	case host != "api.ecr.eu-west-1.amazonaws.com" && host != googleIAM:
		if err := r.ParseForm(); err != nil {
			http.Error(w, "bad form", http.StatusBadRequest)
			return
		}
	}
	switch host {
	case "sts.eu-west-1.amazonaws.com":
		c.amazonRole(w, r)
	case "api.ecr.eu-west-1.amazonaws.com":
		c.amazonLogin(w, r)
	case "login.microsoftonline.com":
		c.azure(w, r)
	case googleSTS:
		c.googleExchange(w, r)
	case googleIAM:
		c.googleImpersonation(w, r)
	case AzureRegistry:
		if r.PostForm.Get("access_token") != c.session() {
			answerJSON(w, http.StatusUnauthorized, map[string]any{"errors": []any{map[string]string{"code": "UNAUTHORIZED", "message": "no such session"}}})
			return
		}
		answerJSON(w, http.StatusOK, map[string]string{"refresh_token": c.Password})
	default:
		http.NotFound(w, r)
	}
}

// amazonRole is AssumeRoleWithWebIdentity.
// See https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html.
func (c *Cloud) amazonRole(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/xml")
	if err := c.Trust(r.PostForm.Get("RoleArn"), "sts.amazonaws.com", r.PostForm.Get("WebIdentityToken")); err != nil {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>%s</Message></Error><RequestId>1</RequestId></ErrorResponse>`, err)
		return
	}
	//nolint:gosec // nothing of it is of the request
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
		`<AccessKeyId>AKIA</AccessKeyId><SecretAccessKey>of-the-length-that-the-keys-of-a-cloud-have</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, c.session(), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// amazonLogin is GetAuthorizationToken.
// See https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetAuthorizationToken.html.
func (c *Cloud) amazonLogin(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Amz-Security-Token") != c.session() {
		answerJSON(w, http.StatusBadRequest, map[string]string{"__type": "UnrecognizedClientException", "message": "the security token is invalid"})
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"authorizationData": []any{map[string]any{
		"authorizationToken": base64.StdEncoding.EncodeToString([]byte(c.User("aws") + ":" + c.Password)),
		"expiresAt":          time.Now().Add(time.Hour).Unix(), "proxyEndpoint": "https://" + AmazonRegistry,
	}}})
}

// azure is Entra: what there is at a tenant, and the exchange of a token.
// See https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow.
func (c *Cloud) azure(w http.ResponseWriter, r *http.Request) {
	const root = "https://login.microsoftonline.com/"
	tenant, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		answerJSON(w, http.StatusOK, map[string]any{"tenant_discovery_endpoint": root + tenant + "/v2.0/.well-known/openid-configuration", "metadata": []any{map[string]any{
			"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.microsoftonline.com", "aliases": []string{"login.microsoftonline.com"},
		}}})
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		answerJSON(w, http.StatusOK, map[string]string{
			"issuer": root + tenant + "/v2.0", "authorization_endpoint": root + tenant + "/oauth2/v2.0/authorize", "token_endpoint": root + tenant + "/oauth2/v2.0/token",
		})
	default:
		if err := c.Trust(tenant+"/"+r.PostForm.Get("client_id"), "api://AzureADTokenExchange", r.PostForm.Get("client_assertion")); err != nil {
			answerJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": err.Error()})
			return
		}
		answerJSON(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": c.session()})
	}
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// certificate makes an authority, and the certificate of all hosts.
func (c *Cloud) certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clouds of a test"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "cloud"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"sts.eu-west-1.amazonaws.com", "api.ecr.eu-west-1.amazonaws.com", AmazonRegistry,
			"login.microsoftonline.com", AzureRegistry,
			googleSTS, googleIAM, GoogleRegistry,
		},
	}
	root, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), key)
	require.NoError(t, err)
	leaf, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	c.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// connecting is a proxy that leads some hosts to one address.
func connecting(address string, hosts []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		if r.Method != http.MethodConnect || !slices.Contains(hosts, host) {
			http.Error(w, "there is no such host in the clouds of this test", http.StatusBadGateway)
			return
		}
		there, err := new(net.Dialer).DialContext(r.Context(), "tcp", address)
		if err != nil {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		defer func() { _ = there.Close() }()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = here.Close() }()
		if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return
		}
		// Who closes first ends both.
		done := make(chan struct{}, 2)
		join := func(to io.Writer, from io.Reader) {
			_, _ = io.Copy(to, from) // the end of it is the end of the connection
			done <- struct{}{}
		}
		go join(there, here)
		go join(here, there)
		<-done
	}
}
