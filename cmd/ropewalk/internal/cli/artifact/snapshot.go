// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
)

// Snapshot returns an artifact as one side of a comparison. The attached graph gives the waves of
// its objects. An artifact without a graph is compared without waves.
func Snapshot(ctx context.Context, p command.Location, reference string) (diff.Snapshot, error) {
	pulled, err := artifact.Pull(ctx, p, reference, artifact.PullOptions{})
	if err != nil {
		return diff.Snapshot{}, err
	}
	subject, err := p.Resolve(ctx, pulled.Digest)
	if err != nil {
		return diff.Snapshot{}, err
	}
	text, err := artifact.Attached(ctx, p, subject, statement.PredicateGraph)
	if err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return diff.Snapshot{}, err
	}
	var attached struct {
		Predicate json.RawMessage `json:"predicate"`
	}
	if text != nil {
		if err := json.Unmarshal(text, &attached); err != nil {
			return diff.Snapshot{}, fmt.Errorf("the graph that is attached cannot be read: %w", err)
		}
	}
	out, err := snapshot.OfFiles(ctx, p.At(reference), pulled.FS, attached.Predicate)
	if err != nil {
		return diff.Snapshot{}, err
	}
	return out, setLayers(ctx, p, pulled, &out)
}

// setLayers sets the barrier layer of each item. A layer that does not exist any more is no error:
// its objects are unknown then.
func setLayers(ctx context.Context, p command.Location, whole artifact.Pulled, out *diff.Snapshot) error {
	if len(whole.Layers) > 0 && out.Dialect == "" {
		out.Dialect = dialect.Flux // No other has layers.
	}
	layerOf := map[string]string{}
	for _, ref := range whole.Layers {
		// The whole has no folders, and its files the names of those of its layers.
		part, err := artifact.Pull(ctx, p, ref.Digest, artifact.PullOptions{})
		if errors.Is(err, artifact.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("layer %q: %w", ref.Name, err)
		}
		for _, f := range part.Files {
			layerOf[f.Path] = ref.Name
		}
	}
	for i := range out.Items {
		item := &out.Items[i]
		item.Layer = layerOf[item.At.File]
		if own := whole.Annotations[artifact.AnnotationLayer]; own != "" {
			item.Layer = own
		}
	}
	return nil
}
