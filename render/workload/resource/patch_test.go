// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestAProvisionerMayChangeOnlyPartsOfTheWorkload(t *testing.T) {
	const before = `api.yaml:4:9: evaluate: resources.db: the provisioner of type "postgres" in the module "platform": workload.`
	const parts = " cannot be changed by a provisioner: allowed are annotations, autoscaling, disruption, labels, pod, podAnnotations, replicas, securityContext, serviceAccount"
	for name, c := range map[string]struct{ workload, want string }{
		"all that it may change": {`{"annotations": {"a": "b"}, "podAnnotations": {"a": "b"}, "labels": {"a": "b"}, "replicas": 2,
			"autoscaling": {"min": 1, "max": 2, "cpu": 80, "memory": 80}, "disruption": {"maxUnavailable": "10%"}, "securityContext": {"fsGroup": 1},
			"pod": {"nodeSelector": {"a": "b"}}, "serviceAccount": {"annotations": {"a": "b"}}}`, ""},
		"a name":               {`{"name": "x"}`, before + "name" + parts},
		"containers":           {`{"containers": []}`, before + "containers" + parts},
		"secrets":              {`{"secrets": {}}`, before + "secrets" + parts},
		"another account":      {`{"serviceAccount": {"name": "root"}}`, before + "serviceAccount.name cannot be changed by a provisioner: allowed are annotations (known: annotations)"},
		"the label of configs": {`{"labels": {"ropewalk.dev/config-type": "x"}}`, before + "labels.ropewalk.dev/config-type cannot be changed by a provisioner: it says what a ConfigMap or an ExternalSecret holds"},
		"the label of pods":    {`{"labels": {"ropewalk.dev/workload": "x"}}`, before + "labels.ropewalk.dev/workload cannot be changed by a provisioner: objects find their pods by it"},
		"volumes of a pod":     {`{"pod": {"volumes": []}}`, before + "pod.volumes cannot be changed by a provisioner: it follows from the workload"},
		"numbers as text":      {`{"autoscaling": {"max": "3"}}`, before + "autoscaling.max must be an integer of at least 1"},
		"labels as a list":     {`{"labels": []}`, before + "labels must be a map, got a list"},
		"a number as label":    {`{"labels": {"a": 1}}`, before + "labels.a must be text, got a number"},
		"two budgets":          {`{"disruption": {"minAvailable": 1, "maxUnavailable": 1}}`, before + "disruption must have one of minAvailable and maxUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			by := Provisioner{Name: "platform", Pos: object.Pos{File: "modules/p.cue", Line: 3, Column: 2}}
			_, errs := decode(`{"workload": `+c.workload+`}`, by)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.Equal(t, c.want, errs[0].Error())
			require.Equal(t, []object.Note{{Pos: by.Pos, Text: "the provisioner"}}, errs[0].Notes)
		})
	}
}
