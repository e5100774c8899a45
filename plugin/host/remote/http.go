// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/ropewalk/ropewalk/source"
)

// Get returns the content of a URL, over the connections, with the credentials and under the
// rules for plain http of registries. The error is that of [Explain].
func (r *Registries) Get(ctx context.Context, from string, secret map[string][]byte) (io.ReadCloser, error) {
	// Plain http is only for hosts that allow it.
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return nil, source.Refuse(source.ErrReference, "the reference is no URL")
	}
	if u.Scheme != "https" && (r.PlainHTTP == nil || !r.PlainHTTP(u.Host)) {
		return nil, source.Refuse(errors.Join(source.ErrReference, &source.PlainError{Host: u.Host}),
			fmt.Sprintf("%s is not encrypted: write https, or allow plain http for %q", from, u.Host))
	}

	// The secret, if there is one, is for this login alone.
	key := login{host: u.Host, own: secret == nil, ca: string(r.CA[""]) + "\n" + string(r.CA[u.Host])}
	if secret != nil {
		key.credential, err = SecretCredential(secret, u.Host+u.Path)
		if err != nil {
			return nil, err
		}
		key.ca += "\n" + string(secret["ca.crt"])
	}
	client, err := r.client(key)
	if err != nil {
		return nil, err
	}

	// The response is read by the caller.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, source.Refuse(source.ErrReference, "the reference is no URL")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, Explain(err, from)
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, Explain(&errcode.ErrorResponse{Method: http.MethodGet, URL: u, StatusCode: response.StatusCode}, from)
	}
	return response.Body, nil
}
