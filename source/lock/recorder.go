// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"maps"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/source"
)

// Recorder collects what was used. The zero value is empty. It is safe for
// concurrent use.
type Recorder struct {
	mu      sync.Mutex
	file    File
	secrets map[string]bool
}

// Source records that ref led to tree. References that are not locked are skipped.
func (r *Recorder) Source(ref source.Ref, tree source.Tree) {
	if !Locks(ref.Type) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secrets == nil {
		r.secrets = map[string]bool{}
	}
	r.secrets[ref.Secret], r.secrets[ref.Verify.Secret] = true, true
	r.file = r.file.Add(Source{
		Type: ref.Type, Ref: ref.Ref, Path: ref.Path,
		Revision: tree.Revision, Pinned: tree.Pinned, Digest: tree.Digest,
	})
}

// Module records a dependency.
func (r *Recorder) Module(m Module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = r.file.AddModule(m)
}

// File returns the lock of what was recorded so far.
func (r *Recorder) File() File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file // Add copies, so what was returned never changes
}

// Secrets returns the names of the Secrets that the references name, sorted.
func (r *Recorder) Secrets() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := slices.Sorted(maps.Keys(r.secrets))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
