// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Secrets returns the Secrets in a file of manifests, by name: their data, decoded, with
// stringData over it. They are for fetchers (source.Secrets) and never become part of a request.
// The error is an object.Errors with the line of each mistake. No value and no line is ever in it.
func Secrets(file spec.File) (map[string]map[string][]byte, error) {
	manifests, err := spec.ParseManifests(file, project.MaxManifests)
	var errs object.Errors
	fail := func(pos object.Pos, err error) {
		pos.Column = 0 // a position with a column shows its line
		errs = append(errs, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err})
	}
	for _, e := range object.AsErrors(err, object.StageSpec) {
		fail(e.Pos, errors.New("not readable as a manifest of a Secret: the YAML is not well-formed here, or a key is written twice"))
	}
	out := map[string]map[string][]byte{}
	for _, m := range manifests {
		if m.Value.Kind == object.KindNone || m.Value.Kind == object.KindNull {
			continue
		}
		name, entries, pos, err := secret(m.Value)
		if err != nil {
			fail(pos, err)
			continue
		}
		if _, twice := out[name]; twice {
			fail(m.Pos, fmt.Errorf("two Secrets are named %q", name))
		}
		out[name] = entries
	}
	return out, errs.Sorted().Err()
}

// addSecrets adds all texts that no message may show: the values of the runtime, and values under
// sensitive names in documents, values and options, whether they can be read or not.
func addSecrets(p planning, into *object.Secrets) {
	// Values of the runtime and of variables may all be secret.
	for _, text := range p.runtime.texts {
		into.Add(text)
	}
	for _, text := range p.runtime.values {
		into.Add(text)
	}
	for _, text := range p.variables.texts {
		into.Add(text)
	}
	for _, text := range p.opts.Hidden {
		into.Add(text)
	}

	// In options the name decides.
	args := slices.Concat(p.opts.Set, p.opts.Overrides, p.opts.Runtime)
	for _, s := range p.opts.HelmSet {
		args = append(args, s.Text)
	}
	for _, arg := range args {
		into.AddText(arg)
		// The text behind the name of a secret may be the secret, whatever else is meant by it.
		path, _, _ := strings.Cut(arg, "=")
		target := spec.SetTarget(arg)
		if len(target) >= len(path) {
			continue
		}
		for _, piece := range strings.FieldsFunc(strings.TrimPrefix(arg, target), func(c rune) bool { return strings.ContainsRune(" .[]=", c) }) {
			into.Add(piece)
		}
	}

	// So do the names in all files that were read.
	for _, v := range p.settings.overlays.HelmFiles() {
		into.AddNamed(v)
	}
	files := slices.Clone(p.Files)
	for name, data := range p.settings.overlays.Texts {
		files = append(files, spec.File{Name: name, Data: data})
	}
	for _, b := range p.Bundles {
		files = append(append(files, b.Files()...), b.Runtime)
	}
	for _, file := range files {
		if path.Ext(file.Name) == ".cue" {
			into.AddCUE(string(file.Data))
			continue
		}
		manifests, err := spec.ParseManifests(file, project.MaxManifests)
		if err != nil {
			into.AddText(string(file.Data))
			continue
		}
		for _, m := range manifests {
			add := into.AddNamed
			switch kind, _ := m.Value.Get("kind"); kind.Text {
			case spec.KindGateway:
				add = into.AddGateway
			case "": // A compose file, if it has services.
				into.AddNames(m.Value)
			}
			add(m.Value)
			if o, err := object.Decode(m.Value.JSON()); err == nil {
				into.AddObject(o)
			}
		}
	}
}

// secret returns the name and the entries of a Secret. The result pos is the position of err.
func secret(v object.Value) (name string, entries map[string][]byte, pos object.Pos, err error) {
	text := func(v object.Value, path ...string) string {
		for _, p := range path {
			v, _ = v.Get(p)
		}
		return v.Text
	}
	name = text(v, "metadata", "name")
	if text(v, "kind") != "Secret" || text(v, "apiVersion") != "v1" || name == "" {
		return "", nil, v.Pos, errors.New("not a Secret: expected apiVersion v1, kind Secret and metadata.name")
	}
	entries = map[string][]byte{}
	data, _ := v.Get("data")
	for _, m := range data.Members {
		entries[m.Name], err = base64.StdEncoding.DecodeString(m.Value.Text)
		if err != nil {
			return "", nil, m.Value.Pos, fmt.Errorf("data.%s of Secret %q is not base64", m.Name, name)
		}
	}
	plain, _ := v.Get("stringData")
	for _, m := range plain.Members {
		entries[m.Name] = []byte(m.Value.Text)
	}
	return name, entries, v.Pos, nil
}
