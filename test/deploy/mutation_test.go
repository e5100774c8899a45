// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/davecgh/go-spew/spew"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend/apps"
	"github.com/ropewalk/ropewalk/render/workload/frontend/compose"
	"github.com/ropewalk/ropewalk/render/workload/frontend/function"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// meaning is what the decoders read of a file, without positions, and all that they report.
func meaning(data []byte) (text string, errs object.Errors) {
	var out []any
	if kind := release.KindOf(data); kind != "" {
		document, err := release.Read("a.yaml", data, "")
		return plain(document), object.AsErrors(err, object.StageSpec)
	}
	docs, err := spec.Parse([]spec.File{{Name: "a.yaml", Data: data}})
	errs = object.AsErrors(err, object.StageSpec)
	workload := func(w spec.Document) {
		v := w.Value
		if w.Kind == spec.KindFunction {
			lowered, more := function.Lower(v)
			v, errs = lowered, append(errs, more...)
		}
		read, more := score.Decode(score.Document{Value: v, Score: w.Score})
		out, errs = append(out, read), append(errs, more...)
	}
	for _, w := range docs.Workloads {
		workload(w)
	}
	for _, s := range docs.Sources {
		compile := compose.Compile
		switch s.Kind {
		case spec.KindFuncYAML:
			compile = func(d spec.Document, _ compose.Project) ([]spec.Document, object.Errors) { return function.Compile(d) }
		case spec.KindApps:
			for _, environment := range append(apps.Environments(), "") {
				workloads, gateways, more := apps.Compile(s, environment, object.Value{})
				errs = append(errs, more...)
				for _, w := range workloads {
					workload(w)
				}
				for _, g := range gateways {
					read, more := gateway.Decode(g.Name, g.Pos, object.Context{}, g.Input)
					out, errs = append(out, read), append(errs, more...)
				}
			}
			continue
		}
		made, more := compile(s, beside{data: data})
		errs = append(errs, more...)
		for _, w := range made {
			workload(w)
		}
	}
	for _, t := range docs.Transforms {
		if t.Component.Kind != object.KindNone {
			read, more := spec.DecodeComponent(t.Component, t.ComponentPath(), nil)
			out, errs = append(out, read), append(errs, more...)
		}
		if t.Kind == spec.KindGateway {
			read, more := gateway.Decode(t.Name, t.Pos, object.Context{}, t.Input)
			out, errs = append(out, read), append(errs, more...)
		}
		t.Component = object.Value{}
		out = append(out, t)
	}
	for _, p := range docs.Projects {
		defaults, more := score.ReadDefaults(p, "")
		workloads, err := p.Workloads("")
		out, errs = append(out, p, workloads, defaults), append(append(errs, more...), object.AsErrors(err, object.StageSpec)...)
	}
	return plain(out), errs
}

// beside is the project of a compose file, in which every other file is there.
type beside struct {
	nowhere

	data []byte
}

func (b beside) Read(name string) (spec.File, error) {
	switch {
	case name == "a.yaml":
		return spec.File{Name: name, Data: b.data}, nil
	case strings.HasSuffix(name, ".yaml"):
		return spec.File{Name: name, Data: []byte("services: {other: {image: 'a:1'}}")}, nil
	}
	return spec.File{Name: name, Data: []byte("A=1\n")}, nil
}

var noise = regexp.MustCompile(`a\.yaml(:\d+)*|0x[0-9a-f]+|(Last|Line|Column|Indent): \(int\) \d+|len=\d+`)

// plain is a value as text, without positions and addresses.
func plain(v any) string {
	c := spew.ConfigState{Indent: " ", DisablePointerAddresses: true, DisableCapacities: true, SortKeys: true, SpewKeys: true}
	return noise.ReplaceAllString(c.Sdump(v), "")
}

// sample is a document that is right.
type sample struct{ from, text string }

// samples are the documents of the examples and of the tests of the command, by kind.
func samples(t *testing.T) map[string][]sample {
	t.Helper()
	out := map[string][]sample{}
	add := func(from string, data []byte) {
		for i, text := range bytes.Split(data, []byte("\n---\n")) {
			var head map[string]any
			if yaml.Unmarshal(text, &head) != nil || head == nil {
				continue
			}
			kind, _ := head["kind"].(string)
			version, _ := head["apiVersion"].(string)
			switch {
			case strings.HasPrefix(version, "score.dev/"):
				kind = "Score"
			case kind == "" && head["services"] != nil:
				kind = "compose.yaml"
			case kind == "" && head["apps"] != nil:
				kind = "apps.yaml"
			case kind == "" && head["specVersion"] != nil:
				kind = "func.yaml"
			case version != spec.APIVersion:
				continue
			}
			read, errs := meaning(text)
			if errs.Err() == nil && len(read) > 0 {
				out[kind] = append(out[kind], sample{from + "#" + strconv.Itoa(i), string(text)})
			}
		}
	}
	for _, root := range []string{"../../cue", "../../cmd/ropewalk/internal/cli/testdata", "../../plugin", "../../render", "../../docs"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !slices.Contains([]string{".yaml", ".yml", ".txtar", ".md"}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			switch filepath.Ext(path) {
			case ".txtar":
				for _, f := range txtar.Parse(data).Files {
					if ext := filepath.Ext(f.Name); ext == ".yaml" || ext == ".yml" {
						add(path+"/"+f.Name, f.Data)
					}
				}
			case ".md":
				for i, block := range strings.Split(string(data), "\n```") {
					if text, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
						add(path, []byte(text))
					}
				}
			default:
				add(path, data)
			}
			return err
		}))
	}
	return out
}

// place is a member of a map of a document.
type place struct {
	parents []*yaml.Node // the maps above, the nearest last
	key     int          // its index in the last
}

// places are all members.
func places(n *yaml.Node, parents []*yaml.Node) (out []place) {
	if n.Kind == yaml.DocumentNode || n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			out = append(out, places(c, parents)...)
		}
	}
	if n.Kind == yaml.MappingNode {
		own := append(slices.Clone(parents), n)
		for i := 0; i < len(n.Content); i += 2 {
			out = append(out, place{own, i})
			out = append(out, places(n.Content[i+1], own)...)
		}
	}
	return out
}

// scalar is a node of a scalar.
func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// mutations change a member of a map; false where they cannot.
func mutations() map[string]func(r *rand.Rand, p place) bool {
	of := func(p place) (in, key, value *yaml.Node) {
		in = p.parents[len(p.parents)-1]
		return in, in.Content[p.key], in.Content[p.key+1]
	}
	has := func(n *yaml.Node, name string) bool {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return true
			}
		}
		return false
	}
	remove := func(in *yaml.Node, at int) { in.Content = slices.Delete(in.Content, at, at+2) }
	return map[string]func(*rand.Rand, place) bool{
		"misspelt": func(r *rand.Rand, p place) bool {
			in, key, _ := of(p)
			i := r.Intn(len(key.Value))
			word := key.Value[:i] + key.Value[i+1:]
			if r.Intn(2) == 0 || word == "" {
				word = key.Value[:i] + key.Value[i:i+1] + key.Value[i:]
			}
			if has(in, word) {
				return false
			}
			key.Value = word
			return true
		},
		"of another case": func(r *rand.Rand, p place) bool {
			in, key, _ := of(p)
			word := strings.ToUpper(key.Value[:1]) + key.Value[1:]
			if word == key.Value || r.Intn(3) == 0 {
				word = cmp.Or(map[bool]string{true: strings.ToLower(key.Value)}[strings.ToLower(key.Value) != key.Value], strings.ToUpper(key.Value))
			}
			if has(in, word) {
				return false
			}
			key.Value = word
			return true
		},
		"null": func(_ *rand.Rand, p place) bool {
			in, _, _ := of(p)
			in.Content[p.key+1] = scalar("!!null", "null")
			return true
		},
		"of another type": func(r *rand.Rand, p place) bool {
			in, _, value := of(p)
			all := []*yaml.Node{
				scalar("!!str", "other"), scalar("!!int", "7"), scalar("!!bool", "true"),
				{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{scalar("!!str", "other"), scalar("!!str", "one")}},
				{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{scalar("!!str", "other")}}, scalar("!!str", ""),
			}
			n := all[r.Intn(len(all))]
			if n.Tag == value.Tag {
				return false
			}
			in.Content[p.key+1] = n
			return true
		},
		"twice": func(_ *rand.Rand, p place) bool {
			in, key, value := of(p)
			in.Content = append(in.Content, scalar("!!str", key.Value), value)
			return true
		},
		"moved up": func(_ *rand.Rand, p place) bool {
			in, key, value := of(p)
			if len(p.parents) < 2 || has(p.parents[len(p.parents)-2], key.Value) {
				return false
			}
			up := p.parents[len(p.parents)-2]
			remove(in, p.key)
			up.Content = append(up.Content, key, value)
			return true
		},
		"moved down": func(_ *rand.Rand, p place) bool {
			in, key, value := of(p)
			for i := 1; i < len(in.Content); i += 2 {
				if down := in.Content[i]; i != p.key+1 && down.Kind == yaml.MappingNode && !has(down, key.Value) {
					down.Content = append(down.Content, key, value)
					remove(in, p.key)
					return true
				}
			}
			return false
		},
	}
}

// changed is a text with the n-th member of it changed; "" where it cannot be.
func changed(t *testing.T, text string, n int, r *rand.Rand, change func(*rand.Rand, place) bool) (out, member string) {
	t.Helper()
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	all := places(&doc, nil)
	p := all[n%len(all)]
	key := p.parents[len(p.parents)-1].Content[p.key].Value
	if key == "" || !change(r, p) {
		return "", ""
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	require.NoError(t, e.Encode(&doc))
	return b.String(), key
}

// A member that is written in another way than the right one either changes what is read of
// its document, or is reported: no value is passed over.
func TestNoValueVanishes(t *testing.T) {
	count := 150
	if n, err := strconv.Atoi(os.Getenv("ROPEWALK_MUTATIONS")); err == nil {
		count = n
	}
	all := samples(t)
	for _, kind := range object.SortedKeys(all) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewSource(1)) //nolint:gosec // the same each time
			done, found := 0, map[string]bool{}
			for try := 0; done < count && try < 20*count; try++ {
				s := all[kind][r.Intn(len(all[kind]))]
				names := object.SortedKeys(mutations())
				name := names[r.Intn(len(names))]
				n := r.Intn(1 << 20)
				text, member := changed(t, s.text, n, r, mutations()[name])
				if text == "" {
					continue
				}
				done++
				before, warned := meaning([]byte(s.text))
				got, errs := meaning([]byte(text))
				if name == "null" || slices.ContainsFunc(errs, func(e *object.Error) bool {
					return !slices.ContainsFunc(warned, func(o *object.Error) bool { return o.Sentence() == e.Sentence() })
				}) {
					continue
				}
				without, _ := changed(t, s.text, n, r, func(_ *rand.Rand, p place) bool {
					in := p.parents[len(p.parents)-1]
					in.Content = slices.Delete(in.Content, p.key, p.key+2)
					return true
				})
				removed, _ := meaning([]byte(without))
				if got == removed && before != removed {
					found[fmt.Sprintf("%s: %s %s", s.from, member, name)] = true
				}
			}
			t.Logf("%d changes to %d documents", done, len(all[kind]))
			require.Equal(t, count, done)
			require.Empty(t, object.SortedKeys(found))
		})
	}
}
