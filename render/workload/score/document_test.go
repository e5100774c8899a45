// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// head begins a Score file that is whole.
const head = `apiVersion: score.dev/v1b1
metadata:
  name: api
containers:
  web:
    image: nginx
`

// decode decodes the only workload of text.
func decode(t testing.TB, text string) (score.Workload, object.Errors) {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "s.yaml", Data: []byte(text)}})
	require.NoError(t, err, text)
	require.Len(t, docs.Workloads, 1)
	w := docs.Workloads[0]
	out, errs := score.Decode(score.Document{Value: w.Value, Blocks: w.Blocks, Score: w.Score})
	return out, errs.Sorted()
}

// said is what is wrong, each mistake on its line, warnings marked.
func said(errs object.Errors) string {
	var b strings.Builder
	for _, e := range errs {
		if e.Severity == object.SeverityWarning {
			b.WriteString("warning ")
		}
		b.WriteString(e.Error() + "\n")
	}
	return b.String()
}

// allOfScore has every field of Score.
const allOfScore = `apiVersion: score.dev/v1b1
metadata:
  name: api
  annotations: {example.com/team: shop}
  team: {lead: web}
service:
  ports:
    www: {port: 80, targetPort: 8080}
    dns: {port: 53, protocol: UDP}
containers:
  web:
    image: .
    command: [/bin/web]
    args: ["-v"]
    variables:
      URL: http://${resources.db.host}
      EMPTY: ""
    files:
      /etc/web.conf:
        mode: "0640"
        noExpand: true
        content: |
          # config
          a: b
      /bin.dat: {binaryContent: aGVsbG8=}
      /src.txt: {source: conf/src.txt}
    volumes:
      /data: {source: "${resources.data}", path: sub, readOnly: true}
    resources:
      limits: {memory: 0.5Gi, cpu: "0.250"}
      requests: {memory: 64Mi, cpu: 25m}
    livenessProbe: {exec: {command: [ls]}}
    readinessProbe: {httpGet: {port: 8080, path: /, scheme: HTTPS, host: h, httpHeaders: [{name: A-b, value: c}]}}
  migrate:
    image: migrate:1
    before: {web: {ready: complete}}
resources:
  data: {type: volume}
  db: {type: postgres, class: large, id: shop.db, metadata: {direction: outbound, waitFor: true}, params: {size: 3}}
`

func TestDecodeReadsTheWholeOfScore(t *testing.T) {
	w, errs := decode(t, allOfScore)
	require.Empty(t, said(errs))
	require.Equal(t, "api", w.Name.Value)
	require.Equal(t, "web", func() string { v, _ := w.Metadata.Lookup(object.Fields("team", "lead")); return v.Text }())
	require.Equal(t, []string{"migrate", "web"}, []string{w.Containers[0].Name, w.Containers[1].Name})
	require.Equal(t, []score.Before{{Container: "web", Ready: score.ReadyComplete, Pos: w.Containers[0].Before[0].Pos}}, w.Containers[0].Before)
	web := w.Containers[1]
	require.Equal(t, []string{"EMPTY", "URL"}, []string{web.Variables[0].Name, web.Variables[1].Name})
	require.Equal(t, []string{"/bin.dat", "/etc/web.conf", "/src.txt"}, []string{web.Files[0].Target, web.Files[1].Target, web.Files[2].Target})
	require.Equal(t, "hello", string(web.Files[0].Binary))
	conf := web.Files[1]
	require.Equal(t, score.Text{Value: "# config\na: b\n", Pos: object.Pos{File: "s.yaml", Line: 23, Column: 11}}, *conf.Content)
	require.Equal(t, 10, conf.Indent)
	require.Equal(t, 0o640, *conf.Mode)
	require.True(t, conf.NoExpand)
	require.Equal(t, "conf/src.txt", web.Files[2].Source.Value)
	require.Equal(t, "/data", web.Volumes[0].Target)
	require.True(t, web.Volumes[0].ReadOnly)
	require.Equal(t, "0.5Gi", web.Limits[1].Value.Value)
	require.JSONEq(t, `{"exec":{"command":["ls"]}}`, string(web.LivenessProbe.JSON()))
	require.JSONEq(t, `{"httpGet":{"port":8080,"path":"/","scheme":"HTTPS","host":"h","httpHeaders":[{"name":"A-b","value":"c"}]}}`, string(web.ReadinessProbe.JSON()))
	require.Equal(t, score.Port{Name: "dns", Port: 53, Target: 53, Protocol: "UDP", Pos: w.Ports[0].Pos}, w.Ports[0])
	require.Equal(t, 8080, w.Ports[1].Target)
	db := w.Resources[1]
	require.Equal(t, []string{"postgres", "large", "shop.db", "outbound"}, []string{db.Type.Value, db.Class.Value, db.ID.Value, db.Direction.Value})
	require.True(t, db.Wait)
	require.Equal(t, `{"size":3}`, string(db.Params.JSON()))
}

// ownForm and scoreForm are the same workload: the extras stand elsewhere.
const ownForm = `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api, namespace: shop, labels: {a: b}, annotations: {c: d}}
spec:
  environment: prod
  podAnnotations: {e: f}
  replicas: {min: 2, max: 10, cpu: 70}
  deploy: {strategy: canary, canary: {interval: 30s, threshold: 3, maxWeight: 40, stepWeight: 20}}
  disruption: {minAvailable: 50%}
  serviceAccount: {name: robot, annotations: {g: h}, mountToken: true}
  securityContext: {runAsNonRoot: true}
  pod: {priorityClassName: high}
  kind: Deployment
  dependsOn: [base]
  containers:
    w:
      image: nginx
      securityContext: {privileged: false}
      workingDir: /srv
      livenessProbe: {tcpSocket: {port: www}, periodSeconds: 5}
      readinessProbe: {httpGet: {port: 80, path: /r}, initialDelaySeconds: 0}
      startupProbe: {grpc: {port: 9000}, failureThreshold: 30}
      resources: {requests: {cpu: 2, nvidia.com/gpu: 1}}
  service: {ports: {www: {port: 80}}}
  resources:
    db: {type: postgres, direction: outbound, waitFor: true}
`

const scoreForm = `apiVersion: score.dev/v1b1
metadata:
  name: api
  namespace: shop
  labels: {a: b}
  annotations: {cc: d}
  environment: prod
  podAnnotations: {ee: f}
  replicas: {min: 2, max: 10, cpu: 70}
  deploy: {strategy: canary, canary: {interval: 30s, threshold: 3, maxWeight: 40, stepWeight: 20}}
  disruption: {minAvailable: 50%}
  serviceAccount: {name: robot, annotations: {g: h}, mountToken: true}
  securityContext: {runAsNonRoot: true}
  pod: {priorityClassName: high}
  kind: Deployment
  dependsOn: [base]
  containers:
    ww:
      securityContext: {privileged: false}
      workingDir: /srv
      livenessProbe: {tcpSocket: {port: www}, periodSeconds: 5}
      readinessProbe: {initialDelaySeconds: 0}
      startupProbe: {grpc: {port: 9000}, failureThreshold: 30}
containers:
  ww:
    image: nginx
    readinessProbe: {httpGet: {port: 80, path: /r}}
    resources: {requests: {cpu: "2"}}
service: {ports: {www: {port: 80}}}
resources:
  db: {type: postgres, metadata: {direction: outbound, waitFor: true}}
`

func TestDecodeReadsExtrasInBothForms(t *testing.T) {
	for name, text := range map[string]string{"Workload": ownForm, "Score": scoreForm} {
		t.Run(name, func(t *testing.T) {
			w, errs := decode(t, text)
			require.Empty(t, said(errs))
			require.Equal(t, "shop", w.Namespace.Value)
			require.Equal(t, "prod", w.Environment.Value)
			require.Equal(t, "b", w.Labels[0].Value.Value)
			require.Equal(t, "d", w.Annotations[0].Value.Value)
			require.Equal(t, "f", w.PodAnnotations[0].Value.Value)
			require.Equal(t, score.Replicas{Pos: w.Replicas.Pos, Min: 2, Max: 10, CPU: 70}, *w.Replicas)
			require.Equal(t, score.Canary{Interval: "30s", Threshold: 3, MaxWeight: 40, StepWeight: 20}, w.Deploy.Canary)
			require.Equal(t, score.StrategyCanary, w.Deploy.Strategy)
			require.Equal(t, `{"disruption":{"minAvailable":"50%"},"securityContext":{"runAsNonRoot":true}}`, string(w.Passed.JSON()))
			require.Equal(t, "robot", w.ServiceAccount.Name.Value)
			require.True(t, w.ServiceAccount.MountToken)
			require.Equal(t, `{"priorityClassName":"high"}`, string(w.Pod.JSON()))
			require.Equal(t, score.KindDeployment, w.Kind.Value)
			require.Equal(t, "base", w.DependsOn[0].Value)
			c := w.Containers[0]
			require.Equal(t, `{"privileged":false}`, string(c.SecurityContext.JSON()))
			require.Equal(t, `{"workingDir":"/srv"}`, string(c.Further.JSON()))
			require.Equal(t, `{"periodSeconds":5,"tcpSocket":{"port":"www"}}`, string(c.LivenessProbe.JSON()))
			require.Equal(t, `{"httpGet":{"path":"/r","port":80},"initialDelaySeconds":0}`, string(c.ReadinessProbe.JSON()))
			require.Equal(t, `{"failureThreshold":30,"grpc":{"port":9000}}`, string(c.StartupProbe.JSON()))
			require.Equal(t, "2", c.Requests[0].Value.Value)
			require.Equal(t, score.DirectionOutbound, w.Resources[0].Direction.Value)
			require.True(t, w.Resources[0].Wait)
		})
	}
}

func TestSpecOfAWorkloadWinsOverItsMetadata(t *testing.T) {
	w, errs := decode(t, `apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: a, namespace: shop, labels: {x: "1", y: "1"}}
spec:
  namespace: test
  labels: {y: "2", z: "2"}
  containers: {a: {image: nginx}}
`)
	require.Empty(t, said(errs))
	require.Equal(t, "test", w.Namespace.Value)
	var labels []string
	for _, l := range w.Labels {
		labels = append(labels, l.Name+"="+l.Value.Value)
	}
	require.Equal(t, []string{"x=1", "y=2", "z=2"}, labels)
}

func TestDecodeReadsTheCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*/*/score.yaml")
	require.NoError(t, err)
	require.Len(t, files, 19)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			w, errs := decode(t, string(data))
			require.Empty(t, said(errs))
			require.NotEmpty(t, w.Containers)
		})
	}
}

func TestDecodeDoesNotDependOnTheOrderOfADocument(t *testing.T) {
	one, _ := decode(t, head+"resources:\n  aa: {type: x1}\n  bb: {type: x2}\nservice: {ports: {}}\n")
	other, _ := decode(t, head+"service: {ports: {}}\nresources:\n  bb: {type: x2}\n  aa: {type: x1}\n")
	require.Equal(t, one.Resources[0].Name, other.Resources[0].Name)
	require.Equal(t, one.Resources[1].Type.Value, other.Resources[1].Type.Value)
}

func TestNullOfAnotherFileTakesAway(t *testing.T) {
	docs, err := spec.Parse([]spec.File{{Name: "s.yaml", Data: []byte(head + "    variables: {A: x, B: y}\n    command: [a]\n")}})
	require.NoError(t, err)
	top, err := spec.ParseValue(spec.File{Name: "env.yaml", Data: []byte("containers: {web: {variables: {A: null}, command: null}}")})
	require.NoError(t, err)
	w, errs := score.Decode(score.Document{Value: docs.Workloads[0].Value.Merge(top), Score: true})
	require.Empty(t, said(errs))
	require.Len(t, w.Containers[0].Variables, 1)
	require.Empty(t, w.Containers[0].Command)
}

// A project and its workloads may be one stream.
func TestNullOfAnotherDocumentOfTheFileTakesAway(t *testing.T) {
	variables := "    variables: {A: x, B: y}\n"
	project := func(name string) string {
		return "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  environments:\n    prod: {inputs: {api: {containers: {web: {variables: {" + name + ": null}}}}}}\n"
	}
	stream := project("A") + "---\n" + head + variables + "---\n" + project("B")
	docs, err := spec.Parse([]spec.File{{Name: "s.yaml", Data: []byte(stream)}})
	require.NoError(t, err)
	w := docs.Workloads[0]
	null := func(name string, line int) object.Value {
		at := object.Pos{File: "s.yaml", Line: line, Column: 36}
		v := object.Value{Kind: object.KindNull, Pos: at}
		for _, field := range []string{name, "variables", "web", "containers"} {
			v = object.Value{Kind: object.KindMap, Pos: at, Members: []object.Member{{Name: field, Pos: at, Value: v}}}
		}
		return v
	}
	value := w.Value.Merge(null("A", 6)).Merge(null("B", w.Last+7))
	got, errs := score.Decode(score.Document{Value: value, Last: w.Last, Score: true})
	require.Empty(t, said(errs))
	require.Empty(t, got.Containers[0].Variables)
}

func ExampleDecode() {
	docs, err := spec.Parse([]spec.File{{Name: "score.yaml", Data: []byte(`apiVersion: score.dev/v1b1
metadata: {name: api}
containers:
  web:
    image: nginx
    resources: {limits: {memory: 128K}}
`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	doc := docs.Workloads[0]
	w, errs := score.Decode(score.Document{Value: doc.Value, Blocks: doc.Blocks, Score: doc.Score})
	fmt.Println(w.Name.Value, w.Containers[0].Image.Value)
	fmt.Println(errs.Sorted())
	// Output:
	// api nginx
	// score.yaml:6:34: spec: containers.web.resources.limits.memory: "128K" is not a quantity of Kubernetes (write "128k" or "128Ki")
}

func BenchmarkDecode(b *testing.B) {
	docs, err := spec.Parse([]spec.File{{Name: "s.yaml", Data: []byte(head + `    variables: {A: a, B: b, C: c}
    files: {/etc/conf: {content: "a: b"}}
    resources: {requests: {cpu: 100m, memory: 64Mi}}
service: {ports: {http: {port: 80, targetPort: 8080}}}
`)}})
	require.NoError(b, err)
	w := docs.Workloads[0]
	doc := score.Document{Value: w.Value, Blocks: w.Blocks, Score: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := score.Decode(doc); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
