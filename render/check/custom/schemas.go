// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"crypto/sha256"
	"io/fs"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/check/schemas"
)

// maxCompiled is how many compiled schemas a cache keeps that are not of the
// built-in set. A compiled schema is about a megabyte.
const maxCompiled = 256

// Schemas is a cache of parsed and compiled schemas. A process that makes many
// Checkers gives them one: to compile a large kind and the rules that an object
// meets takes some milliseconds. It is safe for concurrent use; the zero value is
// ready.
type Schemas struct {
	// Components are the schemas of the kinds of Kubernetes, of which every kind
	// has the metadata.
	Components kubernetes.Components

	mu       sync.Mutex
	builtIn  map[string]*Definition // by group/Kind; nil where there is none
	compiled map[compiledKey]*compiledOnce
	foreign  int // how many of compiled are not of the built-in set
}

// compiledKey identifies a version of a definition by the content of the
// definition.
type compiledKey struct {
	digest  [sha256.Size]byte
	version string
}

// compiledOnce compiles a schema when it is first needed.
type compiledOnce struct {
	once sync.Once
	c    *compiled
	err  error
}

// BuiltIn is the definition of the built-in set for a kind, nil
// where there is none.
func (s *Schemas) BuiltIn(group, kind string) *Definition {
	key := group + "/" + kind
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.builtIn[key]; ok {
		return d
	}
	if s.builtIn == nil {
		s.builtIn = map[string]*Definition{}
	}
	var d *Definition
	if content, err := fs.ReadFile(schemas.Definitions(), "crds/"+key+".json"); err == nil {
		// The set is checked by a test: what cannot be read is as good as absent.
		if read, err := readDefinition(content); err == nil {
			d = read
			d.builtIn = true
		}
	}
	s.builtIn[key] = d
	return d
}

// compile is the compiled schema of one version of a definition.
func (s *Schemas) compile(d *Definition, v *definitionVersion) (*compiled, error) {
	key := compiledKey{digest: d.digest, version: v.Name}
	s.mu.Lock()
	entry, ok := s.compiled[key]
	if !ok {
		if s.compiled == nil || !d.builtIn && s.foreign >= maxCompiled {
			// What is in use stays alive with its users.
			s.compiled, s.foreign = map[compiledKey]*compiledOnce{}, 0
		}
		entry = &compiledOnce{}
		s.compiled[key] = entry
		if !d.builtIn {
			s.foreign++
		}
	}
	s.mu.Unlock()
	entry.once.Do(func() { entry.c, entry.err = compileVersion(v) })
	return entry.c, entry.err
}

// Kinds is the kinds of a group in the built-in set.
func (s *Schemas) Kinds(group string) (kinds []string) {
	entries, err := fs.ReadDir(schemas.Definitions(), "crds/"+group)
	if err != nil || group == "" {
		return nil
	}
	for _, e := range entries {
		kinds = append(kinds, strings.TrimSuffix(e.Name(), ".json"))
	}
	return kinds
}
