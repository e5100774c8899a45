// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/require"
)

const emptyManifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
	`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]}`

// kinds are both kinds of registry.
func kinds() map[string]func(testing.TB, ...Option) *OCI {
	return map[string]func(testing.TB, ...Option) *OCI{"docker-registry": Registry, "in process": InProcess}
}

// ask asks a server with a header in pairs of name and value, and returns the
// answer with its body.
func ask(t *testing.T, client *http.Client, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(data)
}

// push pushes an empty manifest with the config {} to a/b:v1.
func push(t *testing.T, o *OCI) {
	t.Helper()
	response, _ := ask(t, http.DefaultClient, http.MethodPost, o.URL+"/v2/a/b/blobs/uploads/", "")
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	location, err := response.Location()
	require.NoError(t, err)
	require.Equal(t, o.Host, location.Host, "uploads go through the proxy")
	query := location.Query()
	query.Set("digest", digest.FromString("{}").String())
	location.RawQuery = query.Encode()
	response, _ = ask(t, http.DefaultClient, http.MethodPut, location.String(), "{}", "Content-Type", "application/octet-stream")
	require.Equal(t, http.StatusCreated, response.StatusCode)
	response, body := ask(t, http.DefaultClient, http.MethodPut, o.URL+"/v2/a/b/manifests/v1", emptyManifest,
		"Content-Type", "application/vnd.oci.image.manifest.v1+json")
	require.Equal(t, http.StatusCreated, response.StatusCode, body)
}

func TestARegistryTakesAndGivesAManifestAndCountsWhatIsAsked(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := kind(t)
			push(t, o)
			o.Reset()
			response, body := ask(t, http.DefaultClient, http.MethodGet, o.URL+"/v2/a/b/manifests/v1", "",
				"Accept", "application/vnd.oci.image.manifest.v1+json", "User-Agent", "test/1")
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, emptyManifest, body)
			requests := o.Requests()
			require.Len(t, requests, 1)
			require.Equal(t, "GET /v2/a/b/manifests/v1 200", requests[0].String())
			require.Equal(t, int64(len(body)), requests[0].Sent)
			require.Equal(t, "test/1", requests[0].Header.Get("User-Agent"))
		})
	}
}

func TestOnlyTheRegistryInProcessHasReferrersAndDelete(t *testing.T) {
	path := "/v2/a/b/referrers/" + digest.FromString(emptyManifest).String()
	manifest := "/v2/a/b/manifests/" + digest.FromString(emptyManifest).String()
	for _, c := range []struct {
		name             string
		o                *OCI
		referrers, erase int
	}{
		{"docker-registry", Registry(t), http.StatusNotFound, http.StatusMethodNotAllowed},
		{"in process", InProcess(t), http.StatusOK, http.StatusAccepted},
		{"in process without referrers", InProcess(t, NoReferrers()), http.StatusNotFound, http.StatusAccepted},
	} {
		t.Run(c.name, func(t *testing.T) {
			push(t, c.o)
			response, _ := ask(t, http.DefaultClient, http.MethodGet, c.o.URL+path, "")
			require.Equal(t, c.referrers, response.StatusCode)
			response, _ = ask(t, http.DefaultClient, http.MethodDelete, c.o.URL+manifest, "")
			require.Equal(t, c.erase, response.StatusCode)
		})
	}
}

func TestARegistryAsksForAPassword(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			o := kind(t, WithBasicAuth("ann", "secret"))
			response, _ := ask(t, http.DefaultClient, http.MethodGet, o.URL+"/v2/", "")
			require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			require.Contains(t, response.Header.Get("WWW-Authenticate"), "Basic")
			for password, status := range map[string]int{"secret": http.StatusOK, "wrong": http.StatusUnauthorized} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.URL+"/v2/", nil)
				require.NoError(t, err)
				r.SetBasicAuth("ann", password)
				response, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				response.Body.Close()
				require.Equal(t, status, response.StatusCode)
			}
		})
	}
}

func TestATokenIsForItsScopeAndItsTime(t *testing.T) {
	o := InProcess(t, WithTokenAuth("ann", "secret"))
	get := func(path, token string) *http.Response {
		response, _ := ask(t, http.DefaultClient, http.MethodGet, o.URL+path, "", "Authorization", "Bearer "+token)
		return response
	}
	response, _ := ask(t, http.DefaultClient, http.MethodGet, o.URL+"/v2/a/b/tags/list", "")
	require.Equal(t, `Bearer realm="`+o.URL+`/token",service="ropewalk",scope="repository:a/b:pull"`, response.Header.Get("WWW-Authenticate"))
	response, _ = ask(t, http.DefaultClient, http.MethodGet, o.URL+"/token?scope=repository:a/b:pull", "")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode, "no one gets a token for nothing")

	_, body := ask(t, http.DefaultClient, http.MethodGet, strings.Replace(o.URL, "://", "://ann:secret@", 1)+"/token?scope=repository:a/b:pull", "")
	_, token, _ := strings.Cut(body, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	require.NotEmpty(t, token)
	require.Equal(t, http.StatusNotFound, get("/v2/a/b/tags/list", token).StatusCode, "there is no such repository")
	require.Equal(t, http.StatusUnauthorized, get("/v2/other/tags/list", token).StatusCode)
	require.Equal(t, http.StatusUnauthorized, get("/v2/a/b/tags/list", "forged").StatusCode)
	o.ExpireTokens()
	require.Equal(t, http.StatusUnauthorized, get("/v2/a/b/tags/list", token).StatusCode)
}

func TestARegistrySpeaksTLS(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			o := kind(t, WithTLS())
			pool := x509.NewCertPool()
			require.True(t, pool.AppendCertsFromPEM(o.CA))
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
			defer transport.CloseIdleConnections()
			response, _ := ask(t, &http.Client{Transport: transport}, http.MethodPost, "https://"+o.Host+"/v2/a/b/blobs/uploads/", "")
			require.Equal(t, http.StatusAccepted, response.StatusCode)
			location, err := response.Location()
			require.NoError(t, err)
			require.Equal(t, "https", location.Scheme, "the registry knows the scheme of the proxy")
			_, err = http.Get("https://" + o.Host + "/v2/")
			require.Error(t, err, "the authority is unknown to the system")
		})
	}
}

func TestFaultsTakeThePlaceOfAnswers(t *testing.T) {
	o := InProcess(t)
	push(t, o)
	url := o.URL + "/v2/a/b/manifests/v1"
	get := func() (int, string, error) {
		response, err := http.Get(url)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response.StatusCode, string(body), err
	}
	o.Fault(First(2, Always(Answer(http.StatusTooManyRequests, "TOOMANYREQUESTS", "slow down", "Retry-After", "1"))))
	for _, want := range []int{429, 429, 200} {
		status, _, err := get()
		require.NoError(t, err)
		require.Equal(t, want, status)
	}
	o.Fault(Always(Cut(o.Server(), 10)))
	_, body, err := get()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, emptyManifest[:10], body)
	o.Fault(Always(Alter(o.Server(), bytes.ToUpper)))
	_, body, err = get()
	require.NoError(t, err)
	require.Equal(t, strings.ToUpper(emptyManifest), body)
	o.Fault(Always(Reset()))
	_, _, err = get()
	require.Error(t, err)
	o.Fault(Always(Hang()))
	impatient := &http.Client{Timeout: 50 * time.Millisecond}
	_, err = impatient.Get(url)
	require.ErrorContains(t, err, "Timeout")
	o.Fault(nil)
	status, _, err := get()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, o.Lines(), "GET /v2/a/b/manifests/v1 0", "a hang has no status")
}

func TestManyRegistriesStartAtOnce(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			o := Registry(t)
			response, body := ask(t, http.DefaultClient, http.MethodGet, o.URL+"/v2/_catalog", "")
			require.Equal(t, http.StatusOK, response.StatusCode)
			require.Equal(t, "{\"repositories\":[]}\n", body, "no registry is that of another test")
		})
	}
}

func TestARegistryEndsWithItsTest(t *testing.T) {
	var o *OCI
	t.Run("a test", func(t *testing.T) {
		o = Registry(t)
		require.NotZero(t, children(t))
	})
	require.Zero(t, children(t), "no process is left")
	_, err := http.Get(o.URL + "/v2/")
	require.Error(t, err)
}

// children is how many processes this one has.
func children(t *testing.T) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	if len(stats) == 0 {
		t.Skip("the system has no /proc")
	}
	n := 0
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has just ended
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			n++
		}
	}
	return n
}

func TestWhatIsMissingSkipsOrFails(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for value, want := range map[string]string{"": "--- SKIP", "required": "--- FAIL"} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestRegistryWithoutBinary$", "-test.v")
		cmd.Env = []string{"PATH=" + t.TempDir(), "ROPEWALK_SERVERS=" + value, "ROPEWALK_NO_BINARY=1"}
		out, _ := cmd.CombinedOutput()
		require.Contains(t, string(out), want)
		require.Contains(t, string(out), "no-such-registry is missing: install the package docker-registry")
	}
}

// TestRegistryWithoutBinary is run by the test above.
func TestRegistryWithoutBinary(t *testing.T) {
	if os.Getenv("ROPEWALK_NO_BINARY") == "" {
		t.Skip("only another test runs it")
	}
	find(t, "no-such-registry", "docker-registry")
}

func ExampleRequest_String() {
	fmt.Println(Request{Method: http.MethodHead, Path: "/v2/a/manifests/v1", Status: 404})
	// Output: HEAD /v2/a/manifests/v1 404
}
