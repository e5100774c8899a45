// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// chart is an evaluator that makes a ConfigMap of the password of the unit that was loaded last, and
// counts how often it does.
type chart struct {
	evaluate.Evaluator

	data     func(password string) (map[string]any, error)
	nodes    func(password string) []*object.Node
	password string
	times    int
}

func (c *chart) load(_ context.Context, u gitops.Unit) (host.Loaded, error) {
	v, _ := u.Components[0].Lookup(object.Fields("helm", "values", "password"))
	c.password = v.Text
	return host.Loaded{Request: render.Request{Specs: []render.Spec{{}}}}, nil
}

func (c *chart) Evaluate(context.Context, evaluate.Request) (evaluate.Result, error) {
	c.times++
	if c.nodes != nil {
		return evaluate.Result{Nodes: c.nodes(c.password)}, nil
	}
	data, err := c.data(c.password)
	o := object.Object{"kind": "ConfigMap", "data": data}
	return evaluate.Result{Nodes: []*object.Node{{ID: "store/config", Object: o}}}, err
}

func TestWhatAChartMakesOfASecretIsFound(t *testing.T) {
	const password = "c4n4ry-9z"
	unit := gitops.Unit{Secrets: []string{"", password}, Components: []object.Value{values("helm", password)}}
	for name, tt := range map[string]struct {
		data any
		want []string
	}{
		"as it is":               {"a " + password + " b", nil},
		"in base64":              {"YzRuNHJ5LTl6", nil},
		"in capitals":            {"user:C4N4RY-9Z@host", []string{"C4N4RY-9Z"}},
		"in one line of several": {"a: 1\nb: C4N4RY\nc: 3", []string{"C4N4RY"}},
		"in a list":              {[]any{"x", map[string]any{"y": "4N4RY"}}, []string{"4N4RY"}},
		"not at all":             {"c4n4ry", nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &chart{data: func(now string) (map[string]any, error) {
				if name == "not at all" || now == password {
					return map[string]any{"x": tt.data}, nil
				}
				return map[string]any{"x": otherOf(tt.data)}, nil
			}}
			got, err := gitops.Transformed(t.Context(), unit, c.load, c)
			require.NoError(t, err)
			require.ElementsMatch(t, tt.want, got)
			require.Equal(t, 2, c.times)
		})
	}
}

// A chart may make other objects and fields of other values: what is only there with the secret is found.
func TestWhatIsThereOnlyWithASecretIsFound(t *testing.T) {
	made := func(kind, name string, data map[string]any) *object.Node {
		o := object.Object{"kind": kind, "metadata": map[string]any{"name": name}, "data": data}
		return &object.Node{ID: object.ID(kind + "-" + name), Object: o}
	}
	before := []*object.Node{
		made("ConfigMap", "a", map[string]any{"known": "x", "only": "C4N4RY", "list": []any{"x", "4N4RY"}, "text": "x\nY4N4RY"}),
		made("ConfigMap", "made-of-c4n4ry", map[string]any{"same": "port", "KEY-C4N4RY": "CANARY"}),
		made("Job", "once", map[string]any{"same": "x", "hash": "f00d"}),
	}
	after := []*object.Node{
		made("ConfigMap", "a", map[string]any{"known": "x", "list": []any{"x"}, "text": "x"}),
		made("ConfigMap", "made-of-d5o5sz", map[string]any{"same": "port", "KEY-D5O5SZ": "DBOBSZ"}),
	}
	for range 10 {
		c := &chart{nodes: func(password string) []*object.Node {
			if password == "c4n4ry" {
				return before
			}
			return after
		}}
		unit := gitops.Unit{Secrets: []string{"c4n4ry"}, Components: []object.Value{values("helm", "c4n4ry")}}
		got, err := gitops.Transformed(t.Context(), unit, c.load, c)
		require.NoError(t, err)
		require.Equal(t, []string{"4N4RY", "C4N4RY", "CANARY", "Y4N4RY", "f00d"}, got)
	}
}

// What a text has by chance of a short secret is not hidden, and letters of any alphabet are.
func TestOnlyWhatChangesWithASecretIsFound(t *testing.T) {
	for password, want := range map[string][]string{"a": nil, "пароль": {"ПАРОЛЬ"}} {
		c := &chart{data: func(now string) (map[string]any, error) {
			return map[string]any{"kind": "banana", "x": strings.ToUpper(now)}, nil
		}}
		unit := gitops.Unit{Secrets: []string{password}, Components: []object.Value{values("helm", password)}}
		got, err := gitops.Transformed(t.Context(), unit, c.load, c)
		require.NoError(t, err)
		require.Subset(t, got, want)
		require.NotContains(t, got, "banana")
		require.NotContains(t, got, "ConfigMap")
	}
}

// A chart may refuse other values, and kustomize makes nothing of them.
func TestAUnitThatCannotBeRenderedWithOtherValuesShowsNone(t *testing.T) {
	c := &chart{data: func(password string) (map[string]any, error) {
		if password != "c4n4ry" {
			return nil, errors.New("the password is not known")
		}
		return map[string]any{"x": "C4N4RY"}, nil
	}}
	unit := gitops.Unit{Secrets: []string{"c4n4ry"}, Components: []object.Value{values("helm", "c4n4ry")}}
	got, err := gitops.Transformed(t.Context(), unit, c.load, c)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, 2, c.times)

	unit.Components = []object.Value{values("kustomize", "c4n4ry")}
	got, err = gitops.Transformed(t.Context(), unit, c.load, c)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, 2, c.times, "nothing is rendered")
}

// values returns a component with a password.
func values(kind, password string) object.Value {
	one := func(name string, v object.Value) object.Value {
		return object.Value{Kind: object.KindMap, Members: []object.Member{{Name: name, Value: v}}}
	}
	return one(kind, one("values", one("password", object.TextAt(password, object.Pos{}))))
}

// otherOf returns what a chart makes of the password that follows: c4n4ry-9z is d5o5sz-1a then.
func otherOf(v any) any {
	switch v := v.(type) {
	case []any:
		return []any{v[0], otherOf(v[1])}
	case map[string]any:
		return map[string]any{"y": otherOf(v["y"])}
	}
	return strings.NewReplacer("c4n4ry-9z", "d5o5sz-1a", "C4N4RY-9Z", "D5O5SZ-1A", "C4N4RY", "D5O5SZ", "4N4RY", "5O5SZ", "YzRuNHJ5LTl6", "ZDVvNXN6LTFh").Replace(v.(string))
}
