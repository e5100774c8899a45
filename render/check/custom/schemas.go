// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package custom

import (
	"crypto/sha256"
	"io/fs"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render/check/kubernetes"
	"github.com/ropewalk/ropewalk/render/check/schemas"
)

// maxCompiled limits the compiled schemas that a cache keeps. A compiled schema is about
// a megabyte; the built-in set has about a hundred.
const maxCompiled = 384

// Schemas is a cache of parsed and compiled schemas. A process that makes many
// Checkers shares a cache among them: to compile a large kind and the rules that an
// object meets takes some milliseconds. It is safe for concurrent use; the zero value is
// ready.
type Schemas struct {
	// Components are the schemas of the kinds of Kubernetes, of which every kind
	// has the metadata.
	Components kubernetes.Components

	mu       sync.Mutex
	builtIn  map[string]*Definition // by group/Kind; nil for a kind that the set lacks
	compiled *lru.Cache[compiledKey, func() (*compiled, error)]
}

// compiledKey identifies a version of a definition by the content of the
// definition.
type compiledKey struct {
	digest  [sha256.Size]byte
	version string
}

// BuiltIn returns the definition of the built-in set for a kind, or nil if the set lacks the kind.
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
		// The set is checked by a test: what cannot be read is treated as absent.
		if read, err := readDefinition(content); err == nil {
			d = read
		}
	}
	s.builtIn[key] = d
	return d
}

// compile returns the compiled schema of one version of a definition.
func (s *Schemas) compile(d *Definition, v *definitionVersion) (*compiled, error) {
	key := compiledKey{digest: d.digest, version: v.Name}
	s.mu.Lock()
	if s.compiled == nil {
		s.compiled = lru.New[compiledKey, func() (*compiled, error)](maxCompiled)
	}
	compile, ok := s.compiled.Get(key)
	if !ok {
		compile = sync.OnceValues(func() (*compiled, error) { return compileVersion(v) })
		s.compiled.Put(key, compile, 1)
	}
	s.mu.Unlock()
	return compile()
}

// Kinds returns the kinds of a group in the built-in set.
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
