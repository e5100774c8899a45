// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// withVariables puts variables instead of those of the plain workload.
func withVariables(r *Resolved, all ...Variable) { r.Containers[0].Variables = all }

func named(name string, pieces ...Piece) Variable {
	return Variable{Name: name, NamePos: at(11), Value: write(12, pieces...)}
}

func aFile(target string, pieces ...Piece) File {
	return File{Spec: score.File{Target: target, Pos: at(17)}, IsText: true, Content: write(18, pieces...)}
}

func TestEveryPartThatAUserWroteKeepsItsPlace(t *testing.T) {
	r := everything()
	withVariables(&r, named("A", lit("x")), named("B C", lit("y")), named("D", ref(dbUser())))
	input, errs := Input(r)
	require.NoError(t, errs.Err())
	for path, line := range map[string]int{
		"name": 3, "containers[0].image": 6, "containers[0].resources.requests.cpu": 8, "configs.env.data.A": 12, "containers[0].env[0].name": 11,
		"containers[0].env[0].value": 12, "configs.files.data[\"web.etc.api.config.yaml\"]": 16, "volumes[0].configMap.items[0]": 15,
		"containers[0].volumeMounts[0].mountPath": 15, "service.ports[0].port": 30, "canary.interval": 61, "serviceAccount.name": 62,
		"secrets.secrets.template.D": 12, "containers[0].args[0]": 7, "labels.team": 3, "containers[0].livenessProbe.httpGet": 90,
	} {
		require.Equal(t, at(line), input.NearestPos(object.ParsePath(path)), path)
	}
	data, _ := input.Lookup(object.Fields("configs", "env", "data"))
	require.Equal(t, at(11), data.Members[0].Pos, "the name of a variable")
}

func TestPatchesDecideWhoOwnsTheReplicas(t *testing.T) {
	for _, c := range []struct {
		name             string
		replicas         *score.Replicas
		patch            m
		fixed, autoscale string
		budget           bool
	}{
		{"one where nobody says", nil, nil, "1", "", false},
		{"a fixed number of two gets a budget", &score.Replicas{Min: 2}, nil, "2", "", true},
		{"bounds leave no number", &score.Replicas{Min: 1, Max: 3}, nil, "", `{"max":3,"min":1}`, false},
		{"a provisioner that scales takes the number away", &score.Replicas{Min: 2}, m{"autoscaling": m{"min": 2, "max": 4}}, "", `{"max":4,"min":2}`, true},
		{"a provisioner that fixes the number takes the scaling away", &score.Replicas{Min: 1, Max: 3}, m{"replicas": 5}, "5", "", true},
		{"a provisioner's budget stays", &score.Replicas{Min: 2}, m{"disruption": m{"minAvailable": 1}}, "2", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.Workload.Replicas = c.replicas
			if c.patch != nil {
				r.Patch = fields(c.patch)
			}
			input, errs := Input(r)
			require.NoError(t, errs.Err())
			fixed, _ := input.Get("replicas")
			require.Equal(t, c.fixed, fixed.Text)
			scaling, ok := input.Get("autoscaling")
			require.Equal(t, c.autoscale != "", ok)
			if ok {
				require.JSONEq(t, c.autoscale, string(scaling.JSON()))
			}
			_, ok = input.Get("disruption")
			require.Equal(t, c.budget, ok)
		})
	}
}

func TestThePortOfACanaryIsHTTPOrTheFirst(t *testing.T) {
	port := func(name string, number int, protocol string) score.Port {
		return score.Port{Name: name, Port: number, Target: number, Protocol: protocol}
	}
	for want, ports := range map[int][]score.Port{
		3: {port("a", 1, "UDP"), port("b", 2, "TCP"), port("http", 3, "TCP")},
		2: {port("a", 1, "UDP"), port("b", 2, "TCP"), port("http", 3, "UDP")},
	} {
		require.Equal(t, want, ports[canaryPort(ports)].Port)
	}
	require.Equal(t, -1, canaryPort([]score.Port{port("a", 1, "UDP")}))
}

func TestTheHashFollowsTheConfigurationAlone(t *testing.T) {
	sum := func(change func(r *Resolved)) string {
		r := goldens()["secrets-external"]
		change(&r)
		input, errs := Input(r)
		require.NoError(t, errs.Err())
		h, _ := input.Get("hash")
		require.Len(t, h.Text, 64)
		return h.Text
	}
	same := sum(func(*Resolved) {})
	require.Equal(t, same, sum(func(r *Resolved) { r.Workload.Labels = []score.Pair{{Name: "a"}} }))
	require.Equal(t, same, sum(func(r *Resolved) { r.Config.Secrets.RefreshInterval = "5m" }))
	require.NotEqual(t, same, sum(func(r *Resolved) { r.Containers[0].Variables[2].Value.Pieces = []Piece{lit("other")} }))
	require.NotEqual(t, same, sum(func(r *Resolved) { r.Containers[0].Variables[5].Value.Pieces = []Piece{ref(dbUser())} }))
	require.NotEqual(t, same, sum(func(r *Resolved) { r.Patch = fields(m{"configs": m{"env": m{"data": m{"NEW": "x"}}}}) }))

	r := plain()
	r.Containers[0].Variables, r.Containers[0].Files = nil, nil
	input, _ := Input(r)
	_, ok := input.Get("hash")
	require.False(t, ok, "no configuration, no hash")
}

func TestNamesStayWithinTheirLimits(t *testing.T) {
	long := strings.Repeat("a", 63)
	require.Equal(t, long, object.Shorten(long, 63))
	require.Len(t, object.Shorten(long+"b", 63), 63)
	require.NotEqual(t, object.Shorten(long+"b", 63), object.Shorten(long+"c", 63))
	require.Equal(t, "abc-"+object.ShortHash("abc--defghijklmnopq"), object.Shorten("abc--defghijklmnopq", 14), "no separator before the hash")

	r := plain()
	r.Containers = append(r.Containers, worker())
	r.Containers[0].Spec.Name, r.Workload.Name = long, says(long, 3)
	r.Containers[0].Variables = append(r.Containers[0].Variables, named("Z", ref(dbUser())))
	r.Containers[0].Files = append(r.Containers[0].Files, aFile("/"+strings.Repeat("x/", 200)+"a", lit("a")), aFile("/"+strings.Repeat("x/", 200)+"b", lit("b")))
	input, errs := Input(r)
	require.NoError(t, errs.Err())
	for _, field := range []string{"configs", "secrets"} {
		objects, _ := input.Get(field)
		for _, o := range objects.Members {
			require.LessOrEqual(t, len("secret-"+o.Name), 63, "the id of the node of %s", o.Name)
			require.Regexp(t, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, o.Name)
		}
	}
	files, _ := input.Lookup(object.Fields("configs", "files", "data"))
	for _, f := range files.Members {
		require.LessOrEqual(t, len(f.Name), 253)
	}
	require.Len(t, files.Members, 4)
}

func TestContainerPortsAreThoseOfTheOnlyContainerOrOfProbes(t *testing.T) {
	r := plain()
	r.Workload.Ports = []score.Port{
		{Name: "a-very-long-name-of-a-port", Port: 80, Target: 8080, Protocol: "TCP"}, {Name: "http", Port: 81, Target: 8080, Protocol: "TCP"},
		{Name: "stats", Port: 9090, Target: 9090, Protocol: "UDP"},
	}
	input, errs := Input(r)
	require.NoError(t, errs.Err())
	ports, _ := input.Lookup(object.ParsePath("containers[0].ports"))
	require.JSONEq(t, `[{"containerPort":8080,"protocol":"TCP"},{"containerPort":9090,"name":"stats","protocol":"UDP"}]`, string(ports.JSON()))

	second := worker()
	second.Spec.ReadinessProbe = fields(m{"tcpSocket": m{"port": "stats"}, "periodSeconds": 5})
	second.Spec.LivenessProbe = fields(m{"httpGet": m{"port": 8080}})
	r.Containers = append(r.Containers, second)
	input, errs = Input(r)
	require.NoError(t, errs.Err())
	ports, found := input.Lookup(object.ParsePath("containers[0].ports"))
	require.Equal(t, 2, found, "no probe says that it listens: %s", ports.JSON())
	ports, _ = input.Lookup(object.ParsePath("containers[1].ports"))
	require.JSONEq(t, `[{"containerPort":8080,"protocol":"TCP"},{"containerPort":9090,"name":"stats","protocol":"UDP"}]`, string(ports.JSON()))
}

// Ten thousand of everything take the time of ten thousand, not of its square:
// the square of any of them is minutes.
func TestTenThousandVariablesTakeNoTime(t *testing.T) {
	const n = 10_000
	r := plain()
	var chain, plains, secrets []Variable
	for i := range n {
		chain = append(chain, named(fmt.Sprintf("C%05d", i), lit(fmt.Sprintf("$(C%05d)", (i+1)%n))))
		plains = append(plains, named(fmt.Sprintf("P%05d", i), lit("x")))
		secrets = append(secrets, named(fmt.Sprintf("S%05d", i), lit("x$(P00001)"), ref(&Secret{Name: fmt.Sprintf("s%d", i), Reference: resource.Reference{Key: "k"}})))
	}
	open := strings.Repeat("$(", 500_000)
	r.Containers[0].Variables = append(append(chain, plains...), secrets...)
	r.Containers[0].Variables = append(r.Containers[0].Variables, named("Z", lit("$(P00001)"+open)))
	r.Containers[0].Files = nil
	for i := range n {
		r.Containers[0].Files = append(r.Containers[0].Files, aFile(fmt.Sprintf("/a/%d", i), lit("x")))
	}
	start := time.Now()
	_, errs := Input(r)
	require.NoError(t, errs.Err())
	require.Less(t, time.Since(start), 5*time.Second)
	require.False(t, mentions(open+")", func(string) bool { return false }))
}

func BenchmarkLowerPlain(b *testing.B) {
	r := plain()
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := Input(r); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// Flagger scales what is released down to none, and an engine would undo it.
func TestACanaryWithAFixedNumberOfPodsIsHeldThereByAnAutoscaler(t *testing.T) {
	r := plain()
	r.Workload.Deploy.Strategy = score.StrategyCanary
	r.Workload.Ports = []score.Port{{Name: "http", Port: 80, Target: 8080, Protocol: "TCP"}}
	r.Workload.Replicas = &score.Replicas{Min: 3, Max: 3}
	input, errs := Input(r)
	require.NoError(t, errs.Err())
	scaling, _ := input.Get("autoscaling")
	require.JSONEq(t, `{"min": 3, "max": 3}`, string(scaling.JSON()))
	_, fixed := input.Get("replicas")
	require.False(t, fixed)
}
