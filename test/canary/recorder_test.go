// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// recorder is an evaluator that keeps what provisioners gave, by the uid of the
// resource.
type recorder struct {
	evaluate.Evaluator
	// opaque replaces the references in what provisioners give by words that are
	// nowhere else, so that each place that a reference gets to can be found.
	opaque bool

	mutex sync.Mutex
	made  map[string]provisioned
	// differing are the uids of resources that were not made the same each time.
	differing []string
}

// provisioned is what a provisioner gave.
type provisioned struct {
	json      string
	Outputs   map[string]any
	Sensitive map[string]sensitive
}

// sensitive is schema.#Sensitive.
type sensitive struct {
	Store, Key, Property, Version string
	Parts                         []struct {
		Text        string
		Ref, Escape string
	}
}

func newRecorder(e evaluate.Evaluator, opaque bool) *recorder {
	return &recorder{Evaluator: e, opaque: opaque, made: map[string]provisioned{}}
}

// Evaluate is that of the evaluator, with what it gave kept.
func (r *recorder) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	result, err := r.Evaluator.Evaluate(ctx, req)
	if err != nil || len(result.Provisioned) == 0 {
		return result, err
	}
	result.Provisioned = maps.Clone(result.Provisioned)
	resources, _ := req.Input.Get("resources")
	for _, m := range resources.Members {
		resource, _ := m.Value.Get("resource")
		uid, _ := resource.Get("uid")
		one, ok := result.Provisioned[m.Name]
		if !ok {
			continue
		}
		if r.opaque {
			one.JSON = opaque(one.JSON)
			result.Provisioned[m.Name] = one
		}
		r.keep(uid.Text, one.JSON)
	}
	return result, nil
}

func (r *recorder) keep(uid string, data []byte) {
	made := provisioned{json: string(data)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&made) != nil {
		return // What has another shape is refused, and stands in no text.
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if before, ok := r.made[uid]; ok && before.json != made.json {
		r.differing = append(r.differing, uid)
	}
	r.made[uid] = made
}

// The beginnings of words that stand for keys and properties. The former may be
// names of Secrets.
const (
	opaqueKey      = "zqkey"
	opaqueProperty = "zqprop"
)

func word(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + hex.EncodeToString(sum[:6])
}

// opaque is the result of a provisioner with other references.
func opaque(data []byte) []byte {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&fields) != nil {
		return data
	}
	entries, _ := fields["sensitive"].(map[string]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		for field, kind := range map[string]string{"key": opaqueKey, "property": opaqueProperty} {
			if text, ok := entry[field].(string); ok {
				entry[field] = word(kind, text)
			}
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return out
}

// shape is what the use of an output takes into account.
type shape struct {
	secret bool
	// cluster says that part of it is a Secret of the cluster, clusterEscaped that
	// such a part is escaped, escaped that any is, and whole that it is one
	// reference.
	cluster, clusterEscaped, escaped, whole bool
}

// fragment is literal text, or a secret with its place in a store.
type fragment struct {
	literal                       string
	secret, escape                bool
	store, key, property, version string
}

// value is the text of f with the canary in it.
func (f fragment) value() string {
	switch v := canary(f.store, f.key, f.property, f.version); {
	case !f.secret:
		return f.literal
	case f.escape:
		return escapeURL(v)
	default:
		return v
	}
}

// fragments are what an output stands for, where secrets reach pods by backend.
func (p provisioned) fragments(output, backend string) ([]fragment, error) {
	if plain, ok := p.Outputs[output]; ok {
		return []fragment{{literal: fmt.Sprint(plain)}}, nil
	}
	s, ok := p.Sensitive[output]
	if !ok {
		return nil, fmt.Errorf("no output %q", output)
	}
	if s.Parts == nil {
		f := fragment{secret: true, store: inEnvironment, key: s.Key, property: s.Property, version: s.Version}
		if s.Store == inCluster || backend == "kubernetes" {
			f.store = inCluster
		}
		return []fragment{f}, nil
	}
	var out []fragment
	for _, part := range s.Parts {
		if part.Ref == "" {
			out = append(out, fragment{literal: part.Text})
			continue
		}
		inner, err := p.fragments(part.Ref, backend)
		if err != nil {
			return nil, err
		}
		for _, f := range inner {
			if part.Escape != "" {
				f.literal, f.escape = escapeURL(f.literal), f.secret
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// shapes are those of all outputs, by name.
func (p provisioned) shapes(backend string) (map[string]shape, error) {
	out := map[string]shape{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(p.Outputs)), slices.Sorted(maps.Keys(p.Sensitive))) {
		all, err := p.fragments(name, backend)
		if err != nil {
			return nil, err
		}
		s := shape{whole: len(all) == 1 && all[0].secret && !all[0].escape}
		for _, f := range all {
			inCluster := f.secret && f.store == inCluster
			s.secret = s.secret || f.secret
			s.escaped = s.escaped || f.escape
			s.cluster = s.cluster || inCluster
			s.clusterEscaped = s.clusterEscaped || inCluster && f.escape
		}
		out[name] = s
	}
	return out, nil
}
