// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Secrets are the Secrets in a file of manifests, by name: their data, decoded,
// with stringData over it. They are for fetchers (source.Secrets) and never
// become part of a request. No value is ever in an error.
func Secrets(file spec.File) (map[string]map[string][]byte, error) {
	manifests, err := spec.ParseManifests(file, project.MaxManifests)
	if err != nil {
		return nil, errors.New(file.Name + ": not readable as manifests: expected Secrets")
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
			return nil, fmt.Errorf("%s: two Secrets are named %q", m.Pos, name)
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
		return "", nil, errors.New("not a Secret: expected apiVersion v1, kind Secret and metadata.name")
	}
	entries = map[string][]byte{}
	data, _ := v.Get("data")
	for _, m := range data.Members {
		if entries[m.Name], err = base64.StdEncoding.DecodeString(m.Value.Text); err != nil {
			return "", nil, fmt.Errorf("data.%s of Secret %q is not base64", m.Name, name)
		}
	}
	plain, _ := v.Get("stringData")
	for _, m := range plain.Members {
		entries[m.Name] = []byte(m.Value.Text)
	}
	return name, entries, nil
}
