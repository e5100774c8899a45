// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Launch starts a program, by its name in package programs, with arguments.
type Launch func(name string, args ...string) *Process

// Plane is a control plane without nodes.
type Plane struct {
	// Authority signs the certificates of all users of the plane.
	Authority *Authority
	// Server is the URL of the API server.
	Server string
	// Kubeconfig is the path of the configuration of an administrator, whom the API
	// server does not limit, and Config is the same without a limit of its own.
	Kubeconfig string
	Config     *rest.Config

	// Etcd and those after it are the programs, which tests may kill and restart.
	// ControllerManager is nil before StartControllerManager.
	Etcd, APIServer, ControllerManager *Process

	dir    string
	launch Launch
}

// Start starts etcd, which does not wait for disks, and an API server, and returns when it
// is ready. All files but the logs are in dir.
func Start(t testing.TB, dir string, launch Launch) *Plane {
	t.Helper()
	port := FreePort(t)
	p := &Plane{
		Authority: NewAuthority(t, filepath.Join(dir, "pki")), Server: "https://" + Loopback + ":" + port,
		Kubeconfig: filepath.Join(dir, "kubeconfig"), dir: dir, launch: launch,
	}
	clients, peers := "http://"+Loopback+":"+FreePort(t), "http://"+Loopback+":"+FreePort(t)
	p.Etcd = launch("etcd",
		"--name=e2e", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=e2e="+peers)
	a := p.Authority
	p.APIServer = launch("kube-apiserver",
		"--etcd-servers="+clients, "--bind-address="+Loopback, "--advertise-address="+Loopback,
		"--secure-port="+port, "--tls-cert-file="+a.File("server.crt"), "--tls-private-key-file="+a.File("server.key"),
		"--client-ca-file="+a.File("ca.crt"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+a.File("accounts.pub"), "--service-account-signing-key-file="+a.File("accounts.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		"--allow-privileged=true")
	p.connect(t)
	p.AwaitAPIServer(t)
	return p
}

// connect makes the configuration of an administrator.
func (p *Plane) connect(t testing.TB) {
	t.Helper()
	config := p.Authority.Kubeconfig(p.Server, p.Authority.Client(t, "admin", "system:masters").User())
	require.NoError(t, clientcmd.WriteToFile(*config, p.Kubeconfig))
	var err error
	p.Config, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	require.NoError(t, err)
	p.Config.QPS = -1 // tests do not wait for each other
	p.Config.WarningHandler = rest.NoWarnings{}
}

// AwaitAPIServer waits until the API server says that it is ready.
func (p *Plane) AwaitAPIServer(t testing.TB) {
	t.Helper()
	asker, err := rest.HTTPClientFor(p.Config)
	require.NoError(t, err)
	defer asker.CloseIdleConnections()
	p.APIServer.Await(t, func() bool {
		response, err := asker.Get(p.Server + "/readyz") //nolint:noctx // the loopback
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// Certified is the path of the configuration of a user with a certificate.
func (p *Plane) Certified(t testing.TB, user string, groups ...string) string {
	t.Helper()
	// A colon is between two files in KUBECONFIG.
	file := filepath.Join(p.dir, strings.ReplaceAll(strings.TrimPrefix(user, "system:"), ":", "-")+".kubeconfig")
	config := p.Authority.Kubeconfig(p.Server, p.Authority.Client(t, user, groups...).User())
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// Serving are the flags of a program of Kubernetes that serves on the loopback and runs
// alone.
func (p *Plane) Serving(t testing.TB) []string {
	t.Helper()
	return []string{
		"--bind-address=" + Loopback, "--tls-cert-file=" + p.Authority.File("server.crt"),
		"--tls-private-key-file=" + p.Authority.File("server.key"), "--leader-elect=false", "--secure-port=" + FreePort(t),
	}
}

// StartControllerManager starts the controllers of Kubernetes, with service accounts of
// their own. They are what they are in any cluster but for the name of the authority.
func (p *Plane) StartControllerManager(t testing.TB, flags ...string) {
	t.Helper()
	own := []string{
		"--kubeconfig=" + p.Certified(t, "system:kube-controller-manager"), "--use-service-account-credentials=true",
		"--service-account-private-key-file=" + p.Authority.File("accounts.key"), "--root-ca-file=" + p.Authority.File("ca.crt"),
	}
	p.ControllerManager = p.launch("kube-controller-manager", append(append(own, p.Serving(t)...), flags...)...)
}

// Forget removes what etcd has kept. It must not be running.
func (p *Plane) Forget() error { return os.RemoveAll(filepath.Join(p.dir, "etcd")) }
