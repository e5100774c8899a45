// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package structural

import (
	"slices"
	"strconv"
)

// Prune takes out of v what its schema does not know, and returns the paths of
// that, sorted, with names joined by dots though names may hold dots themselves.
// root says that v is a resource, whose apiVersion, kind and metadata are not the
// schema's business. It changes v; a nil schema knows nothing.
func Prune(v any, s *Structural, root bool) (unknown []string) {
	if root {
		resource := Structural{}
		if s != nil {
			resource = *s
		}
		resource.XEmbeddedResource = true
		s = &resource
	}
	p := &pruner{}
	p.value("", v, s)
	slices.Sort(p.unknown)
	return p.unknown
}

type pruner struct{ unknown []string }

// ofEveryResource reports whether a member is one that each resource has.
func ofEveryResource(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// value prunes v, which lies at path. Paths are sorted at the end, so the order
// of maps does not show.
func (p *pruner) value(path string, v any, s *Structural) {
	if s == nil {
		s = &Structural{}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			if s.XEmbeddedResource && ofEveryResource(name) {
				continue
			}
			if sub, ok := s.member(name); ok {
				p.value(memberPath(path, name), part, sub)
				continue
			}
			if s.XPreserveUnknownFields {
				continue
			}
			// The schema of a resource may leave out what every resource has.
			if path != "" || !ofEveryResource(name) {
				p.unknown = append(p.unknown, memberPath(path, name))
			}
			delete(v, name)
		}
	case []any:
		p.items(path, v, s)
	}
}

// items prunes the items of a list. Where the list may hold what it likes, so
// may its items, but for those parts that have a schema.
func (p *pruner) items(path string, v []any, s *Structural) {
	items := s.Items
	if s.XPreserveUnknownFields {
		if items == nil {
			return
		}
		open := *items
		open.XPreserveUnknownFields = true
		items = &open
	}
	for i, part := range v {
		p.value(itemPath(path, i), part, items)
	}
}

// member is the schema of a member, which may be nil. It reports false where
// the schema does not know of the member.
func (s *Structural) member(name string) (*Structural, bool) {
	if p, ok := s.Properties[name]; ok {
		return &p, true
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural, true
	}
	return nil, false
}
