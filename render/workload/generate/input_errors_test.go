// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// badWorkload is a change of the plain workload, and what it must say.
type badWorkload struct {
	name   string
	change func(r *Resolved)
	want   []string
}

// textMistakes are those of variables and files.
func textMistakes() []badWorkload {
	noProperty, versioned := pgURI(), pgURI()
	noProperty.Property, versioned.Version = "", "2"
	return []badWorkload{
		{"an image that nobody gave", func(r *Resolved) { r.Containers[0].Spec.Image = says(".", 6) },
			[]string{`score.yaml:6:5: spec: containers.web.image: the image is left to the deployment, and none was given (give --image api=IMAGE)`}},
		{"an image of one of two containers that nobody gave", func(r *Resolved) {
			r.Containers = append(r.Containers, worker())
			r.Containers[1].Spec.Image = says(".", 6)
		}, []string{`score.yaml:6:5: spec: containers.worker.image: the image is left to the deployment, and none was given (give --image api/worker=IMAGE)`}},
		{"a name that no variable has", func(r *Resolved) { withVariables(r, named("é", lit("x"))) },
			[]string{`score.yaml:11:5: spec: containers.web.variables.é: "é" is not a variable name: Kubernetes accepts printable ASCII without =`}},
		{"a NUL byte", func(r *Resolved) { withVariables(r, named("A", lit("x\x00"))) },
			[]string{`score.yaml:12:5: spec: containers.web.variables.A: the value contains a NUL byte, which an environment variable cannot hold (put it into a file)`}},
		{"a secret of the cluster in a URL without a store", func(r *Resolved) { withVariables(r, named("A.B", lit("x"), inURL(pgURI()))) },
			[]string{`score.yaml:12:5: spec: containers.web.variables["A.B"]: resources.pg.uri is a Secret of the cluster and part of a URL, which Kubernetes cannot write (` + kubernetesStoreHint + `)`}},
		{"a secret in a URL with the backend kubernetes", func(r *Resolved) {
			r.Config.Secrets.Backend = spec.BackendKubernetes
			withVariables(r, named("A", inURL(dbUser())))
		}, []string{`score.yaml:12:5: spec: containers.web.variables.A: resources.db.username is part of a URL, which the backend kubernetes cannot write (use the secret by itself, or the backend external-secrets)`}},
		{"secrets of the cluster without a key and with a version", func(r *Resolved) {
			withVariables(r, named("A", ref(noProperty)), named("B", ref(versioned)))
		}, []string{
			`score.yaml:12:5: spec: containers.web.variables.A: resources.pg.uri names no key of the Secret "orders-app" of the cluster (the provisioner must give property: the key inside of the Secret)`,
			`score.yaml:12:5: spec: containers.web.variables.B: resources.pg.uri sets version "2", but a Secret of the cluster has no versions (the provisioner must leave version out)`,
		}},
		{"a file with text around a secret, with the backend kubernetes", func(r *Resolved) {
			r.Config.Secrets.Backend = spec.BackendKubernetes
			r.Containers[0].Files = []File{aFile("/etc/a.ini", lit("x="), ref(dbUser()))}
		}, []string{`score.yaml:18:5: spec: containers.web.files["/etc/a.ini"]: the file has text around resources.db.username, which the backend kubernetes cannot write (let the file hold the secret only, or use the backend external-secrets)`}},
		{"a file with text around a secret of the cluster without a store", func(r *Resolved) {
			r.Containers[0].Files = []File{aFile("/etc/a.ini", lit("x="), ref(pgURI()))}
		}, []string{`score.yaml:18:5: spec: containers.web.files["/etc/a.ini"]: the file has text around resources.pg.uri, a Secret of the cluster, which External Secrets can read from a store only (` + kubernetesStoreHint + `)`}},
		{"files that are too large together", func(r *Resolved) {
			big := strings.Repeat("x", 600_000)
			r.Containers[0].Files = []File{aFile("/a", lit("x")), aFile("/b", lit(big)), aFile("/c", lit(big+"y"))}
		}, []string{`score.yaml:18:5: spec: containers.web.files./c: the ConfigMap of the files has 1200017 bytes, at most 1048576 fit; the largest: containers.web.files./c (600006), containers.web.files./b (600005), containers.web.files./a (6) (put large files into the image or a volume)`}},
		{"variables that are too large together", func(r *Resolved) {
			withVariables(r, named("A", lit(strings.Repeat("x", 1<<20))), named("B", lit("x")))
		}, []string{`score.yaml:11:5: spec: containers.web.variables.A: the ConfigMap of the variables has 1048579 bytes, at most 1048576 fit; the largest: containers.web.variables.A (1048577), containers.web.variables.B (2) (put large files into the image or a volume)`}},
	}
}

// podMistakes are those of all else.
func podMistakes() []badWorkload {
	claim := Mount{Spec: score.Mount{Target: "/data", Pos: at(40), Source: says("disk", 41)}, Resource: "disk", Claim: fields(m{"a": 1})}
	return []badWorkload{
		{"a claim of a Deployment", func(r *Resolved) {
			r.Workload.Kind = says(score.KindDeployment, 2)
			r.Containers[0].Mounts = []Mount{claim}
		}, []string{`score.yaml:41:5: spec: containers.web.volumes./data: resource "disk" gives a claim to each replica, which a Deployment cannot have (write kind: StatefulSet, or leave kind out)`}},
		{"a path that leads out of a volume", func(r *Resolved) {
			out := claim
			out.Spec.Path = says("../x", 42)
			r.Containers[0].Mounts = []Mount{out}
		}, []string{`score.yaml:42:5: spec: containers.web.volumes./data.path: "../x" leads out of the volume`}},
		{"a container that nothing says is healthy", func(r *Resolved) {
			w := worker()
			w.Variables = nil
			w.Spec.Before = []score.Before{{Container: "web", Ready: score.ReadyHealthy, Pos: at(59)}}
			r.Containers = append(r.Containers, w)
		}, []string{`score.yaml:59:5: spec: containers.worker.before.web.ready: the container has no probe that could report it healthy (add a readinessProbe, or write ready: started)`}},
		{"a canary without a port", func(r *Resolved) {
			r.Workload.Deploy, r.Workload.Ports = score.Deploy{Strategy: score.StrategyCanary, Pos: at(61)}, nil
		}, []string{`score.yaml:61:5: spec: metadata.deploy.strategy: a canary needs a TCP port of the service: Flagger shifts the traffic that it gets (write service.ports with a TCP port, or strategy: rolling)`}},
		{"a canary of a StatefulSet", func(r *Resolved) {
			r.Workload.Deploy, r.Workload.Kind = score.Deploy{Strategy: score.StrategyCanary, Pos: at(61)}, says(score.KindStatefulSet, 2)
		}, []string{`score.yaml:61:5: spec: metadata.deploy.strategy: a StatefulSet has no canary: Flagger rolls out Deployments (write strategy: rolling, or kind: Deployment)`}},
		{"a name that is too long for a canary", func(r *Resolved) {
			r.Workload.Deploy = score.Deploy{Strategy: score.StrategyCanary, Pos: at(61)}
			r.Workload.Name = says(strings.Repeat("a", 56), 3)
		}, []string{`score.yaml:3:5: spec: metadata.name: "` + strings.Repeat("a", 56) + `" has 56 characters: the name of a workload with a canary has at most 55`}},
		{"a name that is too long for a StatefulSet", func(r *Resolved) {
			r.Workload.Kind, r.Workload.Name = says(score.KindStatefulSet, 2), says(strings.Repeat("a", 53), 3)
		}, []string{`score.yaml:3:5: spec: metadata.name: "` + strings.Repeat("a", 53) + `" has 53 characters: the name of a StatefulSet has at most 52`}},
		{"a service whose name begins with a digit", func(r *Resolved) { r.Workload.Name = says("1api", 3) },
			[]string{`score.yaml:3:5: spec: metadata.name: "1api" begins with a digit: the name of a Service begins with a letter (RFC 1035) (put a letter in front, or remove the service ports)`}},
		{"a part of a Workload of ours", func(r *Resolved) {
			r.Workload.Score = false
			r.Workload.Deploy, r.Workload.Ports = score.Deploy{Strategy: score.StrategyCanary, Pos: at(61)}, nil
			r.Containers[0].Spec.Image = says(".", 6)
		}, []string{
			`score.yaml:6:5: spec: spec.containers.web.image: the image is left to the deployment, and none was given (give --image api=IMAGE)`,
			`score.yaml:61:5: spec: spec.deploy.strategy: a canary needs a TCP port of the service: Flagger shifts the traffic that it gets (write service.ports with a TCP port, or strategy: rolling)`,
		}},
	}
}

func TestMistakesHaveAPlaceAPathAndAHint(t *testing.T) {
	for _, c := range slices.Concat(textMistakes(), podMistakes()) {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			c.change(&r)
			_, errs := Input(r)
			require.Equal(t, c.want, lines(errs.Failures()))
		})
	}
}

func lines(errs object.Errors) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// textWarnings are those of variables and files, podWarnings those of all else.
func textWarnings() []badWorkload {
	const sounds = "the name suggests a secret, and the manifests hold the value in plain text (use a sensitive output of a resource)"
	return []badWorkload{
		{"names that sound like a secret with a literal, but not those of a path, a switch, an address or nothing", func(r *Resolved) {
			withVariables(r, named("API_KEY", lit("x")), named("DB_PASSWORD", lit("hunter2")), named("PARTITION_KEY", lit("x")), named("PASSWORDS_FILE", lit("/run/x")),
				named("SECRET", lit("")), named("TOKENIZER", lit("x")), named("TOKEN_URL", lit("https://a.example")), named("USE_TOKEN", lit("true")),
				named("auth.token", lit("https://u:p@a.example")))
		}, []string{
			"score.yaml:12:5: spec: containers.web.variables.API_KEY: " + sounds, "score.yaml:12:5: spec: containers.web.variables.DB_PASSWORD: " + sounds,
			`score.yaml:12:5: spec: containers.web.variables["auth.token"]: ` + sounds,
		}},
		{"auth that is a pair of user and password, but not a switch, an address or another name", func(r *Resolved) {
			withVariables(r, named("APP_AUTH", lit("app:hunter2")), named("AUTHOR", lit("a/b")), named("BASIC_AUTH", lit("true")), named("FILE_AUTH", lit("/run/x")),
				named("NEO4J_AUTH", lit("neo4j/password")), named("NO_AUTH", lit("none")), named("URL_AUTH", lit("https://auth.example")))
		}, []string{"score.yaml:12:5: spec: containers.web.variables.APP_AUTH: " + sounds, "score.yaml:12:5: spec: containers.web.variables.NEO4J_AUTH: " + sounds}},
		{"a variable that refers to itself", func(r *Resolved) { withVariables(r, named("PATH", lit("/x:$(PATH)"))) },
			[]string{`score.yaml:12:5: spec: containers.web.variables.PATH: "PATH" refers to itself: Kubernetes leaves $(PATH) in it as it is (a variable that the image sets cannot be extended here)`}},
		{"variables in a ring", func(r *Resolved) {
			withVariables(r, named("A", lit("$(B)")), named("B", lit("$(C)")), named("C", lit("$(A)")), named("D", lit("$(A)")))
		}, []string{`score.yaml:12:5: spec: containers.web.variables.A: variables refer to each other in a cycle: A, B, C; Kubernetes leaves $(NAME) as it is where NAME comes later`}},
		{"a private key in a file and a password in a variable", func(r *Resolved) {
			r.Containers[0].Files = []File{aFile("/k.pem", lit("-----BEGIN EC PRIVATE KEY-----"))}
			withVariables(r, named("DSN", lit("pg://u:hunter2@db")))
		}, []string{
			`score.yaml:18:5: spec: containers.web.files["/k.pem"]: the value contains a private key, and the manifests hold it in plain text (use a sensitive output of a resource)`,
			`score.yaml:12:5: spec: containers.web.variables.DSN: the value contains a URL with a password, and the manifests hold it in plain text (use a sensitive output of a resource)`,
		}},
	}
}

func podWarnings() []badWorkload {
	return []badWorkload{
		{"a budget that no eviction meets", func(r *Resolved) {
			r.Workload.Replicas, r.Workload.Passed = &score.Replicas{Pos: at(60), Min: 2, Max: 2}, fields(m{"disruption": m{"minAvailable": 2}})
		}, []string{`score.yaml:90:5: spec: metadata.disruption.minAvailable: 2 of 2 pods must stay available: a node that runs one cannot be drained (write maxUnavailable: 1)`}},
		{"a budget whose share is rounded up", func(r *Resolved) {
			r.Workload.Replicas, r.Workload.Passed = &score.Replicas{Pos: at(60), Min: 3, Max: 3}, fields(m{"disruption": m{"minAvailable": "90%"}})
		}, []string{`score.yaml:90:5: spec: metadata.disruption.minAvailable: 90% of 3 pods must stay available: a node that runs one cannot be drained (write maxUnavailable: 1)`}},
		{"a budget that lets one pod go", func(r *Resolved) {
			r.Workload.Replicas, r.Workload.Passed = &score.Replicas{Pos: at(60), Min: 3, Max: 3}, fields(m{"disruption": m{"minAvailable": "60%"}})
		}, nil},
		{"a budget of nothing", func(r *Resolved) { r.Workload.Passed = fields(m{"disruption": m{"maxUnavailable": 0}}) },
			[]string{`score.yaml:90:5: spec: metadata.disruption.maxUnavailable: no pod may be evicted: a node that runs one cannot be drained (write maxUnavailable: 1)`}},
		{"a canary that nothing tells is ready", func(r *Resolved) {
			r.Workload.Deploy = score.Deploy{Strategy: score.StrategyCanary, Pos: at(61)}
		}, []string{`score.yaml:61:5: spec: metadata.deploy: no container has a readiness probe: Flagger sends traffic to pods that do not serve yet (write a readinessProbe)`}},
		{"several pods with a claim for one node", func(r *Resolved) {
			r.Workload.Replicas = &score.Replicas{Pos: at(60), Min: 2, Max: 2}
			shared := Mount{Spec: score.Mount{Target: "/data", Pos: at(40), Source: says("disk", 41)}, Resource: "disk", Single: true,
				Volume: fields(m{"persistentVolumeClaim": m{"claimName": "disk"}})}
			again := shared
			again.Spec.Target = "/more"
			r.Containers[0].Mounts = []Mount{shared, again}
		}, []string{`score.yaml:41:5: spec: containers.web.volumes./data: up to 2 pods share the volume "disk", which only the pods of one node can mount at a time (write accessModes: [ReadWriteMany], or run one pod)`}},
		{"an autoscaler without what it measures by", func(r *Resolved) {
			r.Workload.Replicas = &score.Replicas{Pos: at(60), Min: 1, Max: 3, CPU: 50, Memory: 50}
			r.Containers[0].Spec.Limits, r.Containers[0].Spec.Requests = r.Containers[0].Spec.Requests[:1], nil
		}, []string{`score.yaml:5:5: spec: containers.web.resources.requests: no request of memory: the autoscaler measures by it and does nothing without (write resources.requests.memory)`}},
		{"hooks of a container that others wait for", func(r *Resolved) {
			w := worker()
			w.Spec.Before = []score.Before{{Container: "web", Ready: score.ReadyComplete}}
			w.Spec.Further = fields(m{"lifecycle": m{}})
			r.Containers = append(r.Containers, w)
		}, []string{`score.yaml:90:5: spec: metadata.containers.worker.lifecycle: left out: others wait until the container is complete, and Kubernetes runs no hooks for such a container`}},
	}
}

func TestWarningsNameWhatIsMostLikelyNotMeant(t *testing.T) {
	for _, c := range slices.Concat(textWarnings(), podWarnings()) {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			c.change(&r)
			_, errs := Input(r)
			require.Equal(t, c.want, lines(errs))
			for _, e := range errs {
				require.Equal(t, object.SeverityWarning, e.Severity)
			}
			require.NotContains(t, errs.Error(), "hunter2")
		})
	}
}
