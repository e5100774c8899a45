// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// CheckSecrets refuses manifests that hold secrets in the clear, as the check of
// a render does; what SOPS encrypted is none. No value is ever in an error.
func CheckSecrets(side diff.Snapshot) error {
	nodes := make([]*object.Node, 0, len(side.Items))
	for _, i := range side.Items {
		nodes = append(nodes, &object.Node{ID: object.ID(i.Object.Ref().String()), Object: i.Object})
	}
	// Only Flux decrypts, and whoever packs manifests need not say for whom.
	// Without schemas the check takes no time that a caller would cut short.
	findings, err := render.Renderer{}.Check(context.Background(), render.Request{SkipSchemas: true, Emit: emit.Options{Dialect: dialect.Flux}}, nodes)
	if err != nil || len(findings) == 0 {
		return err
	}
	f := findings[0]
	return fmt.Errorf("%s: %s (reference a Secret that exists, or encrypt it with SOPS)", f.Node, f.Err)
}

// Secrets are the Secrets in a file of manifests, by name: their data, decoded,
// with stringData over it. They are for fetchers (source.Secrets) and never
// become part of a request. No value is ever in an error.
func Secrets(file spec.File) (map[string]map[string][]byte, error) {
	manifests, err := spec.ParseManifests(file, maxManifests)
	if err != nil {
		return nil, errors.New(file.Name + ": it cannot be read as manifests; expected Secrets")
	}
	out := map[string]map[string][]byte{}
	for _, m := range manifests {
		if m.Value.Kind == object.KindNone || m.Value.Kind == object.KindNull {
			continue
		}
		name, entries, err := secret(m.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Pos, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: two Secrets are called %q", m.Pos, name)
		}
		out[name] = entries
	}
	return out, nil
}

func secret(v object.Value) (name string, entries map[string][]byte, err error) {
	text := func(v object.Value, path ...string) string {
		for _, p := range path {
			v, _ = v.Get(p)
		}
		return v.Text
	}
	name = text(v, "metadata", "name")
	if text(v, "kind") != "Secret" || text(v, "apiVersion") != "v1" || name == "" {
		return "", nil, errors.New("no Secret: expected apiVersion v1, kind Secret and metadata.name")
	}
	entries = map[string][]byte{}
	data, _ := v.Get("data")
	for _, m := range data.Members {
		if entries[m.Name], err = base64.StdEncoding.DecodeString(m.Value.Text); err != nil {
			return "", nil, fmt.Errorf("data.%s of Secret %q is no base64", m.Name, name)
		}
	}
	plain, _ := v.Get("stringData")
	for _, m := range plain.Members {
		entries[m.Name] = []byte(m.Value.Text)
	}
	return name, entries, nil
}
