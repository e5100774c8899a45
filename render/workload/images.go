// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
)

// warnImages warns of images in the objects of resources that the mirrors of the project have.
// Only the images of workloads are replaced, as operators write images in many ways.
func (m *member) warnImages(nodes []*object.Node) (errs object.Errors) {
	mirrors := m.config.Images.Mirrors
	if len(mirrors) == 0 {
		return nil
	}
	for _, n := range nodes {
		walkImages(map[string]any(n.Object), func(image string) {
			mirrored, ok := generate.Mirrored(image, mirrors)
			if !ok || mirrored == image {
				return
			}
			errs = append(errs, &object.Error{
				Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: m.source.Spec.Pos, Node: n.ID,
				Err:  fmt.Errorf("the image %q of a resource is not replaced by a mirror", image),
				Hint: "have its provisioner use " + mirrored + ", or mirror the registry in the container runtime",
			})
		})
	}
	return errs
}

// walkImages calls do for the texts of the fields image and imageName.
func walkImages(v any, do func(image string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			if text, ok := v[name].(string); ok && (name == "image" || name == "imageName") {
				do(text)
				continue
			}
			walkImages(v[name], do)
		}
	case []any:
		for _, item := range v {
			walkImages(item, do)
		}
	}
}
