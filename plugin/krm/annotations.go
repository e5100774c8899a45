// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// RenderedBy is the annotation that marks an object as ours: the name of its
// spec, or <project>/<spec>.
const RenderedBy = "ropewalk.dev/rendered-by"

// PathAnnotation tells an orchestrator the file of an item, relative to its
// package.
const PathAnnotation = internalPrefix + "path"

// internalPrefix begins the annotations of orchestrators about a run. Orchestrators before 2022
// used the names without internal.
const (
	internalPrefix = "internal.config.kubernetes.io/"
	configPrefix   = "config.kubernetes.io/"
	legacyID       = "config.k8s.io/id"
	kustomizeID    = "kustomize.config.k8s.io/id"
)

// isOrigin reports whether an annotation has where an item came from.
func isOrigin(key string) bool {
	switch key {
	case configPrefix + "path", configPrefix + "index", legacyID, kustomizeID:
		return true
	}
	return strings.HasPrefix(key, internalPrefix)
}

// isRun reports whether an annotation of a spec is for the orchestrator or for this
// package, and not for the engine that applies rendered objects.
func isRun(key string) bool {
	switch key {
	case configPrefix + "depends-on", configPrefix + "apply-time-mutation":
		return false
	}
	isConfig := strings.HasPrefix(key, configPrefix) || strings.HasPrefix(key, "config.k8s.io/")
	return isConfig || isOrigin(key) || slices.Contains(settingNames(), key)
}

// without returns a copy of o without the annotations for which drop returns true.
func without(o object.Object, drop func(key string) bool) object.Object {
	out := o.Clone()
	annotations := out.Map("metadata", "annotations")
	for key := range annotations {
		if drop(key) {
			delete(annotations, key)
		}
	}
	if meta := out.Map("metadata"); meta != nil && annotations != nil && len(annotations) == 0 {
		delete(meta, "annotations")
	}
	return out
}

// file returns where an item came from, or "" if its orchestrator sets no path.
func (i item) file() (path, index string) {
	a := i.object.Annotations()
	for _, prefix := range []string{internalPrefix, configPrefix} {
		if path == "" {
			path = a[prefix+"path"]
		}
		if index == "" {
			index = a[prefix+"index"]
		}
	}
	return path, index
}

// title returns the name of an item for users: its file, or kind and name.
func (i item) title() string {
	if path, _ := i.file(); path != "" {
		return path
	}
	if i.object == nil {
		return "functionConfig"
	}
	return i.object.Kind() + " " + i.object.Name()
}
