// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// comment is one of a change request, with the fields of all forges.
type comment struct {
	ID     int    `json:"id"`
	Body   string `json:"body"`
	User   author `json:"user"`
	Author author `json:"author"`
}

type author struct {
	ID    int    `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

// forge plays the part of the API that the pipelines use, and keeps what it gets.
type forge struct {
	url string

	mu       sync.Mutex
	me       author
	header   string // of the token
	value    string
	paged    bool
	calls    int
	comments []comment
	versions map[int]string // of the package, by their digests
}

// newForge has more comments than a page holds; one of them is a user's that begins as ours.
func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{}
	for i := range 120 {
		body := "looks good"
		if i == 3 {
			body = "<!-- ropewalk-preview projects=all environments=all -->\nno change at all"
		}
		user := author{ID: 5, Login: "mallory", Type: "User"}
		f.comments = append(f.comments, comment{ID: 100 + i, Body: body, User: user, Author: user})
	}
	mux := http.NewServeMux()
	for _, list := range []string{"/repos/acme/shop/issues/7/comments", "/projects/42/merge_requests/7/notes"} {
		mux.HandleFunc("GET "+list, f.list)
		mux.HandleFunc("POST "+list, f.write)
	}
	mux.HandleFunc("PATCH /repos/acme/shop/issues/comments/{id}", f.write)
	mux.HandleFunc("PUT /projects/42/merge_requests/7/notes/{id}", f.write)
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, _ *http.Request) { answer(w, f.me) })
	mux.HandleFunc("GET /orgs/acme/packages/container/shop-previews/versions", f.listVersions)
	mux.HandleFunc("DELETE /orgs/acme/packages/container/shop-previews/versions/{id}", f.deleteVersion)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls++
		if r.Header.Get(f.header) != f.value {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// list is a page of the comments, or all of them where the forge has no pages.
func (f *forge) list(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	if !f.paged {
		page, size = 1, len(f.comments)
	}
	from := min((page-1)*size, len(f.comments))
	answer(w, f.comments[from:min(from+size, len(f.comments))])
}

// write makes a comment, or replaces the text of one of the same author.
func (f *forge) write(w http.ResponseWriter, r *http.Request) {
	var in comment
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Body == "" || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "no comment", http.StatusUnprocessableEntity)
		return
	}
	if r.Method == http.MethodPost {
		f.comments = append(f.comments, comment{ID: 100 + len(f.comments), Body: in.Body, User: f.me, Author: f.me})
		w.WriteHeader(http.StatusCreated)
		return
	}
	for i, c := range f.comments {
		if strconv.Itoa(c.ID) == r.PathValue("id") && c.User == f.me {
			f.comments[i].Body = in.Body
			return
		}
	}
	http.Error(w, "not yours", http.StatusForbidden)
}

func (f *forge) listVersions(w http.ResponseWriter, _ *http.Request) {
	out := []map[string]any{}
	for id, digest := range f.versions {
		out = append(out, map[string]any{"id": id, "name": digest})
	}
	answer(w, out)
}

func (f *forge) deleteVersion(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.Atoi(r.PathValue("id"))
	delete(f.versions, id)
	w.WriteHeader(http.StatusNoContent)
}

// registered gives the world a registry for a user with a password.
func registered(t *testing.T, w *world, user, password string) {
	t.Helper()
	w.registry = servers.InProcess(t, servers.WithBasicAuth(user, password))
	host := strings.Replace(w.registry.Host, "127.0.0.1", "localhost", 1)
	w.env["REGISTRY_OF_TEST"], w.env["REPOSITORY"] = host, "oci://"+host+"/acme/shop-previews"
	w.docker = t.TempDir()
	text := fmt.Sprintf(`{"auths":{%q:{"username":%q,"password":%q}}}`, host, user, password)
	require.NoError(t, os.WriteFile(filepath.Join(w.docker, "config.json"), []byte(text), 0o600))
}

// hosted is what GitHub and Gitea have in common.
func hosted(t *testing.T, w *world, token string) {
	t.Helper()
	registered(t, w, "actor", token)
	for key, value := range map[string]string{
		"GITHUB_API_URL": w.forge.url, "GITHUB_SERVER_URL": "https://git.example.com", "GITHUB_REPOSITORY": "acme/shop",
		"GITHUB_SHA": strings.Repeat("a", 40), "GITHUB_RUN_ID": "1", "GITHUB_RUN_NUMBER": "1", "GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary"),
	} {
		w.env[key] = value
	}
	w.expressions = map[string]string{
		"github.token": forgeToken, "github.base_ref": "main", "github.event.number": "7", "github.actor": "actor",
		"github.event.pull_request.head.sha": strings.Repeat("b", 40),
		"secrets.REGISTRY_TOKEN":             registryKey, "vars.REGISTRY_USER": "actor",
	}
}

func onGitHub(t *testing.T, w *world) {
	t.Helper()
	w.pipeline = workflow(t, previewsFolder+"/github.yaml")
	hosted(t, w, forgeToken)
	w.forge.me = author{ID: 9, Login: "github-actions[bot]", Type: "Bot"}
	w.forge.header, w.forge.value, w.forge.paged = "Authorization", "Bearer "+forgeToken, true
}

func onGitea(t *testing.T, w *world) {
	t.Helper()
	w.pipeline = workflow(t, previewsFolder+"/gitea.yaml")
	hosted(t, w, registryKey)
	w.forge.me = author{ID: -2, Login: "gitea-actions"}
	w.forge.header, w.forge.value = "Authorization", "token "+forgeToken
}

func onGitLab(t *testing.T, w *world) {
	t.Helper()
	w.pipeline = gitlab(t, previewsFolder+"/gitlab.yml")
	registered(t, w, "job", registryKey)
	w.forge.me = author{ID: 9}
	w.forge.header, w.forge.value, w.forge.paged = "PRIVATE-TOKEN", forgeToken, true
	for key, value := range map[string]string{
		"CI_API_V4_URL": w.forge.url, "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_URL": "https://git.example.com/acme/shop",
		"CI_COMMIT_SHA": strings.Repeat("b", 40), "CI_JOB_URL": "https://git.example.com/acme/shop/-/jobs/1",
		"CI_MERGE_REQUEST_DIFF_BASE_SHA": w.at.git(t, "rev-parse", "origin/main"),
		"CI_REGISTRY":                    w.env["REGISTRY_OF_TEST"], "CI_REGISTRY_USER": "job", "CI_REGISTRY_PASSWORD": registryKey, "PREVIEW_TOKEN": forgeToken,
	} {
		w.env[key] = value
	}
}
