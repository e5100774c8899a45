// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// Fault answers a request in place of the server, where it says true. It is
// called from several goroutines.
type Fault func(r *http.Request) (http.Handler, bool)

// First is f for the first n requests that f wants, and then no more.
func First(n int, f Fault) Fault {
	var seen atomic.Int64
	return func(r *http.Request) (http.Handler, bool) {
		h, ok := f(r)
		if !ok || seen.Add(1) > int64(n) {
			return nil, false
		}
		return h, true
	}
}

// Always answers every request with h.
func Always(h http.Handler) Fault {
	return func(*http.Request) (http.Handler, bool) { return h, true }
}

// Answer is a status with an error as registries write it, and headers in
// pairs of name and value.
//
// See https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#error-codes.
func Answer(status int, code, message string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		type fault struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string][]fault{"errors": {{code, message}}}) // the client may be gone
	})
}

// Hang never answers. It ends when the client goes away.
func Hang() http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

// Reset closes the connection without an answer.
func Reset() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Cut answers as h does, with its headers, and closes the connection after n
// bytes of the body.
func Cut(h http.Handler, n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := record(h, r)
		copyHeader(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		body := answer.Body.Bytes()
		_, _ = w.Write(body[:min(n, len(body))]) // the client may be gone
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// Alter answers as h does, with its headers but for the length, and another
// body.
func Alter(h http.Handler, change func(body []byte) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := record(h, r)
		copyHeader(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(change(answer.Body.Bytes())) // the client may be gone
	})
}

func record(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}
