// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Op is what a Request wants.
type Op string

// The operations, in the order in which a pivot needs them. Each may come twice, late or in
// another order.
const (
	// Hello asks for the plane, its kinds and its receipt. It writes nothing, and needs no pivot.
	Hello Op = "Hello"
	// Check tries the Samples without creating them.
	Check Op = "Check"
	// Prepare begins a pivot, or a new epoch of one: it makes the namespace and the receipt.
	Prepare Op = "Prepare"
	// Held asks for the chunks that are staged for Digest, and removes those of others.
	Held Op = "Held"
	// Stage keeps a Chunk of the snapshot Digest.
	Stage Op = "Stage"
	// Seal reads all chunks back, and checks them against Digest.
	Seal Op = "Seal"
	// Import creates the objects, paused.
	Import Op = "Import"
	// Verify reads them back.
	Verify Op = "Verify"
	// Ready asks, before the commit and before the source is deleted, whether what the pivot relies on
	// is there: the namespace, the definitions of Kinds, and webhooks. It writes nothing.
	Ready Op = "Ready"
	// Activate unpauses them.
	Activate Op = "Activate"
	// Confirm waits until their controllers have looked at them.
	Confirm Op = "Confirm"
	// Finish removes what was staged.
	Finish Op = "Finish"
	// Abort deletes what was imported and staged.
	Abort Op = "Abort"
)

// Request is a message to the target.
type Request struct {
	Op      Op        `json:"op"`
	Pivot   string    `json:"pivot"`
	Epoch   int64     `json:"epoch"`
	Cluster plane.Ref `json:"cluster"`
	// Round counts the snapshots; Digest is that of this one, and Chunks the count of its parts.
	Round  int             `json:"round,omitempty"`
	Digest string          `json:"digest,omitempty"`
	Chunks int             `json:"chunks,omitempty"`
	Chunk  *snapshot.Chunk `json:"chunk,omitempty"`
	// Samples are the objects of Check, and Kinds what they are on the source; of Ready those that move.
	Samples []snapshot.Entry `json:"samples,omitempty"`
	Kinds   []plane.Kind     `json:"kinds,omitempty"`
	// Source is that of the pivot, for Prepare. Active: the target was activated before.
	Source *Peer `json:"source,omitempty"`
	Active bool  `json:"active,omitempty"`
}

// Response is the answer to a Request.
type Response struct {
	// Refused says why the request was not carried out; "" where it was.
	Refused Refusal `json:"refused,omitempty"`
	Message string  `json:"message,omitempty"`
	// Findings stand in the way.
	Findings inventory.Findings `json:"findings,omitempty"`
	// Receipt is that of the target; nil where there is none.
	Receipt *Receipt `json:"receipt,omitempty"`
	// Notes say what Check could not try.
	Notes []string     `json:"notes,omitempty"`
	Plane *Peer        `json:"plane,omitempty"`
	Kinds []plane.Kind `json:"kinds,omitempty"`
	// Providers are those that clusterctl installed on the target.
	Providers []preflight.Provider `json:"providers,omitempty"`
	// Held are the staged chunks, by index, with their sums.
	Held map[int]string `json:"held,omitempty"`
	// Digest is that of what was read back for Verify.
	Digest string `json:"digest,omitempty"`
}

// Refusal is why the target refuses a request.
type Refusal string

// The reasons.
const (
	// Fenced: the request is of another pivot, or of an older epoch, than the target knows.
	Fenced Refusal = "Fenced"
	// Stale: the request is about another snapshot than the one that the target has.
	Stale Refusal = "Stale"
	// Blocked: findings stand in the way, and only a user can remove them.
	Blocked Refusal = "Blocked"
	// Corrupt: what is staged is not what the digest says; it was removed.
	Corrupt Refusal = "Corrupt"
	// Differs: what was read back is not what was sent.
	Differs Refusal = "Differs"
	// TooLate: the target is active, or aborted.
	TooLate Refusal = "TooLate"
	// Failed: the plane of the target returned an error.
	Failed Refusal = "Failed"
	// Unavailable: it did not answer in time, and may do so later.
	Unavailable Refusal = "Unavailable"
)

// Link carries requests to the target. An error means that it is not known whether the
// request was carried out.
type Link interface {
	Call(ctx context.Context, r Request) (Response, error)
}

// LinkFunc is a function as a Link.
type LinkFunc func(ctx context.Context, r Request) (Response, error)

// Call implements [Link].
func (f LinkFunc) Call(ctx context.Context, r Request) (Response, error) { return f(ctx, r) }

// list returns kinds in a stable order, for a message.
func list(kinds plane.Kinds) []plane.Kind {
	out := make([]plane.Kind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, plane.Kind.Compare)
	return out
}

func mapped(kinds []plane.Kind) plane.Kinds {
	out := plane.Kinds{}
	for _, k := range kinds {
		out[schema.GroupKind{Group: k.Group, Kind: k.Kind}] = k
	}
	return out
}

// settleWithin is how long controllers have to see that a Cluster is paused, or is not.
const settleWithin = 5 * time.Minute
