// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestPlaceholdersAreReportedWhereTheyStand(t *testing.T) {
	p := join(t, `
metadata:
  name: api
containers:
  web:
    image: nginx
    variables:
      A: ${resources.db.hots}
      B: ${resources.dbs.host}
      C: ${db.host}
      D: ${HOME}
      E: ${metadata.nam} ${metadata} ${metadata.name.x}
      F: ${resources} ${resources.db.host.x}
      G: ${resources.data.source}
      H: ${}
      I: ${resource.db.host}
    files:
      /etc/app.conf:
        content: |
          first = ${resources.db.host}
          é ${resources.db.nope}
          last ${resources.db.nope2}
    volumes:
      /data: {source: "${resources.db}"}
      /more: {source: "${resources.db.password}"}
      /none: {source: nothing}
resources:
  db: {type: postgres}
  data: {type: volume}
`)
	c := p.Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult), "data": answerOf(`{"volume": {"emptyDir": {}}}`)})
	require.Empty(t, errs)
	c.resolve()
	require.Equal(t, `api.yaml:8:10: spec: containers.web.variables.A: ${resources.db.hots}: the resource "db" has no output "hots" (did you mean "host"?)
api.yaml:9:10: spec: containers.web.variables.B: ${resources.dbs.host}: the workload "api" has no resource "dbs" (did you mean "db"?)
api.yaml:10:10: spec: containers.web.variables.C: ${db.host}: a placeholder begins with metadata, resources or secrets (write ${resources.db.host})
api.yaml:11:10: spec: containers.web.variables.D: ${HOME}: no source gives the variable, and it has no default (write ${HOME:-default}, set HOME in a file of spec.workloads.envFiles, or give --env-file FILE, --var HOME=VALUE or --var-from-env HOME; $${HOME} is the text itself)
api.yaml:12:10: spec: containers.web.variables.E: ${metadata.name.x}: metadata.name is a string: it has no key "x"
api.yaml:12:10: spec: containers.web.variables.E: ${metadata.nam}: metadata has no key "nam" (did you mean "name"?)
api.yaml:12:10: spec: containers.web.variables.E: ${metadata}: names no key of the metadata (known: name)
api.yaml:13:10: spec: containers.web.variables.F: ${resources.db.host.x}: the output "host" of the resource "db" is text: it has no key "x"
api.yaml:13:10: spec: containers.web.variables.F: ${resources}: names no resource (known: data, db)
api.yaml:14:10: spec: containers.web.variables.G: ${resources.data.source}: the resource "data" has no output "source" (it is a volume: mount it with source: ${resources.data})
api.yaml:15:10: spec: containers.web.variables.H: ${}: a placeholder begins with metadata, resources or secrets (write $${} for the text itself)
api.yaml:16:10: spec: containers.web.variables.I: ${resource.db.host}: a placeholder begins with metadata, resources or secrets (did you mean "resources"?)
api.yaml:21:14: spec: containers.web.files["/etc/app.conf"].content: ${resources.db.nope}: the resource "db" has no output "nope" (known: connection_string, host, name, password, port, tls, username)
api.yaml:22:16: spec: containers.web.files["/etc/app.conf"].content: ${resources.db.nope2}: the resource "db" has no output "nope2" (known: connection_string, host, name, password, port, tls, username)
api.yaml:24:23: spec: containers.web.volumes./data.source: the resource "db" of type "postgres" is not a volume (mount a resource of type volume)
api.yaml:25:23: spec: containers.web.volumes./more.source: the source of a volume cannot hold a secret (refer to outputs that are not secrets; secrets go into variables and files)
api.yaml:26:23: spec: containers.web.volumes./none.source: the workload "api" has no resource "nothing" to mount (known: data, db)
`, messages(c.errs.Sorted()))
}

func TestFilesAreExpandedUnlessTheyMustNotBe(t *testing.T) {
	all := sources(t, `
metadata: {name: api}
containers:
  web:
    image: nginx
    files:
      /a: {content: "${metadata.name}"}
      /b: {content: "${metadata.name}", noExpand: true}
      /c: {binaryContent: aGVsbG8=}
      /d: {source: conf/d.txt}
      /e: {source: conf/e.bin}
      /f: {source: conf/f.txt}
      /g: {source: conf/g.txt, noExpand: true}
      /h: {source: conf/h.txt}
`)
	all[0].Spec.Containers[0].Files[3].Source.Pos.File = "deploy/api.yaml"
	all[0].Spec.Containers[0].Files[5].Source.Pos.File = "deploy/api.yaml"
	all[0].Files = map[string][]byte{
		"conf/d.txt": []byte("name: ${metadata.name}\n"), "conf/e.bin": {0xff, '$', '{'},
		"conf/f.txt": []byte("one\n  two ${nope}\n"), "conf/g.txt": []byte("${nope}"),
	}
	p, errs := Join(all, testConfig(), testCatalog())
	require.Empty(t, errs)
	c := p.Compile("api")
	require.Empty(t, c.Next())
	r := c.resolve()
	var got []string
	for _, f := range r.Containers[0].Files {
		got = append(got, fmt.Sprintf("%s %t %s %x", f.Spec.Target, f.IsText, show(f.Content), f.Binary))
	}
	require.Equal(t, []string{
		`/a true "api" `, `/b true "${metadata.name}" `, `/c false  68656c6c6f`, `/d true "name: api\n" `, `/e false  ff247b`, `/g true "${nope}" `,
	}, got)
	require.Equal(t, `api.yaml:14:20: spec: containers.web.files./h.source: file "conf/h.txt" not found (a path is relative to the document that names it)
deploy/conf/f.txt:2:7: spec: containers.web.files./f.source: ${nope}: a placeholder begins with metadata, resources or secrets (write $${nope} for the text itself)
`, messages(c.errs.Sorted()))
}

func TestVolumesAreFoundByNamePlaceholderAndUID(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers:
  web:
    image: nginx
    volumes:
      /a: {source: data}
      /b: {source: "${resources.data}"}
      /c: {source: volume.default#api.data}
      /d: {source: "${resources.claim}", path: sub}
resources: {data: {type: volume}, claim: {type: volume}}
`).Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{
		"data": answerOf(`{"volume": {"emptyDir": {}}}`), "claim": answerOf(`{"claim": {"resources": {"requests": {"storage": "1Gi"}}}}`),
	})
	require.Empty(t, errs)
	var got []string
	for _, m := range c.resolve().Containers[0].Mounts {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", m.Spec.Target, m.Resource, m.Volume.JSON(), m.Claim.JSON(), m.Volume.Pos))
	}
	require.Empty(t, c.errs)
	require.Equal(t, []string{
		`/a data {"emptyDir":{}} null api.yaml:11:13`, `/b data {"emptyDir":{}} null api.yaml:11:13`, `/c data {"emptyDir":{}} null api.yaml:11:13`,
		`/d claim null {"resources":{"requests":{"storage":"1Gi"}}} `,
	}, got)
}

func TestAMountOfWhatIsThereAlreadyNeedsNoResource(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers:
  web:
    image: nginx
    volumes:
      /a: {source: "pvc:archive"}
      /b: {source: "configmap:a.b"}
      /c: {source: "configmap:a-b"}
      /d: {source: "secret:${metadata.name}-keys"}
      /e: {source: "secret:taken"}
      /f: {source: "pvc:`+strings.Repeat("n", 70)+`"}
resources: {secret-taken: {type: volume}}
`).Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{"secret-taken": answerOf(`{"volume": {"emptyDir": {}}}`)})
	require.Empty(t, errs)
	var got []string
	for _, m := range c.resolve().Containers[0].Mounts {
		require.Empty(t, validation.IsDNS1123Label(m.Resource))
		got = append(got, fmt.Sprintf("%s %s %s", m.Spec.Target, m.Resource, m.Volume.JSON()))
	}
	require.Empty(t, c.errs)
	long := strings.Repeat("n", 70)
	require.Equal(t, []string{
		`/a pvc-archive {"persistentVolumeClaim":{"claimName":"archive"}}`,
		`/b configmap-a-b-` + object.ShortHash("configmap-a.b") + ` {"configMap":{"name":"a.b"}}`,
		`/c configmap-a-b {"configMap":{"name":"a-b"}}`,
		`/d secret-api-keys {"secret":{"secretName":"api-keys"}}`,
		`/e secret-taken-` + object.ShortHash("secret-taken") + ` {"secret":{"secretName":"taken"}}`,
		`/f pvc-` + long[:50] + `-` + object.ShortHash("pvc-"+long) + ` {"persistentVolumeClaim":{"claimName":"` + long + `"}}`,
	}, got)
}

func TestAMountOfWhatIsThereAlreadyIsCheckedAtItsLine(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers: {web: {image: nginx, volumes: {/a: {source: "pvc:"}, /b: {source: "secret:Ab_c"}, /c: {source: "nfs:a"}, /d: {source: pvc}}}}
`).Compile("api")
	_, errs := run(t, c, nil)
	require.Empty(t, errs)
	c.resolve()
	require.Equal(t, `api.yaml:3:57: spec: containers.web.volumes./a.source: "" is no name of an object of Kubernetes (write pvc:NAME with the name of the object)
api.yaml:3:79: spec: containers.web.volumes./b.source: "Ab_c" is no name of an object of Kubernetes (write secret:NAME with the name of the object)
api.yaml:3:108: spec: containers.web.volumes./c.source: the workload "api" has no resource "nfs:a" to mount (what is there already is configmap:NAME, pvc:NAME, secret:NAME)
api.yaml:3:131: spec: containers.web.volumes./d.source: the workload "api" has no resource "pvc" to mount (none is defined)
`, messages(c.errs))
}

func TestAMountOfAnOutputIsToldToNameTheResource(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers: {web: {image: nginx, volumes: {/a: {source: "${resources.data.source}"}}}}
resources: {data: {type: volume}}
`).Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{"data": answerOf(`{"outputs": {"source": "api-data"}, "volume": {"emptyDir": {}}}`)})
	require.Empty(t, errs)
	c.resolve()
	require.Equal(t, `api.yaml:3:57: spec: containers.web.volumes./a.source: the workload "api" has no resource "api-data" to mount (write ${resources.data}: a mount names the resource, not an output of it)
`, messages(c.errs))
}

func TestAClaimOfAnotherNamespaceCannotBeMounted(t *testing.T) {
	p := join(t, `
metadata: {name: aa, namespace: one}
containers: {web: {image: nginx, volumes: {/a: {source: data}}}}
resources: {data: {type: volume, id: shared}}
`, `
metadata: {name: bb, namespace: two}
containers: {web: {image: nginx, volumes: {/a: {source: data}}}}
resources: {data: {type: volume, id: shared}}
`)
	claim := answerOf(`{"volume": {"persistentVolumeClaim": {"claimName": "shared"}}}`)
	for name, want := range map[string]string{
		"aa": "",
		"bb": `bb.yaml:3:57: spec: containers.web.volumes./a.source: the resource "data" is a PersistentVolumeClaim of the namespace "one", and pods in "two" cannot mount it (let both run in one namespace, or remove the id so that each has a volume of its own)
`,
	} {
		c := p.Compile(name)
		_, errs := run(t, c, map[string]resource.Answer{"data": claim})
		require.Empty(t, errs)
		c.resolve()
		require.Equal(t, want, messages(c.errs), name)
	}
}

func TestAClaimIsForOneNodeUnlessItsModesSayOtherwise(t *testing.T) {
	volume := asValue(t, map[string]any{"persistentVolumeClaim": map[string]any{"claimName": "shared"}})
	for mode, want := range map[string]bool{"ReadWriteOnce": true, "ReadWriteOncePod": true, "ReadWriteMany": false, "ReadOnlyMany": false} {
		r := resource.Result{Volume: volume, Nodes: []*object.Node{{Object: object.Object{
			"kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "shared"}, "spec": map[string]any{"accessModes": []any{mode}},
		}}}}
		require.Equal(t, want, r.Single(), mode)
	}
	require.False(t, (&resource.Result{Volume: volume}).Single(), "one that is there already")
	require.False(t, (&resource.Result{Volume: asValue(t, map[string]any{"emptyDir": map[string]any{}})}).Single())
}

func TestADocumentWithAMistakeIsLookedAtForOthers(t *testing.T) {
	all := sources(t, `
metadata: {name: api}
containers: {web: {image: nginx, variables: {A: "${nope.x}", PASSWORD: hunter2}}}
resources: {db: {type: postgress}, ok: {type: redis}}
`)
	all[0].Partial = true
	all[0].Spec.Resources[1].Type = score.Text{}
	p, errs := Join(all, testConfig(), testCatalog())
	require.Len(t, errs, 1, "nothing of the resource whose type could not be read")
	require.Contains(t, errs[0].Error(), `no provisioner makes a resource of type "postgress"`)
	c := p.Compile("api")
	require.Empty(t, c.Next())
	compiled, errs := c.Finish()
	require.False(t, compiled.Complete)
	require.Equal(t, `api.yaml:3:49: spec: containers.web.variables.A: ${nope.x}: a placeholder begins with metadata, resources or secrets (write $${nope.x} for the text itself)
`, messages(errs))
}

// What looks like a placeholder may be a part of a password, however deep below its name.
func TestAPlaceholderThatIsNoneIsNotShownBelowTheNameOfASecret(t *testing.T) {
	_, errs := Join(sources(t, `
metadata: {name: api}
containers: {web: {image: nginx}}
resources:
  db: {type: postgres, params: {name: a, deep: {password: ["${Zj5CsG3y}", {x: "a${Zj5CsG3y}"}]}}}
`), testConfig(), testCatalog())
	require.Len(t, errs, 2)
	require.NotContains(t, messages(errs), "Zj5CsG3y")
	require.Contains(t, messages(errs), "resources.db.params.deep.password[1].x: ${…}: a placeholder begins with metadata")
}

// asValue is v, made of maps, lists, texts and numbers, as a value.
func asValue(t *testing.T, v any) object.Value {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	out, err := object.ReadJSON(data, object.Pos{File: "score.yaml", Line: 90, Column: 5})
	require.NoError(t, err)
	return out
}
