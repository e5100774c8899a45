// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/component/helm"
	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// shop is the chart in testdata with other files over it; "" removes one.
func shop(t *testing.T, over map[string]string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	root := os.DirFS("testdata")
	require.NoError(t, fs.WalkDir(root, "shop", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	}))
	for name, text := range over {
		if files[name] = (&fstest.MapFile{Data: []byte(text)}); text == "" {
			delete(files, name)
		}
	}
	return files
}

// request asks for the chart with values as in a file called component.yaml.
func request(t *testing.T, files fs.FS, values string) component.Request {
	t.Helper()
	v, err := spec.ParseValue(spec.File{Name: "component.yaml", Data: []byte(values)})
	require.NoError(t, err)
	at := object.Pos{File: "component.yaml", Line: 90, Column: 3}
	return component.Request{
		Name: "shop", FS: files, Dir: ".", Context: object.Context{Namespace: "apps", KubeVersion: "1.33"},
		Component: spec.Component{Pos: at, Path: object.Fields("spec", "helm"), Helm: &spec.Helm{Chart: spec.Text{Text: "shop", Pos: at}, Values: v, Hooks: spec.HooksWaves}},
		At: func(name string, line, column int) object.Pos {
			return object.Pos{File: name, Line: line, Column: column}
		},
	}
}

func TestAChartIsRendered(t *testing.T) {
	out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, nil), "replicas: 3\nsettings: {shape: null, size: 1.50}\n"))
	require.NoError(t, err)
	var b strings.Builder
	for _, o := range out.Objects {
		data, err := json.MarshalIndent(o.Object, "", " ")
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s phase %d %q mode %q deletion %q\n%s\n", o.Pos, o.Phase, o.PhaseName, o.Apply.Mode, o.Apply.Deletion, data)
	}
	for _, w := range out.Warnings {
		fmt.Fprintln(&b, w)
	}
	const golden = "testdata/shop.golden"
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	for range 5 {
		again, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, nil), "replicas: 3\nsettings: {shape: null, size: 1.50}\n"))
		require.NoError(t, err)
		require.Equal(t, out, again)
	}
}

func TestAChartOfAnArchiveIsTheSame(t *testing.T) {
	files := shop(t, nil)
	want, err := helm.Charts{}.Engine(t.Context(), request(t, files, ""))
	require.NoError(t, err)
	req := request(t, fstest.MapFS{"charts/shop.tgz": {Data: pack(t, files)}}, "")
	req.Component.Helm.Chart.Text = "charts/shop.tgz"
	got, err := helm.Charts{}.Engine(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, got.Objects, len(want.Objects))
	for i, o := range got.Objects {
		require.Equal(t, want.Objects[i].Object, o.Object)
		require.Equal(t, strings.Replace(want.Objects[i].Pos.String(), "shop/", "charts/shop.tgz/", 1), o.Pos.String())
	}
}

func pack(t *testing.T, files fstest.MapFS) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range object.SortedKeys(files) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name].Data)), Typeflag: tar.TypeReg}))
		_, err := w.Write(files[name].Data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return b.Bytes()
}

// template is a template of one ConfigMap with a field.
func template(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  x: " + value + "\n"
}

func TestMistakesAreAtTheirLines(t *testing.T) {
	const x = "shop/templates/x.yaml"
	for name, c := range map[string]struct {
		over   map[string]string
		values string
		change func(h *spec.Helm)
		want   string
	}{
		"a value of another type":     {nil, "image: shop:2\nreplicas: many\n", nil, "component.yaml:2:11: evaluate: replicas: values do not match the schema of chart \"shop\": got string, want integer"},
		"a value that is too small":   {nil, "replicas: 0\n", nil, "component.yaml:1:11: evaluate: replicas: values do not match the schema of chart \"shop\": minimum: got 0, want 1"},
		"a pattern shows no value":    {nil, "image: S3CRET-VALUE\n", nil, "component.yaml:1:8: evaluate: image: values do not match the schema of chart \"shop\": does not match pattern ^[a-z:0-9]+$"},
		"a default that is wrong":     {map[string]string{"shop/values.yaml": "replicas: x\n"}, "", nil, "component.yaml:90:3: evaluate: replicas: values do not match the schema of chart \"shop\": got string, want integer"},
		"a required value":            {map[string]string{x: template("{{ required \"give a host\" .Values.web.host }}"), "shop/values.yaml": "web: {}\n"}, "", nil, "shop/templates/x.yaml:5:9: evaluate: a value is missing: give a host (set web.host in values)"},
		"one of a subchart":           {nil, "store: {size: null}\n", nil, "shop/charts/db/templates/claim.yaml:7:38: evaluate: a value is missing: a size is needed (set store.size in values)"},
		"fail":                        {map[string]string{x: "{{ if .Values.bad }}\n{{ fail \"do not set bad\" }}{{ end }}"}, "bad: true\n", nil, "shop/templates/x.yaml:2:4: evaluate: the chart refuses its values: do not set bad"},
		"nothing that has a field":    {map[string]string{x: template("{{ .Values.tls.cert.name }}")}, "", nil, "shop/templates/x.yaml:5:16: evaluate: there is no value that could have a field cert (set tls.cert.name in values)"},
		"a template that is not":      {map[string]string{x: template("{{ include \"nowhere\" . }}")}, "", nil, "shop/templates/x.yaml:5:9: evaluate: no template \"nowhere\" is defined (it may be of a chart that is not in the folder charts)"},
		"a function that is not":      {map[string]string{x: template("{{ nowhere . }}")}, "", nil, "shop/templates/x.yaml:5: evaluate: function \"nowhere\" not defined"},
		"an action that does not end": {map[string]string{x: template("{{ if true }}")}, "", nil, "shop/templates/x.yaml:6: evaluate: unexpected EOF"},
		"no YAML":                     {map[string]string{x: "a: b\n---\nkind: [\n"}, "", nil, "shop/templates/x.yaml:2:1: evaluate: the template makes no object: line"},
		"no map":                      {map[string]string{x: "just text\n"}, "", nil, "shop/templates/x.yaml:1:1: evaluate: the template makes no object: it is no map"},
		"a random text":               {map[string]string{x: "{{- $p := .Values.auth.password | default (randAlphaNum 8) }}\n" + template("{{ $p }}"), "shop/values.yaml": "{auth: {}, settings: {}}"}, "", nil, "shop/templates/x.yaml:1:44: evaluate: results of randAlphaNum differ in each render, and so does data.x of ConfigMap \"x\" (set auth.password in values)"},
		"a date":                      {map[string]string{x: template("{{ now | date \"2006\" }}")}, "", nil, "shop/templates/x.yaml:5:9: evaluate: results of now differ in each render, and so does data.x of ConfigMap \"x\" (set the value that the chart takes in its place, or switch off what needs it)"},
		"a certificate":               {map[string]string{x: template("{{ (genCA \"x\" 3).Cert | b64enc }}")}, "", nil, "shop/templates/x.yaml:5:10: evaluate: results of genCA differ in each render, and so does data.x of ConfigMap"},
		"endless include":             {map[string]string{x: template("{{ include \"again\" . }}"), "shop/templates/_a.tpl": "{{ define \"again\" }}{{ include \"again\" . }}{{ end }}"}, "", nil, "shop/templates/_a.tpl:1:24: evaluate: a template includes itself more than a thousand times (report it to the authors of the chart)"},
		"a dependency that is missing": {map[string]string{"shop/charts/db/Chart.yaml": "", "shop/charts/db/values.yaml": "", "shop/charts/db/templates/claim.yaml": ""}, "", nil,
			"shop/Chart.yaml:6:11: evaluate: chart \"shop\" needs chart \"db\" 0.1.0, which is not in its folder charts (run helm dependency build, and commit the folder charts)"},
		"no chart":                {map[string]string{"shop/Chart.yaml": ""}, "", nil, "component.yaml:90:3: evaluate: spec.helm.chart: \"shop\" is no chart: it has no Chart.yaml (name the folder that holds Chart.yaml)"},
		"a chart that is no YAML": {map[string]string{"shop/Chart.yaml": "name: [\n"}, "", nil, "shop/Chart.yaml: evaluate: spec.helm.chart: the chart cannot be read: cannot load Chart.yaml: "},
		"a library":               {map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ntype: library\n"}, "", nil, "component.yaml:90:3: evaluate: spec.helm.chart: chart \"shop\" is a library chart, which makes no objects (name a chart that depends on it)"},
		"another apiVersion":      {map[string]string{"shop/Chart.yaml": "apiVersion: v3\nname: shop\nversion: 1.0.0\n"}, "", nil, "shop/Chart.yaml: evaluate: spec.helm.chart: apiVersion \"v3\" of chart \"shop\" is unknown: v1 and v2 are known (take a version"},
		"another Kubernetes":      {map[string]string{"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\nkubeVersion: '>=1.40'\n"}, "", nil, "component.yaml:90:3: evaluate: spec.helm.chart: chart \"shop\" wants Kubernetes >=1.40, and this render is for v1.33 (set kubeVersion"},
		"hooks that are rejected": {nil, "", func(h *spec.Helm) { h.Hooks = spec.HooksReject }, "shop/templates/hooks.yaml:4:1: evaluate: Job \"job-0\" is a hook, pre-install,pre-upgrade, and hooks are rejected here"},
		"a release name":          {nil, "", func(h *spec.Helm) { h.ReleaseName = "No Name" }, "component.yaml:90:3: evaluate: spec.helm.chart: \"No Name\" cannot be the name of a release"},
		"values files": {nil, "", func(h *spec.Helm) {
			h.ValuesFiles = []spec.Text{{Text: "none.yaml", Pos: object.Pos{File: "component.yaml", Line: 8}}}
		}, "component.yaml:8: evaluate: spec.helm.valuesFiles[0]: there is no file \"none.yaml\""},
		"a second document": {map[string]string{"prod.yaml": "replicas: 2\n---\nreplicas: 3\n"}, "", func(h *spec.Helm) { h.ValuesFiles = []spec.Text{{Text: "prod.yaml"}} }, "prod.yaml:3:1: spec: a second document begins here"},
		"a value in a file": {map[string]string{"prod.yaml": "image: shop:1\n\nreplicas: x\n"}, "image: shop:3\n", func(h *spec.Helm) { h.ValuesFiles = []spec.Text{{Text: "prod.yaml"}} }, "prod.yaml:3:11: evaluate: replicas: values do not match"},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(t, shop(t, c.over), c.values)
			if c.change != nil {
				c.change(req.Component.Helm)
			}
			_, err := helm.Charts{}.Engine(t.Context(), req)
			require.Error(t, err)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "S3CRET")
			require.NotContains(t, err.Error(), "executing")
		})
	}
}

// TestArchivesOfFilesAlone: Helm takes links for empty files, and absolute names for others.
func TestArchivesOfFilesAlone(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"a link":        {Name: "shop/templates/x.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a hard link":   {Name: "shop/templates/x.yaml", Typeflag: tar.TypeLink, Linkname: "shop/Chart.yaml"},
		"a pipe":        {Name: "shop/templates/x.yaml", Typeflag: tar.TypeFifo},
		"absolute":      {Name: "/shop/templates/x.yaml", Typeflag: tar.TypeReg},
		"a parent":      {Name: "shop/../../x.yaml", Typeflag: tar.TypeReg},
		"a device file": {Name: "shop/templates/x.yaml", Typeflag: tar.TypeChar},
	} {
		t.Run(name, func(t *testing.T) {
			files := shop(t, nil)
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			w := tar.NewWriter(z)
			for _, name := range object.SortedKeys(files) {
				require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name].Data)), Typeflag: tar.TypeReg}))
				_, err := w.Write(files[name].Data)
				require.NoError(t, err)
			}
			require.NoError(t, w.WriteHeader(&h))
			require.NoError(t, w.Close())
			require.NoError(t, z.Close())
			req := request(t, fstest.MapFS{"shop.tgz": {Data: b.Bytes()}}, "")
			req.Component.Helm.Chart.Text = "shop.tgz"
			_, err := helm.Charts{}.Engine(t.Context(), req)
			require.ErrorContains(t, err, "component.yaml:90:3: evaluate: spec.helm.chart: the chart cannot be read: ")
		})
	}
}

// TestValuesThatAreNotRead are typing errors, and not what a template may write as it is.
func TestValuesThatAreNotRead(t *testing.T) {
	over := map[string]string{"shop/values.schema.json": ""}
	const values = "{imagee: 1, settings: {colr: red, other: x}, global: {x: y}, store: {size: 1Gi, unknown: x}, colors: x}\n"
	out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, over), values))
	require.NoError(t, err)
	var got []string
	for _, w := range out.Warnings {
		if strings.Contains(w.Error(), "does not read") {
			got = append(got, w.Error())
		}
	}
	require.Equal(t, []string{
		`component.yaml:1:10: evaluate: chart "shop" does not read the value imagee anywhere (did you mean "image"?)`,
		`component.yaml:1:30: evaluate: chart "shop" does not read the value settings.colr anywhere (did you mean "color"?)`,
		`component.yaml:1:102: evaluate: chart "shop" does not read the value colors anywhere (did you mean "settings.color"?)`,
	}, got)
	over["shop/templates/y.yaml"] = "{{ range $k, $v := .Values }}{{ end }}"
	out, err = helm.Charts{}.Engine(t.Context(), request(t, shop(t, over), values))
	require.NoError(t, err)
	require.NotContains(t, out.Warnings.Error(), "does not read")
}

// TestMistakesShowNoValue follows a value of the user through what shows values: messages of
// charts, errors of functions and of parsers.
func TestMistakesShowNoValue(t *testing.T) {
	const canary = "c4nary-P4ssw0rd"
	for name, text := range map[string]string{
		"fail":       "{{ fail (printf \"bad %s\" .Values.password) }}",
		"required":   "{{ required (printf \"with %q\" .Values.password) .Values.none }}",
		"encoded":    "{{ fail (.Values.password | b64enc) }}",
		"tpl":        "{{ tpl (printf \"{{ %s\" .Values.password) . }}",
		"tpl inside": "{{ tpl (printf \"{{ fail %q }}\" .Values.password) . }}",
		"regexp":     "{{ mustRegexMatch (printf \"(%s\" .Values.password) \"x\" }}",
		"an alias":   "a: *{{ .Values.password }}",
		"a tag":      "a: !!int {{ .Values.password }}",
		"a key":      "{{ .Values.password }}: 1\n{{ .Values.password }}: [",
		"text":       "{{ .Values.password }}",
		"a template": "{{ include .Values.password . }}",
		"a date":     "{{ mustToDate \"2006\" .Values.password }}",
		"a number":   "{{ int \"x\" | divf .Values.password }}{{ index .Values.password \"x\" }}",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, map[string]string{"shop/templates/x.yaml": text}), "password: "+canary+"\n"))
			require.Error(t, err)
			for _, shown := range []string{canary, "P4ssw0rd", "YzRuYXJ5"} {
				require.NotContains(t, fmt.Sprint(err, out.Warnings), shown)
			}
			require.Contains(t, err.Error(), "shop/templates/x.yaml:")
		})
	}
}

func TestWhatIsDroppedIsWarnedOf(t *testing.T) {
	over := map[string]string{"shop/templates/x.yaml": template("{{ len (lookup \"v1\" \"Secret\" \"a\" \"b\") | quote }}"), "shop/values.schema.json": `{"$ref": "https://example.com/schema.json"}`}
	out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, over), ""))
	require.NoError(t, err)
	var all []string
	for _, w := range out.Warnings {
		require.Equal(t, object.SeverityWarning, w.Severity)
		all = append(all, w.Error())
	}
	require.Equal(t, []string{
		"shop/templates/hooks.yaml:4:1: evaluate: a hook is left out: nothing here runs pre-delete (do by hand what it does, or switch it off in values)",
		"shop/templates/x.yaml:5:14: evaluate: lookup finds nothing, because a render has no cluster (set the values that the chart would look up)",
		"shop/values.schema.json: evaluate: values are not checked by the schema of chart \"shop\", which refers to https://example.com/schema.json (nothing is fetched: copy what it refers to into the schema)",
	}, all)
}

func TestRandomTextsThatReachNoObjectAreTaken(t *testing.T) {
	over := map[string]string{"shop/templates/x.yaml": "{{- $p := default (randAlphaNum 8) .Values.password }}\n" + template("{{ $p }}"), "shop/templates/NOTES.txt": "{{ uuidv4 }}"}
	out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, over), "password: abc\n"))
	require.NoError(t, err)
	require.NotEmpty(t, out.Objects)
}

// TestHintsNameNoArgumentsOfRandomFunctions: to set them changes nothing.
func TestHintsNameNoArgumentsOfRandomFunctions(t *testing.T) {
	const general = "(set the value that the chart takes in its place, or switch off what needs it)"
	values := map[string]string{"shop/values.yaml": "{settings: {}, size: 8, name: x, password: '', key: ''}"}
	for action, want := range map[string]string{
		"(genSelfSignedCert \"a\" nil nil (int .Values.size)).Key":                          general,
		"randAlphaNum (int .Values.size)":                                                   general,
		"randAlphaNum (int .Values.size) | default .Values.password":                        general,
		".Values.size | int | randAlphaNum":                                                 general,
		"printf \"%s-%s\" .Values.name (randAlphaNum 8)":                                    general,
		".Values.password | default (randAlphaNum (int .Values.size))":                      "(set password in values)",
		"default (randAlphaNum 8) .Values.password | b64enc":                                "(set password in values)",
		"default (.Values.size | int | randAlphaNum | b64enc) .Values.password":             general,
		"coalesce .Values.password .Values.key (randAlphaNum 8)":                            general,
		"default (printf \"%s-%s\" .Values.name (randAlphaNum 8)) (print .Values.password)": general,
	} {
		t.Run(action, func(t *testing.T) {
			values["shop/templates/x.yaml"] = template("{{ " + action + " | quote }}")
			_, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, values), ""))
			require.ErrorContains(t, err, want)

			// What is set already would change nothing.
			values["shop/templates/x.yaml"] = template("{{ " + action + " | quote }}\n  y: {{ randAlphaNum 8 | quote }}")
			_, err = helm.Charts{}.Engine(t.Context(), request(t, shop(t, values), "password: given\n"))
			require.ErrorContains(t, err, general)
		})
	}
}

// TestSetsAreThoseOfHelm: kinds, escapes and order are those of helm template.
func TestSetsAreThoseOfHelm(t *testing.T) {
	over := map[string]string{"shop/templates/x.yaml": template("{{ range $k, $v := .Values.t }}{{ $k }}={{ $v }}:{{ kindOf $v }} {{ end }}"), "shop/values.schema.json": ""}
	req := request(t, shop(t, over), "t: {z: 1, l: [a, b]}\n")
	for _, s := range [][2]string{
		{"--set-string", "t.n=7"}, {"--set", "t.a=1.30,t.b=0755,t.c=1e5,t.d=~,t.e=12345678901234567,t.f=true,t.l[1]=c"}, {"--set", `t.g\.h={x,y}`},
		{"--set-json", `t.o={"p":[1]}`}, {"--set-json", `{"t":{"q":2}}`}, {"--set-file", "t.r=x"},
	} {
		req.Component.Helm.Sets = append(req.Component.Helm.Sets, spec.HelmSet{Flag: s[0], Text: s[1], Content: "of a file", Pos: object.Pos{File: s[0]}})
	}
	out, err := helm.Charts{}.Engine(t.Context(), req)
	require.NoError(t, err)
	for _, o := range out.Objects {
		if o.Object.Name() == "x" {
			require.Equal(t, "a=1.30:string b=0755:string c=1e5:string d=~:string e=12345678901234567:int64 f=true:bool g.h=[x y]:slice "+
				"l=[a c]:slice n=7:string o=map[p:[1]]:map q=2:float64 r=of a file:string z=1:float64", o.Object.Text("data", "x"))
		}
	}
	for flag, text := range map[string]string{"--set": "password=S3CRET,x[S3CRET]=1", "--set-json": `x={"password": S3CRET`, "--set-string": "S3CRET"} {
		req.Component.Helm.Sets = []spec.HelmSet{{Flag: flag, Text: text, Pos: object.Pos{File: flag}}}
		_, err = helm.Charts{}.Engine(t.Context(), req)
		require.ErrorContains(t, err, flag+": evaluate: Helm cannot read the argument")
		require.NotContains(t, err.Error(), "S3CRET")
	}
}

// TestCapabilitiesAreWhatIsServed: with those that the component adds, and no others.
func TestCapabilitiesAreWhatIsServed(t *testing.T) {
	over := map[string]string{"shop/templates/x.yaml": template("{{ .Capabilities.APIVersions | join \" \" }}")}
	req := request(t, shop(t, over), "")
	req.Component.Helm.APIVersions = []string{"example.com/v1"}
	served := func(version string) []string { return []string{"v1/Pod of " + version} }
	out, err := helm.Charts{Served: served}.Engine(t.Context(), req)
	require.NoError(t, err)
	for _, o := range out.Objects {
		if o.Object.Name() == "x" {
			require.Equal(t, "v1/Pod of v1.33 example.com/v1", o.Object.Text("data", "x"))
		}
	}
}

// TestAllRandomFunctionsAreNamed: what one makes may reach an object through another.
func TestAllRandomFunctionsAreNamed(t *testing.T) {
	text := "{{- $ca := genCA \"ca\" 365 }}\n{{- $cert := genSignedCert \"web\" nil (list (printf \"web.svc.%s\" .Values.clusterDomain)) 365 $ca }}\n" +
		template("{{ $cert.Cert | quote }}")
	_, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, map[string]string{"shop/templates/x.yaml": text}), "clusterDomain: c4nary\n"))
	require.EqualError(t, err, "shop/templates/x.yaml:2:14: evaluate: results of genCA, genSignedCert differ in each render, and so does data.x of ConfigMap \"x\" "+
		"(set the value that the chart takes in its place, or switch off what needs it)")
}

func TestAChartOfAKustomizationKeepsItsHooks(t *testing.T) {
	o := kustomize.ChartOptions{Name: "shop", ReleaseName: "web", Namespace: "apps", Values: [][]byte{[]byte("replicas: 3\n")}}
	all, err := helm.Charts{}.Inflate(t.Context(), shop(t, nil), "shop", o)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(all), "helm.sh/hook: "))
	require.Contains(t, string(all), "replicas: 3\n")
	require.NotContains(t, string(all), "CustomResourceDefinition")
	o.SkipTests, o.IncludeCRDs = true, true
	all, err = helm.Charts{}.Inflate(t.Context(), shop(t, nil), "shop", o)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(all), "helm.sh/hook: "))
	require.Contains(t, string(all), "CustomResourceDefinition")
	o.SkipHooks = true
	all, err = helm.Charts{}.Inflate(t.Context(), shop(t, nil), "shop", o)
	require.NoError(t, err)
	require.NotContains(t, string(all), "helm.sh/hook")
}

// TestRandomTextsOfTestsThatAreSkippedAreTaken: kustomize builds such a chart.
func TestRandomTextsOfTestsThatAreSkippedAreTaken(t *testing.T) {
	random := strings.Replace(template("{{ randAlphaNum 8 }}"), "{name: x}", "{name: x, annotations: {helm.sh/hook: test}}", 1)
	files := shop(t, map[string]string{"shop/templates/x.yaml": random})
	o := kustomize.ChartOptions{Name: "shop", SkipTests: true}
	all, err := helm.Charts{}.Inflate(t.Context(), files, "shop", o)
	require.NoError(t, err)
	require.NotContains(t, string(all), "name: x\n")
	o.SkipTests = false
	_, err = helm.Charts{}.Inflate(t.Context(), files, "shop", o)
	require.ErrorContains(t, err, "results of randAlphaNum differ in each render")
}

// Helm leaves the order of keys and values to chance.
func TestKeysAndValuesAreInOrder(t *testing.T) {
	over := map[string]string{"shop/templates/x.yaml": template("{{ list (keys .Values.x | join \"\") (values .Values.x | join \"\") | join \"-\" }}")}
	for range 20 {
		out, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, over), "x: {e: 1, d: 2, c: 3, b: 4, a: 5}\n"))
		require.NoError(t, err)
		for _, o := range out.Objects {
			if o.Object.Name() == "x" {
				require.Equal(t, "abcde-54321", o.Object.Text("data", "x"))
			}
		}
	}
}

func TestHostileChartsEndInAnError(t *testing.T) {
	many := "{{ range $i := until 20001 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{{ $i }}}\n{{ end }}"
	large := template("{{ repeat 70000000 \"x\" }}")
	for name, c := range map[string]struct{ text, want string }{
		"objects": {many, "objects, and 20000 are allowed"},
		"bytes":   {large, "bytes, and 67108864 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm.Charts{}.Engine(t.Context(), request(t, shop(t, map[string]string{"shop/templates/x.yaml": c.text}), ""))
			require.ErrorContains(t, err, c.want)
		})
	}
	for name, path := range map[string]string{"slip": "shop/../../x", "absolute": "shop//etc/passwd"} {
		t.Run(name, func(t *testing.T) {
			req := request(t, fstest.MapFS{"a.tgz": {Data: pack(t, fstest.MapFS{path: {Data: []byte("x")}})}}, "")
			req.Component.Helm.Chart.Text = "a.tgz"
			_, err := helm.Charts{}.Engine(context.Background(), req)
			require.ErrorContains(t, err, "the chart cannot be read")
		})
	}
}

// Helm 3.21.4 gives the same maps to the subcharts.
func TestANullInTheValuesOfAChartRemovesAValueOfItsSubchart(t *testing.T) {
	files := fstest.MapFS{}
	for dir, text := range map[string]string{"": "sub: {a: null, low: {c: null}}\n", "charts/sub/": "a: 1\nb: 2\nlow: {d: null}\n", "charts/sub/charts/low/": "c: 3\nd: 4\ne: 5\n"} {
		dir = "shop/" + dir
		name := path.Base(dir)
		files[dir+"Chart.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n")}
		files[dir+"values.yaml"] = &fstest.MapFile{Data: []byte(text)}
		files[dir+"templates/x.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {v: {{ omit .Values \"global\" \"low\" | toJson | quote }}}\n")}
	}
	for values, want := range map[string]string{"x: 1\n": `map[v:{"e":5}] map[v:{"b":2}]`, "sub: {b: null, low: {d: 6}}\n": `map[v:{"d":6,"e":5}] map[v:{}]`} {
		out, err := helm.Charts{}.Engine(t.Context(), request(t, files, values))
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(out.Objects[0].Object["data"], out.Objects[1].Object["data"]), "of low and sub")
	}
}
