// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cuetypes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// module writes files into cue.mod/gen of a new module.
func module(t *testing.T, files []File) string {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("cue.mod/module.cue", "module: \"acme.example/web@v0\"\nlanguage: version: \"v0.17.0\"\n")
	for _, f := range files {
		require.True(t, strings.HasPrefix(string(f.Content), Mark+"\n"))
		write("cue.mod/gen/"+f.Package+"/"+FileName, string(f.Content))
	}
	return dir
}

// value evaluates a package of one file in a module.
func value(t *testing.T, dir, text string) cue.Value {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.cue"), []byte("package x\n\n"+text), 0o600))
	instances := load.Instances([]string{"."}, &load.Config{Dir: dir})
	require.NoError(t, instances[0].Err)
	return cuecontext.New().BuildInstance(instances[0])
}

// all imports every package and refers to it.
func all(files []File) string {
	var imports, uses strings.Builder
	for i, f := range files {
		name, _, _ := strings.Cut(string(f.Content[strings.Index(string(f.Content), "\n#")+2:]), ":")
		fmt.Fprintf(&imports, "import p%d %q\n", i, f.Package)
		fmt.Fprintf(&uses, "use%d: p%d.#%s\n", i, i, name)
	}
	return imports.String() + uses.String()
}

// deployments are one that is good and three with another line in their pods.
const deployments = `
#web: appsv1.#Deployment & {
	metadata: name: "web"
	spec: {
		replicas: 2
		selector: matchLabels: app: "web"
		template: {
			metadata: labels: app: "web"
			spec: containers: [{name: "web", image: "nginx:1.29", resources: limits: {cpu: 1, memory: "1Gi"}, livenessProbe: httpGet: port: "http"}]
		}
	}
}
good:  #web
field: #web & {spec: template: spec: contaners: []}
kind:  #web & {spec: template: spec: hostNetwork: "yes"}
late:  #web & {spec: template: spec: hostnameOverride: "web"}
`

func TestVersionsOfKubernetes(t *testing.T) {
	oldest, newest := schemas.Known()
	for _, minor := range []int{oldest, 33, 34, newest} {
		files, err := Kubernetes(fmt.Sprintf("1.%d", minor), "")
		require.NoError(t, err)
		x := value(t, module(t, files), "import appsv1 \"k8s.io/api/apps/v1\"\n"+all(files)+deployments)
		at := func(name string) cue.Value { return x.LookupPath(cue.ParsePath(name)) }
		for i := range files {
			require.NoError(t, at(fmt.Sprintf("use%d", i)).Validate())
		}
		require.NoError(t, at("good").Validate(cue.Concrete(true)))
		kind, err := at("good.kind").String()
		require.NoError(t, err)
		require.Equal(t, "Deployment", kind)
		require.ErrorContains(t, at("field").Validate(), "field not allowed")
		require.ErrorContains(t, at("kind").Validate(), "conflicting values")
		if minor < 34 {
			require.ErrorContains(t, at("late").Validate(), "field not allowed")
		} else {
			require.NoError(t, at("late").Validate())
		}
	}
}

func TestPackagesImportEachOtherBelowAPrefix(t *testing.T) {
	files, err := Kubernetes("1.36", "acme.example/web/types")
	require.NoError(t, err)
	for _, f := range files {
		require.NotContains(t, string(f.Content), `"k8s.io/`)
	}
}

// TestEveryDefinition: CUE takes the versions of all CustomResourceDefinitions that come along.
func TestEveryDefinition(t *testing.T) {
	var files []File
	err := fs.WalkDir(schemas.Definitions(), "crds", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(schemas.Definitions(), name)
		if err != nil {
			return err
		}
		crd, err := object.Decode(data)
		require.NoError(t, err)
		more, err := Definitions(crd)
		require.NoError(t, err, name)
		require.NotEmpty(t, more)
		files = append(files, more...)
		return nil
	})
	require.NoError(t, err)
	x := value(t, module(t, files), "import certificates \"cert-manager.io/certificate/v1\"\n"+all(files)+`
#web:  certificates.#Certificate & {metadata: name: "web", spec: secretName: "web"}
good:  #web & {spec: issuerRef: name: "acme"}
kind:  #web & {spec: dnsNames: 3}
field: #web & {spec: issuer: 3}
`)
	for i := range files {
		require.NoError(t, x.LookupPath(cue.ParsePath(fmt.Sprintf("use%d", i))).Validate())
	}
	require.NoError(t, x.LookupPath(cue.ParsePath("good")).Validate(cue.Concrete(true)), "a namespace may be left to the engine")
	require.ErrorContains(t, x.LookupPath(cue.ParsePath("kind")).Validate(), "conflicting values")
	require.ErrorContains(t, x.LookupPath(cue.ParsePath("field")).Validate(), "field not allowed")
}

func TestWhatIsNoDefinition(t *testing.T) {
	const crd = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}, "spec": {"group": %q, "scope": "Cluster",
		"names": {"plural": "foos", "singular": "foo", "kind": %q}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": %s}}]}}`
	for name, c := range map[string]struct{ text, want string }{
		"another kind":        {`{"apiVersion": "v1", "kind": "ConfigMap"}`, "no CustomResourceDefinition"},
		"a group that climbs": {fmt.Sprintf(crd, "../../x", "Foo", `{"type": "object"}`), "no name of a group"},
		"a kind of code":      {fmt.Sprintf(crd, "example.com", "Foo: 1, #Bar", `{"type": "object"}`), "no name of a group, a kind"},
		"a broken schema":     {fmt.Sprintf(crd, "example.com", "Foo", `{"type": "objet"}`), "objet"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := object.Decode([]byte(c.text))
			require.NoError(t, err)
			_, err = Definitions(o)
			require.ErrorContains(t, err, c.want)
		})
	}
}
