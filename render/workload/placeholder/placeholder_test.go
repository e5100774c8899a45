// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package placeholder_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/placeholder"
)

func TestParse(t *testing.T) {
	lit := func(text string, offset int) placeholder.Part {
		return placeholder.Part{Literal: text, Offset: offset}
	}
	ref := func(offset int, steps ...string) placeholder.Part {
		return placeholder.Part{Ref: steps, Offset: offset}
	}
	tests := []struct {
		name, text string
		want       []placeholder.Part
	}{
		{"empty text has no part", "", nil},
		{"text without a dollar is literal", "plain {text}", []placeholder.Part{lit("plain {text}", 0)}},
		{"a reference is split at its dots", "${resources.db.host}", []placeholder.Part{ref(0, "resources", "db", "host")}},
		{"text around a reference keeps its place", "a${x.y}b", []placeholder.Part{lit("a", 0), ref(1, "x", "y"), lit("b", 7)}},
		{"references may touch", "${a}${b}", []placeholder.Part{ref(0, "a"), ref(4, "b")}},
		{"two dollars before a brace escape the reference", "$${x}", []placeholder.Part{lit("${x}", 0)}},
		{"two dollars are one", "a$$b", []placeholder.Part{lit("a$b", 0)}},
		{"four dollars are one and an escape", "$$$${x}", []placeholder.Part{lit("$${x}", 0)}},
		{"three dollars are one and a reference", "$$${x}", []placeholder.Part{lit("$", 0), ref(2, "x")}},
		{"a lone dollar is literal", "$", []placeholder.Part{lit("$", 0)}},
		{"a dollar at the end is literal", "5$", []placeholder.Part{lit("5$", 0)}},
		{"a dollar before a name is literal", "$x $1 $(Y)", []placeholder.Part{lit("$x $1 $(Y)", 0)}},
		{"an escaped dollar before a parenthesis is one", "$$(Y)", []placeholder.Part{lit("$(Y)", 0)}},
		{"an open reference is literal", "a ${b.c", []placeholder.Part{lit("a ${b.c", 0)}},
		{"an open escape loses one dollar", "$${b", []placeholder.Part{lit("${b", 0)}},
		{"content ends at the first brace", "${a{b}c}", []placeholder.Part{ref(0, "a{b"), lit("c}", 6)}},
		{"references do not nest", "${a${b}}", []placeholder.Part{ref(0, "a${b"), lit("}", 7)}},
		{"there are no defaults", "${a:-b}", []placeholder.Part{ref(0, "a:-b")}},
		{"an escaped dot stays in its step", `${metadata.annotations.key\.com/foo}`, []placeholder.Part{ref(0, "metadata", "annotations", "key.com/foo")}},
		{"a backslash escapes nothing but a dot", `${a\b.c\\.d}`, []placeholder.Part{ref(0, `a\b`, `c\.d`)}},
		{"an empty reference has one empty step", "${}", []placeholder.Part{ref(0, "")}},
		{"an escaped empty reference is literal", "$${}", []placeholder.Part{lit("${}", 0)}},
		{"empty steps are kept", "${.a.}", []placeholder.Part{ref(0, "", "a", "")}},
		{"dollars inside of an escape stay as they are", "$${$$}$$", []placeholder.Part{lit("${$$}$", 0)}},
		{"content may span lines", "${a\nb}", []placeholder.Part{ref(0, "a\nb")}},
		{"space is not taken away", "${ a }", []placeholder.Part{ref(0, " a ")}},
		{"a zero byte is no dot", "${a\x00b}", []placeholder.Part{ref(0, "a\x00b")}},
		{"literals on both sides of an escape are one", "é$$${a}$$é", []placeholder.Part{lit("é$", 0), ref(4, "a"), lit("$é", 8)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := placeholder.Parse(tt.text)
			require.Equal(t, tt.want, got)
			check(t, tt.text)
		})
	}
}

func TestMissed(t *testing.T) {
	tests := []struct {
		name, text, want string
		at               int
	}{
		{"a reference is none", "${resources.db.host}", "", 0},
		{"a brace is missing", "${resources.db.host", "${resources.db.host", 0},
		{"a brace is missing behind a reference", "${metadata.name}-${metadata.version:", "${metadata.version", 17},
		{"both braces are missing", "at $resources.db.host:80", "$resources.db.host", 3},
		{"parentheses are those of Kubernetes", "$(resources.db.host)", "$(resources.db.host)", 0},
		{"a parenthesis is missing", "$(resources.db.host:", "$(resources.db.host", 0},
		{"what closes another one is no part", "($resources.db.host)", "$resources.db.host", 1},
		{"a brace stands apart", "$ {resources.db.host}", "$ {resources.db.host}", 0},
		{"others have metadata of their own", "$(metadata.name) $metadata.name", "", 0},
		{"a shell has variables", "${HOME $resources $x ${", "", 0},
		{"an escape is meant", "$${resources.db.host}", "", 0},
		{"an escape is meant, open or not", "$${resources.db $$resources.db", "", 0},
		{"what follows an escape counts", "$$ $resources.db", "$resources.db", 3},
		{"text without a dollar", "resources.db.host", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, at := placeholder.Missed(tt.text)
			require.Equal(t, tt.want, found)
			if found != "" {
				require.Equal(t, tt.at, at)
			}
		})
	}
}

// oracle applies the regular expression of Score as score-go does: what begins
// with a second dollar loses the first one, the rest is a reference.
func oracle(text string) []string {
	re := regexp.MustCompile(`\$((?:\$?{([^}]*)})|\$)`)
	var out []string
	literal := ""
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		literal += text[end:m[0]]
		end = m[1]
		if text[m[2]] == '$' {
			literal += text[m[2]:m[3]]
			continue
		}
		if literal != "" {
			out = append(out, "literal "+literal)
			literal = ""
		}
		out = append(out, "reference "+text[m[4]:m[5]])
	}
	if literal += text[end:]; literal != "" {
		out = append(out, "literal "+literal)
	}
	return out
}

// check holds the parts of text against the oracle and the invariants.
func check(t *testing.T, text string) {
	t.Helper()
	parts := placeholder.Parse(text)
	var got []string
	var again strings.Builder
	refs, from := false, -1
	for _, p := range parts {
		require.Greater(t, p.Offset, from)
		from = p.Offset
		again.WriteString(p.String())
		if !p.IsRef() {
			got = append(got, "literal "+p.Literal)
			continue
		}
		refs = true
		require.True(t, strings.HasPrefix(text[p.Offset:], "${"))
		require.True(t, strings.HasPrefix(text[p.Offset:], p.String()), "%q writes itself", p.String())
		got = append(got, "reference "+strings.TrimSuffix(strings.TrimPrefix(p.String(), "${"), "}"))
	}
	require.Equal(t, oracle(text), got)
	require.Equal(t, refs, placeholder.HasRef(text))
	second := placeholder.Parse(again.String())
	require.Len(t, second, len(parts))
	for i := range second {
		second[i].Offset = parts[i].Offset
	}
	require.Equal(t, parts, second)
}

func TestParseEveryShortText(t *testing.T) {
	letters := []string{"$", "{", "}", ".", `\`, "a"}
	texts := []string{""}
	for range 6 {
		var longer []string
		for _, text := range texts {
			for _, l := range letters {
				longer = append(longer, text+l)
			}
		}
		for _, text := range longer {
			if fmt.Sprint(oracle(text)) != fmt.Sprint(shown(text)) {
				check(t, text)
			}
		}
		texts = longer
	}
}

// shown is what check compares with the oracle.
func shown(text string) []string {
	var out []string
	for _, p := range placeholder.Parse(text) {
		if p.IsRef() {
			out = append(out, "reference "+strings.TrimSuffix(strings.TrimPrefix(p.String(), "${"), "}"))
			continue
		}
		out = append(out, "literal "+p.Literal)
	}
	return out
}

func TestParseIsLinear(t *testing.T) {
	for _, unit := range []string{"${", "$${", "$$", "${a}", "$"} {
		text := strings.Repeat(unit, 16<<20/len(unit)/4)
		began := time.Now()
		placeholder.HasRef(text)
		placeholder.Parse(text)
		placeholder.Missed(text)
		require.Less(t, time.Since(began), 10*time.Second, "%q over and over", unit)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a${b.c}$$d", `$$$${x\.y}${`, "$${}${}", "\xff${\xfe}"} {
		f.Add(text)
	}
	f.Fuzz(check)
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"plain": "just a value", "url": "postgres://${resources.db.username}@${resources.db.host}:5432/app",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				placeholder.Parse(text)
			}
		})
	}
}

func ExampleParse() {
	for _, p := range placeholder.Parse(`postgres://${resources.db.host}/$${db}`) {
		if p.IsRef() {
			fmt.Printf("%q\n", p.Ref)
			continue
		}
		fmt.Println(p.Literal)
	}
	// Output:
	// postgres://
	// ["resources" "db" "host"]
	// /${db}
}
