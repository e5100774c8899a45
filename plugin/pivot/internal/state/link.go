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

// Op is the operation of a Request.
type Op string

// The operations, in the order in which a pivot needs them. Each may come twice, late or in
// another order.
const (
	// Hello asks for the plane, its kinds and its receipt. It writes nothing, and needs no pivot.
	Hello Op = "Hello"
	// Check tries the Samples without creating them.
	Check Op = "Check"
	// Prepare begins a pivot, or a new epoch of it: it makes the namespace and the receipt.
	Prepare Op = "Prepare"
	// Held asks for the chunks that are staged for Digest, and removes chunks of other snapshots.
	Held Op = "Held"
	// Stage keeps a Chunk of the snapshot Digest.
	Stage Op = "Stage"
	// Seal reads all chunks back, and checks them against Digest.
	Seal Op = "Seal"
	// Import creates the objects, paused.
	Import Op = "Import"
	// Verify reads the imported objects back.
	Verify Op = "Verify"
	// Ready checks, before the commit and before the source is deleted, that the requirements of the
	// pivot still exist: the namespace, the definitions of Kinds, and webhooks. It writes nothing.
	Ready Op = "Ready"
	// Activate unpauses the imported objects.
	Activate Op = "Activate"
	// Confirm waits until the controllers have seen that the objects are not paused.
	Confirm Op = "Confirm"
	// Finish removes the staged chunks.
	Finish Op = "Finish"
	// Abort deletes the imported objects and the staged chunks.
	Abort Op = "Abort"
)

// Request is a message to the target.
type Request struct {
	Op      Op        `json:"op"`
	Pivot   string    `json:"pivot"`
	Epoch   int64     `json:"epoch"`
	Cluster plane.Ref `json:"cluster"`
	// Round counts the snapshots of the pivot. Digest and Chunks, the number of its parts, describe
	// the last snapshot.
	Round  int             `json:"round,omitempty"`
	Digest string          `json:"digest,omitempty"`
	Chunks int             `json:"chunks,omitempty"`
	Chunk  *snapshot.Chunk `json:"chunk,omitempty"`
	// Samples are the objects of Check. Kinds are their kinds on the source; for Ready the kinds of
	// all objects that move.
	Samples []snapshot.Entry `json:"samples,omitempty"`
	Kinds   []plane.Kind     `json:"kinds,omitempty"`
	// Source is the source plane, for Prepare.
	Source *Peer `json:"source,omitempty"`
	// Active means that the target was activated before.
	Active bool `json:"active,omitempty"`
}

// Response is the answer to a Request.
type Response struct {
	// Refused is the reason why the request was not carried out; "" if it was.
	Refused Refusal `json:"refused,omitempty"`
	Message string  `json:"message,omitempty"`
	// Findings stand in the way.
	Findings inventory.Findings `json:"findings,omitempty"`
	// Receipt is the receipt of the target; nil if there is none.
	Receipt *Receipt `json:"receipt,omitempty"`
	// Notes list the checks that Check could not make.
	Notes []string     `json:"notes,omitempty"`
	Plane *Peer        `json:"plane,omitempty"`
	Kinds []plane.Kind `json:"kinds,omitempty"`
	// Providers are the providers that clusterctl installed on the target.
	Providers []preflight.Provider `json:"providers,omitempty"`
	// Held are the staged chunks, by index, with their sums.
	Held map[int]string `json:"held,omitempty"`
	// Digest is the digest of the objects that Verify has read back.
	Digest string `json:"digest,omitempty"`
}

// Refusal is the reason why the target refuses a request.
type Refusal string

// The reasons.
const (
	// Fenced: the request belongs to another pivot, or to an older epoch, than the target knows.
	Fenced Refusal = "Fenced"
	// Stale: the request is about another snapshot than the one that the target has.
	Stale Refusal = "Stale"
	// Blocked: findings stand in the way, and only a user can remove them.
	Blocked Refusal = "Blocked"
	// Corrupt: the staged chunks do not match the digest; they were removed.
	Corrupt Refusal = "Corrupt"
	// Differs: the imported objects differ from the snapshot.
	Differs Refusal = "Differs"
	// TooLate: the target is active, or aborted.
	TooLate Refusal = "TooLate"
	// Failed: the plane of the target returned an error.
	Failed Refusal = "Failed"
	// Unavailable: the target did not answer in time, and may do so later.
	Unavailable Refusal = "Unavailable"
)

// Link carries requests to the target. An error means that it is not known whether the
// request was carried out.
type Link interface {
	Call(ctx context.Context, r Request) (Response, error)
}

// LinkFunc makes a Link of a function.
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

// mapped returns kinds by their group and kind.
func mapped(kinds []plane.Kind) plane.Kinds {
	out := plane.Kinds{}
	for _, k := range kinds {
		out[schema.GroupKind{Group: k.Group, Kind: k.Kind}] = k
	}
	return out
}

// settleWithin bounds the time in which controllers must see that a Cluster is paused, or is not.
const settleWithin = 5 * time.Minute
