// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Reason explains a refusal in a word.
type Reason string

// The reasons.
const (
	// Malformed: the body is no JSON, or the CSR is not signed by its ECDSA key of P-256 or P-384.
	Malformed Reason = "Malformed"
	// TooLarge: the body is of more than 64 KiB.
	TooLarge Reason = "TooLarge"
	// NotFound: there is no such path.
	NotFound Reason = "NotFound"
	// TooManyRequests: the address has sent too many requests.
	TooManyRequests Reason = "TooManyRequests"
	// Unavailable: the parent cannot answer now.
	Unavailable Reason = "Unavailable"

	// TokenUnknown: no cluster has this token.
	TokenUnknown Reason = "TokenUnknown"
	// TokenExpired: it was made more than 30 minutes ago.
	TokenExpired Reason = "TokenExpired"
	// TokenReplaced: spec.agent.rejoin was changed after it was made.
	TokenReplaced Reason = "TokenReplaced"
	// TokenUsed: another key has used it.
	TokenUsed Reason = "TokenUsed"

	// NoCertificate: the agent has shown no certificate.
	NoCertificate Reason = "NoCertificate"
	// OtherParent: another parent has issued its certificate.
	OtherParent Reason = "OtherParent"
	// ClusterUnknown: its certificate names a cluster that this parent does not have.
	ClusterUnknown Reason = "ClusterUnknown"
	// NotEnrolled: another key is enrolled, or spec.agent.rejoin was changed.
	NotEnrolled Reason = "NotEnrolled"
	// KeyBlocked: its key is in spec.agent.blockedKeys.
	KeyBlocked Reason = "KeyBlocked"
	// KeyChanged: the CSR has another key than the certificate.
	KeyChanged Reason = "KeyChanged"
)

// status returns the status of HTTP.
func (r Reason) status() int {
	switch r {
	case Malformed:
		return http.StatusBadRequest
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case NotFound:
		return http.StatusNotFound
	case TooManyRequests:
		return http.StatusTooManyRequests
	case TokenUnknown, TokenExpired, TokenReplaced, NoCertificate:
		return http.StatusUnauthorized
	case TokenUsed, OtherParent, ClusterUnknown, NotEnrolled, KeyBlocked, KeyChanged:
		return http.StatusForbidden
	default:
		return http.StatusServiceUnavailable
	}
}

// suspicious reports whether a refusal is recorded as an event of the PivotCluster: a key that is
// not enrolled was used with its token or its certificate.
func (r Reason) suspicious() bool {
	return slices.Contains([]Reason{TokenUsed, NotEnrolled, KeyBlocked, KeyChanged}, r)
}

// Refusal is the answer to a refused request, and its error at both ends.
type Refusal struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`

	// cluster and key are set if they are known; they are logged, and not sent.
	cluster *v1alpha1.PivotCluster
	key     string
}

// Error implements error.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Reason, r.Message) }

// Temporary reports whether the same request may succeed later.
func (r *Refusal) Temporary() bool { return r.Reason == TooManyRequests || r.Reason == Unavailable }

// refuse returns a Refusal.
func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// about sets the cluster and the key for the log, and returns the refusal.
func (r *Refusal) about(c *v1alpha1.PivotCluster, key string) *Refusal {
	r.cluster, r.key = c, key
	return r
}

// Admit returns a Refusal if an agent with a verified certificate must not be served. Parent is
// the UID of this parent, and c the PivotCluster with the UID p.Cluster, nil if there is none.
func Admit(c *v1alpha1.PivotCluster, parent string, p Peer) error {
	switch {
	case p.Parent != parent:
		return refuse(OtherParent, "the certificate is of parent %q, this is %q", p.Parent, parent).about(nil, p.PublicKey)
	case c == nil || string(c.UID) != p.Cluster:
		return refuse(ClusterUnknown, "this parent has no PivotCluster of UID %q", p.Cluster).about(nil, p.PublicKey)
	case slices.Contains(c.Spec.Agent.BlockedKeys, p.PublicKey):
		return blocked(c, p.PublicKey)
	}

	e := c.Status.Enrolment
	enrolled := e != nil && e.PublicKey == p.PublicKey && e.Rejoin == c.Spec.Agent.Rejoin
	if !enrolled {
		return refuse(NotEnrolled, "the key of the certificate is not the one that is enrolled for PivotCluster %q", c.Name).about(c, p.PublicKey)
	}
	return nil
}

// blocked returns the refusal for a key that the user has blocked.
func blocked(c *v1alpha1.PivotCluster, key string) *Refusal {
	return refuse(KeyBlocked, "the key is in spec.agent.blockedKeys of PivotCluster %q", c.Name).about(c, key)
}
