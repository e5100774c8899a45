// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/object"
)

// canary is a secret that must turn up nowhere.
const canary = "Canary0Tweet"

func TestSecretsInARender(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
	const mark = "sops: {mac: \"ENC[AES256_GCM,data:x]\", lastmodified: \"2026-01-01T00:00:00Z\", version: 3.12.1}\n"
	const cipher = "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]"
	for name, c := range map[string]struct {
		text, engine string
		allow        bool
		rules        []string
	}{
		"a Secret without data passes":                    {text: head, rules: nil},
		"a Secret with empty data passes":                 {text: head + "data: {}\nstringData: {a: \"\"}\n", rules: nil},
		"data is refused":                                 {text: head + "data: {password: " + encoded + "}\n", rules: []string{finding.RuleSecret}},
		"stringData is refused":                           {text: head + "stringData: {password: " + canary + "}\n", rules: []string{finding.RuleSecret}},
		"data of an allowed Secret passes":                {text: head + "data: {password: " + encoded + "}\n", allow: true, rules: nil},
		"data that is no base64 is two mistakes":          {text: head + "data: {password: \"" + canary + "!\"}\n", rules: []string{finding.RuleSecret, finding.RuleFormat}},
		"data that is no map is refused as well":          {text: head + "data: " + canary + "\n", rules: []string{finding.RuleSecret, finding.RuleSchema}},
		"a number in stringData is refused as well":       {text: head + "stringData: {pin: 4711}\n", rules: []string{finding.RuleSecret, finding.RuleSchema}},
		"a value in place of a key is not shown":          {text: head + "stringData: {\"" + canary + " x\": \"\"}\n", rules: []string{finding.RuleName}},
		"a value in a label is not shown":                 {text: "apiVersion: v1\nkind: Secret\nmetadata: {name: db, labels: {a: \"" + canary + " x\"}}\n", rules: []string{finding.RuleName}},
		"a value in the type of a Secret is not shown":    {text: head + "immutable: " + canary + "\n", rules: []string{finding.RuleSchema}},
		"an encrypted Secret passes for Flux":             {text: head + mark + "data: {a: \"" + cipher + "\"}\n", engine: "flux", rules: nil},
		"an encrypted Secret is an error for Argo CD":     {text: head + mark + "data: {a: \"" + cipher + "\"}\n", engine: "argocd", rules: []string{finding.RuleEncrypted}},
		"an encrypted Secret is a warning in plain":       {text: head + mark + "stringData: {a: \"" + cipher + "\"}\n", engine: "plain", rules: []string{finding.RuleEncrypted}},
		"one that an operator decrypts passes":            {text: "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata: {name: db}\nspec: {secretTemplates: []}\n" + mark, engine: "argocd", rules: nil},
		"a mark of encryption hides nothing in the clear": {text: head + mark + "data: {a: \"" + cipher + "\", b: " + encoded + "}\n", engine: "flux", rules: []string{finding.RuleSecret}},
		"half a mark of encryption is none":               {text: head + "sops: {mac: x}\ndata: {a: \"" + cipher + "\"}\n", engine: "flux", rules: []string{finding.RuleSecret, finding.RuleFormat, finding.RuleUnknownField}},
		"nor can an annotation of kubectl":                {text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringData\":{\"a\":\"" + canary + "\"}}'}}\n", rules: []string{finding.RuleSecret}},
		"a List cannot hide a Secret":                     {text: "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, stringData: {a: " + canary + "}}]\n", rules: []string{finding.RuleSecret, finding.RuleKind}},
	} {
		t.Run(name, func(t *testing.T) {
			options := check.Options{Engine: c.engine}
			if c.allow {
				options.AllowSecrets = map[string][]string{"s": {"db"}, "other": {"x"}}
			}
			findings := judge(check.New(options), node(parse(t, c.text)))
			var rules []string
			for _, f := range findings {
				rules = append(rules, f.Rule)
			}
			require.ElementsMatch(t, c.rules, rules, "%v", findings)
			silent(t, findings, canary, encoded, "4711")
		})
	}
}

func TestASecretOfAnotherSpecIsNotAllowed(t *testing.T) {
	checker := check.New(check.Options{AllowSecrets: map[string][]string{"other": {"db"}}})
	require.True(t, failed(judge(checker, node(parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {a: x}}")))))
}

func TestSecretsAreAllowedByPatterns(t *testing.T) {
	for pattern, allowed := range map[string]bool{
		"app-db": true, "app-*": true, "*": true, "*-db": true, "app-?b": true,
		"": false, "app": false, "db": false, "App-*": false, "app-*-x": false, "[": false,
	} {
		checker := check.New(check.Options{AllowSecrets: map[string][]string{"s": {pattern}}})
		findings := judge(checker, node(parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: app-db}, stringData: {a: x}}")))
		require.Equal(t, !allowed, failed(findings), pattern)
	}
}

func TestSecretsAreRefusedWithoutSchemasToo(t *testing.T) {
	findings := judge(check.New(check.Options{SkipSchemas: true}), node(
		parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: Db}, stringData: {a: "+canary+"}}"),
		parse(t, "{apiVersion: apps/v1, kind: Nonsense}"),
	))
	require.Len(t, findings, 1)
	require.Equal(t, finding.RuleSecret, findings[0].Rule)
	silent(t, findings, canary)
}

// TestNoMutantOfASecretIsShown puts the canary into every place of a Secret.
func TestNoMutantOfASecretIsShown(t *testing.T) {
	base := parse(t, `{apiVersion: v1, kind: Secret, type: kubernetes.io/dockerconfigjson,
		metadata: {name: db, namespace: a, labels: {a: b}, annotations: {a: b}, finalizers: [a/b], ownerReferences: [{apiVersion: v1, kind: A, name: b, uid: c}]},
		data: {.dockerconfigjson: e30=}, stringData: {a: b}, immutable: true}`)
	checker := check.New(check.Options{})
	var visit func(v any, set func(any))
	visit = func(v any, set func(any)) {
		for _, value := range []any{canary, canary + " !", []any{canary}, map[string]any{"a": canary}} {
			set(value)
			o := base.Clone()
			o["apiVersion"], o["kind"] = "v1", "Secret"
			silent(t, judge(checker, node(o)), canary)
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range object.SortedKeys(v) {
				visit(v[k], func(n any) { v[k] = n })
			}
		case []any:
			for i := range v {
				visit(v[i], func(n any) { v[i] = n })
			}
		}
	}
	for _, k := range object.SortedKeys(base) {
		visit(base[k], func(n any) { base[k] = n })
	}
}

// A key that is the path of a file was meant to be one, and is named.
func TestAKeyWithFoldersIsNamed(t *testing.T) {
	findings := judge(check.New(check.Options{AllowSecrets: map[string][]string{"s": {"db"}}}),
		node(parse(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {conf/app.json: \""+canary+"\"}\n")))
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].Message, `the key "conf/app.json" is not made of letters`)
	require.Contains(t, findings[0].Hint, "a key has no folders")
	silent(t, findings, canary)
}

// silent fails where a finding tells a secret.
func silent(t *testing.T, findings []check.Finding, secrets ...string) {
	t.Helper()
	for _, f := range findings {
		text, err := json.Marshal(f)
		require.NoError(t, err)
		for _, s := range secrets {
			// A misplaced field name may stand in a path, a value never.
			if strings.Contains(f.Message+f.Hint, s) || strings.Contains(string(text), s) {
				require.Fail(t, "a finding shows a secret", "%s", text)
			}
		}
	}
}
