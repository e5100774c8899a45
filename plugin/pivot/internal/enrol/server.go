// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Store reads and writes the PivotClusters of the parent. It returns copies.
type Store interface {
	// ByToken returns the PivotCluster with a status.enrolment.tokenHash; nil if there is none.
	ByToken(ctx context.Context, hash string) (*v1alpha1.PivotCluster, error)
	// ByUID returns the PivotCluster with a UID; nil if there is none.
	ByUID(ctx context.Context, uid types.UID) (*v1alpha1.PivotCluster, error)
	// Update writes status.enrolment. Its error is a conflict (apierrors.IsConflict) if the object
	// was changed since it was read.
	Update(ctx context.Context, c *v1alpha1.PivotCluster) error
}

// Limits bound the load of the endpoint. The zero value stands for the defaults.
type Limits struct {
	// Connections bounds the open connections, 512 by default. More of them wait. Connections of an
	// address beyond half of the bound are closed.
	Connections int
	// PerSecond and Burst bound the requests of an address (IPv6: of a /64), 20 and 200 by default.
	// Several machines may share an address, behind NAT or a load balancer.
	PerSecond float64
	Burst     int
}

// withDefaults returns the limits, with the default for each that is zero.
func (l Limits) withDefaults() Limits {
	return Limits{Connections: cmp.Or(l.Connections, 512), PerSecond: cmp.Or(l.PerSecond, 20), Burst: cmp.Or(l.Burst, 200)}
}

// Server is the registration endpoint of a parent. Several replicas of it can run at once.
type Server struct {
	// Parent is the UID of the namespace kube-system.
	Parent   string
	Endpoint *Endpoint
	Store    Store
	// Manifest returns the YAML that installs an agent. It gets the token, as only the sum of the
	// token is kept.
	Manifest func(ctx context.Context, c *v1alpha1.PivotCluster, token string) ([]byte, error)
	// Event records an event of a PivotCluster; its type is corev1.EventTypeNormal or Warning.
	Event  func(c *v1alpha1.PivotCluster, eventType, reason, message string)
	Log    logr.Logger
	Now    func() time.Time
	Limits Limits
}

const (
	// bodyBytes bounds a request, and an answer that is no manifest.
	bodyBytes = 64 << 10
	// swaps bounds how often an enrolment is read again after a conflict.
	swaps = 5
	// reuse is the time in which the same request gets the last certificate again.
	reuse = time.Hour
)

// question and answer are the bodies of a request and its answer.
type (
	question struct {
		// Token is empty in a renewal.
		Token string `json:"token,omitempty"`
		// CSR is PEM.
		CSR string `json:"csr"`
	}
	answer struct {
		// Certificate and Authorities are PEM.
		Certificate string   `json:"certificate"`
		Authorities string   `json:"authorities"`
		Pins        []string `json:"pins"`
	}
)

// Handler returns the handler of the endpoint, without the limits of Serve.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) ([]byte, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, bodyBytes)
			w.Header().Set("Cache-Control", "no-store")
			body, err := f(r)
			if err != nil {
				s.refuse(w, r, err)
				return
			}
			_, _ = w.Write(body) // A client that has gone away will retry.
		})
	}
	handle("GET /v1/manifest", s.serveManifest)
	handle("POST /v1/enrol", s.enrol)
	handle("POST /v1/renew", s.renew)
	handle("/", func(r *http.Request) ([]byte, error) {
		return nil, refuse(NotFound, "there is no such path, or not with this method")
	})
	return mux
}

// serveManifest answers with the manifest for a token.
func (s *Server) serveManifest(r *http.Request) ([]byte, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c, err := s.byToken(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return s.Manifest(r.Context(), c, token)
}

// enrol answers with the certificate for a token and a key.
func (s *Server) enrol(r *http.Request) ([]byte, error) {
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	return s.bind(r.Context(), body.CSR, func(ctx context.Context, sum string) (*v1alpha1.PivotCluster, error) {
		c, err := s.byToken(ctx, body.Token)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(c.Spec.Agent.BlockedKeys, sum):
			return nil, blocked(c, sum)
		case c.Status.Enrolment.PublicKey != "" && c.Status.Enrolment.PublicKey != sum:
			const format = "another key is enrolled with the token of PivotCluster %q: change spec.agent.rejoin to enrol a new agent"
			return nil, refuse(TokenUsed, format, c.Name).about(c, sum)
		}
		return c, nil
	})
}

// renew answers with a new certificate for an agent whose certificate is verified.
func (s *Server) renew(r *http.Request) ([]byte, error) {
	if r.TLS == nil {
		return nil, refuse(NoCertificate, "the connection has no TLS")
	}
	peer, err := PeerOf(*r.TLS)
	if err != nil {
		return nil, refuse(NoCertificate, "%v", err)
	}
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	return s.bind(r.Context(), body.CSR, func(ctx context.Context, sum string) (*v1alpha1.PivotCluster, error) {
		c, err := s.Store.ByUID(ctx, types.UID(peer.Cluster))
		if err == nil {
			err = Admit(c, s.Parent, peer)
		}
		if err == nil && sum != peer.PublicKey {
			err = refuse(KeyChanged, "the CSR is of another key than the certificate: a new key needs a new token").about(c, sum)
		}
		return c, err
	})
}

// read decodes a body.
func read(r *http.Request) (in question, err error) {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return in, refuse(TooLarge, "the body is of more than %d bytes", large.Limit)
	case err != nil:
		return in, refuse(Malformed, "the body cannot be read")
	case json.Unmarshal(body, &in) != nil:
		return in, refuse(Malformed, "the body is no JSON of this request")
	}
	return in, nil
}

// byToken returns the cluster of a token, or a refusal if the token cannot be used.
func (s *Server) byToken(ctx context.Context, token string) (*v1alpha1.PivotCluster, error) {
	if !isToken(token) {
		return nil, refuse(TokenUnknown, "expected a token of %d bytes in base64url", tokenBytes)
	}
	c, err := s.Store.ByToken(ctx, TokenHash(token))
	switch {
	case err != nil:
		return nil, err
	case c == nil || !isTokenOf(c.Status.Enrolment, token):
		return nil, refuse(TokenUnknown, "no PivotCluster has this token")
	case Expired(c.Status.Enrolment, s.Now()):
		const format = "the token of PivotCluster %q is expired: change spec.agent.rejoin to have a new one"
		return nil, refuse(TokenExpired, format, c.Name).about(c, "")
	case c.Status.Enrolment.Rejoin != c.Spec.Agent.Rejoin:
		return nil, refuse(TokenReplaced, "spec.agent.rejoin of PivotCluster %q was changed: use the new token", c.Name).about(c, "")
	}
	return c, nil
}

// admit returns the cluster for which the key with this sum gets a certificate.
type admit func(ctx context.Context, sum string) (*v1alpha1.PivotCluster, error)

// bind enrols the key of a CSR, or renews its certificate. The cluster is admitted again when
// another replica, or a user, has changed it in the meantime.
func (s *Server) bind(ctx context.Context, csr string, admit admit) ([]byte, error) {
	// Only the key of the CSR counts.
	key, err := parseRequest([]byte(csr))
	if err != nil {
		return nil, refuse(Malformed, "%v", err)
	}
	sum, err := PublicKeySum(key)
	if err != nil {
		return nil, err
	}
	authority := s.Endpoint.Authority()

	// Admit the cluster, and write the enrolment at the version that was admitted.
	for range swaps {
		c, err := admit(ctx, sum)
		if err != nil {
			return nil, err
		}
		if text := c.Status.Enrolment.Certificate; s.reusable(authority, text, key) {
			return encodeAnswer(text, authority)
		}

		// The answer is sent only once the certificate is written.
		certificate, err := authority.Issue(key, Identity{Parent: s.Parent, Cluster: string(c.UID)}, s.Now())
		if err != nil {
			return nil, err
		}
		text := encode(certificate)
		first := c.Status.Enrolment.PublicKey == ""
		end := metav1.NewTime(certificate.NotAfter)
		c.Status.Enrolment.PublicKey = sum
		c.Status.Enrolment.Certificate = string(text)
		c.Status.Enrolment.NotAfter = &end
		if err := s.Store.Update(ctx, c); apierrors.IsConflict(err) {
			continue
		} else if err != nil {
			return nil, err
		}

		// Report the new certificate.
		s.Log.Info("certificate issued", "cluster", c.Name, "key", sum, "notAfter", end.UTC().Format(time.RFC3339))
		if first {
			s.Event(c, corev1.EventTypeNormal, "Enrolled", "the agent is enrolled with key "+sum)
		}
		return encodeAnswer(string(text), authority)
	}
	return nil, refuse(Unavailable, "the PivotCluster is changed again and again")
}

// reusable reports whether the last certificate answers the request again: an answer was lost, or
// the agent renews more often than it has to.
func (s *Server) reusable(a *Authority, text string, key *ecdsa.PublicKey) bool {
	certificates, err := certutil.ParseCertsPEM([]byte(text))
	if err != nil || !key.Equal(certificates[0].PublicKey) || !a.issued(certificates[0]) {
		return false
	}
	age := s.Now().Sub(certificates[0].NotBefore.Add(backdated))
	return age.Abs() < reuse
}

// encodeAnswer returns the body of an answer.
func encodeAnswer(certificate string, a *Authority) ([]byte, error) {
	t := a.Trust()
	return json.Marshal(answer{Certificate: certificate, Authorities: string(t.PEM()), Pins: t.Pins})
}

// refuse answers with an error, and logs a line about it. It records an event if a token or a
// certificate was used with a key that is not enrolled.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	// Log the refusal. Other errors are not sent to the client.
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		s.Log.Error(err, "registration fails", "request", r.Pattern, "address", r.RemoteAddr)
		refusal = refuse(Unavailable, "the parent cannot answer now")
	} else {
		values := []any{"reason", refusal.Reason, "message", refusal.Message, "request", r.Pattern, "address", r.RemoteAddr}
		if refusal.cluster != nil {
			values = append(values, "cluster", refusal.cluster.Name)
		}
		if refusal.key != "" {
			values = append(values, "key", refusal.key)
		}
		s.Log.Info("registration refused", values...)
	}
	if refusal.cluster != nil && refusal.Reason.suspicious() {
		message := refusal.Message + " (key " + refusal.key + ", from " + r.RemoteAddr + ")"
		s.Event(refusal.cluster, corev1.EventTypeWarning, string(refusal.Reason), message)
	}

	// Answer with the reason.
	body, _ := json.Marshal(refusal) // It has two strings.
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refusal.Reason.status())
	_, _ = w.Write(body) // A client that has gone away will retry.
}
