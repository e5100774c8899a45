// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Case is a spec with a secret that is rejected, as the options of package plugin/host
// have it.
type Case struct {
	// Name says where the secret is, how it is written, and what is wrong.
	Name string
	// Spec is the name of the spec, and Folder that of its files.
	Spec, Folder string
	// Files are texts by path.
	Files map[string]string
	// Values, Set and Overrides name the spec; Runtime names an attribute of it.
	Values, Set, Overrides, Runtime []string
	// Inputs is what the environment prod has for the spec, as YAML; "" is nothing.
	Inputs string
}

// Cases are so many cases. Each depends on the seed and its own number only.
func Cases(seed uint64, from, n int) []Case { return cases(seed, from, n, "") }

// named are the cases in which a module or an option makes the secret a name, or a word of what it
// says itself: no position hides that, and a short one cannot be sought.
var named = regexp.MustCompile(`^--set S:N[ :]V|(more more|a key of (a label|data)|an annotation's key|an unknown member|a variable's name|an error of it|CEL of readiness|a dependency|a version|a kind|a node|a name|a namespace|a part of a name|too long a label)$`)

// Short are cases like [Cases] with this very secret in all of them, where it is a value.
func Short(seed uint64, from, n int, secret string) []Case {
	return slices.DeleteFunc(cases(seed, from, n, secret), func(c Case) bool { return named.MatchString(c.Name) })
}

func cases(seed uint64, from, n int, value string) []Case {
	places := []func(*generator, *Case){
		(*generator).document, (*generator).document, (*generator).values, (*generator).values, (*generator).set, (*generator).environment,
		(*generator).syntax, (*generator).syntax, (*generator).module, (*generator).url, (*generator).score, (*generator).override,
		(*generator).runtime, (*generator).policy, (*generator).fields, (*generator).manifest,
	}
	out := make([]Case, n)
	for i := range out {
		number := from + i
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(number))), spec: fmt.Sprintf("s%05d", number), value: value} //nolint:gosec // not for secrecy
		c := Case{Spec: g.spec, Folder: g.spec, Files: map[string]string{}}
		places[number%len(places)](g, &c)
		out[i] = c
	}
	return out
}

// Project is several cases as one project; the environment prod is in it.
type Project struct {
	Files                           map[string]string
	Values, Set, Overrides, Runtime []string
	// Names are those of the cases.
	Names []string
}

// Join is a project of some cases.
func Join(cases ...Case) Project {
	out := Project{Files: map[string]string{}}
	var inputs strings.Builder
	for _, c := range cases {
		maps.Copy(out.Files, c.Files)
		out.Values, out.Set = append(out.Values, c.Values...), append(out.Set, c.Set...)
		out.Overrides, out.Runtime = append(out.Overrides, c.Overrides...), append(out.Runtime, c.Runtime...)
		out.Names = append(out.Names, c.Spec+" "+c.Name)
		if c.Inputs != "" {
			inputs.WriteString("        " + c.Spec + ":\n" + c.Inputs)
		}
	}
	if inputs.Len() == 0 {
		inputs.WriteString("        {}\n")
	}
	out.Files["ropewalk.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: canaries}\nspec:\n  environments:\n    prod:\n      inputs:\n" + inputs.String()
	return out
}

// cue is the text of a module with a mistake; at is the path of the field in the input.
func (g *generator) cue(m mistake, at string) string {
	graph := strings.NewReplacer("SPEC", g.spec, "IN", "input."+at).Replace(m.use)
	schema := "_other?: string"
	if m.schema != "" {
		schema = strings.ReplaceAll(at, ".", ": ") + "!: " + m.schema
	}
	text := "ropewalk: apiVersion: \"v1alpha1\"\n#Input: {" + schema + "}\ninput: #Input\ncontext: {...}\n" + graph + "\n"
	return imports(text) + text
}

// imports are those of the standard packages that a text uses.
func imports(text string) string {
	var out strings.Builder
	for _, name := range []string{"encoding/base64", "encoding/json", "encoding/yaml", "regexp", "strconv", "strings", "time"} {
		if regexp.MustCompile(`\b` + path.Base(name) + `\.[A-Z]`).MatchString(text) {
			out.WriteString("import \"" + name + "\"\n")
		}
	}
	return out.String()
}

// transform is a Transform with an inline module; input is "" or lines with an indent
// of four.
func (g *generator) transform(cue, input string) string {
	if input != "" {
		input = "  input:\n" + input
	}
	return "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + g.spec + "}\nspec:\n  cueRef:\n    type: inline\n    ref: |\n" + indent(cue, 6) + input
}

func indent(text string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+pad) + "\n"
}

// field is where in the input the secret is, and the lines of it.
func (g *generator) field(text string, at int) (where, lines, how string) {
	name, pad := g.name(), strings.Repeat(" ", at)
	if g.IntN(3) == 0 {
		yaml, how := g.written(text, at+2)
		return "db." + name, pad + "db:\n" + pad + "  " + name + ":" + yaml + "\n", how
	}
	yaml, how := g.written(text, at)
	return name, pad + name + ":" + yaml + "\n", how
}

// document has the secret in the input of the document.
func (g *generator) document(c *Case) {
	text, like := g.secret()
	m := one(g, mistakes()...)
	at, lines, how := g.field(text, 4)
	c.Name = "the input: " + like + " in " + how + ": " + m.name
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, at), lines)
}

// values has it in a file of values, in YAML, JSON or CUE.
func (g *generator) values(c *Case) {
	text, like := g.secret()
	m := one(g, mistakes()...)
	at, lines, how := g.field(text, 0)
	name, data, other := "values.yaml", lines, g.name()
	field := strings.ReplaceAll(at, ".", `": {"`)
	nested := strings.Repeat("}", strings.Count(at, "."))
	switch g.IntN(6) {
	case 0:
		name, data, how = "values.json", `{"`+field+`": `+Quoted(text)+nested+"}", "JSON"
	case 1:
		name, data, how = "values.json", `{"`+field+`": `+Quoted(text)+nested+one(g, "", ",", "]", ", \"x\": "+g.word()), "JSON that is broken"
	case 2:
		name, data, how = "values.cue", "values: \""+field+`": `+Quoted(text)+nested+"\n", "CUE"
	case 3:
		name, how = "values.cue", "CUE that is broken"
		data = "values: \"" + field + `": ` + Quoted(text) + nested + one(g, " & int", " & \"x\"", " x", "\n}", "\n a: "+Quoted(text)+" & 3", "\nvalues: "+other+": "+Quoted(text)) + "\n"
	}
	c.Name = "values: " + like + " in " + how + ": " + m.name
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, at), "")
	c.Files[c.Spec+"/x/"+name] = data
	c.Values = []string{c.Spec + ":" + c.Spec + "/x/" + name}
}

// set has it in an option of the command line, which the sidecar takes as a variable or
// as a parameter.
func (g *generator) set(c *Case) {
	text, like := g.secret()
	text = strings.ReplaceAll(text, "\n", "")
	m := one(g, mistakes()...)
	name := g.name()
	form := one(g, "S:N=V", "S:N=Q", "S:N={a: Q}", "S:N=[Q, Q]", `S:N="V`, "S:N={a: V", "S:N=[V]x", "S:N[=V", "S:N[0]=V", "S:N.=V", "nope:N=V", "S:N:V",
		"S:N V", "S:N=Q V", "S:N=&a Q", "S:N=!!int Q", "S:N=*V", "S:N={a: Q, a: Q}", "S:N['a']=V", "S:N..a=V", "S N=V", "S:N=Q,N=Q", "S:=V", "S:N=V\xff", "--N=V")
	c.Name = "--set " + form + ": " + like + ": " + m.name
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, name), "")
	c.Set = []string{strings.NewReplacer("S", c.Spec, "N", name, "V", text, "Q", Quoted(text)).Replace(form)}
}

// environment has it in the project.
func (g *generator) environment(c *Case) {
	text, like := g.secret()
	m := one(g, mistakes()...)
	at, lines, how := g.field(text, 10)
	c.Name = "an environment: " + like + " in " + how + ": " + m.name
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, at), "")
	c.Inputs = lines
}

// syntax has text around it that cannot be read, in the document or in values.
func (g *generator) syntax(c *Case) {
	text, like := g.secret()
	what := one(g, slices.Sorted(maps.Keys(syntax()))...)
	in, at := "the input", 4
	if g.IntN(2) == 0 {
		in, at = "values", 0
	}
	name := g.name()
	yaml, how := g.written(text, at)
	pad := strings.Repeat(" ", at)
	lines := pad + name + ":" + yaml + "\n" + strings.NewReplacer("I", pad, "F", name, "V", one(g, Quoted(text), g.word())).Replace(syntax()[what])
	c.Name = in + ": " + like + " in " + how + " with " + what
	m := mistake{"", "int", good}
	if at > 0 {
		c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, name), lines)
		return
	}
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(m, name), "")
	c.Files[c.Spec+"/x/values.yaml"] = lines
	c.Values = []string{c.Spec + ":" + c.Spec + "/x/values.yaml"}
}

// Many is how many cases a test drives: what ROPEWALK_CANARIES says, or some hundreds.
func Many(t testing.TB) int {
	text := os.Getenv("ROPEWALK_CANARIES")
	if text == "" {
		return 320
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "ROPEWALK_CANARIES")
	return n
}
