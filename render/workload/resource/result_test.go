// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// decode reads the result of a provisioner for the resource db of a Score file.
func decode(result string, by Provisioner) (*Result, object.Errors) {
	at := object.Pos{File: "api.yaml", Line: 4, Column: 9}
	by.Type = "postgres"
	r := &score.Resource{Name: "db", Pos: at, Type: score.Text{Value: "postgres", Pos: at}}
	return Decode(r, "resources.db", by, Answer{Result: []byte(result)})
}

// messages are errors, a line each.
func messages(errs object.Errors) string {
	var b strings.Builder
	for _, e := range errs {
		b.WriteString(e.Error() + "\n")
	}
	return b.String()
}

func TestAResultIsReadStrictly(t *testing.T) {
	for name, c := range map[string]struct{ result, want string }{
		"no JSON":                       {`{`, "its result is not a JSON object"},
		"two values":                    {`{} {}`, "its result is not a JSON object"},
		"no map":                        {`[]`, "its result is not a JSON object"},
		"an unknown field":              {`{"output": {}}`, `output is not known (did you mean "outputs"?)`},
		"an output that is no scalar":   {`{"outputs": {"a": {"b": 1}}}`, "outputs.a must be text, a number or a bool, got a map"},
		"an output that is null":        {`{"outputs": {"a": null}}`, "outputs.a must be text, a number or a bool, got a null"},
		"outputs that are no map":       {`{"outputs": []}`, "outputs must be a map, got a list"},
		"a name with a dot":             {`{"outputs": {"a.b": 1}}`, `outputs has the name "a.b": expected letters, digits, - and _, at most 63`},
		"an empty name":                 {`{"sensitive": {"": {"key": "x"}}}`, `sensitive has the name "": expected letters, digits, - and _, at most 63`},
		"a name that ends in a dash":    {`{"outputs": {"a-": 1}}`, `outputs has the name "a-": expected letters, digits, - and _, at most 63`},
		"after that is not a bool":      {`{"after": "yes"}`, "after must be a bool, got a string"},
		"a volume that is no map":       {`{"volume": "x"}`, "volume must be a map, got a string"},
		"a volume beside a claim":       {`{"volume": {}, "claim": {}}`, "claim cannot be combined with volume (a claim makes a volume for each replica: give one of them)"},
		"plain and secret":              {`{"outputs": {"a": 1}, "sensitive": {"a": {"key": "x"}}}`, "sensitive.a is an output too: one name is either plain or secret (keep the sensitive one)"},
		"a value instead of reference":  {`{"sensitive": {"a": "hunter2"}}`, "sensitive.a must be a reference, never the value of a secret (give the key of the secret in the store)"},
		"a value in a reference":        {`{"sensitive": {"a": {"value": "hunter2"}}}`, "sensitive.a.value is not known (known: key, parts, property, store, version)"},
		"no key":                        {`{"sensitive": {"a": {"property": "p"}}}`, "sensitive.a has neither a key nor parts"},
		"an empty key":                  {`{"sensitive": {"a": {"key": ""}}}`, "sensitive.a.key must be text that is not empty, got a string"},
		"another store":                 {`{"sensitive": {"a": {"key": "k", "store": "vault"}}}`, "sensitive.a.store must be environment or kubernetes"},
		"no key in a Secret":            {`{"sensitive": {"a": {"key": "k", "store": "kubernetes"}}}`, "sensitive.a has no property (name the key inside of the Secret)"},
		"a version in a Secret":         {`{"sensitive": {"a": {"key": "k", "property": "p", "version": "1", "store": "kubernetes"}}}`, "sensitive.a has a version, which a Secret of the cluster does not have (remove it)"},
		"parts beside a key":            {`{"sensitive": {"a": {"key": "k", "parts": []}}}`, "sensitive.a has both parts and a reference: give one of them"},
		"parts that are no list":        {`{"sensitive": {"a": {"parts": {}}}}`, "sensitive.a.parts must be a list, got a map"},
		"text and ref in one part":      {`{"sensitive": {"a": {"parts": [{"text": "x", "ref": "b"}]}}}`, "sensitive.a.parts[0] must be either text or ref"},
		"a part that is nothing":        {`{"sensitive": {"a": {"parts": ["x"]}}}`, "sensitive.a.parts[0] must be either text or ref"},
		"an escape beside text":         {`{"sensitive": {"a": {"parts": [{"text": "x", "escape": "url"}]}}}`, "sensitive.a.parts[0].escape cannot be combined with text (escape is for ref)"},
		"another escape":                {`{"sensitive": {"a": {"parts": [{"ref": "b", "escape": "html"}]}, "b": {"key": "k"}}}`, "sensitive.a.parts[0].escape must be url"},
		"text that is a number":         {`{"sensitive": {"a": {"parts": [{"text": 7}]}}}`, "sensitive.a.parts[0].text must be text, got a number"},
		"a ref to nothing":              {`{"sensitive": {"a": {"parts": [{"ref": "bb"}]}, "b": {"key": "k"}}}`, `sensitive.a has a ref that is not a sensitive output (known: a, b)`},
		"a ref to a plain output":       {`{"outputs": {"h": 1}, "sensitive": {"a": {"parts": [{"ref": "h"}]}}}`, `sensitive.a names "h", which is not a sensitive output (it is not a secret: write it into a text, with CUE's interpolation)`},
		"parts of each other":           {`{"sensitive": {"a": {"parts": [{"ref": "b"}]}, "b": {"parts": [{"ref": "a"}]}}}`, "sensitive.a refers to itself: a -> b -> a"},
		"an escape of what is escaped":  {`{"sensitive": {"a": {"parts": [{"ref": "b", "escape": "url"}]}, "b": {"parts": [{"ref": "c", "escape": "url"}]}, "c": {"key": "k"}}}`, `sensitive.a escapes "b", parts of which are escaped already (leave escape out in one of them)`},
		"a text of far too many pieces": {doubling(), "sensitive.a10 has more than 1000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := decode(c.result, Provisioner{})
			require.Contains(t, messages(errs), `api.yaml:4:9: evaluate: resources.db: the provisioner of type "postgres": `+c.want+"\n")
			require.NotContains(t, messages(errs), "hunter2", "what is declared as secret is never shown")
		})
	}
}

// doubling is outputs each of which names the one before it twice.
func doubling() string {
	var b strings.Builder
	b.WriteString(`{"sensitive": {"a0": {"key": "k"}`)
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, `, "a%d": {"parts": [{"ref": "a%d"}, {"ref": "a%d"}]}`, i, i-1, i-1)
	}
	b.WriteString("}}")
	return b.String()
}

func TestTextsOfSecretsAreLaidOut(t *testing.T) {
	r, errs := decode(`{
		"type": "postgres", "class": "default", "description": "d",
		"outputs": {"n": 1.50, "big": 12345678901234567890, "b": false, "t": "x"},
		"sensitive": {
			"url": {"parts": [{"ref": "login", "escape": "url"}, {"text": "@h/"}, {"text": ""}]},
			"login": {"parts": [{"text": "a b&ü:"}, {"ref": "password"}]},
			"password": {"store": "kubernetes", "key": "db-app", "property": "password"},
			"empty": {"parts": []}
		}
	}`, Provisioner{})
	require.Empty(t, errs)
	require.Equal(t, map[string]string{"n": "1.50", "big": "12345678901234567890", "b": "false", "t": "x"}, r.Outputs)
	at := Reference{Kubernetes: true, Key: "db-app", Property: "password"}
	require.Equal(t, []Fragment{
		{Literal: "a%20b%26%C3%BC%3A"}, {Output: "password", Reference: at, Escape: true}, {Literal: "@h/"}, {Literal: ""},
	}, r.Sensitive["url"])
	require.Equal(t, []Fragment{{Literal: "a b&ü:"}, {Output: "password", Reference: at}}, r.Sensitive["login"])
	require.Empty(t, r.Sensitive["empty"])
	require.Equal(t, []string{"b", "big", "n", "t", "empty", "login", "password", "url"}, r.Names())
}

// FuzzDecodeResult holds that whatever a provisioner says is either refused or
// a result in which each secret has a key.
func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(`{"outputs": {"host": "h", "port": 5432, "tls": true}, "sensitive": {"password": {"key": "db", "property": "password", "version": "7"}, "connection_string": {"parts": [{"text": "postgres://"}, {"ref": "password", "escape": "url"}, {"text": "@db/api"}]}}}`))
	f.Add([]byte(doubling()))
	f.Add([]byte(`{"sensitive": {"a": {"parts": [{"ref": "a"}]}}, "volume": {"x": [null, 1e400]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, errs := decode(string(data), Provisioner{})
		if len(errs) > 0 {
			return
		}
		for _, fragments := range r.Sensitive {
			for _, p := range fragments {
				require.Equal(t, p.Output != "", p.Reference.Key != "")
			}
		}
	})
}
