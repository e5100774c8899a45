// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Differences returns the paths at which got, the canonical form of an object that was read back,
// differs from want, which was sent. Fields that only got has are defaults of the target, and no
// difference, except in lists, metadata and the data of Secrets and ConfigMaps. It never returns
// values: they may be secret.
func Differences(want, got json.RawMessage) ([]string, error) {
	a, err := decode(want)
	if err != nil {
		return nil, fmt.Errorf("expected object: %w", err)
	}
	b, err := decode(got)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	var out []string
	compare("", a, b, &out)
	slices.Sort(out)
	return out, nil
}

// decode reads JSON. Numbers keep all their digits.
func decode(data json.RawMessage) (v any, err error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	err = in.Decode(&v)
	return v, err
}

// compare adds the paths below path at which two values differ.
func compare(path string, want, got any, out *[]string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}

		// Fields that want has must be the same, or be left out as empty.
		for k, v := range w {
			below := strings.TrimPrefix(path+"."+k, ".")
			if has, ok := g[k]; ok || v == nil {
				compare(below, v, has, out)
			} else if !empty(v) {
				*out = append(*out, below)
			}
		}

		// Some maps have no defaults: there an additional field is a difference too.
		isMetadata := path == "metadata" || strings.HasPrefix(path, "metadata.")
		if isMetadata || path == "data" || path == "binaryData" {
			for k := range g {
				if _, ok := w[k]; !ok {
					*out = append(*out, path+"."+k)
				}
			}
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			compare(fmt.Sprintf("%s[%d]", path, i), w[i], g[i], out)
		}
		return
	default:
		if reflect.DeepEqual(want, got) {
			return
		}
	}
	*out = append(*out, path)
}

// empty reports whether a server may leave a value out.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case json.Number:
		return v == "0"
	}
	return v == nil || v == "" || v == false
}
