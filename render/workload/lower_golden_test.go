// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lit, ref and inURL are pieces of text.
func lit(s string) piece    { return piece{literal: s} }
func ref(s *secret) piece   { return piece{secret: s} }
func inURL(s *secret) piece { return piece{secret: s, escape: true} }

func write(line int, pieces ...piece) text {
	return text{pieces: pieces, pos: at(line)}
}

// at is a place in the text of the tests.
func at(line int) object.Pos { return object.Pos{File: "score.yaml", Line: line, Column: 5} }

func says(s string, line int) score.Text { return score.Text{Value: s, Pos: at(line)} }

// fields is a map of name, value, name, value; values are text, numbers,
// switches, and maps and lists of those.
func fields(v any) object.Value {
	data, _ := json.Marshal(v)
	out, err := readJSON(data, at(90))
	if err != nil {
		panic(err)
	}
	return out
}

type m = map[string]any

func dbUser() *secret {
	return &secret{resource: "db", output: "username", name: "db__username", key: "prod/db", property: "username"}
}
func dbPassword() *secret {
	return &secret{resource: "db", output: "password", name: "db__password", key: "prod/db", property: "password", version: "3"}
}
func pgURI() *secret {
	return &secret{resource: "pg", output: "uri", name: "pg__uri", kubernetes: true, key: "orders-app", property: "uri"}
}

// plain is the workload of the benchmark: one container, three variables, one
// file, one port, requests.
func plain() resolved {
	return resolved{
		config: spec.Workloads{
			CanaryProvider: "istio",
			Secrets: spec.Secrets{
				Backend: spec.BackendExternalSecrets, StoreName: "secrets", StoreKind: "ClusterSecretStore", RefreshInterval: "1h",
			},
		},
		source: Source{Spec: score.Workload{
			Name: says("api", 3), Pos: at(1), Score: true,
			Ports: []score.Port{{Name: "http", Pos: at(30), Port: 80, Target: 8080, Protocol: "TCP"}},
		}},
		containers: []container{{
			spec: score.Container{
				Name: "web", Pos: at(5), Image: says("registry.example.com/api:1.4.2", 6),
				Requests: []score.Pair{{Name: "cpu", NamePos: at(8), Value: says("100m", 8)}, {Name: "memory", NamePos: at(9), Value: says("64Mi", 9)}},
			},
			variables: []variable{
				{name: "GREETING", namePos: at(11), value: write(11, lit("costs $5 and $$"))},
				{name: "LOG_LEVEL", namePos: at(12), value: write(12, lit("info"))},
				{name: "PORT", namePos: at(13), value: write(13, lit("8080"))},
			},
			files: []file{{
				spec: score.File{Target: "/etc/api/config.yaml", Pos: at(15)}, content: write(16, lit("level: info\n")), isText: true,
			}},
		}},
	}
}

// worker is a second container.
func worker() container {
	mode := 0o440
	return container{
		spec: score.Container{Name: "worker", Pos: at(50), Image: says("registry.example.com/worker:2", 51), Command: []score.Text{says("/work", 52)}},
		variables: []variable{
			{name: "LOG_LEVEL", namePos: at(53), value: write(53, lit("debug"))},
			{name: "TOKEN_OF_DB", namePos: at(54), value: write(54, ref(dbPassword()))},
		},
		files: []file{
			{spec: score.File{Target: "/etc/api/config.yaml", Pos: at(56), Mode: &mode, ModePos: at(57)}, content: write(57, lit("level: debug\n")), isText: true},
			{spec: score.File{Target: "/etc/api/logo.png", Pos: at(58)}, binary: []byte{0x89, 'P', 0xff}},
		},
	}
}

// goldens are the workloads whose whole input is in testdata/lower.
func goldens() map[string]resolved {
	secretive := plain()
	secretive.containers[0].variables = append([]variable{
		{name: "9 lives", namePos: at(10), value: write(10, lit("$5"))},
		{name: "ADDRESS", namePos: at(10), value: write(10, lit("$(HOST):$(PORT)"))},
	}, append(secretive.containers[0].variables,
		variable{name: "DB_PASSWORD", namePos: at(20), value: write(20, ref(dbPassword()))},
		variable{name: "DB_URL", namePos: at(21), value: write(21, lit("pg://"), ref(dbUser()), lit(":"), ref(dbPassword()), lit("@db:5432/api"))},
		variable{name: "HOST", namePos: at(22), value: write(22, lit("api"))},
		variable{name: "SELF", namePos: at(23), value: write(23, lit("http://"), ref(dbUser()), lit("@$(HOST):$(PORT)/$"))},
	)...)
	inCluster := secretive
	inCluster.config.Secrets.Backend = spec.BackendKubernetes
	inCluster.containers = []container{secretive.containers[0]}
	inCluster.containers[0].variables = nil
	for _, v := range secretive.containers[0].variables {
		v.value = text{pos: v.value.pos, pieces: append([]piece(nil), v.value.pieces...)}
		for i, p := range v.value.pieces {
			if p.secret != nil {
				s := *p.secret
				s.key, s.version = "db", ""
				v.value.pieces[i].secret = &s
			}
		}
		inCluster.containers[0].variables = append(inCluster.containers[0].variables, v)
	}
	return map[string]resolved{
		"plain": plain(), "secrets-external": secretive, "secrets-kubernetes": inCluster, "secret-file": secretFile(), "two-containers": twoContainers(),
		"before": before(), "claims": claims(), "everything": everything(), "cronjob": cronJob(),
	}
}

func secretFile() resolved {
	r := plain()
	r.config.Secrets.KubernetesStore = "in-cluster"
	r.ownsStore, r.config.Secrets.Provider = true, fields(m{"gcpsm": m{"projectID": "shop"}})
	r.containers[0].variables = []variable{
		{name: "MIXED", namePos: at(11), value: write(11, ref(pgURI()), lit("?user="), inURL(dbUser()))},
	}
	r.containers[0].files = append(r.containers[0].files,
		file{spec: score.File{Target: "/etc/api/db.ini", Pos: at(17)}, isText: true, content: write(18,
			lit("# {{ not a template }} `\"'$\n[db]\nurl = pg://"), inURL(dbUser()), lit(":"), inURL(dbPassword()), lit("@db/{"), ref(pgURI()), lit("}\n"))},
		file{spec: score.File{Target: "/run/uri", Pos: at(19)}, isText: true, content: write(20, ref(pgURI()))})
	return r
}

func twoContainers() resolved {
	r := plain()
	r.containers = append(r.containers, worker())
	return r
}

func before() resolved {
	r := plain()
	probe := fields(m{"httpGet": m{"path": "/ready", "port": 9000}, "failureThreshold": 1, "periodSeconds": 30, "timeoutSeconds": 2})
	waits := func(name, ready string, line int, others ...string) container {
		c := container{spec: score.Container{Name: name, Pos: at(line), Image: says(name, line), ReadinessProbe: probe}}
		for _, o := range others {
			c.spec.Before = append(c.spec.Before, score.Before{Container: o, Ready: ready, Pos: at(line)})
		}
		return c
	}
	logs := waits("logs", score.ReadyStarted, 70, "proxy", "web")
	logs.spec.ReadinessProbe = object.Value{}
	r.containers = append([]container{waits("fetch", score.ReadyComplete, 60, "web")}, logs,
		waits("migrate", score.ReadyComplete, 80, "fetch"), waits("proxy", score.ReadyHealthy, 85, "migrate"), r.containers[0])
	return r
}

func claims() resolved {
	r := plain()
	disk := mount{
		spec:     score.Mount{Target: "/data", Pos: at(40), Source: says("disk", 41), Path: says("/api/", 42), ReadOnly: true},
		resource: "disk", claim: fields(m{"accessModes": []string{"ReadWriteOnce"}, "resources": m{"requests": m{"storage": "1Gi"}}}),
	}
	scratch := mount{
		spec:     score.Mount{Target: "/scratch", Pos: at(43), Source: says("files", 44)},
		resource: "files", volume: fields(m{"emptyDir": m{}}),
	}
	again := disk
	again.spec.Target, again.spec.Path, again.spec.ReadOnly = "/other", score.Text{}, false
	r.containers[0].mounts = []mount{disk, scratch}
	second := worker()
	second.mounts = []mount{again}
	r.containers = append(r.containers, second)
	return r
}

func everything() resolved {
	r := plain()
	s := &r.source.Spec
	s.Labels = []score.Pair{{Name: "team", NamePos: at(3), Value: says("shop", 3)}}
	s.Annotations = []score.Pair{{Name: "a.example/b", NamePos: at(3), Value: says("c", 3)}}
	s.PodAnnotations = []score.Pair{{Name: "d", NamePos: at(3), Value: says("e", 3)}}
	s.Replicas = &score.Replicas{Pos: at(60), Min: 2, Max: 10, Memory: 70}
	s.Deploy = score.Deploy{Pos: at(61), Strategy: score.StrategyCanary, Canary: score.Canary{Interval: "30s"}}
	s.ServiceAccount = score.ServiceAccount{Name: says("robot", 62), Existing: true, MountToken: true}
	s.SecurityContext = fields(m{"runAsNonRoot": true})
	s.Pod = fields(m{"terminationGracePeriodSeconds": 60})
	c := &r.containers[0].spec
	c.Limits = []score.Pair{{Name: "memory", NamePos: at(9), Value: says("128Mi", 9)}}
	c.Args = []score.Text{says("--port=$(PORT)", 7)}
	c.LivenessProbe = fields(m{"httpGet": m{"path": "/", "port": 8080}})
	c.SecurityContext = fields(m{"readOnlyRootFilesystem": true})
	c.Further = fields(m{"imagePullPolicy": "Always"})
	r.config.Policies = []string{"cilium", "istio"}
	r.routes = []route{{resource: &score.Resource{Name: "way"}, ports: s.Ports}}
	r.network = network{
		inbound:  []peer{{name: "frontend", namespace: "shop", serviceAccount: "frontend", ports: s.Ports}},
		outbound: []peer{{name: "cart", namespace: "cart", serviceAccount: "robot"}},
		external: []external{{name: "pay", host: "pay.example.com", ports: []score.Port{{Port: 443, Protocol: "TCP"}}}},
		backends: []backend{{host: "db.shop.svc.cluster.local", port: 5432}},
	}
	r.dependsOn = []string{"cart/pods", "resource-db-cluster"}
	r.patch = fields(m{"autoscaling": m{"max": 12}, "podAnnotations": m{"f": "g"}})
	return r
}

func cronJob() resolved {
	r := plain()
	s := &r.source.Spec
	s.Kind, s.Schedule, s.Ports = says(score.KindCronJob, 60), says("0 3 * * *", 61), nil
	s.Job = fields(m{"backoffLimit": 2})
	return r
}

func TestTheInputOfTheModuleIsThatOfTheGoldens(t *testing.T) {
	all := goldens()
	for _, name := range object.SortedKeys(all) {
		t.Run(name, func(t *testing.T) {
			input, errs := lower(all[name])
			require.NoError(t, errs.Err())
			var b bytes.Buffer
			for _, e := range errs {
				b.WriteString("# " + e.Severity.String() + ": " + e.Error() + "\n")
			}
			var v any
			require.NoError(t, yaml.Unmarshal(input.JSON(), &v))
			e := yaml.NewEncoder(&b)
			e.SetIndent(2)
			require.NoError(t, e.Encode(v))
			path := filepath.Join("testdata", "lower", name+".golden")
			if os.Getenv("ROPEWALK_UPDATE") != "" {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
				require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String(), "%s: regenerate with ROPEWALK_UPDATE=1", path)
		})
	}
}
