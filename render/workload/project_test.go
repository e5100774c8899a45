// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// sources decodes Score files, each called <name>.yaml after its workload.
func sources(t testing.TB, docs ...string) []Source {
	t.Helper()
	var out []Source
	for _, doc := range docs {
		doc = strings.TrimLeft(doc, "\n")
		if !strings.Contains(doc, "apiVersion:") {
			doc = "apiVersion: score.dev/v1b1\n" + doc
		}
		if !strings.Contains(doc, "containers:") {
			doc += "containers: {web: {image: nginx}}\n"
		}
		_, rest, ok := strings.Cut(doc, "name: ")
		require.True(t, ok)
		name := rest[:strings.IndexAny(rest, "\n,}")]
		parsed, err := spec.Parse([]spec.File{{Name: name + ".yaml", Data: []byte(doc)}})
		require.NoError(t, err)
		require.Len(t, parsed.Workloads, 1)
		w := parsed.Workloads[0]
		decoded, errs := score.Decode(score.Document{Value: w.Value, Blocks: w.Blocks, Score: w.Score})
		require.NoError(t, errs.Err())
		namespace := decoded.Namespace.Value
		if namespace == "" {
			namespace = "prod"
		}
		out = append(out, Source{Spec: decoded, Context: object.Context{
			Name: decoded.Name.Value, Namespace: namespace, Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local",
		}})
	}
	return out
}

// testCatalog has two modules: a platform team's own before ours.
func testCatalog() []resource.Provisioner {
	return []resource.Provisioner{
		{Module: 0, Index: 0, Type: "postgres", Class: "large"},
		{Module: 0, Index: 1, Type: "license", ID: "gold"},
		{Module: 1, Index: 0, Type: "postgres", Class: "default"},
		{Module: 1, Index: 1, Type: "redis"},
		{Module: 1, Index: 2, Type: "dns"},
		{Module: 1, Index: 3, Type: "route"},
		{Module: 1, Index: 4, Type: "service"},
		{Module: 1, Index: 5, Type: "volume"},
		{Module: 1, Index: 6, Type: "external-service"},
		{Module: 1, Index: 7, Type: "horizontal-pod-autoscaler"},
	}
}

func testConfig() spec.Workloads {
	return spec.Workloads{Secrets: spec.Secrets{
		Backend: spec.BackendExternalSecrets, StoreName: "default", StoreKind: "ClusterSecretStore", RefreshInterval: "1h",
	}}
}

func join(t testing.TB, docs ...string) *Project {
	t.Helper()
	p, errs := Join(sources(t, docs...), testConfig(), testCatalog())
	require.NoError(t, errs.Err())
	return p
}

func messages(errs object.Errors) string {
	var b strings.Builder
	for _, e := range errs {
		if e.Severity == object.SeverityWarning {
			b.WriteString("warning: ")
		}
		b.WriteString(e.Error() + "\n")
	}
	return b.String()
}

// answerOf is the result of one resource, with nodes called by the ids given.
func answerOf(result string, ids ...string) resource.Answer {
	a := resource.Answer{Result: []byte(result)}
	for _, id := range ids {
		a.Nodes = append(a.Nodes, &object.Node{ID: object.ID(id)})
	}
	return a
}

// run answers every request out of results, by the name of the resource, and
// gives the inputs that were asked with.
func run(t testing.TB, c *Compilation, results map[string]resource.Answer) (asked []string, errs object.Errors) {
	t.Helper()
	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
		for _, r := range requests {
			asked = append(asked, fmt.Sprintf("%s %d %s", r.Context.Name, r.Module, strings.Join(r.Resources, ",")))
			answers := map[string]resource.Answer{}
			for _, name := range r.Resources {
				if a, ok := results[name]; ok {
					answers[name] = a
				}
			}
			errs = append(errs, c.Answer(r, answers)...)
		}
	}
	return asked, errs
}

const postgresResult = `{
	"outputs": {"host": "db-postgres.prod.svc.cluster.local", "port": 5432, "name": "api", "tls": true},
	"sensitive": {
		"username": {"key": "db", "property": "username"},
		"password": {"key": "db", "property": "password", "version": "7"},
		"connection_string": {"parts": [
			{"text": "postgres://"}, {"ref": "username", "escape": "url"}, {"text": ":"}, {"ref": "password", "escape": "url"}, {"text": "@db/api"}
		]}
	}
}`

func TestFieldsOfTheConfigAreDeclared(t *testing.T) {
	ours := resource.Provisioner{Type: "dns", Config: []string{"domain", "scheme"}}
	own := resource.Provisioner{Type: "license", Config: []string{"licenseServer"}}
	open := resource.Provisioner{Type: "search", AnyConfig: true}
	tests := []struct {
		name, field  string
		provisioners []resource.Provisioner
		want         string
	}{
		{"one of ours", "domain", []resource.Provisioner{ours}, ""},
		{"one of others", "licenseServer", []resource.Provisioner{ours, own}, ""},
		{"a slip", "domian", []resource.Provisioner{ours, own}, `error p.yaml:1:2: spec: spec.workloads.config.domian: no provisioner reads "domian" (did you mean "domain"?)`},
		{"another case", "licenseserver", []resource.Provisioner{ours, own}, `error p.yaml:1:2: spec: spec.workloads.config.licenseserver: no provisioner reads "licenseserver" (did you mean "licenseServer"?)`},
		{"another name", "zone", []resource.Provisioner{ours}, `warning p.yaml:1:2: spec: spec.workloads.config.zone: no provisioner reads "zone" (known: domain, scheme)`},
		{"a slip that a provisioner may read", "domian", []resource.Provisioner{ours, open}, `warning p.yaml:1:2: spec: spec.workloads.config.domian: no provisioner reads "domian" (did you mean "domain"?)`},
		{"another name that a provisioner may read", "zone", []resource.Provisioner{ours, open}, ""},
		{"no catalog was read", "domian", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config, err := spec.ParseValue(spec.File{Name: "p.yaml", Data: []byte("{" + tt.field + ": x}")})
			require.NoError(t, err)
			got := ""
			for _, e := range CheckConfig(spec.Workloads{Config: config}, tt.provisioners) {
				got += fmt.Sprint(e.Severity, " ", e)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAResourceGetsTheFirstProvisionerThatMatches(t *testing.T) {
	p := join(t, `
metadata: {name: api}
resources:
  aa: {type: postgres}
  bb: {type: postgres, class: large}
  cc: {type: redis, class: anything}
  dd: {type: license, id: gold}
`)
	var got []string
	for _, i := range p.byName["api"].instances {
		got = append(got, fmt.Sprintf("%s %d/%d", i.resource.Name, i.entry.Module, i.entry.Index))
	}
	require.Equal(t, []string{"aa 1/0", "bb 0/0", "cc 1/1", "dd 0/1"}, got)
}

// mistaken is a project with the mistakes that Join finds.
type mistaken struct {
	docs []string
	want string
}

func mistakes() map[string]mistaken {
	return map[string]mistaken{
		"an unknown type leads to the nearest, and to how one is added": {
			[]string{"metadata: {name: api}\nresources:\n  db: {type: postgress}\n"},
			"api.yaml:4:14: spec: resources.db.type: no provisioner makes a resource of type \"postgress\" (did you mean \"postgres\"? \"ropewalk provisioners --help\" shows how to add a type)\n",
		},
		"an unknown type is one to add": {
			[]string{"metadata: {name: api}\nresources:\n  es: {type: elasticsearch}\n"},
			"api.yaml:4:14: spec: resources.es.type: no provisioner makes a resource of type \"elasticsearch\" (add it with a CUE module under spec.workloads.provisioners of ropewalk.yaml: \"ropewalk provisioners --help\" shows how, \"ropewalk provisioners list\" which types there are)\n",
		},
		"a type by the name of a product leads to ours": {
			[]string{"metadata: {name: api}\nresources:\n  pg: {type: PostgreSQL}\n"},
			"api.yaml:4:14: spec: resources.pg.type: no provisioner makes a resource of type \"PostgreSQL\" (did you mean \"postgres\"? \"ropewalk provisioners --help\" shows how to add a type)\n",
		},
		"an unknown class lists the classes": {
			[]string{"metadata: {name: api}\nresources:\n  db: {type: postgres, class: larg}\n"},
			"api.yaml:4:31: spec: resources.db.class: no provisioner of type \"postgres\" has the class \"larg\"; known: default, large (did you mean \"large\"?)\n",
		},
		"an id that no entry is for lists the ids": {
			[]string{"metadata: {name: api}\nresources:\n  ll: {type: license}\n", "metadata: {name: web}\nresources:\n  ll: {type: license, id: silver}\n"},
			"api.yaml:4:3: spec: resources.ll.id: provisioners of type \"license\" and class \"default\" are for certain ids only: gold (name one of them as id)\n" +
				"web.yaml:4:27: spec: resources.ll.id: provisioners of type \"license\" and class \"default\" are for certain ids only: gold (name one of them as id)\n",
		},
		"params of a shared resource that differ name both places": {
			[]string{
				"metadata: {name: web}\nresources:\n  cc: {type: redis, id: one, params: {size: 2}}\n",
				"metadata: {name: api}\nresources:\n  cc: {type: redis, id: one, params: {size: 1}}\n",
			},
			"web.yaml:4:38: spec: resources.cc.params: the params of the shared redis \"one\" differ from those that the workload \"api\" gives at api.yaml:4:38 (give the same params in both, or in one of them only)\n",
		},
		"a circle of params is printed with its lines": {
			[]string{"metadata: {name: api}\nresources:\n" +
				"  aa: {type: dns, params: {x: \"${resources.bb.host}\"}}\n" +
				"  bb: {type: dns, params: {x: [\"${resources.cc.host}\"]}}\n" +
				"  cc: {type: dns, params: {x: \"${resources.aa.host} ${resources.aa}\"}}\n"},
			"api.yaml:4:31: spec: resources.aa.params: resources refer to each other in a cycle: aa (api.yaml:4:31) -> bb (api.yaml:5:32) -> cc (api.yaml:6:31) -> aa (remove one of these placeholders)\n",
		},
		"a resource that refers to itself is a circle": {
			[]string{"metadata: {name: api}\nresources:\n  aa: {type: dns, params: {x: \"${resources.aa.host}\"}}\n"},
			"api.yaml:4:31: spec: resources.aa.params: resources refer to each other in a cycle: aa (api.yaml:4:31) -> aa (remove one of these placeholders)\n",
		},
		"a param with a placeholder that nobody knows is told once": {
			[]string{
				"metadata: {name: api}\nresources:\n  aa: {type: dns, id: dd, params: {x: \"${resources.bc.host} ${metadata.nam}\"}}\n  bb: {type: dns}\n",
				"metadata: {name: web}\nresources:\n  aa: {type: dns, id: dd}\n",
			},
			"api.yaml:4:39: spec: resources.aa.params.x: ${metadata.nam}: metadata has no key \"nam\" (did you mean \"name\"?)\n" +
				"api.yaml:4:39: spec: resources.aa.params.x: ${resources.bc.host}: the workload \"api\" has no resource \"bc\" (known: aa, bb)\n",
		},
		"a document for another environment is refused": {
			[]string{"metadata: {name: api, environment: staging}\n"},
			"api.yaml:2:36: spec: metadata.environment: the workload \"api\" is for \"staging\", not for the environment \"prod\" (leave the file out, or remove environment so that it is for all)\n",
		},
		"the workload that is called must not come from an output": {
			[]string{"metadata: {name: api}\nresources:\n  bb: {type: service, params: {workload: \"${resources.dd.host}\"}}\n  dd: {type: dns}\n"},
			"api.yaml:4:42: spec: resources.bb.params.workload: the workload that a service names must not come from an output of a resource (write its name)\n",
		},
		"nobody can wait for what is not in the project": {
			[]string{"metadata: {name: api}\nresources:\n  backend: {type: service, metadata: {waitFor: true}}\n"},
			"api.yaml:4:3: spec: resources.backend: cannot wait for the workload \"prod/backend\": it is not in this project (none is defined)\n",
		},
		"nobody can wait for itself": {
			[]string{"metadata: {name: api}\nresources:\n  api: {type: service, metadata: {waitFor: true}}\n"},
			"api.yaml:4:3: spec: resources.api: the workload \"api\" cannot wait for itself (remove waitFor)\n",
		},
	}
}

func TestMistakesBetweenResourcesAreToldWithTheirLines(t *testing.T) {
	for name, c := range mistakes() {
		t.Run(name, func(t *testing.T) {
			all := sources(t, c.docs...)
			for i := range all {
				all[i].Context.Environment = "prod"
			}
			p, errs := Join(all, testConfig(), testCatalog())
			require.Equal(t, c.want, messages(errs))
			for _, m := range p.members {
				_, more := run(t, p.Compile(m.name()), nil)
				require.Empty(t, more, "what is broken is not asked for, and not told twice")
			}
		})
	}
}

func TestNothingIsSaidOfCallsToAWorkloadThatHasMistakesOfItsOwn(t *testing.T) {
	docs := []string{"metadata: {name: api}\ncontainers: {api: {image: nginx, variables: {URL: \"${resources.web.url}\"}}}\n" +
		"resources:\n  web: {type: service, metadata: {waitFor: true}}\n"}
	_, errs := Join(sources(t, docs...), testConfig(), testCatalog())
	require.ErrorContains(t, errs.Err(), `cannot wait for the workload "prod/web"`)
	p, errs := Join(sources(t, docs...), testConfig(), testCatalog(), "web")
	require.Empty(t, errs)
	c := p.Compile("api")
	asked, errs := run(t, c, nil)
	require.Empty(t, asked)
	require.Empty(t, errs)
	compiled, errs := c.Finish()
	require.Empty(t, errs)
	require.False(t, compiled.Complete)
}

func TestAMistakeInAWorkloadOfOursHasThePathOfItsDocument(t *testing.T) {
	_, errs := Join(sources(t, `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec:
  containers: {web: {image: nginx}}
  resources: {db: {type: postgrez}}
`), testConfig(), testCatalog())
	require.Contains(t, messages(errs), "api.yaml:6:26: spec: spec.resources.db.type: ")
}

func TestTheOrderOfFilesMeansNothing(t *testing.T) {
	docs := []string{
		"metadata: {name: a}\nresources: {cc: {type: redis, id: one}}\n",
		"metadata: {name: b}\nresources: {cc: {type: redis, id: one, params: {size: 1}}, dd: {type: nope}}\n",
		"metadata: {name: c}\nresources: {cc: {type: redis, id: one, params: {size: 2}}}\n",
	}
	for i := range docs {
		docs[i] = strings.Replace(docs[i], "name: ", "name: w", 1)
	}
	_, want := Join(sources(t, docs...), testConfig(), testCatalog())
	slices.Reverse(docs)
	_, got := Join(sources(t, docs...), testConfig(), testCatalog())
	require.Len(t, got, 2)
	require.Equal(t, messages(want), messages(got))
}

func TestTheStoreHasOneOwner(t *testing.T) {
	docs := []string{
		"metadata: {name: w0}\n",
		"metadata: {name: w1}\nresources: {cc: {type: redis}}\n",
		"metadata: {name: w2}\nresources: {cc: {type: redis}}\n",
		"metadata: {name: w3, namespace: other}\nresources: {cc: {type: redis}}\n",
	}
	provider := object.Value{Kind: object.KindMap}
	for name, c := range map[string]struct {
		secrets spec.Secrets
		want    []string
	}{
		"the first with a resource":               {spec.Secrets{Backend: spec.BackendExternalSecrets, StoreKind: "ClusterSecretStore", Provider: provider}, []string{"w1"}},
		"one in each namespace":                   {spec.Secrets{Backend: spec.BackendExternalSecrets, StoreKind: "SecretStore", Provider: provider}, []string{"w1", "w3"}},
		"nobody where it is there already":        {spec.Secrets{Backend: spec.BackendExternalSecrets, StoreKind: "SecretStore"}, nil},
		"nobody where Kubernetes keeps all there": {spec.Secrets{Backend: spec.BackendKubernetes, Provider: provider}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, errs := Join(sources(t, docs...), spec.Workloads{Secrets: c.secrets}, testCatalog())
			require.NoError(t, errs.Err())
			var got []string
			for _, m := range p.members {
				if p.Compile(m.name()).resolve().OwnsStore {
					got = append(got, m.name())
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func pretty(t testing.TB, v object.Value) string {
	t.Helper()
	var a any
	require.NoError(t, json.Unmarshal(v.JSON(), &a))
	data, err := json.MarshalIndent(a, "", " ")
	require.NoError(t, err)
	return string(data)
}

// All objects of a workload come after those of what it depends on, so that a resource
// that both need is not among its own.
func TestASharedResourceBelongsToTheWorkloadThatComesFirst(t *testing.T) {
	resources := "resources: {cc: {type: redis, id: one}}\n"
	for name, tt := range map[string]struct {
		documents []string
		want      string
	}{
		"the first by name":          {[]string{"metadata: {name: aa}\n", "metadata: {name: bb}\n"}, "aa"},
		"the one that is waited for": {[]string{"metadata: {name: aa, dependsOn: [bb]}\n", "metadata: {name: bb}\n"}, "bb"},
		"through another":            {[]string{"metadata: {name: aa, dependsOn: [xx]}\n", "metadata: {name: bb, dependsOn: [aa]}\n", "metadata: {name: cc}\n", "metadata: {name: xx, dependsOn: [cc]}\n"}, "cc"},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tt.documents {
				tt.documents[i] += resources
			}
			p, errs := Join(sources(t, tt.documents...), testConfig(), testCatalog())
			require.NoError(t, errs.Err())
			for _, m := range p.members {
				require.Equal(t, tt.want, m.instances[0].owner.name())
			}
		})
	}
}
