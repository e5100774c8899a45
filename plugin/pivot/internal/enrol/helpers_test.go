// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// shelf is a Store in memory, with the conflicts of an API server.
type shelf struct {
	mu       sync.Mutex
	version  int
	clusters map[types.UID]*v1alpha1.PivotCluster
	// before is called before an Update, and wrong is its error where it is not nil.
	before func()
	wrong  error
}

var _ Store = (*shelf)(nil)

func (s *shelf) ByToken(_ context.Context, hash string) (*v1alpha1.PivotCluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clusters {
		if e := c.Status.Enrolment; e != nil && e.TokenHash == hash {
			return c.DeepCopy(), nil
		}
	}
	return nil, nil
}

func (s *shelf) ByUID(_ context.Context, uid types.UID) (*v1alpha1.PivotCluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters[uid].DeepCopy(), nil
}

func (s *shelf) Update(_ context.Context, c *v1alpha1.PivotCluster) error {
	if s.before != nil {
		s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil {
		return s.wrong
	}
	if was := s.clusters[c.UID]; was.ResourceVersion != c.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pivotclusters"}, c.Name, fmt.Errorf("version %s", was.ResourceVersion))
	}
	s.put(c)
	return nil
}

func (s *shelf) put(c *v1alpha1.PivotCluster) {
	s.version++
	c = c.DeepCopy()
	c.ResourceVersion = fmt.Sprint(s.version)
	s.clusters[c.UID] = c
}

// change edits a cluster as a user or a controller does.
func (s *shelf) change(name string, f func(*v1alpha1.PivotCluster)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[uidOf(name)].DeepCopy()
	f(c)
	s.put(c)
}

func (s *shelf) enrolment(name string) v1alpha1.EnrolmentStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.clusters[uidOf(name)].Status.Enrolment.DeepCopy()
}

// journal is what was logged.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// take returns the lines since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

const (
	parentUID = "parent-1"
	host      = "parent.test"
)

func uidOf(name string) types.UID { return types.UID("uid-" + name) }

// world is a parent with two clusters, blue and green, and its registration endpoint.
type world struct {
	*testing.T
	store       *shelf
	endpoint    *Endpoint
	server      *Server
	address     string // of the endpoint
	log, events *journal
	shift       atomic.Int64 // of the clock of the parent
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.shift.Load())) }

// later moves the clock of the parent.
func (w *world) later(d time.Duration) { w.shift.Add(int64(d)) }

func newWorld(t *testing.T, options ...func(*Server)) *world {
	t.Helper()
	w := &world{T: t, store: &shelf{clusters: map[types.UID]*v1alpha1.PivotCluster{}}, log: &journal{}, events: &journal{}}
	authority, err := NewAuthority(w.now())
	require.NoError(t, err)
	w.endpoint = NewEndpoint(authority, []string{host, "127.0.0.1"}, w.now)
	for _, name := range []string{"blue", "green"} {
		w.store.put(&v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uidOf(name)}})
	}
	w.server = w.replica(options...)
	w.address = w.serve(w.server)
	return w
}

// replica is another server of the same parent.
func (w *world) replica(options ...func(*Server)) *Server {
	s := &Server{
		Parent: parentUID, Endpoint: w.endpoint, Store: w.store, Now: w.now,
		Manifest: func(_ context.Context, c *v1alpha1.PivotCluster, token string) ([]byte, error) {
			return fmt.Appendf(nil, "kind: Secret\nmetadata:\n  name: %s\nstringData:\n  token: %s\n", c.Name, token), nil
		},
		Event: func(c *v1alpha1.PivotCluster, kind, reason, message string) {
			w.events.add(fmt.Sprint(c.Name, " ", kind, " ", reason, ": ", message))
		},
		Log: funcr.New(func(_, args string) { w.log.add(args) }, funcr.Options{}),
	}
	for _, o := range options {
		o(s)
	}
	return s
}

// serve returns the address of a server.
func (w *world) serve(s *Server) string {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	w.Cleanup(func() {
		cancel()
		require.NoError(w, <-done)
	})
	return l.Addr().String()
}

// token mints one as the controller does.
func (w *world) token(name string) string {
	var token string
	w.store.change(name, func(c *v1alpha1.PivotCluster) {
		token, c.Status.Enrolment = Mint(c.Spec.Agent.Rejoin, w.now())
	})
	return token
}

func (w *world) client() Client { return Client{Endpoint: "https://" + w.address, Now: w.now} }

// agent is one that is not enrolled.
func (w *world) agent() *Credentials {
	return &Credentials{Key: newKey(w), Trust: w.endpoint.Authority().Trust()}
}

// enrolled is the agent of a cluster.
func (w *world) enrolled(name string) *Credentials {
	w.Helper()
	c, err := w.client().Enrol(context.Background(), w.agent(), w.token(name))
	require.NoError(w, err)
	return c
}

func newKey(t require.TestingT) *ecdsa.PrivateKey {
	key, err := NewKey()
	require.NoError(t, err)
	return key
}

func sumOf(t require.TestingT, c *Credentials) string {
	sum, err := PublicKeySum(&c.Key.PublicKey)
	require.NoError(t, err)
	return sum
}

// refusedBy wants a Refusal.
func refusedBy(t *testing.T, err error, reason Reason) *Refusal {
	t.Helper()
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, reason, refusal.Reason, refusal.Message)
	return refusal
}

// quiet wants that a secret is in none of the texts.
func quiet(t *testing.T, secret string, texts ...string) {
	t.Helper()
	require.NotEmpty(t, secret)
	for _, text := range texts {
		require.False(t, strings.Contains(text, secret), "the secret is in %q", text)
	}
}
