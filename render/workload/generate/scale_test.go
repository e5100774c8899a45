// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestAFixedNumberIsTheLeastOfAnAutoscalerThatAResourceAsksFor(t *testing.T) {
	hpa := func(least, most int) m { return m{"autoscaling": m{"min": least, "max": most, "cpu": 80}} }
	for _, c := range []struct {
		name     string
		replicas *score.Replicas
		patch    m
		scaling  string
		budget   bool
		want     []string
	}{
		{"the number is more", &score.Replicas{Min: 3, Max: 3, Pos: at(60)}, hpa(1, 5), `{"cpu":80,"max":5,"min":3}`, true, nil},
		{"the number is less", &score.Replicas{Min: 1, Max: 1, Pos: at(60)}, hpa(2, 5), `{"cpu":80,"max":5,"min":2}`, true, nil},
		{"no number", nil, hpa(1, 5), `{"cpu":80,"max":5,"min":1}`, false, nil},
		{"none at all", &score.Replicas{Pos: at(60)}, hpa(1, 5), "", false, nil},
		{"the number is too high", &score.Replicas{Min: 6, Max: 6, Pos: at(60)}, hpa(1, 5), `{"cpu":80,"max":5,"min":1}`, false, []string{
			"score.yaml:60:5: spec: metadata.replicas: 6 replicas are more than the 5 that the autoscaler of a resource keeps at most (write fewer replicas, or raise the most that the resource allows)",
		}},
		{"bounds that cross", nil, hpa(6, 5), `{"cpu":80,"max":5,"min":6}`, true, []string{
			"score.yaml:90:5: spec: resources: an autoscaler with a min of 6 and a max of 5",
		}},
		{"bounds of the author's own", &score.Replicas{Min: 2, Max: 4, Pos: at(60)}, hpa(1, 5), `{"cpu":80,"max":5,"min":1}`, false, []string{
			"score.yaml:60:5: spec: metadata.replicas: replicas and a resource both configure an autoscaler: that of the resource is used (remove one of them)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.Workload.Replicas, r.Patch = c.replicas, fields(c.patch)
			input, errs := Input(r)
			require.Equal(t, c.want, lines(errs))
			scaling, ok := input.Get("autoscaling")
			require.Equal(t, c.scaling != "", ok)
			if ok {
				require.JSONEq(t, c.scaling, string(scaling.JSON()))
			}
			_, ok = input.Get("disruption")
			require.Equal(t, c.budget, ok)
		})
	}
}

func TestAJobHasNeitherReplicasNorRoutes(t *testing.T) {
	r := cronJob()
	r.Patch = fields(m{"replicas": 2})
	r.Workload.Resources = []score.Resource{{Name: "way", Type: says("route", 70), Pos: at(69)}}
	input, errs := Input(r)
	require.Equal(t, []string{
		"score.yaml:69:5: spec: resources.way: a route leads to pods that serve, and those of a CronJob run to an end (remove the route, or write kind: Deployment)",
		"score.yaml:90:5: spec: resources: a CronJob has no replicas that a resource could change (remove the resource)",
	}, lines(errs))
	_, scaled := input.Get("autoscaling")
	require.False(t, scaled)
}
