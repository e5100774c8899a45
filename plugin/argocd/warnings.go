// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxReported limits the warnings that are remembered as reported.
const maxReported = 4096

// warn reports the warnings and the notes of a render, once for each application and text: a
// response to Argo CD has no room for them.
func (s *Server) warn(r request, warnings object.Errors) {
	for _, w := range warnings {
		err := fmt.Errorf("application %q: %s: %s", r.app, w.Severity, cut(printable.Line(strings.ReplaceAll(w.Error(), "\n", " ")), maxText/4))
		key := sha256.Sum256([]byte(r.project + "\x00" + err.Error()))
		if _, known := s.warned.Get(key); !known {
			s.warned.Put(key, struct{}{}, 1)
			s.opts.Report(err)
		}
	}
}

// reportRejected reports the error of a request. Without it an administrator sees only what the
// status of an Application keeps of it, and nothing of a client that has left.
func (s *Server) reportRejected(method, app string, err error) {
	line, _, more := strings.Cut(err.Error(), "\n")
	if more {
		line += " …"
	}
	s.opts.Report(fmt.Errorf("application %q: %s: %s", printable.Line(cut(app, 200)), method, cut(printable.Line(line), maxText/8)))
}
