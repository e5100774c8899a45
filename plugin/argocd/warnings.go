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

// maxReported is how many warnings are known as reported, at least.
const maxReported = 4096

// dedupe knows the texts that were reported, so that each is reported once: an
// application is rendered again and again. The oldest ones are forgotten. The zero
// value is ready. It is safe for concurrent use.
type dedupe struct {
	mu sync.Mutex
	// now and before are two generations of texts; the older one goes when the younger
	// one is full.
	now, before map[[sha256.Size]byte]struct{}
}

// first reports whether a text is new, and notes it.
func (d *dedupe) first(text string) bool {
	key := sha256.Sum256([]byte(text))
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.now[key]
	if _, old := d.before[key]; known || old {
		return false
	}
	if d.now == nil || len(d.now) >= maxReported {
		d.now, d.before = map[[sha256.Size]byte]struct{}{}, d.now
	}
	d.now[key] = struct{}{}
	return true
}

// warn reports the warnings of a render, once for each application and text: a
// response to Argo CD has no room for them.
func (s *Server) warn(r request, warnings object.Errors) {
	for _, w := range warnings {
		err := fmt.Errorf("application %q: warning: %s", r.app, cut(printable(strings.ReplaceAll(w.Error(), "\n", " ")), maxText/4))
		if s.warned.first(r.project + "\x00" + err.Error()) {
			s.opts.Report(err)
		}
	}
}
