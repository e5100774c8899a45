// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

// ruleSchema is a schema of all that rules can see, with rules of its own.
func ruleSchema(t testing.TB, rules ...map[string]any) []byte {
	schema := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"object","required":["s"],"properties":{
		"s":{"type":"string","maxLength":100},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
		"nil":{"type":"string","nullable":true},"is":{"x-kubernetes-int-or-string":true},"is2":{"x-kubernetes-int-or-string":true},
		"date":{"type":"string","format":"date"},"time":{"type":"string","format":"date-time"},"dur":{"type":"string","format":"duration"},"bytes":{"type":"string","format":"byte"},
		"unknown":{"x-kubernetes-preserve-unknown-fields":true},"unknowns":{"type":"array","items":{"x-kubernetes-preserve-unknown-fields":true}},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"open2":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
		"part":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"x-kubernetes-preserve-unknown-fields":true}}},
		"parts":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}},
		"parts2":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}},
		"l":{"type":"array","items":{"type":"string"}},"l2":{"type":"array","items":{"type":"string"}},"li":{"type":"array","items":{"type":"integer"}},"ln":{"type":"array","items":{"type":"number"}},
		"lis":{"type":"array","items":{"x-kubernetes-int-or-string":true}},"ll":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},"lnil":{"type":"array","items":{"type":"string","nullable":true}},
		"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"set2":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"atom":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}},
		"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer"}}}},
		"map2":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer"}}}},
		"keys":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","l"],"items":{"type":"object","properties":{"k":{"type":"string"},"l":{"type":"integer"},"v":{"type":"integer"}}}},
		"dash":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a-b"],"items":{"type":"object","properties":{"a-b":{"type":"string"},"v":{"type":"integer"}}}},
		"m":{"type":"object","additionalProperties":{"type":"string"}},"mi":{"type":"object","additionalProperties":{"type":"integer"}},"mm":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}},
		"mu":{"type":"object","additionalProperties":{"x-kubernetes-preserve-unknown-fields":true}},
		"res":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
		"a-b.c/d__e":{"type":"string"},"namespace":{"type":"string"},"__dot__":{"type":"string"},"1st":{"type":"string"},"é":{"type":"string"},"true":{"type":"boolean"}
	}}`), &schema))
	if len(rules) > 0 {
		schema["x-kubernetes-validations"] = rules
	}
	content, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"spec": schema}})
	require.NoError(t, err)
	return content
}

// ruleSubject is an object of ruleSchema.
func ruleSubject() map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "foo"}, "spec": map[string]any{
		"s": "text", "i": int64(3), "n": int64(2), "b": true, "nil": nil, "is": int64(5), "is2": "50%",
		"date": "2026-01-02", "time": "2026-01-02T03:04:05Z", "dur": "1 hour", "bytes": "aGVsbG8=",
		"unknown": map[string]any{"x": int64(1)}, "unknowns": []any{int64(1)}, "open": map[string]any{"x": []any{}}, "open2": map[string]any{"x": []any{}},
		"part": map[string]any{"a": "x", "b": int64(1), "c": map[string]any{"d": int64(1)}, "z": "unknown"}, "parts": []any{map[string]any{"a": "x"}, map[string]any{"b": int64(2)}}, "parts2": []any{map[string]any{"a": "x"}, map[string]any{"b": int64(2)}},
		"l": []any{"b", "a", "b"}, "l2": []any{"b", "a", "b"}, "li": []any{int64(3), int64(1), int64(2)}, "ln": []any{1.5, int64(1)}, "lis": []any{int64(1), "a"}, "ll": []any{[]any{int64(1)}, []any{}}, "lnil": []any{"a", nil},
		"set": []any{"a", "b"}, "set2": []any{"b", "a"}, "atom": []any{"a", "b"},
		"map": []any{map[string]any{"k": "x", "v": int64(1)}, map[string]any{"k": "y", "v": int64(2)}}, "map2": []any{map[string]any{"k": "y", "v": int64(2)}, map[string]any{"k": "x", "v": int64(1)}},
		"keys": []any{map[string]any{"k": "x", "l": int64(1), "v": int64(1)}, map[string]any{"k": "x", "l": int64(2)}}, "dash": []any{map[string]any{"a-b": "x"}, map[string]any{"a-b": "y"}},
		"m": map[string]any{"a": "x", "b-c": "y"}, "mi": map[string]any{"a": int64(1)}, "mm": map[string]any{"x": map[string]any{"a": "1"}}, "mu": map[string]any{"x": int64(1)},
		"res":        map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p", "labels": map[string]any{"a": "b"}}, "spec": map[string]any{}},
		"a-b.c/d__e": "escaped", "namespace": "ns", "__dot__": "dots", "1st": "x", "é": "x", "true": true,
	}}
}

// expressions is CEL of all functions that Kubernetes has, good and bad, one in
// each line.
func expressions(t testing.TB) (out []string) {
	content, err := os.ReadFile("testdata/server/expressions.cel")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "//") {
			out = append(out, line)
		}
	}
	require.Greater(t, len(out), 300)
	return out
}

// TestEveryFunctionOfCELGivesWhatItGivesOnTheServer compares values, errors and
// costs.
func TestEveryFunctionOfCELGivesWhatItGivesOnTheServer(t *testing.T) {
	for _, expression := range thin(expressions(t)) {
		t.Run(expression, func(t *testing.T) {
			rules := []map[string]any{
				{"rule": "(" + expression + ") == (" + expression + ")"},
				{"rule": expression, "fieldPath": ".s"},
				{"rule": "false", "messageExpression": "'%s: %s'.format([type(" + expression + "), " + expression + "])"},
				{"rule": "false", "messageExpression": "'value: ' + string(" + expression + ")", "message": "no message"},
			}
			if strings.Contains(expression, "oldSelf") {
				rules = rules[2:] // rules for changes are not compiled here: doc.go of rule
			}
			requireSameRules(t, 1_000_000, append(rules, map[string]any{"rule": expression, "optionalOldSelf": true})...)
		})
	}
}

// requireSameRules runs rules with both, on spec of the subject.
func requireSameRules(t testing.TB, budget int64, rules ...map[string]any) {
	theirs, own := serverFor(t, ruleSchema(t, rules...))
	require.Len(t, theirs.schema.Properties["spec"].XValidations, len(rules))
	require.Empty(t, own.validator.Validate(ruleSubject()).Errors)
	requireSameWithin(t, theirs, own, ruleSubject(), budget)
}

// TestRulesThatDoNotCompile compares which rules a definition may not have.
func TestRulesThatDoNotCompile(t *testing.T) {
	for _, expression := range thin(expressions(t)) {
		schema := map[string]any{}
		require.NoError(t, json.Unmarshal(ruleSchema(t), &schema))
		spec, _, _ := nested(schema, "properties", "spec")
		spec["x-kubernetes-validations"] = []any{
			map[string]any{"rule": expression}, map[string]any{"rule": "oldSelf == self && (" + expression + ") == (" + expression + ")"},
			map[string]any{"rule": "false", "messageExpression": expression}, map[string]any{"rule": " "},
		}
		content, err := json.Marshal(spec)
		require.NoError(t, err)
		requireSameDefinition(t, content)
	}
}

func nested(m map[string]any, names ...string) (map[string]any, bool, error) {
	for _, name := range names {
		m, _ = m[name].(map[string]any)
	}
	return m, m != nil, nil
}

func TestMessagesPathsAndBudgets(t *testing.T) {
	// To match a long text with a long pattern costs much and takes little.
	match := fmt.Sprintf("'%s'.matches('%s')", strings.Repeat("a", 2000), strings.Repeat("a", 1000))
	heavy := "[1, 2, 3].all(x, " + match + ")"
	endless := "lists.range(50).all(x, " + match + ")"
	for name, rules := range map[string][]map[string]any{
		"a field path":                        {{"rule": "false", "fieldPath": ".s"}, {"rule": "false", "fieldPath": "['a-b.c/d__e']"}, {"rule": "false", "fieldPath": ".m.a"}, {"rule": "false", "fieldPath": ".m['b.c']"}, {"rule": "false", "fieldPath": ".part.a"}},
		"a field path that leads nowhere":     {{"rule": "false", "fieldPath": ".zzz"}, {"rule": "false", "fieldPath": "s"}, {"rule": "false", "fieldPath": ".s.x"}, {"rule": "false", "fieldPath": "['s"}, {"rule": "false", "fieldPath": ".l[0]"}, {"rule": "false", "fieldPath": "['\\x']"}, {"rule": "false", "fieldPath": "."}},
		"an escaped field path":               {{"rule": "false", "fieldPath": `.m['a\'b\\c\n']`}},
		"reasons":                             {{"rule": "false", "reason": "FieldValueRequired", "message": "r"}, {"rule": "false", "reason": "FieldValueForbidden"}, {"rule": "false", "reason": "FieldValueInvalid"}},
		"a message of several lines":          {{"rule": "self.s ==\n 'x'"}, {"rule": "false", "message": " trimmed "}},
		"an expression that gives no message": {{"rule": "false", "messageExpression": "''", "message": "m"}, {"rule": "false", "messageExpression": "'  '"}, {"rule": "false", "messageExpression": "'a\\nb'"}, {"rule": "false", "messageExpression": "self.l[9]"}, {"rule": "false", "messageExpression": "self.i"}, {"rule": "false", "messageExpression": "("}},
		"a long message":                      {{"rule": "false", "messageExpression": "lists.range(5000).map(x, 'ab').join()", "message": "m"}},
		"a rule beyond its limit":             {{"rule": endless}, {"rule": "false"}},
		"a message beyond its limit":          {{"rule": "false", "messageExpression": endless + " ? 'a' : 'b'"}, {"rule": "false"}},
		"rules beyond the budget":             {{"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}, {"rule": heavy}},
		"changes":                             {{"rule": "self.s == oldSelf.s"}, {"rule": "oldSelf.hasValue()", "optionalOldSelf": true}, {"rule": "!oldSelf.hasValue()", "optionalOldSelf": true}, {"rule": "false", "optionalOldSelf": true, "messageExpression": "string(oldSelf.hasValue())"}, {"rule": "oldSelf.orValue(self).i == 4", "optionalOldSelf": true}},
		"no rule":                             {{"rule": " "}, {"rule": "false"}},
	} {
		t.Run(name, func(t *testing.T) { requireSameRules(t, 1_200_000, rules...) })
	}
}

// TestRulesOfParts compares rules on every kind of part.
func TestRulesOfParts(t *testing.T) {
	parts := map[string]any{}
	require.NoError(t, json.Unmarshal(ruleSchema(t), &parts))
	properties, _, _ := nested(parts, "properties", "spec", "properties")
	for _, name := range sortedNames(properties) {
		part, _, _ := nested(properties, name)
		part["x-kubernetes-validations"] = []any{map[string]any{"rule": "self == self", "message": "same"}, map[string]any{"rule": "false", "messageExpression": "string(type(self))"}, map[string]any{"rule": "size(self) > 0"}}
		for _, below := range []string{"items", "additionalProperties"} {
			if sub, ok, _ := nested(part, below); ok {
				sub["x-kubernetes-validations"] = []any{map[string]any{"rule": "false", "messageExpression": "'%s'.format([self])"}}
			}
		}
	}
	content, err := json.Marshal(parts)
	require.NoError(t, err)
	theirs, own := serverFor(t, content)
	o := ruleSubject()
	requireSame(t, theirs, own, o)
	r := &maker{Rand: seeded(7)}
	for i := range 400 {
		mutant := runtime.DeepCopyJSON(o)
		for range 1 + i%4 {
			r.mutate(mutant["spec"])
		}
		requireSame(t, theirs, own, mutant)
	}
	broken, _ := own.rules.judge(t.Context(), nil, o, 10_000_000)
	require.Greater(t, len(broken), 40, fmt.Sprint(mistakes(broken)))
}
