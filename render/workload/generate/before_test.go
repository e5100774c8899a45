// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestTheStrongestDemandDecides(t *testing.T) {
	for _, c := range []struct {
		ready []string
		want  string
	}{
		{nil, ""},
		{[]string{score.ReadyStarted, score.ReadyHealthy}, score.ReadyHealthy},
		{[]string{score.ReadyComplete, score.ReadyHealthy, score.ReadyStarted}, score.ReadyComplete},
	} {
		var s score.Container
		for _, r := range c.ready {
			s.Before = append(s.Before, score.Before{Ready: r})
		}
		require.Equal(t, c.want, strongest(&s))
	}
}

func TestAStartupProbeIsTheOwnOneElseMadeOfAnother(t *testing.T) {
	own, works, live := fields(m{"exec": 1, "periodSeconds": 9}), fields(m{"exec": 2, "periodSeconds": 9}), fields(m{"exec": 3, "successThreshold": 2})
	s := score.Container{StartupProbe: own, ReadinessProbe: works, LivenessProbe: live}
	require.Equal(t, own, startupProbe(&s))
	s.StartupProbe = object.Value{}
	require.JSONEq(t, `{"exec":2,"periodSeconds":2,"failureThreshold":150}`, string(startupProbe(&s).JSON()))
	s.ReadinessProbe = object.Value{}
	require.JSONEq(t, `{"exec":3,"periodSeconds":2,"failureThreshold":150}`, string(startupProbe(&s).JSON()))
	require.JSONEq(t, `{"exec":3,"successThreshold":2}`, string(live.JSON()), "the probe of the author is not changed")
}

func TestEachContainerComesBeforeAllThatWait(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for pairs := range 1 << 6 {
		for _, backward := range []bool{false, true} {
			var r Resolved
			for _, n := range names {
				r.Containers = append(r.Containers, Container{Spec: score.Container{Name: n}})
			}
			bit := 0
			for i := range names {
				for j := i + 1; j < len(names); j++ {
					first, second := i, j
					if backward {
						first, second = j, i
					}
					if pairs>>bit&1 == 1 {
						r.Containers[first].Spec.Before = append(r.Containers[first].Spec.Before, score.Before{Container: names[second], Ready: score.ReadyComplete})
					}
					bit++
				}
			}
			place := map[string]int{}
			order, _ := arrange(r.Containers)
			for k, i := range order {
				place[names[i]] = k
			}
			for i, c := range r.Containers {
				_, initial := place[names[i]]
				require.Equal(t, len(c.Spec.Before) > 0, initial)
				for _, b := range c.Spec.Before {
					if after, ok := place[b.Container]; ok {
						require.Less(t, place[names[i]], after, "%b", pairs)
					}
				}
			}
		}
	}
}
