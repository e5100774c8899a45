// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"maps"

	"github.com/ropewalk/ropewalk/render/object"
)

// annotated returns o with annotations merged over. The maps on the way are copied and everything
// else is shared. Thus o stays as it is, and a large object is not cloned for the sake of one
// line.
func annotated(o object.Object, notes map[string]string) object.Object {
	if len(notes) == 0 {
		return o
	}
	out := maps.Clone(o)
	meta := maps.Clone(o.Map("metadata"))
	if meta == nil {
		meta = map[string]any{}
	}
	all := make(map[string]any, len(notes)+4)
	maps.Copy(all, o.Map("metadata", "annotations"))
	for k, v := range notes {
		all[k] = v
	}
	meta["annotations"], out["metadata"] = all, meta
	return out
}
