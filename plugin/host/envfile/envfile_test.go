// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package envfile

import (
	"bytes"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

func TestAFileIsReadAsComposeReadsIt(t *testing.T) {
	text := strings.Join([]string{
		"\uFEFF# a comment", "PLAIN=a b  # behind", "export QUOTED=\"a # b\\n\\$c\"", "SINGLE='$PLAIN ${x'", "MULTI=\"one", "two\"",
		"EMPTY=", "YAML: value", "URL=http://u:p@h/${PLAIN}?a=${NONE:-b}#c", "DOLLAR=a$$b", "MUST=${PLAIN:?it must}", "lower.case=1", "LAST=x",
	}, "\n")
	out, errs := Parse(spec.File{Name: ".env", Data: []byte(text)})
	require.Empty(t, errs)
	require.Equal(t, map[string]string{
		"PLAIN": "a b", "QUOTED": "a # b\n$c", "SINGLE": "$PLAIN ${x", "MULTI": "one\ntwo", "EMPTY": "", "YAML": "value",
		"URL": "http://u:p@h/a b?a=b#c", "DOLLAR": "a$b", "MUST": "a b", "lower.case": "1", "LAST": "x",
	}, out)
	theirs, err := dotenv.Parse(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, theirs, out)
}

func TestMistakesHaveTheirLineAndNoValue(t *testing.T) {
	const canary = "c4nary"
	for _, c := range []struct{ text, want string }{
		{"A=1\nB 2=" + canary, "f.env:2: expected NAME=value: the name has a space in it"},
		{"A=1\n\n# c\nB%=" + canary, "f.env:4: expected NAME=value: the name has a character other than letters, digits, _, . and -"},
		{"A=1\nB=\"" + canary + "\nC=2", "f.env:2: the quote is not closed"},
		{"A=" + canary + "$OTHER\nOTHER=1", "f.env:1: what follows a $ names no variable that is set above it in the file"},
		{"A=\"" + canary + "${OTHER}\"", "f.env:1: what follows a $ names no variable"},
		{"HOME\nB=" + canary, "f.env:1: a name without a value"},
		{"B=" + canary + "\nexport HOME", "f.env:2: a name without a value"},
		{"A=x$" + canary, "f.env:1: what follows a $ names no variable"},
		{"A=x$db", "f.env:1: what follows a $ names no variable"},
		{"A=1\nB=${c4nary}$c4nary", "f.env:2: what follows a $ names no variable"},
		{"TLS_KEY=-----BEGIN\n" + canary + "\nB=1", "f.env:2: a name without a value"},
		{"A=${NONE:-$OTHER}", "f.env:1: a default that holds $ is not read"},
		{"A=1\nB=" + canary + "${\nC=1", "f.env:2: a reference with $ cannot be read"},
		{"A=1\n\nB=${C:?" + canary + "}\nD=2", "f.env:3: a reference with $ cannot be read, or asks for a value that is not there"},
	} {
		t.Setenv("HOME", canary)
		var log bytes.Buffer
		logrus.SetOutput(&log)
		out, errs := Parse(spec.File{Name: "f.env", Data: []byte(c.text)})
		require.Len(t, errs, 1, c.text)
		require.Contains(t, errs[0].Pos.String()+": "+errs[0].Err.Error(), c.want)
		require.NotContains(t, errs.Error(), canary)
		require.NotContains(t, errs[0].Hint, canary)
		require.True(t, errs[0].Secret)
		require.NotContains(t, out, "HOME")
		require.Empty(t, log.String(), "nothing is logged")
	}
	_, errs := Parse(spec.File{Name: "f.env", Data: make([]byte, MaxFile+1)})
	require.ErrorContains(t, errs.Err(), "has more than 256 KiB")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"A=1", "A=\"$B", "A='x'\nB=${A}", "export X", "=", "A=${B:-${C}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, errs := Parse(spec.File{Name: "f.env", Data: []byte(text)}); len(errs) > 0 {
			require.LessOrEqual(t, errs[0].Pos.Line, strings.Count(text, "\n")+1)
		}
	})
}
