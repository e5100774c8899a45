// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
	"github.com/stretchr/testify/require"
)

// identity is the header by which a docker-registry shows that it is ours.
const identity = "X-Ropewalk-Server"

// startup is how long a server may take to start, on the busiest machine.
const startup = 20 * time.Second

// InProcess is a registry in memory of this process, with the referrers API
// and with DELETE.
func InProcess(t testing.TB, opts ...Option) *OCI {
	t.Helper()
	o := settings(opts)
	return front(t, ociserver.New(ocimem.New(), &ociserver.Options{DisableReferrersAPI: o.noReferrers}), o)
}

// Registry is Debian's docker-registry 2.8.2 with its files in a folder of the
// test. It has no referrers API (404) and refuses DELETE (405), unless WithDelete is given.
func Registry(t testing.TB, opts ...Option) *OCI {
	t.Helper()
	binary := find(t, "docker-registry", "docker-registry")
	dir, o := t.TempDir(), settings(opts)
	var last error
	for range 5 {
		host, err := startRegistry(t, binary, dir, o.deletes)
		if err == nil {
			return front(t, forward(host), o)
		}
		last = err
	}
	require.NoError(t, last)
	return nil
}

// startRegistry starts a docker-registry on a port that was free. The error
// says that it did not get it, or what it said.
func startRegistry(t testing.TB, binary, dir string, deletes bool) (host string, _ error) {
	t.Helper()
	host, id := FreeAddress(t), rand.Text()
	config := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(registryConfig(dir, host, id, deletes)), 0o600))
	cmd := exec.Command(binary, "serve", config) //nolint:gosec // the binary is the one that was found
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	p, err := start(cmd)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), startup)
	defer cancel()
	for ctx.Err() == nil && !p.ended() {
		if answers(ctx, host, id) {
			t.Cleanup(p.stop)
			return host, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.stop()
	return "", fmt.Errorf("docker-registry does not answer on %s: %s", host, p.log)
}

func registryConfig(dir, host, id string, deletes bool) string {
	return fmt.Sprintf(`version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage:
  filesystem: {rootdirectory: %q}
  maintenance: {uploadpurging: {enabled: false}}
  delete: {enabled: %t}
http:
  addr: %s
  secret: %s
  headers: {%s: [%s]}
`, filepath.Join(dir, "data"), deletes, host, id, identity, id)
}

func answers(ctx context.Context, host, id string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v2/", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK && response.Header.Get(identity) == id
}

// forward is a proxy to the registry at host that keeps the host of requests,
// so that the locations that the registry answers with lead to the proxy.
func forward(host string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: host})
			r.SetXForwarded()
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Authorization") // it was for the proxy
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del(identity)
			return nil
		},
		Transport:    &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true, IdleConnTimeout: time.Second},
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: badGateway,
	}
}

func badGateway(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		return // the client is gone
	}
	Answer(http.StatusBadGateway, "UNKNOWN", err.Error()).ServeHTTP(w, r)
}
