// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestNoLineOfAMessageIsACommandForGitHub(t *testing.T) {
	require.Equal(t, "a\n  b\n  | ::error::c\n  |   ::add-mask::d: e", Lines("a\nb\n::error::c\n  ::add-mask::d: e\n", "  "))
	require.Equal(t, "| ::stop-commands::x", Lines("::stop-commands::x", ""))
}

func TestExitCodesTellWhoseMistakeItIs(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	at := func(file string, err error) object.Errors {
		return object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: err}}
	}
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"no error is good":                 {nil, Good},
		"a mistake in a file is a finding": {at("api.yaml", errors.New("no")), Findings},
		"a missing module of a spec is a finding": {
			object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: "api.yaml", Line: 5}, Err: missing}}, Findings,
		},
		"a missing file is the environment":      {at("api.yaml", missing), Environment},
		"a mistake on the command line is usage": {at("--set a=b", errors.New("no")), Usage},
		"a value of the command line that a module refuses is a finding": {
			object.Errors{{Stage: object.StageEvaluate, Pos: object.Pos{File: "--set a=b"}, Err: errors.New("no")}}, Findings,
		},
		"a mistake in standard input is a finding":     {at("-", errors.New("no")), Findings},
		"a missing argument is the environment":        {at("", missing), Environment},
		"what nobody can place is a finding":           {at("", errors.New("no")), Findings},
		"a wrapped list counts as the list":            {fmt.Errorf("x: %w", at("--set a=b", missing)), Usage},
		"one mistake counts as a list of one":          {at("api.yaml", missing)[0], Environment},
		"a wrong call is usage":                        {Usagef("", "no"), Usage},
		"what the system refuses is the environment":   {missing, Environment},
		"an artifact with unsafe layers is a finding":  {fmt.Errorf("x: %w", artifact.ErrShape), Findings},
		"an artifact over a limit is a finding":        {fmt.Errorf("x: %w", artifact.ErrLimit), Findings},
		"a cancelled run is interrupted":               {errors.Join(context.Canceled, missing), Interrupted},
		"a reported error keeps the code of its cause": {errors.Join(ErrReported, nil, at("a", missing)), Environment},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.code, ExitCode(c.err)) })
	}
}

func TestReportsShowTheLineTheNotesAndTheHint(t *testing.T) {
	var b bytes.Buffer
	r := Report{out: &b, read: fileReader(map[string][]byte{
		"api.yaml":            []byte("a: 1\n\treplicas: \"two\"\n"),
		"modules/api/api.cue": []byte("#Input: replicas: int\n"),
	})}
	r.Fail(object.Errors{
		{
			Stage: object.StageEvaluate, Pos: object.Pos{File: "api.yaml", Line: 2, Column: 12},
			Path: "spec.input.replicas", Err: errors.New("expected int, found \"two\""),
			Hint:  "write a number",
			Notes: []object.Note{{Pos: object.Pos{File: "modules/api/api.cue", Line: 1, Column: 19}, Text: "required here"}},
		},
		{
			Severity: object.SeverityWarning, Policy: "images", Node: "api/deployment", Path: "spec",
			Err: errors.New("registry \x1b[31munknown"),
		},
	})
	// The error comes last, next to the number.
	require.Equal(t, `ropewalk: warning: policy images: api/deployment: spec: registry \x1b[31munknown
api.yaml:2:12: spec.input.replicas: expected int, found "two"
  | 	replicas: "two"
  | 	          ^
  modules/api/api.cue:1:19: required here
    | #Input: replicas: int
    |                   ^
  hint: write a number
1 error, 1 warning
`, b.String())
}

func TestReportsOfManyMistakesAreBounded(t *testing.T) {
	const n = 30_000
	text := strings.Repeat("metadata: [\r\n", n)
	es := object.Errors{{Severity: object.SeverityWarning, Pos: object.Pos{File: "f", Line: 1, Column: 1}, Err: errors.New("a warning")}}
	for i := range n {
		es = append(es, &object.Error{Pos: object.Pos{File: "f", Line: i + 1, Column: 11}, Err: errors.New("not closed")})
	}
	var b bytes.Buffer
	Report{out: &b, read: fileReader(map[string][]byte{"f": []byte(text)})}.Mistakes(es)
	require.Equal(t, 200, strings.Count(b.String(), "f:"))
	require.NotContains(t, b.String(), "a warning")
	require.Contains(t, b.String(), "f:200:11: not closed\n  | metadata: [\n  |           ^\n"+
		"… and 29801 more: ropewalk vet --format json lists all\n30000 errors, 1 warning\n")

	b.Reset()
	Report{out: &b, JSON: true}.Mistakes(es)
	require.Equal(t, n, strings.Count(b.String(), "not closed"))
}

func TestExcerptsCountLinesAsEditorsDo(t *testing.T) {
	read := fileReader(map[string][]byte{"f": []byte("a\r\nb\rc\n\nd\n")})
	for line, want := range map[int]string{1: "a", 2: "b", 3: "c", 4: "", 5: "d", 6: ""} {
		text, _, _ := strings.Cut(excerpt(read, object.Pos{File: "f", Line: line, Column: 1}, nil), "\n")
		require.Equal(t, want, text)
	}
}

func TestReportsAsDataAreOneList(t *testing.T) {
	var b bytes.Buffer
	r := Report{out: &b, JSON: true}
	r.Fail(Usagef("hint", "wrong <call>"))
	require.JSONEq(t, `[{"stage": "", "severity": "error", "message": "wrong <call>"}]`, b.String())
	b.Reset()
	r.Mistakes(nil)
	require.Equal(t, "[]\n", b.String())
}

func TestExcerptsLeaveOutWhatIsNoHelp(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		pos  object.Pos
	}{
		"a line past the end":      {"a\n", object.Pos{File: "f", Line: 3, Column: 1}},
		"a column past the end":    {"a\n", object.Pos{File: "f", Line: 1, Column: 3}},
		"the file as a whole":      {"a\n", object.Pos{File: "f"}},
		"a line of binary data":    {"\xff\xfe\x00\n", object.Pos{File: "f", Line: 1, Column: 1}},
		"an empty line":            {"\n\n", object.Pos{File: "f", Line: 1, Column: 1}},
		"a file that is not there": {"", object.Pos{File: "g", Line: 1, Column: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, excerpt(fileReader(map[string][]byte{"f": []byte(c.text)}), c.pos, nil))
		})
	}
}

func TestOfLongLinesOnlyThePartAroundTheColumnIsShown(t *testing.T) {
	half := strings.Repeat("x", 80)
	umlauts := strings.Repeat("\u00fc", 40)
	for name, c := range map[string]struct {
		text   string
		column int
		want   string
	}{
		"the beginning":  {"a: " + half + half, 1, "a: " + half + half[:77] + "…\n^\n"},
		"the middle":     {half + half + "|" + half + half, 161, "…" + half + "|" + half[:79] + "…\n" + strings.Repeat(" ", 81) + "^\n"},
		"the end":        {half + half + half + "|", 241, "…" + half + half[:79] + "|\n" + strings.Repeat(" ", 160) + "^\n"},
		"whole letters":  {umlauts + "x" + umlauts + "|" + umlauts + "x" + umlauts, 162, "…" + umlauts + "|" + strings.Repeat("\u00fc", 39) + "…"},
		"control and \t": {"\t\x1b[31m" + half + half, 2, "\t\\x1b[31m"},
		"a password":     {half + half + "https://user:s3cret@host/" + half, 186, "https://***********@host/"},
	} {
		t.Run(name, func(t *testing.T) {
			got := excerpt(fileReader(map[string][]byte{"f": []byte(c.text)}), object.Pos{File: "f", Line: 1, Column: c.column}, nil)
			require.Contains(t, got, c.want)
			require.True(t, utf8.ValidString(got))
		})
	}
}

func TestExcerptsShowLinesThatAreNotUTF8(t *testing.T) {
	read := fileReader(map[string][]byte{"f": []byte("a: gr\xfcn\n")})
	require.Equal(t, "a: gr\\xfcn\n     ^\n", excerpt(read, object.Pos{File: "f", Line: 1, Column: 6}, nil))
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a: b\r\n\tc: d\n"), 2, 3)
	f.Fuzz(func(t *testing.T, data []byte, line, column int) {
		read := fileReader(map[string][]byte{"f": data})
		text := excerpt(read, object.Pos{File: "f", Line: line, Column: column}, nil)
		require.NotContains(t, text, "\x1b")
	})
}

func TestRepositoriesAreSplitFromTheirTag(t *testing.T) {
	for ref, want := range map[string][2]string{
		"oci://localhost:5000/a/b":        {"oci://localhost:5000/a/b", ""},
		"oci://localhost:5000/a/b:v1":     {"oci://localhost:5000/a/b", "v1"},
		"oci://ghcr.io/a/b@sha256:abcdef": {"oci://ghcr.io/a/b", "sha256:abcdef"},
		"":                                {"", ""},
	} {
		repository, reference := splitRepository(ref)
		require.Equal(t, want, [2]string{repository, reference}, ref)
	}
}

func TestStreamsSeparateDocuments(t *testing.T) {
	files := []emit.File{
		{Path: "0-a.yaml", Data: []byte("a: 1\n")},
		{Path: "1-b.yaml", Data: []byte("---\nb: \"<x>\"\nbig: 12345678901234567\n")},
	}
	data, err := Stream(files, "yaml")
	require.NoError(t, err)
	require.Equal(t, "---\na: 1\n---\nb: \"<x>\"\nbig: 12345678901234567\n", string(data))
	data, err = Stream(files, "json")
	require.NoError(t, err)
	require.Contains(t, string(data), "<x>")
	require.JSONEq(t, `{"apiVersion": "v1", "kind": "List", "items": [{"a": 1}, {"b": "<x>", "big": 12345678901234567}]}`, string(data))
	written, err := JSONFiles(files)
	require.NoError(t, err)
	require.Equal(t, "0-a.json", written[0].Path)
	for text, want := range map[string]string{"a: 1\n---\nb: 2\n": "2-c.yaml: expected one document, found a second one", "a: 1\n---\n[": "2-c.yaml: yaml: "} {
		broken := append(files, emit.File{Path: "2-c.yaml", Data: []byte(text)})
		_, err = Stream(broken, "json")
		require.ErrorContains(t, err, want)
		_, err = JSONFiles(broken)
		require.ErrorContains(t, err, want)
	}
}

func TestProgressIsOneLineThatGoesAway(t *testing.T) {
	var b bytes.Buffer
	now := time.Now()
	p := &Progress{out: &b, verb: "rendering", width: 20, start: now, now: func() time.Time { return now }}
	p.Specs(1, 10)
	require.Empty(t, b.String(), "short work shows nothing")
	p.Specs(1, 1000)
	require.Equal(t, "\r\x1b[Krendering 1 of 1000", b.String())
	p.Specs(2, 1000)
	p.Clear()
	p.Specs(3, 1000)
	require.Equal(t, "\r\x1b[Krendering 1 of 1000\r\x1b[K", b.String())
	require.Nil(t, NewProgress(Streams{}, ""))
	NewProgress(Streams{}, "").Clear()

	b.Reset()
	p = &Progress{out: &b, verb: "pulling", width: 80, start: now, now: func() time.Time { return now }}
	p.Bytes(1024)
	require.Empty(t, b.String())
	now = now.Add(2 * time.Second)
	p.Bytes(1024)
	require.Equal(t, "\r\x1b[Kpulling 2.0 KiB, 1.0 KiB/s", b.String())
}

func TestAReaderThatIsNotInterruptedReads(t *testing.T) {
	data, err := io.ReadAll(Stoppable(t.Context(), strings.NewReader("text")))
	require.NoError(t, err)
	require.Equal(t, "text", string(data))
	_, err = Stoppable(t.Context(), readerFunc(func([]byte) (int, error) { return 0, syscall.EIO })).Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.EIO)
}
