// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package library runs kustomize's own library for package kustomize, which does without it
// where it only finds files.
//
// # Invariants
//
// The library keeps the schema of a build in a variable, so that one build runs at a time. It
// reports vars through the log of its process, writes of deprecated fields to stderr, and ends
// the process where it cannot write what it has read: it belongs into a process of its own,
// whose log is the [Library].
//
// Tested by render/component/kustomize.
package library

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/object"
)

// Library is kustomize's own, and what the log of its process is written to. The zero value
// works.
type Library struct {
	running sync.Mutex
	// unused are the vars that the present build does not use.
	unused atomic.Pointer[[]string]
}

var (
	_ kustomize.Library = (*Library)(nil)
	_ io.Writer         = (*Library)(nil)
)

// Write takes what the library logs.
func (l *Library) Write(p []byte) (int, error) {
	if _, text, ok := bytes.Cut(p, []byte("well-defined vars that were never replaced: ")); ok {
		names := strings.Split(strings.TrimSpace(string(text)), ",")
		slices.Sort(names) // They come out of a map.
		l.unused.Store(&names)
	}
	return len(p), nil
}

// Build implements [kustomize.Library].
func (l *Library) Build(r kustomize.Run) (built kustomize.Built, err error) {
	l.running.Lock()
	defer l.running.Unlock()
	l.unused.Store(nil)
	defer func() {
		if names := l.unused.Load(); names != nil {
			built.Unused = *names
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kustomize crashed: %v", p)
		}
	}()
	// The next build has the same schema, unless the schema is taken away.
	if r.Schema {
		defer openapi.ResetOpenAPI()
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	// What may be loaded was decided before, at the lines that load it.
	options.LoadRestrictions = types.LoadRestrictionsNone
	m, err := krusty.MakeKustomizer(options).Run(r.Files, r.Dir)
	if err != nil {
		return built, err
	}
	built.ManagedBy = "kustomize-" + provenance.GetProvenance().Semver()
	built.Results, err = results(m, r.Origins)
	return built, err
}

// results returns the objects of a build, with the annotations of their origin if the author wants
// them.
func results(m resmap.ResMap, keep bool) ([]kustomize.Result, error) {
	list := make([]kustomize.Result, m.Size())
	for i, r := range m.Resources() {
		origin, err := r.GetOrigin()
		if err != nil {
			return nil, err
		}
		if origin != nil {
			by := origin.ConfiguredBy
			list[i].Origin = &kustomize.Origin{Path: origin.Path, ConfiguredIn: origin.ConfiguredIn, Kind: by.Kind, Name: by.Name}
		}
	}
	if !keep {
		if err := m.RemoveOriginAnnotations(); err != nil {
			return nil, err
		}
	}
	for i, r := range m.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		list[i].Object, err = object.Decode(data)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Mark implements [kustomize.Library].
func (l *Library) Mark(rendered []byte) ([]byte, error) {
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(rendered), OmitReaderAnnotations: true}).Read()
	if err != nil {
		return nil, errors.New("what is no valid YAML")
	}
	var marked bytes.Buffer
	for _, n := range nodes {
		if err := n.PipeE(yaml.SetAnnotation(konfig.HelmGeneratedAnnotation, "true")); err != nil {
			return nil, errors.New("what is no object")
		}
		text, err := n.String()
		if err != nil {
			return nil, errors.New("what is no object")
		}
		marked.WriteString("---\n" + text)
	}
	return marked.Bytes(), nil
}
