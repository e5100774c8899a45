// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// guard lets a request pass, or answers it.
type guard interface {
	pass(w http.ResponseWriter, r *http.Request) bool
}

// WithBasicAuth asks for a name and a password.
func WithBasicAuth(user, password string) Option {
	return func(o *options) { o.guard = basicAuth{user, password} }
}

// WithTokenAuth asks for a bearer token, which the registry gives at /token for
// a name and a password, and for no one else.
//
// See https://distribution.github.io/distribution/spec/auth/token/.
func WithTokenAuth(user, password string) Option {
	return func(o *options) {
		o.guard = &tokenAuth{basic: basicAuth{user, password}, scopes: map[string][]string{}}
	}
}

type basicAuth struct{ user, password string }

func (b basicAuth) ok(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && b.same(user, password)
}

func (b basicAuth) same(user, password string) bool {
	return subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(b.user+"\x00"+b.password)) == 1
}

func (b basicAuth) pass(w http.ResponseWriter, r *http.Request) bool {
	if b.ok(r) {
		return true
	}
	Answer(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required",
		"WWW-Authenticate", `Basic realm="ropewalk"`).ServeHTTP(w, r)
	return false
}

// tokenAuth is a registry and the server that gives the tokens for it.
type tokenAuth struct {
	basic  basicAuth
	mu     sync.Mutex
	scopes map[string][]string // what a token allows, as repository:action
}

// ExpireTokens makes every token that was given worthless, as time does. It is
// for registries with WithTokenAuth.
func (o *OCI) ExpireTokens() {
	if a, ok := o.guard.(*tokenAuth); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		clear(a.scopes)
	}
}

func (a *tokenAuth) pass(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/token" {
		a.give(w, r)
		return false
	}
	repo, action := repository(r.URL.Path), "pull"
	switch r.Method {
	case http.MethodPut, http.MethodPost, http.MethodPatch:
		action = "push"
	case http.MethodDelete:
		action = "delete"
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	allowed, known := a.scopes[token]
	a.mu.Unlock()
	if bearer && known && (repo == "" || slices.Contains(allowed, repo+":"+action)) {
		return true
	}
	challenge := fmt.Sprintf(`Bearer realm="%s://%s/token",service="ropewalk"`, scheme(r), r.Host)
	if repo != "" {
		want := action
		if action == "push" {
			want = "pull,push"
		}
		challenge += fmt.Sprintf(`,scope="repository:%s:%s"`, repo, want)
	}
	if bearer {
		challenge += `,error="invalid_token"`
	}
	Answer(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required", "WWW-Authenticate", challenge).ServeHTTP(w, r)
	return false
}

// give gives a token for all scopes that are asked for.
func (a *tokenAuth) give(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "bad form", http.StatusBadRequest)
		return
	}
	ok := a.basic.ok(r) || r.Method == http.MethodPost && a.basic.same(r.PostForm.Get("username"), r.PostForm.Get("password"))
	if !ok {
		Answer(http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password").ServeHTTP(w, r)
		return
	}
	allowed := []string{}
	for _, scope := range r.Form["scope"] {
		for one := range strings.FieldsSeq(scope) {
			allowed = append(allowed, expand(one)...)
		}
	}
	token := rand.Text()
	a.mu.Lock()
	a.scopes[token] = allowed
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "access_token": token, "expires_in": 300}) // the client may be gone
}

// expand makes repository:action pairs of repository:<name>:<actions>.
func expand(scope string) []string {
	parts := strings.Split(scope, ":")
	if len(parts) != 3 || parts[0] != "repository" {
		return nil
	}
	var out []string
	for action := range strings.SplitSeq(parts[2], ",") {
		if action == "*" {
			return []string{parts[1] + ":pull", parts[1] + ":push", parts[1] + ":delete"}
		}
		out = append(out, parts[1]+":"+action)
	}
	return out
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}
