// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oauth2proxy

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	clientSecret = "s3cret-of-the-client"
	code         = "c0de-of-a-login"
	host         = "shop.example.com"
	page         = "/orders?id=1&x=%2F"
)

// issuer is an issuer of OpenID Connect that logs every client in.
type issuer struct {
	*httptest.Server
	t         *testing.T
	key       *rsa.PrivateKey
	challenge string
}

func newIssuer(t *testing.T) *issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &issuer{t: t, key: key}
	i.Server = httptest.NewTLSServer(i)
	t.Cleanup(i.Close)
	return i
}

// ServeHTTP answers what a client asks of an issuer, but for the page of the login.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := base64.RawURLEncoding.EncodeToString
	var out map[string]any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		out = map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
		}
	case "/keys":
		out = map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": text(i.key.N.Bytes()), "e": text(big.NewInt(int64(i.key.E)).Bytes()),
		}}}
	case "/token":
		_, password, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if (password != clientSecret && r.PostFormValue("client_secret") != clientSecret) || r.PostFormValue("code") != code || text(sum[:]) != i.challenge {
			http.Error(w, "refused", http.StatusForbidden)
			return
		}
		out = map[string]any{"access_token": "t0ken", "token_type": "Bearer", "expires_in": 600, "id_token": i.token()}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // a client that is gone
}

// token returns a token of the user.
func (i *issuer) token() string {
	text := base64.RawURLEncoding.EncodeToString
	claims, err := json.Marshal(map[string]any{
		"iss": i.URL, "aud": "shop", "sub": "user-1", "email": "jane@example.com", "email_verified": true,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	require.NoError(i.t, err)
	signed := text([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + text(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	require.NoError(i.t, err)
	return signed + "." + text(signature)
}

// deployment is the part of the rendered Deployment that runs the program.
type deployment struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image string
					Args  []string
					Env   []struct {
						Name      string
						ValueFrom struct {
							SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path string } `yaml:"httpGet"`
}

// render returns the Deployment that a Gateway of a target makes for an issuer.
func render(t *testing.T, target, issuer string) deployment {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "specs.yaml"), []byte(`
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec:
  containers: {main: {image: "example.com/api:1"}}
  service: {ports: {http: {port: 80}}}
---
apiVersion: ropewalk.dev/v1alpha1
kind: Gateway
metadata: {name: web}
spec:
  target: `+target+`
  hosts: [`+host+`]
  tls: {secret: shop-tls}
  routes:
    - {path: /, to: {workload: api}, auth: {type: oauth2, issuer: "`+issuer+`", clientID: shop, secret: shop-login}}
`), 0o600))
	command := os.Getenv("ROPEWALK_BIN")
	if command == "" {
		command = filepath.Join(t.TempDir(), "ropewalk")
		build(t, command, "../../..", "github.com/ropewalk/ropewalk/cmd/ropewalk")
	}
	c := exec.CommandContext(t.Context(), command, "render", dir) //nolint:gosec // the command
	c.Stderr = os.Stderr
	stream, err := c.Output()
	require.NoError(t, err)
	for d := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		var out deployment
		err := d.Decode(&out)
		require.NoError(t, err, "no Deployment of oauth2-proxy")
		if out.Kind == "Deployment" && out.Metadata.Name == "web-oauth2-proxy" {
			return out
		}
	}
}

func build(t *testing.T, out, dir, name string) {
	c := exec.CommandContext(t.Context(), "go", "build", "-o", out, name) //nolint:gosec // what is tested
	c.Dir, c.Stderr = dir, os.Stderr
	require.NoError(t, c.Run())
}

// logged collects what the program logs.
type logged struct {
	sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

func (l *logged) String() string {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.String()
}

// start runs the program as the Deployment does, and returns its address and its log.
func start(t *testing.T, program string, d deployment, i *issuer) (string, *logged) {
	dir := t.TempDir()
	authority := filepath.Join(dir, "ca.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}), 0o600))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	// The Secret has the two keys that the README names.
	secret := map[string]string{"client-secret": clientSecret, "cookie-secret": base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))}
	container := d.Spec.Template.Spec.Containers[0]
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	c := exec.CommandContext(ctx, program, append(container.Args, "--http-address="+address)...) //nolint:gosec // what is tested
	c.Env = []string{"SSL_CERT_FILE=" + authority}
	for _, e := range container.Env {
		require.Equal(t, "shop-login", e.ValueFrom.SecretKeyRef.Name)
		require.Contains(t, secret, e.ValueFrom.SecretKeyRef.Key)
		c.Env = append(c.Env, e.Name+"="+secret[e.ValueFrom.SecretKeyRef.Key])
	}
	out := &logged{}
	c.Stdout, c.Stderr = out, out
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		stop()
		var exit *exec.ExitError
		if err := c.Wait(); err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
	})
	for _, path := range []string{container.LivenessProbe.HTTPGet.Path, container.ReadinessProbe.HTTPGet.Path} {
		require.NotEmpty(t, path)
		require.Eventually(t, func() bool {
			r, err := http.Get("http://" + address + path) //nolint:noctx,gosec // a probe
			return err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK
		}, 20*time.Second, 50*time.Millisecond, "%s: %s", path, out)
	}
	return address, out
}

// client sends requests for the host, with the cookies that it was given.
type client struct {
	t       *testing.T
	address string
	cookies []*http.Cookie
}

func (c *client) get(path string, headers ...string) *http.Response {
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+c.address+path, nil)
	require.NoError(c.t, err)
	r.Host = host
	for n := 0; n < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	for _, cookie := range c.cookies {
		r.AddCookie(cookie)
	}
	out, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(c.t, err)
	_, err = io.Copy(io.Discard, out.Body)
	require.NoError(c.t, err)
	require.NoError(c.t, out.Body.Close())
	for _, cookie := range out.Cookies() {
		require.True(c.t, cookie.Secure && cookie.HttpOnly, cookie.Name)
		require.Empty(c.t, cookie.Domain)
		if cookie.MaxAge >= 0 && cookie.Value != "" {
			c.cookies = append(c.cookies, cookie)
		}
	}
	return out
}

// login follows a redirect to the issuer and back, and returns where the client is sent then.
func (c *client) login(i *issuer, sent *http.Response) string {
	require.Equal(c.t, http.StatusFound, sent.StatusCode)
	at, err := url.Parse(sent.Header.Get("Location"))
	require.NoError(c.t, err)
	require.Equal(c.t, i.URL+"/authorize", at.Scheme+"://"+at.Host+at.Path)
	q := at.Query()
	require.Equal(c.t, "https://"+host+"/oauth2/callback", q.Get("redirect_uri"))
	require.Equal(c.t, []string{"shop", "email openid profile", "S256"}, []string{q.Get("client_id"), q.Get("scope"), q.Get("code_challenge_method")})
	i.challenge = q.Get("code_challenge")
	back := c.get("/oauth2/callback?" + url.Values{"code": {code}, "state": {q.Get("state")}}.Encode())
	require.Equal(c.t, http.StatusFound, back.StatusCode)
	return back.Header.Get("Location")
}

func TestClientsLogIn(t *testing.T) {
	program := os.Getenv("ROPEWALK_OAUTH2_PROXY")
	if program == "" {
		program = filepath.Join(t.TempDir(), "oauth2-proxy")
		build(t, program, ".", "github.com/oauth2-proxy/oauth2-proxy/v7")
	}
	// The middleware of Traefik asks for /, and sends on what is no 2xx.
	traefik := func(c *client) *http.Response {
		return c.get("/", "X-Forwarded-Method", "GET", "X-Forwarded-Proto", "https", "X-Forwarded-Host", host, "X-Forwarded-Uri", page, "X-Auth-Request-Email", "root@example.com")
	}
	// HAProxy asks for /oauth2/auth, and sends what is no 2xx to the page of auth-signin.
	haproxy := func(c *client) *http.Response {
		return c.get("/oauth2/auth", "X-Auth-Request-Email", "root@example.com")
	}
	for target, ask := range map[string]func(*client) *http.Response{"traefik": traefik, "jcmoraisjr": haproxy} {
		t.Run(target, func(t *testing.T) {
			i := newIssuer(t)
			d := render(t, target, i.URL)
			address, log := start(t, program, d, i)
			c := &client{t: t, address: address}

			// A client without a session is sent to the issuer, and from there to the page.
			first := ask(c)
			if target == "jcmoraisjr" {
				require.Equal(t, http.StatusUnauthorized, first.StatusCode)
				first = c.get("/oauth2/start?rd=" + url.QueryEscape(page))
			}
			require.Equal(t, page, c.login(i, first))

			// A client with a session is let in, with what the issuer says of the user.
			second := ask(c)
			require.Equal(t, http.StatusAccepted, second.StatusCode)
			require.Equal(t, []string{"user-1", "jane@example.com"}, []string{second.Header.Get("X-Auth-Request-User"), second.Header.Get("X-Auth-Request-Email")})

			// A login leads to no other host.
			for _, evil := range []string{"https://evil.example/", "//evil.example/", `/\evil.example/`} {
				c := &client{t: t, address: address}
				require.Equal(t, "/", c.login(i, c.get("/oauth2/start?rd="+url.QueryEscape(evil))), evil)
			}

			// No other session is let in, and no log has what is secret.
			require.NotEqual(t, http.StatusAccepted, ask(&client{t: t, address: address, cookies: []*http.Cookie{{Name: "_oauth2_proxy", Value: "x"}}}).StatusCode)
			for _, secret := range []string{clientSecret, code, "t0ken", "BwcHBw"} {
				require.NotContains(t, log.String(), secret)
			}
			require.Contains(t, log.String(), "jane@example.com", "logins are logged")
		})
	}
}

// The version of the module is that of the image.
func TestTheImageHasTheVersionOfTheModule(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/oauth2-proxy/oauth2-proxy/v7").Output()
	require.NoError(t, err)
	d := render(t, "traefik", "https://login.example.com")
	require.Equal(t, "quay.io/oauth2-proxy/oauth2-proxy:"+strings.TrimSpace(string(out)), d.Spec.Template.Spec.Containers[0].Image)
}
