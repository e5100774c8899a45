// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// TypePlan is the artifact type of the plan of a delivery: a delivery.Desired as JSON,
// attached to its whole.
const TypePlan = "application/vnd.ropewalk.delivery.v1+json"

// annotationSerial orders the plans of one complete artifact, the newest last: files may stay as
// they are while health checks change.
const annotationSerial = "dev.ropewalk.serial"

// maxPlan limits the size of a plan, in bytes: 50,000 objects fit.
const maxPlan = 32 << 20

// desired returns the plan of a push.
func desired(render Render, pushed artifact.Pushed) delivery.Desired {
	digests := map[string]string{}
	for _, l := range pushed.Layers {
		digests[l.Name] = l.Digest
	}
	out := delivery.Desired{Digest: pushed.Digest, Revision: render.Revision, Layers: slices.Clone(render.Layers)}
	for i := range out.Layers {
		u := &out.Layers[i]
		// A layer that is alone is the whole.
		u.Digest = cmp.Or(digests[u.Name], pushed.Digest)
		u.Files = nil
	}
	return out
}

// stored is a plan as it is attached.
type stored struct {
	Serial int              `json:"serial,string"`
	Plan   delivery.Desired `json:"plan"`
}

// newestPlan returns the newest plan of a complete artifact, or nil if it has no readable plan.
func newestPlan(ctx context.Context, reader artifact.Reader, whole ocispec.Descriptor) (*stored, error) {
	list, err := artifact.Referrers(ctx, reader, whole, TypePlan)
	if err != nil {
		return nil, err
	}
	var newest *stored
	for _, d := range list {
		data, err := artifact.ReadReferrer(ctx, reader, whole, d, maxPlan)
		if err != nil {
			return nil, err
		}
		// Registries need not list annotations: the content has the serial too.
		s := &stored{}
		isPlan := json.Unmarshal(data, s) == nil && s.Plan.Digest == whole.Digest.String()
		if isPlan && (newest == nil || s.Serial > newest.Serial) {
			newest = s
		}
	}
	return newest, nil
}

// attachPlan attaches a plan to its complete artifact, if it is not the newest plan there already: a
// push that was cut short may have attached it.
func attachPlan(ctx context.Context, store artifact.Store, d delivery.Desired) error {
	referrers, err := planReferrer(ctx, store, d)
	if err != nil || len(referrers) == 0 {
		return err
	}
	whole, err := store.Resolve(ctx, d.Digest)
	if err != nil {
		return err
	}
	_, err = artifact.Attach(ctx, store, manifest.Bare(whole), referrers[0])
	return err
}

// planReferrer returns the referrer that attachPlan attaches, or nothing if the plan is attached
// already.
func planReferrer(ctx context.Context, store artifact.Store, d delivery.Desired) ([]artifact.Referrer, error) {
	old, err := newestPlan(ctx, store, ocispec.Descriptor{MediaType: artifact.TypeManifest, Digest: digest.Digest(d.Digest)})
	if err != nil {
		return nil, err
	}
	// The revision moves with each commit, and means nothing for a rollback.
	d.Revision = ""
	s := stored{Plan: d}
	if old != nil {
		s.Serial = old.Serial
		if apply.Sum(s) == apply.Sum(old) {
			return nil, nil
		}
		s.Serial++
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return []artifact.Referrer{{
		ArtifactType: TypePlan, Data: data, Annotations: map[string]string{annotationSerial: strconv.Itoa(s.Serial)},
	}}, nil
}
