// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

const (
	name     = "blue"
	identity = "parent-uid/pc-1"
	canary   = "canary-5c1d7e"
	digest   = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
)

// world is an agent on a child in memory, with a parent that registers it over TLS.
type world struct {
	*testing.T
	*parent
	child *planetest.Server
	// client is the API server of the child, and faults are asked before it.
	client client.Client
	faults interceptor.Funcs
	log    *log
}

// parent has one PivotCluster, and the endpoints for its agent.
type parent struct {
	endpoint     *enrol.Endpoint
	registration string
	token        string
	clock        atomic.Int64
	requests     atomic.Int64
	// before is called with each request of registration; where it is false, the answer is lost.
	before atomic.Pointer[func(path string) bool]

	mu        sync.Mutex
	cluster   v1alpha1.PivotCluster
	completes []*wire.BootstrapComplete
}

func (p *parent) now() time.Time { return time.Unix(0, p.clock.Load()) }

func (p *parent) pass(d time.Duration) { p.clock.Add(int64(d)) }

func (p *parent) edit(change func(*v1alpha1.PivotCluster)) *v1alpha1.PivotCluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.cluster)
	return p.cluster.DeepCopy()
}

func (p *parent) read() *v1alpha1.PivotCluster { return p.edit(func(*v1alpha1.PivotCluster) {}) }

// ByToken implements enrol.Store.
func (p *parent) ByToken(_ context.Context, hash string) (*v1alpha1.PivotCluster, error) {
	if c := p.read(); c.Status.Enrolment.TokenHash == hash {
		return c, nil
	}
	return nil, nil
}

// ByUID implements enrol.Store.
func (p *parent) ByUID(context.Context, types.UID) (*v1alpha1.PivotCluster, error) {
	return p.read(), nil
}

// Update implements enrol.Store.
func (p *parent) Update(_ context.Context, c *v1alpha1.PivotCluster) error {
	p.edit(func(live *v1alpha1.PivotCluster) { live.Status.Enrolment = c.Status.Enrolment })
	return nil
}

// mint makes a token, as the controller does when spec.agent.rejoin is changed.
func (p *parent) mint(rejoin string) {
	p.edit(func(c *v1alpha1.PivotCluster) {
		c.Spec.Agent.Rejoin = rejoin
		p.token, c.Status.Enrolment = enrol.Mint(rejoin, p.now())
	})
}

func (p *parent) lastComplete() *wire.BootstrapComplete {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.completes) == 0 {
		return nil
	}
	return p.completes[len(p.completes)-1]
}

// log keeps the lines of an agent.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(args + "\n")
	}, funcr.Options{Verbosity: 9})
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, parent: &parent{}, child: planetest.New("child", planetest.ClusterAPI()...), log: &log{}}
	w.clock.Store(time.Now().UnixNano())
	w.cluster = v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "pc-1"}}
	w.mint("")
	authority, err := enrol.NewAuthority(w.now())
	require.NoError(t, err)
	w.endpoint = enrol.NewEndpoint(authority, []string{"127.0.0.1"}, w.now)
	w.register()
	w.client = w.server()
	w.give("127.0.0.1:1")
	t.Cleanup(w.keepsSecrets)
	return w
}

// register serves the registration endpoint.
func (w *world) register() {
	w.Helper()
	server := &enrol.Server{
		Parent: "parent-uid", Endpoint: w.endpoint, Store: w.parent, Log: logr.Discard(), Now: w.now,
		Event: func(*v1alpha1.PivotCluster, string, string, string) {},
	}
	handler := server.Handler()
	l := listen(w.T)
	w.registration = "https://" + l.Addr().String()
	serving := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		if before := w.before.Load(); before != nil && !(*before)(r.URL.Path) {
			handler.ServeHTTP(&lost{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(out, r)
	})}
	go func() { _ = serving.Serve(tls.NewListener(l, w.endpoint.TLS(tls.VerifyClientCertIfGiven, "http/1.1"))) }()
	w.Cleanup(func() { require.NoError(w, serving.Close()) })
}

// lost is an answer that does not arrive.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(b []byte) (int, error) { return len(b), nil }
func (l *lost) WriteHeader(int)             {}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// links serves the link, and returns it and its address.
func (w *world) links() (*link.Server, string) {
	w.Helper()
	var sessions atomic.Int64
	server, err := link.NewServer(link.ServerOptions{
		TLS: w.endpoint.TLS(tls.RequireAndVerifyClientCert, "h2"),
		Authorize: func(_ context.Context, c tls.ConnectionState) (string, error) {
			peer, err := enrol.PeerOf(c)
			return peer.Cluster, err
		},
		Session: func(context.Context, string) (int64, error) { return sessions.Add(1), nil },
		Pins:    func() []string { return w.endpoint.Authority().Trust().Pins },
		Events: link.Events{BootstrapComplete: func(_ context.Context, _ string, m *wire.BootstrapComplete) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.completes = append(w.completes, m)
		}},
	})
	require.NoError(w, err)
	l := listen(w.T)
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	w.Cleanup(func() {
		stop()
		require.NoError(w, <-ended)
	})
	return server, l.Addr().String()
}

// server is the API server of the child.
func (w *world) server() client.Client {
	w.Helper()
	scheme := runtime.NewScheme()
	require.NoError(w, clientgoscheme.AddToScheme(scheme))
	require.NoError(w, v1alpha1.AddToScheme(scheme))
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for gvk := range scheme.AllKnownTypes() {
		switch gvk.Kind {
		case "Namespace", "Node", v1alpha1.PivotClusterKind:
			mapper.Add(gvk, apimeta.RESTScopeRoot)
		default:
			mapper.Add(gvk, apimeta.RESTScopeNamespace)
		}
	}
	mapper.Add(schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}, apimeta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}, apimeta.RESTScopeNamespace)
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if w.faults.Update != nil {
				return w.faults.Update(ctx, c, o, opts...)
			}
			return c.Update(ctx, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if w.faults.Create != nil {
				return w.faults.Create(ctx, c, o, opts...)
			}
			return c.Create(ctx, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if w.faults.List != nil {
				return w.faults.List(ctx, c, l, opts...)
			}
			return c.List(ctx, l, opts...)
		},
	}).Build()
}

// give makes the Secret that the manifest of the parent has.
func (w *world) give(linkTo string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ropewalk-system", Name: enrol.AgentSecret}}
	require.NoError(w, client.IgnoreNotFound(w.client.Delete(w.Context(), secret.DeepCopy())))
	secret.Data = bootstrap.AgentData(w.token, w.registration, linkTo, w.endpoint.Authority().Trust())
	require.NoError(w, w.client.Create(w.Context(), secret))
}

func (w *world) secret() *corev1.Secret {
	w.Helper()
	var s corev1.Secret
	require.NoError(w, w.client.Get(w.Context(), types.NamespacedName{Namespace: "ropewalk-system", Name: enrol.AgentSecret}, &s))
	return &s
}

// agent is a process of it.
func (w *world) agent() *Agent {
	w.Helper()
	a := &Agent{
		Namespace: "ropewalk-system", Account: types.NamespacedName{Namespace: "ropewalk-system", Name: "ropewalk-controller"}, Version: "v0.1.0",
		Client: w.client, Plane: w.child.Plane(), Log: w.log.logger(), Now: w.now, Often: 20 * time.Millisecond,
		Discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: "v1.36.3"}},
	}
	require.NoError(w, a.Setup())
	return a
}

// enrolled is an agent that has a certificate.
func (w *world) enrolled() *Agent {
	w.Helper()
	a := w.agent()
	require.NoError(w, a.enrol(w.Context()))
	return a
}

// start runs an agent until the test ends.
func (w *world) start(a *Agent) {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	w.Cleanup(func() {
		stop()
		require.NoError(w, <-ended)
	})
}

// sent is a bootstrap as it comes over the link.
func sent(t *testing.T, change func(*bootstrap.Bootstrap)) *wire.Bootstrap {
	t.Helper()
	b := &bootstrap.Bootstrap{
		Identity: identity, Name: name,
		Spec: v1alpha1.PivotClusterSpec{
			KubernetesVersion: "v1.36.3",
			GitOps:            v1alpha1.GitOps{Engine: v1alpha1.EngineFlux, Artifact: &v1alpha1.GitOpsArtifact{Repository: "oci://registry.test/child", Digest: digest}},
		},
		Secrets: []bootstrap.Secret{{Namespace: "capa-system", Name: "cloud", Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"key": []byte(canary)}}},
	}
	if change != nil {
		change(b)
	}
	data, err := b.Encode()
	require.NoError(t, err)
	m := &wire.Bootstrap{Id: b.ID(), PivotCluster: data}
	for _, s := range b.Secrets {
		m.Secrets = append(m.Secrets, &wire.Secret{Namespace: s.Namespace, Name: s.Name, Type: string(s.Type), Data: s.Data})
	}
	return m
}

// receipt puts that of the target of a pivot on the child.
func (w *world) receipt(step state.Step) {
	w.Helper()
	w.receiptOf(state.RoleTarget, step)
}

func (w *world) receiptOf(role state.Role, step state.Step) {
	w.Helper()
	text, err := json.Marshal(state.Receipt{ID: "p1", Role: role, Step: step, Digest: "d1", Marks: []state.Mark{{Step: step, At: w.now()}}})
	require.NoError(w, err)
	o := planetest.Object("v1", "ConfigMap", "rw-"+name, state.ReceiptName(name))
	o.Object["data"] = map[string]any{"receipt.json": string(text)}
	w.child.Put(o)
}

// logged is the last line of the log that has all of some texts.
func (w *world) logged(parts ...string) string {
	w.Helper()
	lines := strings.Split(w.log.String(), "\n")
	for _, line := range slices.Backward(lines) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return strings.TrimSpace(line)
		}
	}
	require.Fail(w, "it is not logged", "%q in %q", parts, lines)
	return ""
}

// row is one of the table that make security prints.
func row(t *testing.T, name, result, line string) {
	t.Helper()
	t.Logf("| agent | %s | %s | %s |", name, result, line)
}

// keepsSecrets fails where a log has the token, a key or the canary, in any encoding.
func (w *world) keepsSecrets() {
	values := []string{canary, w.token}
	var s corev1.Secret
	if err := w.client.Get(context.Background(), types.NamespacedName{Namespace: "ropewalk-system", Name: enrol.AgentSecret}, &s); err == nil {
		values = append(values, string(s.Data["tls.key"]))
	}
	for _, v := range values {
		showsNo(w.T, w.log.String(), v)
	}
}

func showsNo(t *testing.T, text, value string) {
	t.Helper()
	if value == "" {
		return
	}
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value))} {
		require.NotContains(t, text, form)
	}
}
