// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxSaid is how many warnings are remembered as said, at least.
const maxSaid = 4096

// said remembers what was said, so that it is said once: an application is rendered
// again and again. What was said longest ago may be said again. The zero value is
// ready. It is safe for concurrent use.
type said struct {
	mu sync.Mutex
	// now and before are two generations of texts; the older one goes when the younger
	// one is full.
	now, before map[[sha256.Size]byte]struct{}
}

// first reports whether a text was not said yet, and notes it.
func (s *said) first(text string) bool {
	key := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.now[key]
	if _, old := s.before[key]; known || old {
		return false
	}
	if s.now == nil || len(s.now) >= maxSaid {
		s.now, s.before = map[[sha256.Size]byte]struct{}{}, s.now
	}
	s.now[key] = struct{}{}
	return true
}

// warn tells warnings of a render, once for each application and text: an answer to
// Argo CD has no room for them.
func (s *Server) warn(r request, warnings object.Errors) {
	for _, w := range warnings {
		told := fmt.Errorf("application %q: warning: %s", r.app, cut(printable(strings.ReplaceAll(w.Error(), "\n", " ")), maxText/4))
		if s.said.first(r.project + "\x00" + told.Error()) {
			s.opts.Report(told)
		}
	}
}
