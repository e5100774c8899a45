// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// Plan lies beside a complete artifact: it has the Desired, so that a rollback needs no render, and
// the origins of the artifacts.
type Plan struct {
	Desired delivery.Desired `json:"desired"`
	// Origins has for each digest the origin from which it was published first, so that the
	// metadata of an artifact that does not change stays the same.
	Origins map[string]Origin `json:"origins,omitempty"`
}

// Origin is the source of an artifact, and its revision.
type Origin struct {
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// digests returns the digests of the complete artifact and of the layers.
func (p Plan) digests() []string {
	out := []string{p.Desired.Digest}
	for _, layer := range p.Desired.Layers {
		out = append(out, layer.Digest)
	}
	return out
}

// PutPlan keeps a plan. A plan that exists already and is the same is left alone.
func (s *Storage) PutPlan(owner types.NamespacedName, plan Plan) error {
	name, err := file(owner, plan.Desired.Digest, planSuffix)
	if err != nil {
		return err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	data := append([]byte(digests.Of(text)+"\n"), text...)
	old, err := s.read(name)
	if err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := ignore(err, fs.ErrNotExist); err != nil {
		return err
	}
	return s.write(name, data)
}

// Plan returns a plan that PutPlan has kept. The error is delivery.ErrGone if it does not exist, or
// is damaged.
func (s *Storage) Plan(owner types.NamespacedName, digest string) (Plan, error) {
	name, err := file(owner, digest, planSuffix)
	if err != nil {
		return Plan{}, err
	}
	data, err := s.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Plan{}, gone(owner, digest)
	}
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	head, text, _ := bytes.Cut(data, []byte("\n"))
	isIntact := string(head) == digests.Of(text) && json.Unmarshal(text, &plan) == nil
	if !isIntact || plan.Desired.Digest != digest {
		return Plan{}, gone(owner, digest)
	}
	return plan, nil
}
