// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// branch is a field of a document, with a leaf in JSON or fields below it.
type branch struct {
	name string
	leaf string
	sub  []*branch
}

func leaf(name, json string) *branch           { return &branch{name: name, leaf: json} }
func node(name string, sub ...*branch) *branch { return &branch{name: name, sub: sub} }
func (b *branch) has(name string) (int, bool) {
	i := slices.IndexFunc(b.sub, func(s *branch) bool { return s.name == name })
	return i, i >= 0
}

// whole is a Score file that has every field but for those that exclude each
// other; one leaf stands on one line.
func whole() *branch {
	amounts := func(name, memory, cpu string) *branch { return node(name, leaf("memory", memory), leaf("cpu", cpu)) }
	http := func(name string) *branch {
		return node(name, node("httpGet", leaf("port", "8080"), leaf("path", `"/"`), leaf("host", `"h"`), leaf("scheme", `"HTTP"`),
			leaf("httpHeaders", `[{"name": "A", "value": "b"}]`)))
	}
	return node("",
		leaf("apiVersion", `"score.dev/v1b1"`),
		node("metadata", leaf("name", `"api"`), node("annotations", leaf("example.com/team", `"shop"`)), leaf("other", `{"a": [1]}`)),
		node("service", node("ports", node("www", leaf("port", "80"), leaf("targetPort", "8080"), leaf("protocol", `"TCP"`)))),
		node("containers",
			node("web",
				leaf("image", `"nginx"`), leaf("command", `["a"]`), leaf("args", `["b"]`),
				node("variables", leaf("URL", `"x"`)),
				node("files",
					node("/a", leaf("content", `"text"`), leaf("mode", `"0644"`), leaf("noExpand", "true")),
					node("/b", leaf("binaryContent", `"aGk="`)), node("/c", leaf("source", `"c.txt"`))),
				node("volumes", node("/v", leaf("source", `"${resources.db}"`), leaf("path", `"sub"`), leaf("readOnly", "true"))),
				node("before", node("last", leaf("ready", `"started"`))),
				node("resources", amounts("requests", `"64Mi"`, `"100m"`), amounts("limits", `"4Ei"`, `"100"`)),
				http("livenessProbe"), node("readinessProbe", node("exec", leaf("command", `["ls"]`)))),
			node("last", leaf("image", `"."`))),
		node("resources", node("db", leaf("type", `"postgres"`), leaf("class", `"large"`), leaf("id", `"shop.db"`),
			node("metadata", node("annotations", leaf("kk", `"v"`)), leaf("other", "1")), leaf("params", `{"a": null}`))),
	)
}

// write writes the document and gives the line of each path.
func (b *branch) write(out *strings.Builder, line *int, indent, path string, lines map[string]int) {
	for _, s := range b.sub {
		*line++
		at := path + "/" + s.name
		lines[at] = *line
		if s.leaf != "" {
			fmt.Fprintf(out, "%s%s: %s\n", indent, strconv.Quote(s.name), s.leaf)
			continue
		}
		fmt.Fprintf(out, "%s%s:\n", indent, strconv.Quote(s.name))
		s.write(out, line, indent+"  ", at, lines)
	}
}

func (b *branch) text() (string, map[string]int) {
	var out strings.Builder
	line, lines := 0, map[string]int{}
	b.write(&out, &line, "", "", lines)
	return out.String(), lines
}

// at is the branch at a path whose steps have no slash in them but for |.
func (b *branch) at(path string) *branch {
	for step := range strings.SplitSeq(path, " ") {
		i, ok := b.has(step)
		if !ok {
			return nil
		}
		b = b.sub[i]
	}
	return b
}

// rule is a rule of the schema of Score for the values at a path.
type rule struct {
	path string
	// pattern is that of the schema, and what makes the values that are tried.
	pattern     string
	least, most int
	// key is set if the rule is about the name of the field, not its value.
	key bool
	// values are tried beside those made from them: each is held against the
	// pattern.
	values []string
	// stricter are values that the schema takes and Kubernetes does not; milder
	// are older forms.
	stricter, milder []string
}

const (
	namePattern = `^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$`
	wordPattern = `^[A-Za-z0-9][A-Za-z0-9-]{0,61}[A-Za-z0-9]$`
	keyPattern  = `^(([a-z0-9][a-z0-9-]{0,61}[a-z0-9])(\.[a-z0-9][a-z0-9-]{0,61}[a-z0-9])*/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$`
	memPattern  = `^(0\.\d+|[1-9]\d*(\.\d+)?)(K|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$`
	cpuPattern  = `^\d+(?:m|\.\d+)?$`
	idPattern   = `^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$`
)

func rules() []rule {
	names := []string{"ab", "a", "", "-a", "a-", "a_b", "A", "aB", "a.b", "a b", "é", "a-b", "0a", strings.Repeat("x", 63), strings.Repeat("x", 64), "a/b"}
	keys := []string{"ab", "a", "", "a.b", "ab.cd/ef", "a.b/ef", "ab/e", "/ef", "ab/", "ab/cd/ef", "AB/ef", "ab_c", "_ab", "ab.", strings.Repeat("x", 63), strings.Repeat("x", 64), "a b"}
	mem := []string{"", "0", "0.5", "0.5Gi", "0.0", "1", "01", "64Mi", "64 Mi", "1.5G", "1.", ".5", "1e3", "64m", "64k", "64KI", "-1", "+1", "2P", "2Ei", "1_0", "0x1"}
	cpu := []string{"", "0", "1", "0.5", "1.25", ".5", "1.", "100m", "0.5m", "-1", "1e3", "1k", "m", "1 ", "01"}
	amounts := []string{"1K", "128K", "0.5K"}
	return []rule{
		{path: "apiVersion", pattern: `^score\.dev/v1b1$`, values: []string{"score.dev/v1b2", "score.dev/v1", "score.dev/v1b1 ", "score.dev/v1b11"}},
		{path: "metadata name", pattern: namePattern, least: 2, most: 63, values: names},
		{path: "metadata annotations example.com/team", key: true, pattern: keyPattern, least: 2, most: 316, values: keys},
		{path: "service ports www", key: true, pattern: namePattern, least: 2, most: 63, values: names},
		{path: "service ports www protocol", pattern: `^(TCP|UDP)$`, values: []string{"tcp", "SCTP", "", "UDP"}},
		{path: "containers web", key: true, pattern: namePattern, least: 2, most: 63, values: names},
		{path: "containers web image", pattern: `^.+$`, values: []string{"", ".", "a/b:c@sha256:" + strings.Repeat("0", 64)}, stricter: []string{"a b", "${resources.db.image}", " "}},
		{path: "containers web variables URL", key: true, pattern: `^[^=]+$`, values: []string{"", "A", "A=B", "=", "a.b", "a b", "1"}, stricter: []string{"é", "a\tb"}},
		{path: "containers web files /a mode", pattern: `^0?[0-7]{3}$`, values: []string{"", "644", "0644", "00644", "0o644", "888", "64", "06444", "-644", "+644", "0_44", "7777"}},
		{path: "containers web files /a", key: true, pattern: `^.+$`, values: []string{"", "/x", "/x/y.z"}, stricter: []string{"x", "./x", "/x/../y", "/", "/x/", "/b/", "/b/below", "/a:b"}},
		{path: "containers web files /b binaryContent", pattern: `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`, values: []string{"", "aGk=", "aGk", "a", "*", "aGkh"}},
		{path: "containers web files /c source", pattern: `^.+$`, values: []string{"", "a", "../a"}, stricter: []string{"/etc/passwd"}},
		{path: "containers web volumes /v", key: true, pattern: `^.+$`, values: []string{"", "/x", "/x/"}, stricter: []string{"x", "/", "/a", "/a/x", "/../a"}},
		{path: "containers web volumes /v source", pattern: `^.+$`, values: []string{"", "x"}},
		{path: "containers web volumes /v path", pattern: ``, values: []string{"", "x", "x/y"}, stricter: []string{"/x", "../x", "x/.."}},
		{path: "containers web before last ready", pattern: `^(started|healthy|complete)$`, values: []string{"", "Started", "ready", "healthy", "complete"}},
		{path: "containers web before last", key: true, pattern: `^last$`, values: []string{"web", "lost", ""}},
		{path: "containers web resources limits memory", pattern: memPattern, values: mem, stricter: amounts},
		{path: "containers web resources requests memory", pattern: memPattern, values: []string{"64Mi", "64mi", "0.5Mi"}, stricter: amounts},
		{path: "containers web resources limits cpu", pattern: cpuPattern, values: cpu, milder: []string{".5"}},
		{path: "containers web resources requests cpu", pattern: cpuPattern, values: []string{"0", "50m", "0.05", "0.5m", "01"}, milder: []string{".05"}, stricter: []string{"101", "100001m"}},
		{path: "containers web livenessProbe httpGet scheme", pattern: `^(HTTP|HTTPS)$`, values: []string{"http", "https", "HTTPS", "", "TCP"}},
		{path: "containers web livenessProbe httpGet host", pattern: `^.+$`, values: []string{"", "x"}},
		{path: "resources db", key: true, pattern: namePattern, least: 2, most: 63, values: names},
		{path: "resources db type", pattern: wordPattern, least: 2, most: 63, values: append(names, "Postgres")},
		{path: "resources db class", pattern: wordPattern, least: 2, most: 63, values: append(names, "Large")},
		{path: "resources db id", pattern: idPattern, least: 2, most: 63, values: append(names, "a.b.c", "a..b", ".ab", "ab.", "a--b", "a.-b")},
		{path: "resources db metadata annotations kk", key: true, pattern: keyPattern, least: 2, most: 316, values: keys},
	}
}

// TestEveryRuleOfScoreIsKept makes documents from the rules: each value is held
// against the pattern of the schema, and the verdict must be the same, on the
// right line.
func TestEveryRuleOfScoreIsKept(t *testing.T) {
	text, _ := whole().text()
	_, errs := decode(t, text)
	require.Empty(t, said(errs), "the whole document is valid")
	cases := 0
	for _, r := range rules() {
		pattern := regexp.MustCompile(r.pattern)
		for _, value := range slices.Concat(r.values, r.stricter, r.milder) {
			ok := pattern.MatchString(value) && len(value) >= r.least && (r.most == 0 || len(value) <= r.most)
			ok = ok && !slices.Contains(r.stricter, value) || slices.Contains(r.milder, value)
			if r.path == "apiVersion" && !strings.HasPrefix(value, "score.dev/") {
				continue
			}
			doc := whole()
			b := doc.at(r.path)
			if strings.Contains(r.path, " limits ") {
				doc.at("containers web resources requests").sub = nil
				doc.at("containers web resources requests").leaf = "{}"
			}
			require.NotNil(t, b, r.path)
			if r.key {
				b.name = value
			} else {
				b.leaf = strconv.Quote(value)
			}
			text, lines := doc.text()
			at := strings.Split(r.path, " ")
			if r.key {
				at[len(at)-1] = value
			}
			line := lines["/"+strings.Join(at, "/")]
			_, errs := decode(t, text)
			verdict(t, errs.Failures(), ok, line, fmt.Sprintf("%s = %q", r.path, value))
			cases++
		}
	}
	require.Greater(t, cases, 250)
}

// verdict holds errors against what a rule says. A second mistake that follows
// from the first may stand on another line.
func verdict(t *testing.T, errs object.Errors, ok bool, line int, what string) {
	t.Helper()
	if ok {
		require.Empty(t, said(errs), what)
		return
	}
	require.NotEmpty(t, errs, "%s must be refused", what)
	require.True(t, slices.ContainsFunc(errs, func(e *object.Error) bool { return e.Pos.Line == line }),
		"%s: line %d is expected in\n%s", what, line, said(errs))
	for _, e := range errs {
		require.Equal(t, object.StageSpec, e.Stage)
		require.NotEmpty(t, e.Path)
	}
}

// each calls f with the path of every field of the complete document.
func (b *branch) each(path []string, f func(path []string, b *branch)) {
	for _, s := range b.sub {
		at := append(slices.Clone(path), s.name)
		f(at, s)
		s.each(at, f)
	}
}

// required are the fields that must be there, and chosen those of which there
// must be one.
func required() []string {
	return []string{
		"apiVersion", "metadata", "metadata name", "containers", "containers web image", "containers last image",
		"service ports www port", "containers web before last ready", "containers web volumes /v source", "resources db type",
		"containers web livenessProbe httpGet port", "containers web livenessProbe httpGet path", "containers web readinessProbe exec command",
		"containers web files /a content", "containers web files /b binaryContent", "containers web files /c source",
		"containers web livenessProbe httpGet", "containers web readinessProbe exec",
	}
}

func TestFieldsThatMustBeThereAreMissed(t *testing.T) {
	whole().each(nil, func(path []string, _ *branch) {
		doc := whole()
		up := doc
		if len(path) > 1 {
			up = doc.at(strings.Join(path[:len(path)-1], " "))
		}
		i, _ := up.has(path[len(path)-1])
		up.sub = slices.Delete(up.sub, i, i+1)
		if len(up.sub) == 0 {
			up.leaf = "{}"
		}
		text, lines := doc.text()
		if !strings.Contains(text, "score.dev/") {
			return // Nobody knows the document for a Score file then.
		}
		_, errs := decode(t, text)
		name := strings.Join(path, " ")
		missed := slices.Contains(required(), name) || name == "containers last"
		line := lines["/"+strings.Join(path[:len(path)-1], "/")]
		if len(path) > 1 && up.leaf == "" && !strings.Contains(name, " files /") {
			line++ // A map begins at its first field.
		}
		if name == "containers last" {
			line = lines["/containers/web/before/last"]
		}
		verdict(t, errs.Failures(), !missed, max(line, 1), name+" is missing")
	})
}

func TestEveryFieldHasItsType(t *testing.T) {
	values := map[string]string{"bool": "true", "number": "17", "string": `"text"`, "map": `{"kk": "v"}`, "list": `["x"]`}
	whole().each(nil, func(path []string, b *branch) {
		name := strings.Join(path, " ")
		if slices.Contains([]string{"apiVersion", "metadata other", "resources db metadata other"}, name) {
			return
		}
		kind := kindOf(b)
		for other, value := range values {
			// Text, amounts and lists of older files are upgraded with a warning.
			upgraded := kind == "string" && (other == "number" || other == "bool") && (strings.Contains(name, "variables") || strings.Contains(name, "annotations")) ||
				kind == "string" && other == "number" && (strings.HasSuffix(name, " cpu") || strings.HasSuffix(name, " memory")) ||
				name == "containers web files /a content" && other == "list"
			if other == kind || upgraded {
				continue
			}
			doc := whole()
			wrong := doc.at(name)
			wrong.leaf, wrong.sub = value, nil
			text, lines := doc.text()
			_, errs := decode(t, text)
			verdict(t, errs.Failures(), false, lines["/"+strings.Join(path, "/")], name+" as a "+other)
		}
	})
}

func kindOf(b *branch) string {
	switch {
	case b.sub != nil || b.leaf[0] == '{':
		return "map"
	case b.leaf[0] == '[':
		return "list"
	case b.leaf[0] == '"':
		return "string"
	case b.leaf == "true":
		return "bool"
	}
	return "number"
}

func TestEveryMapOfScoreIsClosed(t *testing.T) {
	free := []string{"metadata", "resources db metadata"}
	named := []string{
		"metadata annotations", "service ports", "containers", "containers web variables", "containers web files",
		"containers web volumes", "containers web before", "resources", "resources db metadata annotations",
	}
	doc := whole()
	check := func(path []string, b *branch) {
		name := strings.Join(path, " ")
		if b.sub == nil || slices.Contains(named, name) {
			return
		}
		b.sub = append(b.sub, leaf("zzzzzz", `"x"`))
		text, lines := doc.text()
		b.sub = b.sub[:len(b.sub)-1]
		_, errs := decode(t, text)
		verdict(t, errs.Failures(), slices.Contains(free, name), lines["/"+strings.Join(append(path, "zzzzzz"), "/")], name+" has an unknown field")
	}
	check(nil, doc)
	doc.each(nil, check)
}

func TestNumbersHaveBounds(t *testing.T) {
	for _, path := range []string{"service ports www port", "service ports www targetPort", "containers web livenessProbe httpGet port"} {
		for value, ok := range map[string]bool{"1": true, "65535": true, "0": false, "65536": false, "-1": false, "1.5": false, "8080.0": false, `"80"`: false, "9223372036854775807": false} {
			doc := whole()
			doc.at(path).leaf = value
			text, lines := doc.text()
			_, errs := decode(t, text)
			verdict(t, errs.Failures(), ok, lines["/"+strings.ReplaceAll(path, " ", "/")], path+" = "+value)
		}
	}
}
