// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// TypePlan is the artifact type of the plan of a delivery: a delivery.Desired as JSON,
// attached to its whole.
const TypePlan = "application/vnd.ropewalk.delivery.v1+json"

// annotationSerial tells which of several plans of one whole is the newest: files may
// stay as they are while health checks change.
const annotationSerial = "dev.ropewalk.serial"

// maxPlan is how large a plan may be: 50,000 objects fit.
const maxPlan = 32 << 20

// desired is what a push came to.
func desired(in Render, pushed artifact.Pushed) delivery.Desired {
	digests := map[string]string{}
	for _, l := range pushed.Layers {
		digests[l.Name] = l.Digest
	}
	out := delivery.Desired{Digest: pushed.Digest, Revision: in.Revision, Layers: slices.Clone(in.Layers)}
	for i := range out.Layers {
		u := &out.Layers[i]
		// A layer that is alone is the whole.
		u.Digest, u.Files = cmp.Or(digests[u.Name], pushed.Digest), nil
	}
	return out
}

// plan is a plan that is attached to a whole.
type plan struct {
	serial int
	data   []byte
}

// plansOf are the plans of a whole, the newest last.
func plansOf(ctx context.Context, from artifact.Reader, whole ocispec.Descriptor) ([]plan, error) {
	list, err := artifact.Referrers(ctx, from, whole, TypePlan)
	if err != nil {
		return nil, err
	}
	var out []plan
	for _, d := range list {
		data, err := artifact.ReadReferrer(ctx, from, whole, d, maxPlan)
		if err != nil {
			return nil, err
		}
		// Registries need not list annotations: the content says it too.
		var text struct {
			Serial string `json:"serial"`
		}
		if json.Unmarshal(data, &text) != nil {
			continue
		}
		serial, _ := strconv.Atoi(text.Serial)
		out = append(out, plan{serial: serial, data: data})
	}
	slices.SortStableFunc(out, func(a, b plan) int { return cmp.Compare(a.serial, b.serial) })
	return out, nil
}

// stored is a plan as it is attached.
type stored struct {
	Serial string           `json:"serial"`
	Plan   delivery.Desired `json:"plan"`
}

// attachPlan attaches a plan to its whole, where it is not the newest there already:
// a push that was cut short may have attached one.
func attachPlan(ctx context.Context, to artifact.Store, whole ocispec.Descriptor, d delivery.Desired) error {
	r, err := planReferrer(ctx, to, whole, d)
	if err != nil || r == nil {
		return err
	}
	_, err = artifact.Attach(ctx, to, whole, *r)
	return err
}

// planReferrer is what attachPlan attaches, nil where that is there.
func planReferrer(ctx context.Context, to artifact.Store, whole ocispec.Descriptor, d delivery.Desired) (*artifact.Referrer, error) {
	old, err := plansOf(ctx, to, whole)
	if err != nil {
		return nil, err
	}
	// The revision moves with each commit, and means nothing for a rollback.
	d.Revision = ""
	serial := 0
	if len(old) > 0 {
		last := old[len(old)-1]
		data, err := encodePlan(d, last.serial)
		if err != nil || string(data) == string(last.data) {
			return nil, err
		}
		serial = last.serial + 1
	}
	data, err := encodePlan(d, serial)
	if err != nil {
		return nil, err
	}
	return &artifact.Referrer{
		ArtifactType: TypePlan, Data: data, Annotations: map[string]string{annotationSerial: strconv.Itoa(serial)},
	}, nil
}

func encodePlan(d delivery.Desired, serial int) ([]byte, error) {
	return json.Marshal(stored{Serial: strconv.Itoa(serial), Plan: d})
}

// decodePlan reads a plan, and refuses that of another whole.
func decodePlan(data []byte, digest string) (delivery.Desired, error) {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return delivery.Desired{}, fmt.Errorf("the plan that is attached to %s cannot be read: %w", digest, err)
	}
	if s.Plan.Digest != digest {
		return delivery.Desired{}, fmt.Errorf("the plan that is attached to %s is that of %q", digest, s.Plan.Digest)
	}
	return s.Plan, nil
}
