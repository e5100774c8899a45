// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// CheckSecrets refuses manifests that hold secrets in the clear, as the check of a render does.
// Secrets that SOPS encrypted pass. No value is ever in an error.
func CheckSecrets(snapshot diff.Snapshot) error {
	nodes := make([]*object.Node, 0, len(snapshot.Items))
	for _, i := range snapshot.Items {
		nodes = append(nodes, &object.Node{ID: object.ID(i.Object.Ref().String()), Object: i.Object})
	}
	// Only Flux decrypts, and manifests are packed without naming an engine. Without
	// schemas the check takes no time that a caller would cut short.
	findings, err := render.Renderer{}.Check(context.Background(), render.Request{SkipSchemas: true, Emit: emit.Options{Dialect: dialect.Flux}}, nodes)
	if err != nil || len(findings) == 0 {
		return err
	}
	f := findings[0]
	return fmt.Errorf("%s: %w (reference a Secret that exists, or encrypt it with SOPS)", f.Node, f.Err)
}
