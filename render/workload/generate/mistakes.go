// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// mistakes collects the errors and warnings of one workload, each at its line of the
// document.
type mistakes struct {
	document *score.Workload
	all      object.Errors
}

// path returns the path of a part of the spec.
func (e *mistakes) path(fields ...string) object.Path {
	if e.document.Score {
		return object.Fields(fields...)
	}
	return append(object.Fields("spec"), object.Fields(fields...)...)
}

// extra returns the path of a part that Score does not have. A Score file has such parts under
// metadata.
func (e *mistakes) extra(fields ...string) object.Path {
	if e.document.Score {
		return append(object.Fields("metadata"), object.Fields(fields...)...)
	}
	return e.path(fields...)
}

// fail reports a mistake at a position in the user's text.
func (e *mistakes) fail(pos object.Pos, path object.Path, hint, format string, args ...any) {
	e.report(object.SeverityError, pos, path, hint, format, args...)
}

// warn reports text that is valid and probably a mistake.
func (e *mistakes) warn(pos object.Pos, path object.Path, hint, format string, args ...any) {
	e.report(object.SeverityWarning, pos, path, hint, format, args...)
}

// warnAt works like warn with a path that may belong to the project.
func (e *mistakes) warnAt(pos object.Pos, path, hint, format string, args ...any) {
	e.all = append(e.all, &object.Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: pos, Path: path, Err: fmt.Errorf(format, args...), Hint: hint,
	})
}

func (e *mistakes) report(s object.Severity, pos object.Pos, path object.Path, hint, format string, args ...any) {
	if !pos.IsValid() {
		pos = e.document.Pos
	}
	e.all = append(e.all, &object.Error{
		Stage: object.StageSpec, Severity: s, Pos: pos, Path: path.String(), Err: fmt.Errorf(format, args...), Hint: hint,
	})
}

// largestObject is the limit of Kubernetes for a ConfigMap or a Secret, in bytes of keys
// and values.
const largestObject = 1 << 20

// checkSize reports an object that is too large for a cluster, and names its largest parts. The
// functions size and where return the size and the place of the n parts.
func (e *mistakes) checkSize(what string, n int, size func(i int) int, where func(i int) (object.Pos, object.Path)) {
	total := 0
	for i := range n {
		total += size(i)
	}
	if total <= largestObject {
		return
	}

	// Name the largest parts.
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	const named = 3
	var largest []string
	for _, i := range order[:min(n, named)] {
		_, path := where(i)
		largest = append(largest, fmt.Sprintf("%s (%d)", path, size(i)))
	}
	pos, path := where(order[0])
	e.fail(pos, path, "put large files into the image or a volume",
		"%s has %d bytes, at most %d fit; the largest: %s", what, total, largestObject, strings.Join(largest, ", "))
}
