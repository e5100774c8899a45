// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

// allowed is options in which the one Secret of the corpus may hold data.
func allowed() check.Options {
	return check.Options{AllowSecrets: map[string][]string{"s": {"token"}}}
}

func TestTheOracleAndTheCheckAgreeOnTheCorpus(t *testing.T) {
	content, err := os.ReadFile("testdata/oracle/verdicts.json")
	require.NoError(t, err)
	var refused map[string]bool
	require.NoError(t, json.Unmarshal(content, &refused))
	checker := check.New(allowed())
	files := corpus(t, "testdata/oracle")
	require.Len(t, refused, len(files), "make oracle writes the verdicts")
	for name, o := range files {
		require.Equal(t, refused[name], failed(judge(checker, node(o))), "%s: %v", name, judge(checker, node(o)))
		require.Equal(t, strings.HasPrefix(name, "bad/"), refused[name], name)
	}
}

func TestCustomResourcesAreJudgedByTheirDefinitions(t *testing.T) {
	checker := check.New(check.Options{})
	for name, o := range corpus(t, "testdata/custom") {
		findings := judge(checker, node(o))
		if strings.HasPrefix(name, "good/") {
			require.Empty(t, findings, name)
		} else {
			require.True(t, failed(findings), name)
		}
	}
}

// TestWordsOfFindings keeps what users read under review: every message of
// every bad object of the corpora is in a golden file.
func TestWordsOfFindings(t *testing.T) {
	checker := check.New(allowed())
	for _, dir := range []string{"testdata/oracle", "testdata/custom"} {
		files := corpus(t, dir)
		var b strings.Builder
		for _, name := range object.SortedKeys(files) {
			for _, f := range judge(checker, node(files[name])) {
				fmt.Fprintf(&b, "%s: %s: %s: %s: %s", name, f.Severity, f.Rule, f.Path, f.Message)
				if f.Hint != "" {
					fmt.Fprintf(&b, " (%s)", f.Hint)
				}
				b.WriteByte('\n')
			}
		}
		golden := filepath.Join(dir, "findings.txt")
		if os.Getenv("ROPEWALK_UPDATE") != "" {
			require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String())
		for _, noise := range []string{"Invalid value", "map[", "interface", "%!", "<nil>", "in body", "nil"} {
			require.NotContains(t, b.String(), noise)
		}
	}
}

// corpus is the objects below dir, by good/ or bad/ and the name of the file.
func corpus(t testing.TB, dir string) map[string]object.Object {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string]object.Object{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		out[filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file)] = parse(t, string(content))
	}
	return out
}

// parse reads an object as the pipeline would give it.
func parse(t testing.TB, text string) object.Object {
	var v any
	require.NoError(t, yaml.Unmarshal([]byte(text), &v))
	content, err := json.Marshal(v)
	require.NoError(t, err)
	o, err := object.Decode(content)
	require.NoError(t, err)
	return o
}

// node is the objects as nodes s/n0, s/n1 and so on.
func node(objects ...object.Object) []*object.Node {
	var out []*object.Node
	for i, o := range objects {
		out = append(out, &object.Node{ID: object.MakeID("s", fmt.Sprintf("n%d", i)), Object: o})
	}
	return out
}

func failed(findings []check.Finding) bool {
	for _, f := range findings {
		if f.Severity == object.SeverityError {
			return true
		}
	}
	return false
}

// judge checks nodes without an end.
func judge(c *check.Checker, nodes []*object.Node) []check.Finding {
	findings, err := c.Check(context.Background(), nodes)
	if err != nil {
		panic(err)
	}
	return findings
}
