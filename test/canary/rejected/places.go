// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rejected

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// module has it in the text of a module: inline, or in files.
func (g *generator) module(c *Case) {
	text, like := g.secret()
	name := g.name()
	form := one(g,
		`s: K & {stringData: a: Q}`, `s: K & {stringData: a: Q, stringData: a: "other"}`, `s: K & {stringData: a: Q & int}`, `s: K & {data: a: B}`,
		`s: K & {stringData: a: Q`, `s: K & {stringData: {a: Q, b: {c: Q}}}`, `s: K & {stringData: [Q]}`, `s: K & {stringData: Q}`, `s: K & {data: a: Q & strings.MaxRunes(3)}`,
		`s: K & {stringData: a: Q, stringDatum: Q}`, `s: K & {stringData: "a b": Q}`, `s: K & {stringData: a: "x\(N)"}, N: Q`, `s: K & {stringData: a: N}, N: Q & nope`,
		`_N: Q & int, s: K & {stringData: a: _N}`, `#N: Q & "x", s: K & {stringData: a: #N}`, `let N = Q & 3, s: K & {stringData: a: N}`, `N: Q Q`, `N: Q & int`,
		`s: K & {stringData: a: strconv.Atoi(N)}, N: Q`, `s: K & {stringData: a: Q} & {stringData: close({b: "x"})}`, `s: K & {stringData: a: Q | 3 | B}`, `s: {kind: "Secret", stringData: a: Q & 3}`,
		`l: {apiVersion: "v1", kind: "List", metadata: {}, items: [K & {stringData: a: Q & int}]}`, `s: K & {stringData: [string]: =~"^x$"}, s: stringData: a: Q`,
		`c: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "c", annotations: "kubectl.kubernetes.io/last-applied-configuration": json.Marshal(K & {stringData: a: Q})}}`,
		`c: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "c", annotations: "kubectl.kubernetes.io/last-applied-configuration": json.Marshal(K & {data: a: B}) + 3}}`,
	)
	cue := strings.NewReplacer("K", `{apiVersion: "v1", kind: "Secret", metadata: name: "`+g.spec+`"}`, "N", name, "Q", Quoted(text),
		"B", Quoted(base64.StdEncoding.EncodeToString([]byte(text)))).Replace(strings.ReplaceAll(form, ", _", "\n_")) + "\n"
	if g.IntN(2) == 0 {
		cue = strings.NewReplacer("{", "{\n", ", ", ",\n", " & ", " &\n\t").Replace(form)
		cue = strings.NewReplacer("K", `{apiVersion: "v1", kind: "Secret", metadata: name: "`+g.spec+`"}`, "N", name, "Q", Quoted(text),
			"B", Quoted(base64.StdEncoding.EncodeToString([]byte(text)))).Replace(cue) + "\n"
	}
	c.Name = "a module: " + like + ": " + form
	if g.IntN(2) == 0 {
		c.Files[c.Spec+"/a.yaml"] = g.transform(imports(cue)+cue, "")
		return
	}
	c.Files[c.Spec+"/a.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + g.spec + "}\nspec: {cueRef: {type: path, ref: ./m}}\n"
	c.Files[c.Spec+"/m/a.cue"] = "package m\n" + imports(cue) + cue
	c.Files[c.Spec+"/m/cue.mod/module.cue"] = "module: \"example.test/m@v0\"\nlanguage: version: \"v0.14.0\"\n"
}

// url has it in a reference. Nothing listens at port 9 of this machine.
func (g *generator) url(c *Case) {
	secret := one(g, g.word(), url.QueryEscape("a+"+g.word()+"/%&"))
	form := one(g,
		"git https://shop:V@127.0.0.1:9/x.git", "git https://V@127.0.0.1:9/x.git", "git https://127.0.0.1:9/x.git?token=V", "git https://127.0.0.1:9/x.git?tag=v1&access_token=V",
		"git http://shop:V@127.0.0.1:9/x.git?tag=v1", "git ssh://git:V@127.0.0.1:9/x.git", "git shop:V@127.0.0.1:x.git", "git https://127.0.0.1:9/x.git#V",
		"git https://shop:V@127.0.0.1:nine/x.git", "git https://shop:V @127.0.0.1/x.git", "git https://127.0.0.1:9/x.git?password=V&tag=", "git file://shop:V@/x", "git https//shop:V@127.0.0.1",
		"oci oci://shop:V@127.0.0.1:9/x:v1", "oci shop:V@127.0.0.1:9/x:v1", "oci oci://127.0.0.1:9/x:v1?token=V", "oci https://shop:V@127.0.0.1:9/x", "oci oci://127.0.0.1:9/x?sig=V",
		"module shop:V@127.0.0.1/x@v1", "registry https://shop:V@127.0.0.1/x", "path ../../https://shop:V@127.0.0.1", "path https://shop:V@127.0.0.1/x?token=V", "embedded https://shop:V@127.0.0.1",
		"configmap https://shop:V@127.0.0.1", "source GitRepository/https://shop:V@127.0.0.1", "helm https://shop:V@127.0.0.1/x?token=V", "https://shop:V@127.0.0.1 x",
		"git https://shop:V@127.0.0.1:9/x.git?tag=v1?semver=x", "git \\https://shop:V@127.0.0.1", "git HTTPS://shop:V@127.0.0.1/x", "git https:///shop:V@127.0.0.1/x", "git git+https://shop:V@127.0.0.1/x",
	)
	kind, ref, _ := strings.Cut(form, " ") // Before the secret, which may hold spaces, is in it.
	kind, ref = strings.ReplaceAll(kind, "V", secret), strings.ReplaceAll(ref, "V", secret)
	text := "{type: " + Quoted(kind) + ", ref: " + Quoted(ref) + "}"
	where := one(g, "cueRef", "policies", "path", "unknown")
	spec := "spec:\n  cueRef: " + text + "\n"
	switch where {
	case "policies":
		spec = "spec:\n  cueRef: {type: inline, ref: \"a: 1\"}\n  policies: [{name: a, cueRef: " + text + "}]\n"
	case "path":
		spec = "spec:\n  cueRef: {type: " + Quoted(kind) + ", ref: " + Quoted(ref) + ", path: " + Quoted("../"+ref) + "}\n"
	case "unknown":
		spec = "spec:\n  cueRef: {type: " + Quoted(kind) + ", ref: " + Quoted(ref) + ", url: " + Quoted(ref) + "}\n"
	}
	c.Name = "a reference of " + where + ": " + form
	c.Files[c.Spec+"/a.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: " + g.spec + "}\n" + spec
}

// score has it in a Score file, beside a mistake.
func (g *generator) score(c *Case) {
	text, like := g.secret()
	yaml, how := g.written(text, 6)
	name := g.name()
	form := one(g,
		"    variables:\n      N:V\n      B: ${resources.nope.a}\n", "    variables:\n      N:V\n      N:V\n", "    variables:\n      N:V\n      a=b: x\n", "    variables:\n      N:V\n    varables: {}\n",
		"    variables:\n      N: [Q]\n", "    variables:\n      N: {a: Q}\n", "    variables:\n      N: Q x\n", "    variables:\n      N: \"Q\n", "    variables:\n      N: 'a${resources.nope.a}W'\n",
		"    N: Q\n", "    image: Q\n    N: Q\n", "    files:\n      /etc/N: {content: Q, binaryContent: Q}\n", "    files:\n      /etc/a: {content: {N: Q}}\n", "    variables:\n      N: W${metadata.nope}W\n",
		"resources:\n  db: {type: postgres, params: {N: Q}}\n", "resources:\n  db: {type: nope, params: {N: Q}}\n", "resources:\n  db: {type: postgres, N: Q}\n", "resources:\n  db: {type: postgres, params: {N: [Q, {N: Q}]}}\n",
		"resources:\n  db: {type: redis, params: {N: \"W${resources.nope.a}\"}}\n", "N: Q\n", "metadata: {name: x, annotations: {N: Q}}\n", "service: {ports: {a: {port: 80, N: Q}}}\n",
		"    livenessProbe: {httpGet: {path: /, port: 80, httpHeaders: [{name: Authorization, value: Q, N: Q}]}}\n",
	)
	c.Name = "Score: " + like + " in " + how + ": " + form
	c.Files[c.Spec+"/score.yaml"] = "apiVersion: score.dev/v1b1\nmetadata: {name: " + g.spec + "}\ncontainers:\n  main:\n    image: a\n    nope: 1\n" +
		strings.NewReplacer("N", name, "V", yaml, "Q", Quoted(text), "W", g.word()).Replace(form)
}

// override has it in an option over a Score file.
func (g *generator) override(c *Case) {
	text, like := g.secret()
	text = strings.ReplaceAll(text, "\n", "")
	form := one(g, "S:containers.main.variables.N=V", "S:containers.main.N=V", "S:containers.nope.variables.N=V", "S:containers.main.variables.N=[Q]", "S:containers.main.variables.N={a: Q",
		"nope:containers.main.variables.N=V", "S:containers.main.variables[=V", "S:containers.main.variables.N V", "S:containers.main.variables.N:V", "S:resources.db.params.N=V", "S:N=Q", "S:.=V", "=V", "S:containers.main.variables.N=\"V")
	c.Name = "--override-property " + form + ": " + like
	c.Files[c.Spec+"/score.yaml"] = "apiVersion: score.dev/v1b1\nmetadata: {name: " + g.spec + "}\ncontainers:\n  main:\n    image: a\n    nope: 1\n"
	c.Overrides = []string{strings.NewReplacer("S", c.Spec, "N", g.name(), "V", text, "Q", Quoted(text)).Replace(form)}
}

// runtime has it in a value of an attribute of the module.
func (g *generator) runtime(c *Case) {
	text, like := g.secret()
	m := one(g, mistakes()...)
	attribute := "A_" + c.Spec
	kind := one(g, "string", "int", "bool", "number")
	cue := strings.ReplaceAll(g.cue(mistake{m.name, "string", m.use}, "value"), "input: #Input\n", "input: #Input\ninput: value: string @timoni(runtime:"+kind+":"+attribute+")\n")
	form := one(g, "A=V", "A=V", "A=V", "A B=V", "B=V", "A:V=V")
	c.Name = "a value of a runtime (" + kind + ") " + form + ": " + like + ": " + m.name
	c.Files[c.Spec+"/a.yaml"] = g.transform(cue, "    nope: 1\n")
	c.Runtime = []string{strings.NewReplacer("A", attribute, "B", "B_"+c.Spec, "V", text).Replace(form)}
}

// policy has a policy that repeats it.
func (g *generator) policy(c *Case) {
	text, like := g.secret()
	at, lines, how := g.field(text, 4)
	body := "subject: {...}\nviolations: [{policy: \"x\", message: \"no \\(subject.input." + at + ") here\", path: " + one(g, `"`+at+`"`, `"\(subject.input.`+at+`)"`) + "}]\n"
	c.Name = "a policy: " + like + " in " + how
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(mistake{"", "_", good}, at), lines) + "  policies:\n  - name: p\n    cueRef:\n      type: inline\n      ref: |\n" + indent(body, 8)
}

// fields has it in fields that a document does not have.
func (g *generator) fields(c *Case) {
	text, like := g.secret()
	name := g.name()
	form := one(g, "  N:V\n", "N:V\n", "  context: {N: Q}\n", "  dependsOn: [{name: a, N: Q}]\n", "  policies: [{name: a, N: Q}]\n", "  input: {N: Q}\n  N: Q\n",
		"  cueRef: {N: Q}\n", "  tags: {N: [Q]}\n", "  allowSecrets: [{N: Q}]\n", "  input: [{N: Q}]\n", "  inputs: {N: Q}\n", "stringData: {a: Q}\n", "  adopt: {N: Q}\n")
	yaml, how := g.written(text, 2)
	c.Name = "a field that is none: " + like + " in " + how + ": " + form
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(mistake{"", "int", good}, name), "") + strings.NewReplacer("N", name, "V", yaml, "Q", Quoted(text)).Replace(form)
}

// manifest has the manifest of a Secret where a spec belongs, and a mistake in it.
func (g *generator) manifest(c *Case) {
	text, like := g.secret()
	yaml, how := g.written(text, 2)
	form := one(g, "stringData:\n  a:V\n", "data:\n  a:V\n", "data:\n  a: B\n  a: B\n", "stringData:\n  a:V\n b: c\n", "stringData: {a: Q\n", "stringData: [Q]\n", "stringData: Q\n",
		"stringData:\n  a:V\nmetadata: {name: b}\n", "stringData:\n\ta:V\n", "stringData:\n  a: {b: Q}\n", "stringData: {a: *Q}\n")
	body := "apiVersion: v1\nkind: Secret\nmetadata: {name: " + g.spec + "}\n" + strings.NewReplacer("V", yaml, "Q", Quoted(text), "B", base64.StdEncoding.EncodeToString([]byte(text))).Replace(form)
	c.Name = "a manifest: " + like + " in " + how + ": " + form
	c.Files[c.Spec+"/a.yaml"] = g.transform(g.cue(mistake{"", "int", good}, "a"), "    a: x\n") + "---\n" + body
	if g.IntN(2) == 0 {
		c.Files[c.Spec+"/b.yaml"] = body
	}
}
