// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"slices"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// CheckSecrets reports Secrets that a Gateway names and that the render makes, as a Secret or by
// an ExternalSecret, if they lack the keys that the target reads. It knows neither Secrets that
// the render does not make, nor keys that come with dataFrom.
func CheckSecrets(gateways []*Gateway, nodes []*object.Node) object.Errors {
	var errs object.Errors
	for _, g := range gateways {
		for _, s := range g.secrets {
			for _, n := range nodes {
				keys, ok := keysOf(n.Object, s.name)
				if !ok || n.Object.Namespace() != g.Context.Namespace || g.target == "" {
					continue
				}
				if problem := s.kind.mistake(g.target, keys); problem != "" {
					hint := "for " + g.target + ": " + s.kind.Shape(g.target)
					e := document.Mistake(s.pos, s.location, hint, "the Secret %q, which %s makes, %s", s.name, n.ID, problem)
					errs = append(errs, e)
				}
			}
		}
	}
	return errs
}

// mistake returns the mistake in the keys of a Secret for a target, or "".
func (s Secret) mistake(target string, have []string) string {
	need, _ := s.keys(target)
	for _, key := range need {
		if !slices.Contains(have, key) {
			return "has no key " + key
		}
	}
	for _, other := range Targets() {
		keys, _ := SecretBasic.keys(other)
		if len(need) == 0 && len(keys) > 0 && slices.Contains(have, keys[0]) {
			return "has the key " + keys[0] + " as " + other + " reads it"
		}
	}
	return ""
}

// keysOf returns the keys of the data of the Secret called name, if o is it or makes it. It
// returns false for other objects, and if the keys are not known.
func keysOf(o object.Object, name string) ([]string, bool) {
	maps := [][]string{{"data"}, {"stringData"}}
	switch o.Ref().GroupKind() {
	case "Secret":
		if o.Name() != name {
			return nil, false
		}
	case "ExternalSecret.external-secrets.io":
		hidden := len(o.List("spec", "dataFrom")) > 0 || o.Get("spec", "target", "template", "templateFrom") != nil
		if cmp.Or(o.Text("spec", "target", "name"), o.Name()) != name || hidden {
			return nil, false
		}
		maps = [][]string{{"spec", "target", "template", "data"}}
	default:
		return nil, false
	}

	// Read the keys. An ExternalSecret without a template takes them from its data.
	var keys []string
	for _, path := range maps {
		data, _ := o.Get(path...).(map[string]any)
		keys = append(keys, object.SortedKeys(data)...)
	}
	if o.Kind() == "ExternalSecret" && len(keys) == 0 {
		for _, item := range o.List("spec", "data") {
			entry, _ := item.(map[string]any)
			keys = append(keys, object.Object(entry).Text("secretKey"))
		}
	}
	return keys, true
}
