// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// front stands for the API server of a cluster of the in-memory cloud, which has no definitions:
// what is about its nodes and about kubeadm goes to the API server of the cloud, and all else to
// plane B.
type front struct {
	// created counts what was created on plane B by way of it.
	created atomic.Int64
}

// ofCloud reports whether a request is about machines.
func ofCloud(path string) bool {
	return path == "/" || path == "/version" || path == "/livez" || path == "/readyz" || path == "/healthz" ||
		strings.HasPrefix(path, "/api/v1/nodes") || strings.HasPrefix(path, "/api/v1/namespaces/kube-system/") ||
		strings.HasPrefix(path, "/apis/apps/v1/namespaces/kube-system/")
}

// front is put before the API server of the child as soon as that has a kubeconfig: the Secret of
// Cluster API names it from then on. Its certificate is of the authority of the cluster.
func (f *family) front() *front {
	f.t.Helper()
	secret := func(name, key string) []byte {
		text := f.run(f.A, "", "get", "secret", name, "--namespace="+f.cluster.Namespace, "--ignore-not-found", "-o", "jsonpath={.data."+key+"}")
		data, err := base64.StdEncoding.DecodeString(text)
		require.NoError(f.t, err)
		return data
	}
	var kubeconfig []byte
	harness.Await(f.t, 2*time.Minute, "a kubeconfig of the cluster", func() bool {
		kubeconfig = secret(f.cluster.Name+"-kubeconfig", "value")
		return len(kubeconfig) > 0
	})
	cloud, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	require.NoError(f.t, err)
	authority, err := tls.X509KeyPair(secret(f.cluster.Name+"-ca", `tls\.crt`), secret(f.cluster.Name+"-ca", `tls\.key`))
	require.NoError(f.t, err)

	out := &front{}
	toCloud, toPlane := f.reverse(cloud), f.reverse(f.B.Config)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ofCloud(r.URL.Path) {
			toCloud.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost {
			out.created.Add(1)
		}
		toPlane.ServeHTTP(w, r)
	}))
	known := x509.NewCertPool()
	known.AddCert(authority.Leaf)
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{serving(f.t, authority)},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known,
	}
	server.StartTLS()
	f.t.Cleanup(server.CloseClientConnections)
	config, err := clientcmd.Load(kubeconfig)
	require.NoError(f.t, err)
	for _, c := range config.Clusters {
		c.Server = server.URL
	}
	changed, err := clientcmd.Write(*config)
	require.NoError(f.t, err)
	f.run(f.A, `{"data": {"value": "`+base64.StdEncoding.EncodeToString(changed)+`"}}`, "patch", "secret", f.cluster.Name+"-kubeconfig", "--namespace="+f.cluster.Namespace, "--type=merge", "--patch-file=/dev/stdin")
	return out
}

// reverse is a proxy to an API server, as the user of its configuration.
func (f *family) reverse(to *rest.Config) http.Handler {
	f.t.Helper()
	to = rest.CopyConfig(to)
	to.NextProtos = []string{"http/1.1"} // Ports are forwarded by an upgrade of that.
	config, err := rest.TLSConfigFor(to)
	require.NoError(f.t, err)
	host, err := url.Parse(to.Host)
	require.NoError(f.t, err)
	return &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 50}, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0), // Watches that end.
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(host) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte(err.Error())) // The client may be gone.
		},
	}
}

// serving is a certificate for the loopback.
func serving(t *testing.T, authority tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(plane.Loopback)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	data, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{data}, PrivateKey: key}
}
