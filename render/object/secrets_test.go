// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSecretsAreHiddenInAllTheirForms(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.AddObject(Object{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "aHVudGVyMi90YW5n"}, "stringData": map[string]any{"b": "tiger\"3+", "c": "abc", "d": "line one\nline two", "e": "-", "f": "password", "g": "namespace"}})
	s.AddObject(Object{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "harmless"}})
	s.AddObject(Object{"apiVersion": "v1", "kind": "List", "items": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"x": "in a list"}}}})
	for text, want := range map[string]string{
		"got hunter2/tang":                    "got (hidden)",
		`got "hunter2/tang"`:                  "got (hidden)",
		"got aHVudGVyMi90YW5n":                "got (hidden)",
		"?t=hunter2%2Ftang":                   "?t=(hidden)",
		`got "tiger\"3+"`:                     "got (hidden)",
		`x tiger"3+ y`:                        "x (hidden) y",
		`got "abc", not abcd`:                 "got (hidden), not abcd",
		"only line one is here":               "only (hidden) is here",
		"harmless":                            "harmless",
		`no "db_password"`:                    `no "db_password"`,
		`got "password"`:                      "got (hidden)",
		`metadata.namespace: got "namespace"`: "metadata.namespace: got (hidden)",
		"got cGFzc3dvcmQ=":                    "got (hidden)=",
		"in a list":                           "(hidden)",
		`letters, "-" and "_"`:                `letters, "-" and "_"`,
	} {
		require.Equal(t, want, s.Hide(text), text)
	}
	require.Equal(t, "text", (*Secrets)(nil).Hide("text"))
}

func TestNamesThatAreSensitive(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "pw": true, "db_pw": true, "apiKey": true, "api-key": true, "token": true,
		"githubToken": true, "clientSecret": true, "credentials": true, "AWS_SECRET_ACCESS_KEY": true, "PASSWORD_2": true, "passphrase": true,
		"secretName": false, "secretKeyRef": false, "imagePullSecrets": false, "key": false, "tokenExpirationSeconds": false,
		"image": false, "monkey": false, "keys": false, "passive": false,
	} {
		require.Equal(t, want, SensitiveName(name), name)
	}
}

func TestErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.Add("canary-1")
	s.AddNode(&Node{ID: "a/config", Object: Object{"apiVersion": "v1", "kind": "ConfigMap"}})
	s.AddNode(&Node{ID: "a/secret", Object: Object{"apiVersion": "v1", "kind": "Secret"}})
	for _, c := range []struct {
		in   Error
		want string
	}{
		{Error{Path: "spec.input.x", Err: errors.New(`expected text, got "canary-1"`)}, "expected text, got (hidden)"},
		{Error{Path: "spec.input.password", Err: errors.New(`expected text of at most 3, got "unknown to us"`)}, "expected text of at most 3, got (hidden)"},
		{Error{Path: "spec.input.auth.token[0]", Err: errors.New(`expected text, got 12345`)}, "expected text, got (hidden)"},
		{Error{Path: "graph.nodes.s.object.stringData.x", Err: errors.New(`conflicting values "other" and "hunter2"`)}, "conflicting values (hidden) and (hidden)"},
		{Error{Path: "graph.nodes.s.object.data.x", Err: errors.New(`expected text that matches "^[a-z]+$", got "hunter2"`)}, `expected text that matches "^[a-z]+$", got (hidden)`},
		{Error{Path: "data.x", Node: "a/secret", Err: errors.New(`expected base64, found "hunter2"`)}, `expected base64, found (hidden)`},
		{Error{Path: "data.x", Node: "a/config", Err: errors.New(`expected text, got 5`)}, `expected text, got 5`},
		{Error{Path: "spec.auth.secret", Err: errors.New(`expected a string, got a list`)}, `expected a string, got a list`},
		{Error{Path: "spec.input.replicas", Err: errors.New(`expected an integer, got "five"`)}, `expected an integer, got "five"`},
	} {
		out := s.Error(&c.in)
		require.Equal(t, c.want, out.Err.Error())
		require.Equal(t, s, out.Secrets)
	}
	out := s.Error(&Error{Err: errors.Join(io.EOF, errors.New("canary-1")), Hint: "not canary-1", Notes: []Note{{Text: "canary-1 here"}}})
	require.ErrorIs(t, out, io.EOF)
	require.Equal(t, "not (hidden)", out.Hint)
	require.Equal(t, "(hidden) here", out.Notes[0].Text)
}

func TestLinesAreMasked(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.Add("hunter2tang")
	for line, want := range map[string]string{
		"message: hunter2tang # x": "message: *********** # x",
		`pw: abc`:                  `pw: ***`,
		`db: {user: a, password: "x y", port: 5}`: `db: {user: a, password: "* *", ***** *}`,
		`s: stringData: {a: "b"}`:                 `s: stringData: {** "*"}`,
		`auth: {users: [hunter2]}`:                `auth: {users: [*******]}`,
		`set: {Authorization: Basic abc}`:         `set: {Authorization: ***** ***}`,
		`authors: abc`:                            `authors: abc`,
		`- {name: DB_PASSWORD, value: ab, x: 1}`:  `- {name: DB_PASSWORD, value: **, ** *}`,
		`- {name: LEVEL, value: ab}`:              `- {name: LEVEL, value: ab}`,
		`image: a/b:1`:                            `image: a/b:1`,
		`secretKeyRef: {name: db, key: password}`: `secretKeyRef: {name: db, key: password}`,
		`DB_PASSWORD=abc`:                         `DB_PASSWORD=***`,
		`"apiKey": 12,`:                           `"apiKey": **,`,
		`token: a${db}`:                           `token: **{**}`,
		`token: a${resources.db.password}`:        `token: *${resources.db.password}`,
		`a: "x${TOKEN:-ab} c"`:                    `a: "x${TOKEN:-**} *"`,
		`a: "x${PORT:-80} c"`:                     `a: "x${PORT:-80} c"`,
		`a: "https://u:x y{@h/p"`:                 `a: "https://******@h/p"`,
		`a: 'https://h/p?token=x y'`:              `a: 'https://h/p?token=***'`,
		`a: https://h:1 is not b@c`:               `a: https://h:1 is not b@c`,
	} {
		require.Equal(t, want, s.Mask(line, ""), line)
	}
	s.Add("password")
	require.Equal(t, "args: [--pw, ********]", s.Mask("args: [--pw, password]", ""))
	require.Equal(t, "  value: ***", s.Mask("  value: abc", "env:\n- name: API_TOKEN\n"))
	require.Equal(t, "  value: abc", s.Mask("  value: abc", "- name: API_TOKEN\n- name: LEVEL\n"))
}

func TestOnlyLiteralsAreMaskedInCUE(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.Add("hunter2tang")
	for line, want := range map[string]string{
		`objects: secret: _Auth & {#config: config}`:     `objects: secret: _Auth & {#config: config}`,
		`password: *"x-1" | string // or "y"`:            `password: *"***" | string ** ** "*"`,
		`password: #"a"b"# + input.user`:                 `password: *"*"*"* + input.user`,
		`password: '\x01ab' & bytes, port: 5`:            `password: '******' & bytes, port: *`,
		`token: strings.Repeat("ab", 12) | *hunter2tang`: `token: strings.Repeat("**", **) | ************`,
		`name: "hunter2tang"`:                            `name: "***********"`,
		`pw: "a\(input.x)b"`:                             `pw: "************"`,
	} {
		require.Equal(t, want, s.MaskCUE(line, ""), line)
	}
	require.Equal(t, "  ab cd", s.MaskCUE("  ab cd", "x: \"\"\"\n"))
	require.Equal(t, "  ** **", s.MaskCUE("  ab cd", "password: \"\"\"\n"))
}

func TestReferencesAndTypesInCUEAreNoSecrets(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.AddCUE(`import "example.com/lib"

_vault: password: string
tokens: lib.Tokens
password: _vault.password
token: lib.Token & {length: 12} // of tokens
secret: *"literal-one" | _vault.password
apiKey: 987654321
other: token: unquoted1
`)
	for text, want := range map[string]string{
		"string": "string", "_vault.password": "_vault.password", "lib.Token": "lib.Token", "12": "12",
		"literal-one": "(hidden)", "987654321": "(hidden)", "unquoted1": "(hidden)",
	} {
		require.Equal(t, "got "+want+".", s.Hide("got "+text+"."), text)
	}
	s = &Secrets{}
	s.AddCUE("a: 1\npassword: \"\"\"\n  first-part\n  a\n  \"\"\"\n")
	require.Equal(t, "(hidden)", s.Hide("first-part"))
}

func TestAGatewayNamesSecrets(t *testing.T) {
	t.Parallel()
	gateway, err := ReadJSON([]byte(`{"spec": {
		"auth": {"type": "basic", "secret": "orders-users"}, "routes": [{"auth": {"secret": "hunter2 tang"}, "headers": {"request": {"set": {"X-Token": "canary-1"}}}}]
	}}`), Pos{})
	require.NoError(t, err)
	shown := func(add func(s *Secrets, v Value)) string {
		s := &Secrets{}
		add(s, gateway)
		return s.Hide(`the Secret "orders-users" of orders-users/users, "hunter2 tang" and canary-1`)
	}
	require.Equal(t, `the Secret "orders-users" of orders-users/users, (hidden) and (hidden)`, shown((*Secrets).AddGateway))
	require.Equal(t, `the Secret (hidden) of (hidden)/users, (hidden) and (hidden)`, shown((*Secrets).AddNamed))
}

func TestTheSignsOfARuleAreNoSecret(t *testing.T) {
	t.Parallel()
	const rule = `the key "a/b.json" is not made of letters, digits, "-", "_" and "."`
	s := &Secrets{}
	s.Add("hunter22")
	for text, want := range map[string]string{rule: rule, `"x" and "hunter22"`: `(hidden) and (hidden)`} {
		require.Equal(t, want, s.Error(&Error{Path: "stringData", Err: errors.New(text)}).Err.Error())
	}
}

// A password that is an ordinary word hides no name of the author, and is no value of a message
// and no value of a line for that.
func TestWordsOfNamesAreHiddenWhereValuesStand(t *testing.T) {
	t.Parallel()
	text := func(s string) Value { return TextAt(s, Pos{}) }
	s := &Secrets{}
	s.AddNames(Value{Kind: KindMap, Members: []Member{{Name: "services", Value: Value{Kind: KindMap, Members: []Member{{Name: "paperless-web", Value: text("x")}}}}}})
	s.Add("paperless")
	s.Add("paperless2x")
	s.Add("listmonk") // An ordinary word, though no name.
	for given, want := range map[string]string{
		`services.paperless-web.image: no path "/srv/paperless"`: `services.paperless-web.image: no path "/srv/paperless"`,
		`the group "paperless" is a name`:                        `the group (hidden) is a name`,
		`got cGFwZXJsZXNz`:                                       `got (hidden)`,
		`got paperless2x`:                                        `got (hidden)`,
		`got listmonk, no listmonks and no /srv/listmonk`:        `got (hidden), no listmonks and no /srv/listmonk`,
	} {
		require.Equal(t, want, s.Hide(given))
	}
	for line, want := range map[string]string{
		`  paperless: {image: a}`:                      `  paperless: {image: a}`,
		`  "paperless": {image: a}`:                    `  "paperless": {image: a}`,
		`container_name: paperless-web`:                `container_name: paperless-web`,
		`volumes: [/srv/paperless:/data]`:              `volumes: [/srv/paperless:/data]`,
		`volumes: ["paperless:/data"]`:                 `volumes: ["paperless:/data"]`,
		`user: paperless`:                              `user: *********`,
		`command: ["-p", "paperless"]`:                 `command: ["-p", "*********"]`,
		`command: mysql -ppaperless`:                   `command: mysql -p*********`,
		`command: mysql -ppaperless-web`:               `command: mysql -p*********-web`,
		`DB_PASSWORD: paperless-web`:                   `DB_PASSWORD: *************`,
		`url: redis://:paperless@db`:                   `url: redis://**********@db`,
		`command: run paperless:x`:                     `command: run *********:x`,
		`container_name: listmonk`:                     `container_name: listmonk`,
		`- ./:/home/listmonk.io/listmonk/`:             `- ./:/home/listmonk.io/listmonk/`,
		`url: listmonksql://a`:                         `url: listmonksql://a`,
		`user: listmonk`:                               `user: ********`,
		`command: mysql -plistmonk`:                    `command: mysql -p********`,
		`command: [login, paperless2x, "paperless2x"]`: `command: [login, ***********, "***********"]`,
	} {
		require.Equal(t, want, s.Mask(line, ""), line)
	}
	e := s.Error(&Error{Path: "spec.containers.listmonk.image", Err: errors.New("is listmonk")})
	require.Equal(t, "spec.containers.listmonk.image: is (hidden)", strings.TrimPrefix(e.Error(), "-: "))
}

// The name of an object is applied as it is: a password that is a word of it is hidden where
// values stand.
func TestNamesOfObjectsKeepTheirWords(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.AddNode(&Node{ID: "app/secret-shop-listmonk", Object: Object{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "shop-listmonk"}, "stringData": map[string]any{"user": "listmonk", "password": "hunter2x"},
	}})
	e := s.Error(&Error{Node: "app/secret-shop-listmonk", Path: "metadata.name", Err: errors.New(`shop-listmonk is one, "listmonk" is not, hunter2x is not`)})
	require.Equal(t, ID("app/secret-shop-listmonk"), e.Node)
	require.Equal(t, "shop-listmonk is one, (hidden) is not, (hidden) is not", e.Err.Error())

	for _, text := range []string{"Xq7wPz", "k3y5m7q9", "redis7"} {
		s.Add(text)
	}
	s.AddNode(&Node{ID: "app/o", Object: Object{"kind": "ConfigMap", "metadata": map[string]any{"name": "a-Xq7wPz-k3y5m7q9-redis7"}}})
	e = s.Error(&Error{Err: errors.New(`found "a-Xq7wPz-k3y5m7q9-redis7"`)})
	require.Equal(t, `found "a-(hidden)-(hidden)-redis7"`, e.Err.Error(), "a module can make a name of a secret")
}

// A secret is hidden by where it stands, with a sign before it, in a map and as a number.
func TestValuesAreHiddenInEveryFormOfAMessage(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.AddNamed(Value{Kind: KindMap, Members: []Member{{Name: "apiKey", Value: Value{Kind: KindNumber, Text: "12"}}, {Name: "password", Value: TextAt("db", Pos{})}}})
	s.AddNode(&Node{ID: "a/o", Object: Object{"apiVersion": "v1", "kind": "ConfigMap"}})
	for _, c := range []struct{ path, node, text, want string }{
		{"spec.input.token", "", `invalid operands -"a b" and +"c d" to '*' (type string and string)`, `invalid operands (hidden) and (hidden) to '*' (type string and string)`},
		{"spec.input.token", "", `invalid operands "(" and {a:"x {} y"} to '+' (type string and struct)`, `invalid operands (hidden) and (hidden) to '+' (type string and struct)`},
		{"spec.input.token", "", `invalid operands "(" and {a:"x {} y"`, `invalid operands (hidden) and (hidden)`},
		{"spec.input.token", "", `cannot use {more:[47],value:"x"} (type struct) as string in argument 1 to "encoding/yaml".Unmarshal`, `cannot use (hidden) (type struct) as string in argument 1 to "encoding/yaml".Unmarshal`},
		{"spec.input.token", "", `expected a string, found the number 47`, `expected a string, found the number (hidden)`},
		{"data.x", "a/o", `expected a string, found the number 12 (quote it: "12")`, `expected a string, found the number (hidden) (quote it: (hidden))`},
		{"data.x", "a/o", `expected a string, got 12.`, `expected a string, got (hidden).`},
		{"data.x", "a/o", `got -12 and not 1.2.`, `got (hidden) and not 1.2.`},
		{"data.x", "a/o", `expected a string, found the number 123, of 12`, `expected a string, found the number 123, of 12`},
		{"spec.input.db", "", `unknown field "db", not "db"`, `unknown field "db", not (hidden)`},
		{"spec.input.x", "", `unknown field "db"`, `unknown field (hidden)`},
	} {
		require.Equal(t, c.want, s.Error(&Error{Path: c.path, Node: ID(c.node), Err: errors.New(c.text)}).Err.Error())
	}
	for text, want := range map[string]string{
		`git "https//u:${x}@h.test": no`: `git "https//u:***@h.test": no`,
		`git "https//u:a b@h.test": no`:  `git "https//u:***@h.test": no`,
		`oci "u:a${x}b@h:9/x"`:           `oci "u:***@h:9/x"`,
		`a: {b}@c and d:e f@g`:           `a: {b}@c and d:e f@g`,
	} {
		require.Equal(t, want, s.Hide(text))
	}
}

// A message of 256 KiB is hidden in a time that does not grow with its square.
func TestLongMessagesAreHiddenInTime(t *testing.T) {
	t.Parallel()
	s := &Secrets{}
	s.Add("hunter22")
	began := time.Now()
	for _, part := range []string{`found #"`, `found ##"a"`, `found """`, `found {`, `found {a:"}`, `got "`, `got '`, `got 1 and `, `https//u:x@h `, `x:${`, `://a@`} {
		_ = s.Error(&Error{Path: "spec.token", Err: errors.New(strings.Repeat(part, 256<<10/len(part)))})
	}
	require.Less(t, time.Since(began), time.Minute)
}

// What is too long to be searched may hold anything: no message shows a value then.
func TestLongTextsHideAllValues(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*Secrets, string){"CUE": (*Secrets).AddCUE, "text": (*Secrets).AddText} {
		s := &Secrets{}
		add(s, strings.Repeat("x: ", maxRead)+"\npassword: \"hunter2x\"\n")
		e := s.Error(&Error{Err: errors.New(`got "hunter2x"`)})
		require.NotContains(t, e.Error(), "hunter2x", name)
		require.True(t, e.Secret, name)
	}
}
