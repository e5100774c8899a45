// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/plugin/host/schemas"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend"
	"github.com/ropewalk/ropewalk/render/workload/frontend/apps"
	"github.com/ropewalk/ropewalk/render/workload/frontend/function"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
	"github.com/ropewalk/ropewalk/render/workload/score"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// node is a part of a JSON Schema.
type node struct {
	Ref        string           `json:"$ref"`
	Const      any              `json:"const"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Items      *node            `json:"items"`
	AnyOf      []*node          `json:"anyOf"`
	Defs       map[string]*node `json:"$defs"`
}

// strays is a document with a stray field in each map that the schema closes, and with all
// fields that it has there, which are added to closed by the path of the map.
func (n *node) strays(t *testing.T, defs map[string]*node, path string, closed map[string][]string) any {
	t.Helper()
	if n.Ref != "" {
		n = defs[strings.TrimPrefix(n.Ref, "#/$defs/")]
		require.NotNil(t, n, path)
	}
	for _, a := range n.AnyOf {
		if v := a.strays(t, defs, path, closed); v != nil {
			return v
		}
	}
	switch {
	case n.Const != nil:
		return n.Const
	case n.Items != nil:
		if v := n.Items.strays(t, defs, path+"[]", closed); v != nil {
			return []any{v}
		}
	case n.Properties != nil:
		out := map[string]any{}
		if string(n.Additional) == "false" {
			out[stray] = 1
		}
		for _, name := range object.SortedKeys(n.Properties) {
			if string(n.Additional) == "false" {
				closed[path] = append(closed[path], name)
			}
			out[name] = n.Properties[name].strays(t, defs, strings.TrimPrefix(path+"."+name, "."), closed)
		}
		return out
	case bytes.HasPrefix(n.Additional, []byte("{")):
		var all node
		require.NoError(t, json.Unmarshal(n.Additional, &all))
		if v := all.strays(t, defs, path+".some", closed); v != nil {
			return map[string]any{"some": v} // A name that keeps all rules: a document has at most 100 errors.
		}
	}
	return nil
}

// nowhere is a project without files.
type nowhere struct{}

func (nowhere) Read(string) (spec.File, error)                         { return spec.File{}, fs.ErrNotExist }
func (nowhere) Below(string, int) ([]string, error)                    { return nil, fs.ErrNotExist }
func (nowhere) Variables(spec.File) (map[string]string, object.Errors) { return nil, nil }
func (nowhere) NetworkPolicies() bool                                  { return false }
func (nowhere) Variable(string) (string, bool)                         { return "", false }
func (nowhere) Environment() string                                    { return "" }
func (nowhere) Declared() []string                                     { return nil }
func (nowhere) Config() object.Value                                   { return object.Value{} }

// written are the kinds that are decoded by more than their table.
func written() []string {
	return slices.DeleteFunc(schemas.Kinds(), func(kind string) bool {
		return slices.Contains(release.Kinds(), kind) || kind == lock.Kind || kind == pullpolicy.Kind || kind == spec.KindPivotCluster
	})
}

// The reader of the lock and of the pull policy names the fields that a map has beside one
// that it has not.
func TestSchemasOfTheLockAndThePolicyHaveTheFieldsOfTheirReaders(t *testing.T) {
	for kind, read := range map[string]func(string, []byte) error{
		lock.Kind:       func(name string, data []byte) error { _, err := lock.Parse(name, data); return err },
		pullpolicy.Kind: func(name string, data []byte) error { _, err := pullpolicy.Parse(name, data); return err },
	} {
		data, err := schemas.Of(kind)
		require.NoError(t, err)
		var root node
		require.NoError(t, json.Unmarshal(data, &root))
		closed := map[string][]string{}
		document, err := yaml.Marshal(root.strays(t, root.Defs, "", closed))
		require.NoError(t, err)
		err = read("a.yaml", document)
		require.Error(t, err)
		var known []string
		for _, m := range regexp.MustCompile(`has no field "`+stray+`": it has (.*)`).FindAllStringSubmatch(err.Error(), -1) {
			names := strings.Split(m[1], ", ")
			slices.Sort(names)
			known = append(known, strings.Join(names, ", "))
		}
		var tables []string
		for _, names := range closed {
			tables = append(tables, strings.Join(names, ", "))
		}
		require.ElementsMatch(t, tables, known, "%v", err)
	}
}

// The decoder names the fields that it knows beside one that it does not. Workloads and Score
// files are held against the tables that their schemas are made of.
func TestSchemasHaveTheFieldsOfTheDecoders(t *testing.T) {
	for _, kind := range slices.DeleteFunc(written(), func(kind string) bool { return kind == spec.KindWorkload || kind == "Score" }) {
		t.Run(kind, func(t *testing.T) {
			data, err := schemas.Of(strings.ToUpper(kind))
			require.NoError(t, err)
			var root node
			require.NoError(t, json.Unmarshal(data, &root))
			closed := map[string][]string{}
			document, err := yaml.Marshal(root.strays(t, root.Defs, "", closed))
			require.NoError(t, err)
			if kind == spec.KindApps { // What these lead to is decoded only where they are good.
				words := strings.NewReplacer("name: null", "name: a", "service: null", "service: a.b:1", "type: null", "type: keda-cron", "max_instances: null", "max_instances: 1")
				document = []byte(words.Replace(string(document)))
			}
			docs, err := spec.Parse([]spec.File{{Name: spec.ProjectFile, Data: document}})
			errs := object.AsErrors(err, object.StageSpec)
			for _, w := range docs.Workloads {
				errs = append(errs, decoded(w)...)
			}
			for _, s := range docs.Sources {
				if s.Kind == spec.KindApps {
					errs = append(errs, decodedApps(s)...)
					continue
				}
				_, more := frontend.Of(s.Kind).Compile(s, nowhere{})
				errs = append(errs, more...)
			}
			for _, p := range docs.Projects {
				_, more := score.ReadDefaults(p, "")
				errs = append(errs, more...)
			}
			for _, one := range docs.Transforms {
				if one.Component.Kind != object.KindNone {
					_, more := spec.DecodeComponent(one.Component, one.ComponentPath(), nil)
					errs = append(errs, more...)
				}
				if one.Kind == spec.KindGateway {
					_, more := gateway.Decode(one.Name, one.Pos, object.Context{}, one.Input)
					errs = append(errs, more...)
					// The two are taken from the spec before an environment is laid over it.
					closed["spec"] = slices.DeleteFunc(closed["spec"], func(name string) bool { return name == "dependsOn" || name == "module" })
				}
			}
			compareKnown(t, errs, closed)
		})
	}
}

// decodedApps is what the decoders have against an apps.yaml with each override laid over
// it: what is wrong with the Workload and the Gateway too.
func decodedApps(s spec.Document) (errs object.Errors) {
	all, _ := s.Value.Get("apps")
	overrides, _ := all.Items[0].Get("overrides")
	for _, environment := range append(overrides.MemberNames(), "") {
		workloads, gateways, more := apps.Compile(s, environment, object.Value{})
		for _, w := range workloads {
			_, wrong := score.Decode(score.Document{Value: w.Value})
			more = append(more, w.Written(wrong)...)
		}
		for _, g := range gateways {
			_, wrong := gateway.Decode(g.Name, g.Pos, object.Context{}, g.Input)
			more = append(more, g.Written(wrong)...)
		}
		for _, e := range more {
			if rest, ok := strings.CutPrefix(e.Path, "apps[0]."); ok && environment != "" && !strings.HasPrefix(rest, "overrides") && rest != stray {
				e.Path = "apps[0].overrides." + environment + "." + rest
			}
		}
		errs = append(errs, more...)
	}
	return errs
}

// decoded is what the decoder has against a document.
func decoded(w spec.Document) object.Errors {
	if w.Kind != spec.KindFunction {
		_, errs := score.Decode(score.Document{Value: w.Value, Score: w.Score})
		return errs
	}
	v, errs := function.Lower(w.Value)
	_, more := score.Decode(score.Document{Value: v})
	return append(errs, function.Written(more)...)
}

// compareKnown compares the fields that errors say are known with those of closed.
func compareKnown(t *testing.T, errs object.Errors, closed map[string][]string) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range errs {
		require.False(t, strings.HasPrefix(e.Err.Error(), "unknown field") && !strings.HasSuffix(e.Path, stray), "%v", e)
		known, hinted := strings.CutPrefix(e.Hint, "known: ")
		if !hinted || !strings.HasSuffix(e.Path, stray) {
			continue
		}
		path := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(e.Path, stray), "."), "[0]", "[]")
		seen[path] = true
		names, more, cut := strings.Cut(known, " and ")
		listed := strings.Split(names, ", ")
		if cut {
			n, err := strconv.Atoi(strings.TrimSuffix(more, " more"))
			require.NoError(t, err, e.Hint)
			require.Len(t, closed[path], len(listed)+n, path)
			require.Subset(t, closed[path], listed, path)
			continue
		}
		require.Equal(t, listed, closed[path], "%q", path)
	}
	for path := range closed {
		require.True(t, seen[path], "no decoder closes %q: %v", path, errs)
	}
}

// TestDocumentsOfTheProjectMeetTheirSchemas are those of the examples and of the template.
func TestDocumentsOfTheProjectMeetTheirSchemas(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{}
	for _, kind := range schemas.Kinds() {
		data, err := schemas.Of(kind)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("schema.json", value))
		compiled[kind], err = c.Compile("schema.json")
		require.NoError(t, err)
	}
	checked := map[string]int{}
	for _, root := range []string{"../../cue/examples", "../../cue/template"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, text := range bytes.Split(data, []byte("\n---\n")) {
				var v map[string]any
				if yaml.Unmarshal(text, &v) != nil || v["apiVersion"] != spec.APIVersion && v["apiVersion"] != spec.ScoreVersion && v["apps"] == nil {
					continue
				}
				kind, _ := v["kind"].(string)
				if v["apps"] != nil {
					kind = spec.KindApps
				}
				if v["apiVersion"] == spec.ScoreVersion {
					kind = "Score"
				}
				if c := compiled[kind]; c != nil {
					require.NoError(t, c.Validate(v), path)
					checked[kind]++
				}
			}
			return nil
		}))
	}
	for _, kind := range append(written(), spec.KindPivotCluster) {
		require.NotZero(t, checked[kind], kind)
	}
}
