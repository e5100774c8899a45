// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// corpus is the objects that the tests of render/check share with this one.
const corpus = "../../render/check/testdata/oracle"

func TestTheVerdictsOnTheCorpusAreThoseOnFile(t *testing.T) {
	verdicts := map[string]bool{}
	judge := NewJudge()
	for _, file := range corpusFiles(t, "*") {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, v := range judge.Stream(file, content) {
			require.False(t, v.Skipped, file)
			verdicts[filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file)] = v.Refused
		}
	}
	got, err := json.MarshalIndent(verdicts, "", "  ")
	require.NoError(t, err)
	golden := filepath.Join(corpus, "verdicts.json")
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

func TestTheExitCodeSaysWhetherSomethingWasRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want int
	}{
		{[]string{filepath.Join(corpus, "good")}, "", 0},
		{[]string{filepath.Join(corpus, "bad")}, "", 1},
		{nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", 0},
		{nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n---\n", 1},
		{nil, "apiVersion: example.com/v1\nkind: Foo\n", 0},
		{nil, "a: [", 1},
		{[]string{"absent"}, "", 2},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, c.want, run(c.args, strings.NewReader(c.in), &out, &errs), "%v %q", c.args, c.in)
	}
}

// TestMutantsOfGoodObjectsAreJudgedAlike changes every part of every good
// object in many ways and asks both sides about each result.
func TestMutantsOfGoodObjectsAreJudgedAlike(t *testing.T) {
	judge, checker := NewJudge(), check.New(check.Options{AllowSecrets: map[string][]string{"s": {"token"}}})
	different := map[string]int{}
	examples := map[string]string{}
	total := 0
	for _, file := range corpusFiles(t, "good") {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var whole any
		require.NoError(t, yaml.Unmarshal(content, &whole))
		mutants(whole, func(what string) {
			text, err := json.Marshal(whole)
			require.NoError(t, err)
			total++
			refused, why := refuses(judge, applied(t, checker, text))
			found, message, rule := finds(t, checker, text)
			if refused == found {
				return
			}
			key := fmt.Sprintf("oracle refuses=%t: %s", refused, shape(filepath.Base(file), what))
			if argued(key, rule) {
				return
			}
			different[key]++
			examples[key] = strings.TrimSpace(why + " " + message)
		})
	}
	t.Logf("%d mutants", total)
	var lines []string
	for key, n := range different {
		lines = append(lines, fmt.Sprintf("%s (%d): %s", key, n, examples[key]))
	}
	sort.Strings(lines)
	require.Empty(t, lines, "%d kinds of mutants are judged differently:\n%s", len(lines), strings.Join(lines, "\n"))
}

func corpusFiles(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(corpus, dir, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// applied is an object as an engine applies it: without what a render leaves out.
func applied(t *testing.T, checker *check.Checker, text []byte) []byte {
	o, err := object.Decode(text)
	require.NoError(t, err)
	out, err := json.Marshal(checker.Applied([]*object.Node{{ID: "s/n", Object: o}})[0].Object)
	require.NoError(t, err)
	return out
}

func refuses(judge *Judge, text []byte) (bool, string) {
	for _, v := range judge.Stream("", text) {
		if v.Refused {
			return true, v.Causes[0].Path + ": " + v.Causes[0].Message
		}
	}
	return false, ""
}

func finds(t *testing.T, checker *check.Checker, text []byte) (found bool, message, rule string) {
	o, err := object.Decode(text)
	require.NoError(t, err)
	findings, err := checker.Check(t.Context(), []*object.Node{{ID: "s/n", Object: o}})
	require.NoError(t, err)
	for _, f := range findings {
		// Secrets are refused for what they are, which no server does.
		if f.Severity == object.SeverityError && f.Rule != finding.RuleSecret {
			return true, f.Path.String() + ": " + f.Message, f.Rule
		}
	}
	return false, "", ""
}

// mutants changes one part of a document after the other, calls judge, and
// puts the part back.
func mutants(whole any, judge func(what string)) {
	visit(whole, nil, "", func(replace func(any), value any, path string) {
		if path == ".apiVersion" || path == ".kind" {
			return
		}
		for _, v := range []any{
			nil, "", "Bad_Value!", "a", "80", "5%", strings.Repeat("x", 64), strings.Repeat("x", 300),
			-1, 0, 1, 2, 70000, 1 << 40, 1.5, true, false, []any{}, map[string]any{},
			map[string]any{"unknown": "x"}, []any{"a"}, []any{nil},
		} {
			replace(v)
			text, _ := json.Marshal(v)
			if len(text) > 20 {
				text = append(text[:20], '~')
			}
			judge(path + " = " + string(text))
		}
		replace(value)
	}, judge)
}

// visit calls change for every part, and judge for every part that is left
// out or stands twice.
func visit(v any, replace func(any), path string, change func(func(any), any, string), judge func(string)) {
	if replace != nil {
		change(replace, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			old := v[name]
			if path+"."+name != ".apiVersion" && path+"."+name != ".kind" {
				delete(v, name)
				judge(path + "." + name + " left out")
			}
			v[name] = old
			visit(old, func(n any) { v[name] = n }, path+"."+name, change, judge)
		}
		v["unknown"] = "x"
		judge(path + ".unknown added")
		delete(v, "unknown")
	case []any:
		for i, old := range v {
			visit(old, func(n any) { v[i] = n }, path+"[]", change, judge)
		}
		if len(v) > 0 && replace != nil {
			replace(append(append([]any{}, v...), v[0]))
			judge(path + " with its first item twice")
			replace(v)
		}
	}
}

// shape is what a mutant is, for a list of differences.
func shape(file, what string) string { return strings.TrimSuffix(file, ".yaml") + what }

// argued reports a difference that is meant, with its reason.
func argued(key, rule string) bool {
	for _, a := range []struct{ prefix, why string }{
		{"oracle refuses=false: limitrange.metadata", "the server makes up a name for a LimitRange, and another at every apply"},
		{"oracle refuses=false: configmap.binaryData.blob = [", "the decoder takes a list of numbers for bytes"},
		{"oracle refuses=false: service-loadbalancer.spec.ports[].nodePort", "the storage of Services refuses it when it allocates the port"},
		{"oracle refuses=false: statefulset.spec.volumeClaimTemplates with", "the server takes it and refuses the pods"},
	} {
		if strings.HasPrefix(key, a.prefix) {
			return true
		}
	}
	// A create takes two items with one key, and fields that the server sets; a
	// server-side apply, which is what engines do, does not.
	return (rule == finding.RuleListType || rule == finding.RuleServerSet) && strings.HasPrefix(key, "oracle refuses=false")
}
