// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func value(text string) (object.Value, error) {
	return spec.ParseValue(spec.File{Name: "f", Data: []byte(text)})
}

func TestParseValueGivesCanonicalJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                           {"# no value\n", `null`},
		"words of YAML 1.1 stay text":       {"[yes, no, on, off, y, n]", `["yes","no","on","off","y","n"]`},
		"bools and nulls in any case":       {"[True, FALSE, ~, Null]", `[true,false,null,null]`},
		"timestamps stay text":              {"[2026-11-20, 2026-11-20T10:00:00Z]", `["2026-11-20","2026-11-20T10:00:00Z"]`},
		"integers in other bases":           {"[0x1F, 0o17, 017, 0b101, 1_000, +7, -0]", `[31,15,15,5,1000,7,0]`},
		"the ends of 64 bits":               {"[9223372036854775807, -9223372036854775808]", `[9223372036854775807,-9223372036854775808]`},
		"floats stay floats":                {"[1.0, 1e3, .5, 1.5e300, 1e-7]", `[1.0,1000.0,0.5,1.5e+300,1e-07]`},
		"sexagesimal and versions are text": {"[12:30:45, 1.2.3, 1e]", `["12:30:45","1.2.3","1e"]`},
		"a quoted number is text":           {`["3", '4', !!str 5]`, `["3","4","5"]`},
		"a byte order mark":                 {"\xef\xbb\xbfa: 1\n", `{"a":1}`},
		"lines that end in CRLF":            {"a: |\r\n  x\r\n  y\r\nb: 2\r\n", `{"a":"x\ny\n","b":2}`},
		"JSON with tabs and surrogates":     {"{\n\t\"a\": \"\\ud83d\\ude00\\/\\\\/\"\n}", `{"a":"😀/\\/"}`},
		"an alias":                          {"a: &x {b: 1}\nc: *x\n", `{"a":{"b":1},"c":{"b":1}}`},
		"a merge key":                       {"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", `{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}`},
		"several merged maps, first wins":   {"a: {<<: [{b: 1}, {b: 2, c: 3}]}\n", `{"a":{"b":1,"c":3}}`},
		"a quoted << is a name":             {`{"<<": 1}`, `{"<<":1}`},
		"an aliased key":                    {"a: &k name\n*k : 1\n", `{"a":"name","name":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := value(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, string(v.JSON()))
		})
	}
}

func TestParseValueRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a key that is written twice": {"a: 1\nb: 2\na: 3\n", `f:3:1: spec: key "a" is written twice, first at line 1`},
		"a key that is a number":      {"80: x\n", `f:1:1: spec: key 80 is not text but a number (write "80")`},
		"a key that is a bool":        {"true: x\n", `f:1:1: spec: key true is not text but a bool (write "true")`},
		"a key that is a map":         {"{a: b}: x\n", `f:1:1: spec: a key must be text, not a map or a list (quote the value if its braces are text; a template must be rendered first)`},
		"an integer over 64 bits":     {"a: 9223372036854775808\n", `f:1:4: spec: integer 9223372036854775808 does not fit into 64 bits (quote it if it is text)`},
		"an integer over any bits":    {"a: 99999999999999999999999\n", `f:1:4: spec: integer 99999999999999999999999 does not fit into 64 bits (quote it if it is text)`},
		"infinity":                    {"a: .inf\n", `f:1:4: spec: .inf is not a number that JSON can hold (quote it if it is text)`},
		"not a number":                {"a: .NaN\n", `f:1:4: spec: .NaN is not a number that JSON can hold (quote it if it is text)`},
		"a float that is too large":   {"a: 1e999\n", `f:1:4: spec: number 1e999 is out of range (quote it if it is text)`},
		"invalid UTF-8":               {"a: 1\nb: x\xff\n", `f:2:5: spec: byte 0xff is not valid UTF-8: in Latin-1 it is "ÿ" (save the file as UTF-8)`},
		"UTF-16 that is cut":          {"\xff\xfea\x00b", `f:1:4: spec: a byte 0x00, as in binary files and in UTF-16 (save the file as text in UTF-8)`},
		"a control character":         {"a: 1\nb: \x00\n", `f:2:4: spec: a byte 0x00, as in binary files and in UTF-16 (save the file as text in UTF-8)`},
		"a tab that indents":          {"a:\n\tb: 1\n", `f:2:1: spec: a tab indents the line (indent with spaces)`},
		"a tab further down":          {"a:\n  b: 1\n\tc: 1\n", `f:3:1: spec: a tab indents the line (indent with spaces)`},
		"a list that is not closed":   {"a: 1\nb: [1, 2\nc: 3\nd: 4\n", `f:2:4: spec: the "[" is not closed (write "]" behind its last item)`},
		"a comma that is missing":     {"{\"a\": 1\n \"b\": 2\n}\n", `f:2:2: spec: expected "," or "}" before this text (separate the items of a flow map or list by commas)`},
		"a text that is not closed":   {"a: 1\nb: \"x\nc: 2\n", `f:2:4: spec: the quote is not closed (close it at the end of the text)`},
		"a line without a colon":      {"a: 1\nb: 2\nc 2\nd: 3\n", `f:3:1: spec: expected "key: value" (write a colon behind it)`},
		"an indentation that drops":   {"a:\n  b: 1\n c: 2\nd: 1\n", `f:3:2: spec: the indentation of 1 space matches no line above (indent it by 0 or 2 spaces)`},
		"an anchor that is unknown":   {"a: 1\nb: *nope\nc: 2\n", `f:2:4: spec: no line above has the anchor of this alias (define it in a line above, or quote the text)`},
		"an anchor in itself":         {"x: 1\na: &a {b: *a}\n", `f:2:11: spec: an anchor contains itself`},
		"a tag of one's own":          {"a: !mine x\n", `f:1:4: spec: a tag is not supported here (remove the tag, or quote the text)`},
		"a merge of no map":           {"a: {<<: 3}\n", `f:1:9: spec: << expects a map or a list of maps, got a number`},
		"a second document":           {"a: 1\n---\nb: 1\n", `f:3:1: spec: a second document begins here; expected one value`},
		"a column in bytes":           {"ä: {é: 1, é: 2}\n", `f:1:13: spec: key "é" is written twice, first at line 1`},
		"a line break of Unicode":     {"a: \"x\u2028y\"\nb: .inf\n", `f:2:4: spec: .inf is not a number that JSON can hold (quote it if it is text)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := value(c.text)
			require.Equal(t, []string{c.want}, lines(err))
		})
	}
}

func TestParseValueIsBounded(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	chain := "a0: &a0 [x]\n"
	for i := 1; i < 1000; i++ {
		chain += fmt.Sprintf("a%d: &a%d [*a%d]\n", i, i, i-1)
	}
	text := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n"
	for name, c := range map[string]struct{ text, want string }{
		"a billion laughs":          {laughs, "f:7:11: spec: the document holds more than 1000000 values, which no flag allows; aliases count as often as they are used"},
		"a long text over and over": {text, "f:2:185: spec: the document holds more than 1000000 values, which no flag allows; aliases count as often as they are used"},
		"a deep nest":               {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "f:1:130: spec: maps and lists are nested more than 128 deep, which no flag allows"},
		"a deep nest of aliases":    {chain, "f:128:14: spec: maps and lists are nested more than 128 deep, which no flag allows"},
		"a dense file":              {"[" + strings.Repeat("1,", 1<<19) + "]", "f: spec: the file holds more than 419430 values, which no flag allows (keep large data out of specs)"},
		"a large file":              {strings.Repeat("#\n", 5<<20), "f: spec: the file has 10485760 bytes, more than the 4194304 that are allowed (keep large data out of specs)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := value(c.text)
			require.Equal(t, []string{c.want}, lines(err))
		})
	}
}

// The mistakes of a document come before any walk over what its aliases stand for: this one
// would take years.
func TestParseIsBounded(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'm'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
	}
	const score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: *%c\n"
	const limit = " more than 1000000 values, which no flag allows; aliases count as often as they are used"
	for name, c := range map[string]struct{ text, want string }{
		"a Score file": {laughs + fmt.Sprintf(score, 'm'), "f:7:8: spec: the document holds" + limit},
		"documents that are each below the limit": {
			strings.Repeat(laughs[:strings.Index(laughs, "g:")]+fmt.Sprintf(score, 'a')+"---\n", 2), "f:16:17: spec: the aliases of this file add" + limit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Parse([]spec.File{{Name: "f", Data: []byte(c.text)}})
			require.Equal(t, c.want, lines(err)[0])
			require.Len(t, lines(err), 1)
		})
	}
}

func TestNobodyReadsAMillionMistakes(t *testing.T) {
	_, err := value(strings.Repeat("a: 1\n", 2_000))
	require.Len(t, lines(err), 100)
}

func TestBlockScalarsKnowWhereTheirTextIs(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		line   int
		indent int
	}{
		"the usual":               {"  cueRef:\n    type: inline\n    ref: |\n      a: 1\n      b: 2\n", 8, 6},
		"a blank first line":      {"  cueRef:\n    type: inline\n    ref: |\n\n      a: 1\n", 8, 6},
		"an explicit indentation": {"  cueRef:\n    type: inline\n    ref: |2-\n        a: 1\n", 8, 6},
		"a comment on the header": {"  cueRef: {type: inline, ref: \"a: 1\"}\n", 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			docs, errs := parse(t, strings.Replace(head, "  cueRef: {type: path, ref: ./modules/api}\n", c.text, 1))
			require.Empty(t, errs)
			ref := docs.Transforms[0].CueRef
			require.Equal(t, c.line, ref.RefPos.Line)
			require.Equal(t, c.indent, ref.RefIndent)
			if c.indent > 0 {
				require.Equal(t, c.indent+1, ref.RefPos.Column)
			}
		})
	}
}

func TestParseSetReads(t *testing.T) {
	base, err := value("replicas: 1\nports: [{port: 80}]\nlabels: {a: b}\n")
	require.NoError(t, err)
	for name, c := range map[string]struct{ text, spec, want string }{
		"a number":                   {"replicas=3", "", `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":3}`},
		"the spec first":             {"api:replicas=3", "api", `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":3}`},
		"an item of a list":          {"ports[0].port=81", "", `{"labels":{"a":"b"},"ports":[{"port":81}],"replicas":1}`},
		"the next item":              {"ports[1].port=81", "", `{"labels":{"a":"b"},"ports":[{"port":80},{"port":81}],"replicas":1}`},
		"a name with dots":           {`labels["a.b/c"]=x=y`, "", `{"labels":{"a":"b","a.b/c":"x=y"},"ports":[{"port":80}],"replicas":1}`},
		"a name with a colon":        {`labels["a:b"]=1`, "", `{"labels":{"a":"b","a:b":1},"ports":[{"port":80}],"replicas":1}`},
		"text with a colon":          {"image=nginx:1.25", "", `{"image":"nginx:1.25","labels":{"a":"b"},"ports":[{"port":80}],"replicas":1}`},
		"text that looks like a map": {"note=a: b # c", "", `{"labels":{"a":"b"},"note":"a: b # c","ports":[{"port":80}],"replicas":1}`},
		"a flow map":                 {"labels={c: [1, x]}", "", `{"labels":{"c":[1,"x"]},"ports":[{"port":80}],"replicas":1}`},
		"quotes make text":           {`replicas="3"`, "", `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":"3"}`},
		"nothing is empty text":      {"replicas=", "", `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":""}`},
		"null":                       {"labels=null", "", `{"labels":null,"ports":[{"port":80}],"replicas":1}`},
		"maps on the way":            {"x.y[0]=true", "", `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":1,"x":{"y":[true]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := spec.ParseSet(c.text)
			require.NoError(t, err)
			require.Equal(t, c.spec, set.Spec)
			got, err := set.Over(base)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got.JSON()))
			require.Equal(t, object.Pos{File: "--set " + spec.SetTarget(c.text)}, got.NearestPos(set.Path))
		})
	}
	require.Equal(t, `{"labels":{"a":"b"},"ports":[{"port":80}],"replicas":1}`, string(base.JSON()))
}

func TestParseSetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"replicas":                        `--set: spec: has no = (write PATH=VALUE, such as replicas=3)`,
		strings.Repeat("a.", 128) + "a=1": "--set " + strings.Repeat("a.", 100) + "…: spec: the path has more than 128 steps (write names joined by dots, such as ports[0].name or labels[\"a.b\"])",
		"=3":                              `--set : spec: "" is not a path (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"a..b=1":                          `--set a..b: spec: "a..b" is not a path (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"a.=1":                            `--set a.: spec: "a." is not a path (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"a[x]=1":                          `--set a[x]: spec: "a[x]" is not a path (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"a[0=1":                           `--set a[0: spec: has no = (write PATH=VALUE, such as replicas=3)`,
		"[0]=1":                           `--set [0]: spec: "[0]" does not begin with a name (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"a[99999]=1":                      `--set a[99999]: spec: index 99999 is larger than 10000 (write names joined by dots, such as ports[0].name or labels["a.b"])`,
		"A_b:c=1":                         `--set A_b:c: spec: the name of the spec "A_b" may hold only a-z, 0-9 and - (write SPEC:PATH=VALUE)`,
		"a={b: 1":                         `--set a: spec: the "{" is not closed (write "}" behind its last item)`,
		"a=.inf":                          `--set a: spec: .inf is not a number that JSON can hold (quote it if it is text)`,
		"a=\xff":                          "--set a: spec: byte 0xff is not valid UTF-8: in Latin-1 it is \"ÿ\" (save the file as UTF-8)",
		`a={b: 1, b: 2}`:                  `--set a: spec: key "b" is written twice, first at line 1`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := spec.ParseSet(text)
			require.Equal(t, []string{want}, lines(err))
		})
	}
	base, err := value("a: 1\nb: [1]\n")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"a.b=1":  `--set a.b: spec: a is a number, not a map`,
		"b[5]=1": `--set b[5]: spec: b has 1 items, so there is no item 5`,
		"b.x=1":  `--set b.x: spec: b is a list, not a map`,
	} {
		set, err := spec.ParseSet(text)
		require.NoError(t, err)
		_, err = set.Over(base)
		require.Equal(t, []string{want}, lines(err))
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{
		"dependOn": "dependsOn", "inptu": "input", "Input": "input", "xyz": "", "": "", "in": "",
	} {
		got, _ := object.Nearest(word, []string{"input", "dependsOn"})
		require.Equal(t, want, got, word)
	}
}

func TestAScalarKeepsHowItWasWritten(t *testing.T) {
	v, err := value("[1.10, 1e3, 0x1F, 1_000, True, 7, 1.5, text]")
	require.NoError(t, err)
	var got []string
	for _, item := range v.Items {
		got = append(got, item.Written())
	}
	require.Equal(t, []string{"1.10", "1e3", "0x1F", "1_000", "True", "7", "1.5", "text"}, got)

	set, err := spec.ParseSet("web:image.tag=1.10")
	require.NoError(t, err)
	require.Equal(t, "1.10", set.Value.Written())
}

// Many sets over one input copy each map and list once, and change nothing of the input.
func TestManySetsAreAsOneAfterTheOther(t *testing.T) {
	base, err := value("a: &a {x: 1, l: [1, {y: 2}]}\nb: *a\nc: {}\n")
	require.NoError(t, err)
	before := string(base.JSON())
	want, got, own := base, base, spec.Own{}
	for _, text := range []string{
		"a.x=2", "a.x=3", "b.l[1].y=4", "a.l[2]=new", "a.l[3]=newer", "a.l[2]=newest", "c.d.e=1", "c.d.f=2", "b.z={k: [1]}", "b.z.k[0]=5", "b.z.k[1]=6", "new=1", "new=2",
		"a.x.y=1", "a.l[9]=1", // These fail.
	} {
		set, err := spec.ParseSet(text)
		require.NoError(t, err)
		one, oneErr := set.Over(want)
		many, manyErr := set.Into(got, own)
		require.Equal(t, oneErr, manyErr)
		if oneErr == nil {
			want, got = one, many
		}
		require.Equal(t, want, got, text)
	}
	require.Equal(t, before, string(base.JSON()), "the input is as it was")

	big := object.Value{Kind: object.KindMap}
	for i := range 20_000 {
		big.Members = append(big.Members, object.Member{Name: fmt.Sprint(i), Value: base})
	}
	begin := time.Now()
	for range 5000 {
		set, err := spec.ParseSet(`["7"].c.x=1`)
		require.NoError(t, err)
		big, err = set.Into(big, own)
		require.NoError(t, err)
	}
	require.Less(t, time.Since(begin), 5*time.Second, "none copies the map")
}

func TestAWeightIsAtLeastWhatDocumentsTake(t *testing.T) {
	dense := []byte("a: [" + strings.Repeat("1,", 100_000) + "1]\n")
	v, err := spec.ParseValue(spec.File{Name: "v.yaml", Data: dense})
	require.NoError(t, err)
	require.Greater(t, spec.Weight(dense), v.Size())
	require.Less(t, spec.Weight([]byte(strings.Repeat("text ", 1000))), int64(6000))
}

// What kubectl reads as a bool is one in manifests, and a mistake in values that Helm reads.
func TestWordsOfYAML11(t *testing.T) {
	data := []byte("a: no\nb: \"no\"\nc: [On, y, nope]\nno: d\n")
	docs, err := spec.ParseManifests(spec.File{Name: "f", Data: data}, 1000)
	require.NoError(t, err)
	require.JSONEq(t, `{"a": false, "b": "no", "c": [true, true, "nope"], "no": "d"}`, string(docs[0].Value.JSON()))
	docs, err = spec.ParseDocuments(spec.File{Name: "f", Data: data}, 1000)
	require.NoError(t, err)
	require.JSONEq(t, `{"a": "no", "b": "no", "c": ["On", "y", "nope"], "no": "d"}`, string(docs[0].Value.JSON()))
	_, err = spec.ParseValues(spec.File{Name: "f", Data: data})
	require.EqualError(t, err, "f:1:4: spec: no without quotes is text here, and false for kubectl and Helm (write false, or quote it if it is text)\n"+
		"f:3:5: spec: On without quotes is text here, and true for kubectl and Helm (write true, or quote it if it is text)\n"+
		"f:3:9: spec: y without quotes is text here, and true for kubectl and Helm (write true, or quote it if it is text)")
}

// Helm makes texts of keys; what it writes in another way is refused.
func TestKeysOfValuesMayBeNumbers(t *testing.T) {
	text := "tcp: {9000: a, -1: b, true: c}\n"
	v, err := spec.ParseValues(spec.File{Name: "f", Data: []byte(text)})
	require.NoError(t, err)
	require.JSONEq(t, `{"tcp": {"9000": "a", "-1": "b", "true": "c"}}`, string(v.JSON()))
	for _, key := range []string{"0x10", "010", "1_000", "1.50", "1e3", "True", "null", "18446744073709551615"} {
		_, err := spec.ParseValues(spec.File{Name: "f", Data: []byte(key + ": a\n")})
		require.ErrorContains(t, err, "f:1:1: spec: key "+key+" is not text but ", key)
	}
	_, err = spec.ParseValues(spec.File{Name: "f", Data: []byte("9000: a\n\"9000\": b\n")})
	require.EqualError(t, err, `f:2:1: spec: key "9000" is written twice, first at line 1`)
	v, err = spec.ParseValue(spec.File{Name: "f", Data: []byte("helm: {values: {tcp: {9000: a}}}\n")})
	require.NoError(t, err)
	require.JSONEq(t, `{"helm": {"values": {"tcp": {"9000": "a"}}}}`, string(v.JSON()))
	_, err = spec.ParseValue(spec.File{Name: "f", Data: []byte("helm: {other: {9000: a}, values: {}, 1: a}\nvalues: {1: a}\n")})
	require.ErrorContains(t, err, "f:1:16: spec: key 9000 is not text")
	require.ErrorContains(t, err, "f:1:38: spec: key 1 is not text")
	require.ErrorContains(t, err, "f:2:10: spec: key 1 is not text")
}

// ending is a context that is done after some looks at it.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Reading a file of one large document stops when its context ends.
func TestAReadingEndsWithItsContext(t *testing.T) {
	data := "a:\n" + strings.Repeat("- {b: c}\n", 100_000)
	for name, text := range map[string]string{"one document": data, "broken documents": strings.Repeat("a: [\n---\n", 5000)} {
		t.Run(name, func(t *testing.T) {
			ctx := &ending{Context: t.Context(), left: 5}
			docs, err := spec.ParseManifests(spec.File{Name: "f", Data: []byte(text)}.Until(ctx), 4<<20)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Empty(t, docs)
			require.Greater(t, ctx.left, -10, "it was asked no more when it was over")
		})
	}
}
