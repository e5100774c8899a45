// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// show writes a text so that literals and secrets cannot be mistaken.
func show(t generate.Text) string {
	var b strings.Builder
	for _, p := range t.Pieces {
		if p.Secret == nil {
			fmt.Fprintf(&b, "%q", p.Literal)
			continue
		}
		fmt.Fprintf(&b, "<%s key=%s property=%s version=%s kubernetes=%t escape=%t>",
			p.Secret.Name, p.Secret.Key, p.Secret.Property, p.Secret.Version, p.Secret.Kubernetes, p.Escape)
	}
	return b.String()
}

func variables(r generate.Resolved) map[string]string {
	out := map[string]string{}
	for _, v := range r.Containers[0].Variables {
		out[v.Name] = show(v.Value)
	}
	return out
}

func TestTextsAreResolvedIntoLiteralsAndSecrets(t *testing.T) {
	p := join(t, `
metadata:
  name: api
  team: blue
  list: [1, {a: "<b>"}]
  annotations: {example.com/xx: dotted}
containers:
  web:
    image: nginx
    variables:
      PLAIN: plain
      EMPTY: ""
      HOST: ${resources.db.host}:${resources.db.port}/${resources.db.tls}
      PASSWORD: ${resources.db.password}
      URL: "${resources.db.connection_string}?x=$${y}$$"
      UID: ${resources.db} ${resources.cache}
      TEAM: ${metadata.team} ${metadata.list} ${metadata.annotations.example\.com/xx}
resources:
  db: {type: postgres}
  cache: {type: redis, id: one}
`)
	c := p.Compile("api")
	asked, errs := run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult, "api/resource-db-x"), "cache": answerOf(`{}`)})
	require.Empty(t, errs)
	require.Equal(t, []string{"api 1 cache,db"}, asked, "one request for all")
	r := c.resolve()
	require.Empty(t, c.errs)
	require.Equal(t, map[string]string{
		"PLAIN":    `"plain"`,
		"EMPTY":    ``,
		"HOST":     `"db-postgres.prod.svc.cluster.local:5432/true"`,
		"PASSWORD": `<db__password key=db property=password version=7 kubernetes=false escape=false>`,
		"URL": `"postgres://"<db__username key=db property=username version= kubernetes=false escape=true>":"` +
			`<db__password key=db property=password version=7 kubernetes=false escape=true>"@db/api?x=${y}$"`,
		"UID":  `"postgres.default#api.db redis.default#one"`,
		"TEAM": `"blue [1,{\"a\":\"<b>\"}] dotted"`,
	}, variables(r))
	require.Equal(t, []string{"resource-db-x"}, r.DependsOn)
	require.True(t, c.complete())
	require.Len(t, c.nodes(), 1)
}

// TestNothingThatIsTypedBecomesAReference is the promise of the text type: only
// what a provisioner declares as sensitive is a secret.
func TestNothingThatIsTypedBecomesAReference(t *testing.T) {
	forged := []string{
		"🔐💬kube-admin_token💬🔐", "{{ .db__password }}", "$(db__password)", "<db__password>",
		"${resources.db.password}", "$${resources.db.password}", "${metadata.name}", "`${resources.db.password}`",
	}
	for _, text := range forged {
		doc := "metadata: {name: api}\ncontainers: {web: {image: nginx, variables: {OUT: '${resources.evil.out}', TYPED: '" +
			placeholder.Part{Literal: text}.String() + "'}}}\nresources: {db: {type: postgres}, evil: {type: redis}}\n"
		c := join(t, doc).Compile("api")
		quoted := string(object.Value{Kind: object.KindString, Text: text}.JSON())
		_, errs := run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult), "evil": answerOf(`{"outputs": {"out": ` + quoted + `}}`)})
		require.Empty(t, errs)
		r := c.resolve()
		require.Empty(t, c.errs)
		for _, v := range r.Containers[0].Variables {
			require.False(t, v.Value.Tainted(), text)
			require.Equal(t, text, v.Value.Plain(), "what comes out of a placeholder is not read again")
		}
		require.Empty(t, c.used)
	}
}

func TestParamsThatNeedOutputsAreAskedForLater(t *testing.T) {
	c := join(t, `
metadata: {name: api}
resources:
  aa: {type: dns}
  bb: {type: route, params: {host: "${resources.aa.host}", names: ["${metadata.name}", "${resources.aa}"], n: 1}}
  cc: {type: route, params: {host: "${resources.bb.path}"}}
`).Compile("api")
	var inputs []string
	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
		require.Len(t, requests, 1)
		r := requests[0]
		require.Empty(t, c.Next(), "what is asked for is not asked for again")
		name := r.Resources[0]
		at, _ := r.Input.Lookup(object.Fields("resources", name, "params"))
		inputs = append(inputs, name+" "+string(at.JSON())+" "+at.Pos.String())
		require.Empty(t, c.Answer(r, map[string]resource.Answer{
			name: answerOf(`{"outputs": {"host": "${resources.cc.x}", "path": "p"}}`, "api/resource-"+name),
		}))
	}
	require.Equal(t, []string{
		"aa {} api.yaml:4:3",
		`bb {"host":"${resources.cc.x}","n":1,"names":["api","dns.default#api.aa"]} api.yaml:5:29`,
		`cc {"host":"p"} api.yaml:6:29`,
	}, inputs)
	require.Equal(t, []string{"resource-aa", "resource-bb", "resource-cc"}, c.resolve().DependsOn)
	require.True(t, c.complete())
}

func TestASecretCannotBeAParam(t *testing.T) {
	c := join(t, `
metadata: {name: api}
resources:
  db: {type: postgres}
  rr: {type: route, params: {deep: [{x: "a ${resources.db.password}"}]}}
`).Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult), "rr": answerOf(`{}`)})
	require.Empty(t, errs)
	_, errs = c.Finish()
	require.Contains(t, messages(errs), `api.yaml:5:41: spec: resources.rr.params.deep[0].x: a param of a resource cannot hold a secret, and this text of the resource "rr" refers to one (refer to outputs that are not secrets; secrets go into variables and files)`)
	require.False(t, c.complete())
}

func TestAWorkloadWithoutOneOfItsResourcesIsNotWhole(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers: {web: {image: nginx, variables: {A: "${resources.aa.host}", B: b}, volumes: {/x: {source: "${resources.aa}"}}}}
resources: {aa: {type: dns}, bb: {type: dns, params: {x: "${resources.aa.host}"}}}
`).Compile("api")
	asked, errs := run(t, c, nil)
	require.Empty(t, errs)
	require.Equal(t, []string{"api 1 aa"}, asked)
	compiled, errs := c.Finish()
	require.Empty(t, errs.Failures(), "the caller knows what went wrong")
	require.False(t, compiled.Complete)
}

func TestNamesOfSecretsAreUnique(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers:
  web:
    image: nginx
    variables: {A: "${resources.a1--b1.c}", B: "${resources.a1.b1--c}", C: "${resources.a1.b-d}", D: "${resources.a1.b_d}", E: "${resources.a1.c}"}
resources: {a1--b1: {type: redis}, a1: {type: redis}}
`).Compile("api")
	ref := func(names ...string) resource.Answer {
		var members []string
		for _, n := range names {
			members = append(members, fmt.Sprintf("%q: {\"key\": %q}", n, n))
		}
		return answerOf(`{"sensitive": {` + strings.Join(members, ",") + `}}`)
	}
	_, errs := run(t, c, map[string]resource.Answer{"a1--b1": ref("c"), "a1": ref("b1--c", "b-d", "b_d", "c")})
	require.Empty(t, errs)
	names := map[string]string{}
	for _, v := range c.resolve().Containers[0].Variables {
		require.Regexp(t, `^[A-Za-z0-9_]+$`, v.Value.Single().Name)
		names[v.Value.Single().Name] = v.Name
	}
	require.Len(t, names, 5)
	require.Equal(t, "E", names["a1__c"], "a name that is one stays as it is")
}

func TestSharedResourcesBelongToTheFirstByName(t *testing.T) {
	p := join(t, `
metadata: {name: web, namespace: front}
containers: {web: {image: nginx, variables: {A: "${resources.queue.host}"}}}
resources:
  queue: {type: redis, id: jobs}
`, `
metadata: {name: api}
resources:
  own: {type: dns}
  store: {type: redis, id: jobs, params: {host: "${resources.own.host}-${metadata.name}"}}
`)
	results := map[string]resource.Answer{
		"own":   answerOf(`{"outputs": {"host": "h"}}`, "api/resource-own-x"),
		"store": answerOf(`{"outputs": {"host": "s"}, "workload": {"pod": {"a": 1}}}`, "api/resource-store-y", "api/resource-store-x"),
	}
	web, api := p.Compile("web"), p.Compile("api")
	asked, errs := run(t, web, results)
	require.Empty(t, errs)
	require.Equal(t, []string{"api 1 own", "api 1 store"}, asked, "in the surroundings of the owner, with what its params need")
	r := web.resolve()
	require.Equal(t, map[string]string{"A": `"s"`}, variables(r))
	require.Equal(t, []string{"api/resource-store-x", "api/resource-store-y"}, r.DependsOn)
	require.Equal(t, `{"pod":{"a":1}}`, string(r.Patch.JSON()))
	require.Empty(t, web.nodes())

	_, errs = run(t, api, results)
	require.Empty(t, errs)
	require.Equal(t, []string{"resource-own-x", "resource-store-x", "resource-store-y"}, api.resolve().DependsOn)
	require.Len(t, api.nodes(), 3)
}

func TestWhatComesBeforeThePods(t *testing.T) {
	p := join(t, `
metadata: {name: api, dependsOn: [platform]}
resources:
  aa: {type: dns}
  later: {type: horizontal-pod-autoscaler, metadata: {waitFor: true}}
  web: {type: service, metadata: {waitFor: true}}
  other: {type: service, params: {workload: web}}
`, "metadata: {name: web}\n")
	c := p.Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{
		"aa": answerOf(`{}`, "api/resource-aa-x"), "later": answerOf(`{"after": true, "workload": {"autoscaling": {"min": 2, "max": 3}}}`, "api/resource-later-x"),
		"web": answerOf(`{"after": true}`), "other": answerOf(`{}`),
	})
	require.Empty(t, errs)
	r := c.resolve()
	require.Equal(t, []string{"platform/", "resource-aa-x", "web/pods"}, r.DependsOn)
	require.Equal(t, "warning: api.yaml:5:3: spec: resources.later: the objects of a resource of type \"horizontal-pod-autoscaler\" come with the workload or after it: nothing waits for them (remove waitFor)\n", messages(c.errs))
	require.Len(t, c.nodes(), 2)
}

func TestWhatComesBeforeThePodsHasTheLineThatWantsIt(t *testing.T) {
	c := join(t, `
metadata: {name: api, dependsOn: [platform]}
resources:
  aa: {type: dns}
  web: {type: service, metadata: {waitFor: true}}
`, "metadata: {name: web}\n").Compile("api")
	run(t, c, map[string]resource.Answer{"aa": answerOf(`{}`, "api/resource-aa-x"), "web": answerOf(`{}`)})
	compiled, _ := c.Finish()
	module := object.Pos{File: "embedded:workload/pods.cue", Line: 1, Column: 1}
	before := []object.Dependency{
		{ID: "api/resource-aa-x", Pos: module}, {ID: "api/secret-secrets", Pos: module},
		{ID: "platform/", Pos: module}, {ID: "web/pods", Pos: module},
	}
	pods := &object.Node{ID: "api/pods", DependsOn: before}
	compiled.Locate([]*object.Node{pods})
	var at []string
	for _, d := range pods.DependsOn {
		at = append(at, d.Pos.String())
	}
	require.Equal(t, []string{"api.yaml:4:3", module.String(), "api.yaml:2:35", "api.yaml:5:3"}, at)
	require.Equal(t, module, before[0].Pos, "the result of a module may be kept for the next render")
}

func TestCompileOfAnUnknownWorkloadIsNil(t *testing.T) {
	require.Nil(t, join(t, "metadata: {name: api}\n").Compile("web"))
}

func TestASecretOfAnotherNamespaceCannotBeRead(t *testing.T) {
	c := join(t, `
metadata: {name: web, namespace: front}
containers: {web: {image: nginx, variables: {A: "${resources.db.user}", B: "${resources.db.password}"}}}
resources: {db: {type: postgres, id: one}}
`, "metadata: {name: api}\nresources: {db: {type: postgres, id: one}}\n").Compile("web")
	_, errs := run(t, c, map[string]resource.Answer{"db": answerOf(`{"sensitive": {
		"user": {"key": "user"}, "password": {"store": "kubernetes", "key": "db-app", "property": "password"}
	}}`)})
	require.Empty(t, errs)
	c.resolve()
	require.Equal(t, "web.yaml:3:76: spec: containers.web.variables.B: ${resources.db.password}: the resource \"db\" keeps the secret in the namespace \"prod\", and pods in \"front\" cannot read it (let both run in one namespace, or keep the secret in the store of the environment)\n", messages(c.errs))
}

func TestWorkloadsCompileAtTheSameTimeInAnyOrder(t *testing.T) {
	var docs []string
	for i := range 20 {
		docs = append(docs, fmt.Sprintf("metadata: {name: w%02d}\ncontainers: {web: {image: nginx, variables: {H: '${resources.queue.host}', P: '${resources.db.password}'}}}\nresources: {db: {type: postgres}, queue: {type: redis, id: jobs, params: {size: 1}}}\n", i))
	}
	compile := func(docs []string) map[string]string {
		p := join(t, docs...)
		out := make([]string, len(p.members))
		var all sync.WaitGroup
		for n, m := range p.members {
			all.Go(func() {
				c := p.Compile(m.name())
				run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult), "queue": answerOf(`{"outputs": {"host": "q"}}`)})
				compiled, errs := c.Finish()
				out[n] = string(compiled.Input.JSON()) + messages(errs.Failures())
			})
		}
		all.Wait()
		byName := map[string]string{}
		for n, m := range p.members {
			byName[m.name()] = out[n]
		}
		return byName
	}
	want := compile(docs)
	require.Len(t, want, 20)
	slices.Reverse(docs)
	require.Equal(t, want, compile(docs))
}

// TestALargeFileCostsAsMuchAsItIsLong fails by its time where joining pieces, or
// finding the position of a mistake, looks at the whole file again and again.
func TestALargeFileCostsAsMuchAsItIsLong(t *testing.T) {
	all := sources(t, "metadata: {name: api}\ncontainers: {web: {image: nginx, files: {/good: {source: good}, /bad: {source: bad}}}}\n")
	all[0].Files = map[string][]byte{
		"good": []byte(strings.Repeat("${metadata.name}\n", 200_000)), "bad": []byte(strings.Repeat("${nope}\n", 200_000)),
	}
	p, errs := Join(all, testConfig(), testCatalog())
	require.Empty(t, errs)
	c := p.Compile("api")
	start := time.Now()
	r := c.resolve()
	require.Less(t, time.Since(start), 5*time.Second)
	require.Len(t, r.Containers[0].Files, 1)
	require.Len(t, c.errs, maxMistakes)
}

// FuzzExpand holds that a text is tainted exactly where it has a placeholder
// for an output that is a secret, whatever else it looks like.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"${resources.db.password}", "$${resources.db.password}", "a ${resources.db.connection_string} {{ .db__password }}", "${resources.db.host", "${resources.db.host}$$"} {
		f.Add(seed)
	}
	p := join(f, "metadata: {name: api}\nresources: {db: {type: postgres}}\n")
	c := p.Compile("api")
	run(f, c, map[string]resource.Answer{"db": answerOf(postgresResult)})
	f.Fuzz(func(t *testing.T, raw string) {
		out, ok, errs := c.scope(c.member).expand(raw, position{path: func() string { return "x" }})
		require.Equal(t, ok, errs.Err() == nil)
		secret := slices.ContainsFunc(placeholder.Parse(raw), func(p placeholder.Part) bool {
			return len(p.Ref) == 3 && p.Ref[0] == "resources" && p.Ref[1] == "db" && slices.Contains([]string{"username", "password", "connection_string"}, p.Ref[2])
		})
		if ok {
			require.Equal(t, secret, out.Tainted())
		}
		for i, piece := range out.Pieces {
			require.True(t, piece.Secret != nil || piece.Literal != "")
			require.False(t, i > 0 && piece.Secret == nil && out.Pieces[i-1].Secret == nil, "literals that touch are one")
		}
	})
}

func TestContainersStandInTheOrderOfTheDocument(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers:
  web: {image: nginx}
  proxy: {image: nginx, variables: {A: a}}
  init: {image: nginx, before: {web: {ready: complete}}}
  app: {image: nginx, variables: {A: a}}
`).Compile("api")
	compiled, errs := c.Finish()
	require.Empty(t, errs)
	names := func(field string) (out []string) {
		all, _ := compiled.Input.Get(field)
		for _, one := range all.Items {
			name, _ := one.Get("name")
			out = append(out, name.Text)
		}
		return out
	}
	require.Equal(t, []string{"web", "proxy", "app"}, names("containers"))
	require.Equal(t, []string{"init"}, names("initContainers"))
}

func TestAnUnescapedSecretIsToldWithTheOutputThatIsEscaped(t *testing.T) {
	c := join(t, `
metadata: {name: api}
containers:
  web:
    image: nginx
    variables:
      MINE: "postgresql://${resources.db.username}:${resources.db.password}@db/x"
      GIVEN: "${resources.db.connection_string}"
    files:
      /a: {content: "a\nurl = pg://app:${resources.db.password}@db"}
resources: {db: {type: postgres}}
`).Compile("api")
	_, errs := run(t, c, map[string]resource.Answer{"db": answerOf(postgresResult)})
	require.Empty(t, errs)
	_, errs = c.Finish()
	require.Equal(t, `warning: api.yaml:7:13: spec: containers.web.variables.MINE: resources.db.username is part of a URL and not escaped: a / or @ in it would end that part (use ${resources.db.connection_string}, in which it is escaped)
warning: api.yaml:10:21: spec: containers.web.files./a: resources.db.password is part of a URL and not escaped: a / or @ in it would end that part (use ${resources.db.connection_string}, in which it is escaped)
`, messages(errs))
}

// What a workload compiles to has the route once: in the canary.
func TestACompiledCanaryHasItsRoute(t *testing.T) {
	p, _ := reaching(t, `
metadata: {name: api, deploy: {strategy: canary}}
service: {ports: {http: {port: 80, targetPort: 8080}}}
resources: {way0: {type: route}}
`)
	c := p.Compile("api")
	o, err := object.Decode([]byte(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "api-way", "annotations": {"a": "b"}},
		"spec": {"parentRefs": [{"name": "public", "namespace": "gateways"}], "hostnames": ["a.example"],
		"rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [{"name": "api", "port": 80}]}]}}`))
	require.NoError(t, err)
	_, errs := run(t, c, map[string]resource.Answer{"way0": {Result: []byte(`{"after": true}`), Nodes: []*object.Node{{ID: "api/resource-way0-route", Object: o}}}})
	require.Empty(t, errs)
	compiled, errs := c.Finish()
	require.NoError(t, errs.Err())
	require.Empty(t, compiled.Nodes)
	refs, found := compiled.Input.Lookup(object.ParsePath("canary.gatewayRefs[0].name"))
	require.Equal(t, 3, found-1)
	require.Equal(t, "public", refs.Text)
	open, _ := compiled.Input.Lookup(object.Fields("network", "routes"))
	require.JSONEq(t, `[{"port": 8080, "protocol": "TCP", "namespace": "gateways"}]`, string(open.JSON()))
}
