// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

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
	"github.com/ropewalk/ropewalk/render/workload/network"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// lit, ref and inURL are pieces of text.
func lit(s string) Piece    { return Piece{Literal: s} }
func ref(s *Secret) Piece   { return Piece{Secret: s} }
func inURL(s *Secret) Piece { return Piece{Secret: s, Escape: true} }

func write(line int, pieces ...Piece) Text {
	return Text{Pieces: Join(pieces), Pos: at(line)}
}

// at is a place in the text of the tests.
func at(line int) object.Pos { return object.Pos{File: "score.yaml", Line: line, Column: 5} }

func says(s string, line int) score.Text { return score.Text{Value: s, Pos: at(line)} }

// fields is a map of name, value, name, value; values are text, numbers,
// switches, and maps and lists of those.
func fields(v any) object.Value {
	data, _ := json.Marshal(v)
	out, err := object.ReadJSON(data, at(90))
	if err != nil {
		panic(err)
	}
	return out
}

type m = map[string]any

func dbUser() *Secret {
	return &Secret{Resource: "db", Output: "username", Name: "db__username", Reference: resource.Reference{Key: "prod/db", Property: "username"}}
}
func dbPassword() *Secret {
	return &Secret{Resource: "db", Output: "password", Name: "db__password", Reference: resource.Reference{Key: "prod/db", Property: "password", Version: "3"}}
}
func pgURI() *Secret {
	return &Secret{Resource: "pg", Output: "uri", Name: "pg__uri", Reference: resource.Reference{Kubernetes: true, Key: "orders-app", Property: "uri"}}
}

// plain is the workload of the benchmark: one container, three variables, one
// file, one port, requests.
func plain() Resolved {
	return Resolved{
		Config: spec.Workloads{
			CanaryProvider: "istio",
			Secrets: spec.Secrets{
				Backend: spec.BackendExternalSecrets, StoreName: "secrets", StoreKind: "ClusterSecretStore", RefreshInterval: "1h",
			},
		},
		Workload: score.Workload{
			Name: says("api", 3), Pos: at(1), Score: true,
			Ports: []score.Port{{Name: "http", Pos: at(30), Port: 80, Target: 8080, Protocol: "TCP"}},
		},
		Containers: []Container{{
			Spec: score.Container{
				Name: "web", Pos: at(5), Image: says("registry.example.com/api:1.4.2", 6),
				Requests: []score.Pair{{Name: "cpu", NamePos: at(8), Value: says("100m", 8)}, {Name: "memory", NamePos: at(9), Value: says("64Mi", 9)}},
			},
			Variables: []Variable{
				{Name: "GREETING", NamePos: at(11), Value: write(11, lit("costs $5 and $$"))},
				{Name: "LOG_LEVEL", NamePos: at(12), Value: write(12, lit("info"))},
				{Name: "PORT", NamePos: at(13), Value: write(13, lit("8080"))},
			},
			Files: []File{{
				Spec: score.File{Target: "/etc/api/config.yaml", Pos: at(15)}, Content: write(16, lit("level: info\n")), IsText: true,
			}},
		}},
	}
}

// worker is a second container.
func worker() Container {
	mode := 0o440
	return Container{
		Spec: score.Container{Name: "worker", Pos: at(50), Image: says("registry.example.com/worker:2", 51), Command: []score.Text{says("/work", 52)}},
		Variables: []Variable{
			{Name: "LOG_LEVEL", NamePos: at(53), Value: write(53, lit("debug"))},
			{Name: "TOKEN_OF_DB", NamePos: at(54), Value: write(54, ref(dbPassword()))},
		},
		Files: []File{
			{Spec: score.File{Target: "/etc/api/config.yaml", Pos: at(56), Mode: &mode, ModePos: at(57)}, Content: write(57, lit("level: debug\n")), IsText: true},
			{Spec: score.File{Target: "/etc/api/logo.png", Pos: at(58)}, Binary: []byte{0x89, 'P', 0xff}},
		},
	}
}

// goldens are the workloads whose whole input is in testdata/lower.
func goldens() map[string]Resolved {
	secretive := plain()
	secretive.Containers[0].Variables = append([]Variable{
		{Name: "9 lives", NamePos: at(10), Value: write(10, lit("$5"))},
		{Name: "ADDRESS", NamePos: at(10), Value: write(10, lit("$(HOST):$(PORT)"))},
	}, append(secretive.Containers[0].Variables,
		Variable{Name: "DB_PASSWORD", NamePos: at(20), Value: write(20, ref(dbPassword()))},
		Variable{Name: "DB_URL", NamePos: at(21), Value: write(21, lit("pg://"), ref(dbUser()), lit(":"), ref(dbPassword()), lit("@db:5432/api"))},
		Variable{Name: "HOST", NamePos: at(22), Value: write(22, lit("api"))},
		Variable{Name: "SELF", NamePos: at(23), Value: write(23, lit("http://"), ref(dbUser()), lit("@$(HOST):$(PORT)/$"))},
	)...)
	inCluster := secretive
	inCluster.Config.Secrets.Backend = spec.BackendKubernetes
	inCluster.Containers = []Container{secretive.Containers[0]}
	inCluster.Containers[0].Variables = nil
	for _, v := range secretive.Containers[0].Variables {
		v.Value = Text{Pos: v.Value.Pos, Pieces: append([]Piece(nil), v.Value.Pieces...)}
		for i, p := range v.Value.Pieces {
			if p.Secret != nil {
				s := *p.Secret
				s.Key, s.Version = "db", ""
				v.Value.Pieces[i].Secret = &s
			}
		}
		inCluster.Containers[0].Variables = append(inCluster.Containers[0].Variables, v)
	}
	return map[string]Resolved{
		"plain": plain(), "secrets-external": secretive, "secrets-kubernetes": inCluster, "secret-file": secretFile(), "two-containers": twoContainers(),
		"before": before(), "claims": claims(), "everything": everything(), "cronjob": cronJob(), "knative": serverless(),
	}
}

func secretFile() Resolved {
	r := plain()
	r.Config.Secrets.KubernetesStore = "in-cluster"
	r.OwnsStore, r.Config.Secrets.Provider = true, fields(m{"gcpsm": m{"projectID": "shop"}})
	r.Containers[0].Variables = []Variable{
		{Name: "MIXED", NamePos: at(11), Value: write(11, ref(pgURI()), lit("?user="), inURL(dbUser()))},
	}
	r.Containers[0].Files = append(r.Containers[0].Files,
		File{Spec: score.File{Target: "/etc/api/db.ini", Pos: at(17)}, IsText: true, Content: write(18,
			lit("# {{ not a template }} `\"'$\n[db]\nurl = pg://"), inURL(dbUser()), lit(":"), inURL(dbPassword()), lit("@db/{"), ref(pgURI()), lit("}\n"))},
		File{Spec: score.File{Target: "/run/uri", Pos: at(19)}, IsText: true, Content: write(20, ref(pgURI()))})
	return r
}

func twoContainers() Resolved {
	r := plain()
	r.Containers = append(r.Containers, worker())
	return r
}

func before() Resolved {
	r := plain()
	probe := fields(m{"httpGet": m{"path": "/ready", "port": 9000}, "failureThreshold": 1, "periodSeconds": 30, "timeoutSeconds": 2})
	waits := func(name, ready string, line int, others ...string) Container {
		c := Container{Spec: score.Container{Name: name, Pos: at(line), Image: says(name, line), ReadinessProbe: probe}}
		for _, o := range others {
			c.Spec.Before = append(c.Spec.Before, score.Before{Container: o, Ready: ready, Pos: at(line)})
		}
		return c
	}
	logs := waits("logs", score.ReadyStarted, 70, "proxy", "web")
	logs.Spec.ReadinessProbe = object.Value{}
	r.Containers = append([]Container{waits("fetch", score.ReadyComplete, 60, "web")}, logs,
		waits("migrate", score.ReadyComplete, 80, "fetch"), waits("proxy", score.ReadyHealthy, 85, "migrate"), r.Containers[0])
	return r
}

func claims() Resolved {
	r := plain()
	disk := Mount{
		Spec:     score.Mount{Target: "/data", Pos: at(40), Source: says("disk", 41), Path: says("/api/", 42), ReadOnly: true},
		Resource: "disk", Claim: fields(m{"accessModes": []string{"ReadWriteOnce"}, "resources": m{"requests": m{"storage": "1Gi"}}}),
	}
	scratch := Mount{
		Spec:     score.Mount{Target: "/scratch", Pos: at(43), Source: says("files", 44)},
		Resource: "files", Volume: fields(m{"emptyDir": m{}}),
	}
	again := disk
	again.Spec.Target, again.Spec.Path, again.Spec.ReadOnly = "/other", score.Text{}, false
	r.Containers[0].Mounts = []Mount{disk, scratch}
	second := worker()
	second.Mounts = []Mount{again}
	r.Containers = append(r.Containers, second)
	return r
}

func everything() Resolved {
	r := plain()
	s := &r.Workload
	s.Labels = []score.Pair{{Name: "team", NamePos: at(3), Value: says("shop", 3)}}
	s.Annotations = []score.Pair{{Name: "a.example/b", NamePos: at(3), Value: says("c", 3)}}
	s.PodAnnotations = []score.Pair{{Name: "d", NamePos: at(3), Value: says("e", 3)}}
	s.Replicas = &score.Replicas{Pos: at(60), Min: 2, Max: 10, Memory: 70}
	s.Deploy = score.Deploy{Pos: at(61), Strategy: score.StrategyCanary, Canary: score.Canary{Interval: "30s"}}
	s.ServiceAccount = score.ServiceAccount{Name: says("robot", 62), Existing: true, MountToken: true}
	s.Passed = fields(m{"securityContext": m{"runAsNonRoot": true}})
	s.Pod = fields(m{"terminationGracePeriodSeconds": 60})
	c := &r.Containers[0].Spec
	c.Limits = []score.Pair{{Name: "memory", NamePos: at(9), Value: says("128Mi", 9)}}
	c.Args = []score.Text{says("--port=$(PORT)", 7)}
	c.LivenessProbe = fields(m{"httpGet": m{"path": "/", "port": 8080}})
	c.SecurityContext = fields(m{"readOnlyRootFilesystem": true})
	c.Further = fields(m{"imagePullPolicy": "Always"})
	r.Config.Policies = []string{"cilium", "istio"}
	r.Routes = []network.Route{{Resource: &score.Resource{Name: "way"}, Ports: s.Ports}}
	r.Network = network.Network{
		Inbound:  []network.Peer{{Name: "frontend", Namespace: "shop", ServiceAccount: "frontend", Ports: s.Ports}},
		Outbound: []network.Peer{{Name: "cart", Namespace: "cart", ServiceAccount: "robot"}},
		External: []network.External{{Name: "pay", Host: "pay.example.com", Ports: []score.Port{{Port: 443, Protocol: "TCP"}}}},
		Backends: []network.Endpoint{{Host: "db.shop.svc.cluster.local", Port: 5432}},
	}
	r.DependsOn = []string{"cart/pods", "resource-db-cluster"}
	r.Patch = fields(m{"autoscaling": m{"max": 12}, "podAnnotations": m{"f": "g"}})
	return r
}

func cronJob() Resolved {
	r := plain()
	s := &r.Workload
	s.Kind, s.Schedule, s.Ports = says(score.KindCronJob, 60), says("0 3 * * *", 61), nil
	s.Job = fields(m{"backoffLimit": 2})
	return r
}

func TestTheInputOfTheModuleIsThatOfTheGoldens(t *testing.T) {
	all := goldens()
	for _, name := range object.SortedKeys(all) {
		t.Run(name, func(t *testing.T) {
			input, errs := Input(all[name])
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
