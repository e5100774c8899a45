// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestAProvisionerMayChangeOnlyPartsOfTheWorkload(t *testing.T) {
	const before = `api.yaml:4:9: evaluate: resources.db: the provisioner of type "postgres" in the module "platform": workload.`
	const parts = " is not for provisioners: they may change annotations, autoscaling, disruption, labels, pod, podAnnotations, replicas, securityContext, serviceAccount"
	for name, c := range map[string]struct{ workload, want string }{
		"all that it may change": {`{"annotations": {"a": "b"}, "podAnnotations": {"a": "b"}, "labels": {"a": "b"}, "replicas": 2,
			"autoscaling": {"min": 1, "max": 2, "cpu": 80, "memory": 80}, "disruption": {"maxUnavailable": "10%"}, "securityContext": {"fsGroup": 1},
			"pod": {"nodeSelector": {"a": "b"}}, "serviceAccount": {"annotations": {"a": "b"}}}`, ""},
		"a name":            {`{"name": "x"}`, before + "name" + parts},
		"containers":        {`{"containers": []}`, before + "containers" + parts},
		"secrets":           {`{"secrets": {}}`, before + "secrets" + parts},
		"another account":   {`{"serviceAccount": {"name": "root"}}`, before + "serviceAccount.name is not for provisioners: they may change annotations (known: annotations)"},
		"the label of pods": {`{"labels": {"ropewalk.dev/workload": "x"}}`, before + "labels.ropewalk.dev/workload is not for provisioners: objects find their pods by it"},
		"volumes of a pod":  {`{"pod": {"volumes": []}}`, before + "pod.volumes is not for provisioners: it follows from the workload"},
		"numbers as text":   {`{"autoscaling": {"max": "3"}}`, before + "autoscaling.max must be a whole number of at least 1"},
		"labels as a list":  {`{"labels": []}`, before + "labels must be a map, got a list"},
		"a number as label": {`{"labels": {"a": 1}}`, before + "labels.a must be text, got a number"},
		"two budgets":       {`{"disruption": {"minAvailable": 1, "maxUnavailable": 1}}`, before + "disruption must have one of minAvailable and maxUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			in := postgresOf()
			in.entry = Provisioner{Type: "postgres", Name: "platform", Pos: object.Pos{File: "modules/p.cue", Line: 3, Column: 2}}
			_, errs := decodeResult(in, Answer{Result: []byte(`{"workload": ` + c.workload + `}`)})
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.Equal(t, c.want, errs[0].Error())
			require.Equal(t, []object.Note{{Pos: in.entry.Pos, Text: "the provisioner"}}, errs[0].Notes)
		})
	}
}

func TestTwoResourcesThatWantDifferentThingsOfAWorkloadAreAMistake(t *testing.T) {
	patches := func(a, b string) string {
		c := join(t, `
metadata: {name: api}
containers: {web: {image: nginx}}
resources:
  aa: {type: horizontal-pod-autoscaler}
  bb: {type: horizontal-pod-autoscaler}
`).Compile("api")
		_, errs := run(t, c, map[string]Answer{"aa": answerOf(`{"workload": ` + a + `}`), "bb": answerOf(`{"workload": ` + b + `}`)})
		require.Empty(t, errs)
		c.patch()
		return told(c.errs)
	}
	const want = `api.yaml:6:14: spec: resources.bb: the resources "aa" and "bb" want a different `
	require.Equal(t, want+"autoscaling.max of the workload (take one of them away)\n", patches(`{"autoscaling": {"min": 1, "max": 2}}`, `{"autoscaling": {"min": 1, "max": 3}}`))
	require.Equal(t, want+"labels.a of the workload (take one of them away)\n", patches(`{"labels": {"a": "x"}}`, `{"labels": {"a": "y", "b": "z"}}`))
	require.Empty(t, patches(`{"labels": {"a": "x"}}`, `{"labels": {"a": "x", "b": "y"}}`))
	require.Empty(t, patches(`{"autoscaling": {"min": 1, "max": 2}}`, `{"annotations": {"a": "b"}}`))
}

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
			"score.yaml:60:5: spec: metadata.replicas: replicas and a resource both ask for an autoscaler: that of the resource wins (take one of them away)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plain()
			r.source.Spec.Replicas, r.patch = c.replicas, fields(c.patch)
			input, errs := lower(r)
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
	r.patch = fields(m{"replicas": 2})
	r.source.Spec.Resources = []score.Resource{{Name: "way", Type: says("route", 70), Pos: at(69)}}
	input, errs := lower(r)
	require.Equal(t, []string{
		"score.yaml:69:5: spec: resources.way: a route leads to pods that serve, and those of a CronJob run to an end (take the route away, or write kind: Deployment)",
		"score.yaml:90:5: spec: resources: a CronJob has no replicas that a resource could change (take the resource away)",
	}, lines(errs))
	_, scaled := input.Get("autoscaling")
	require.False(t, scaled)
}
