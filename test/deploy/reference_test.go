// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

const referencePage = "../../docs/reference.md"

// stray is a field that is near no other, in every map of the documents below.
const stray = "qqqqqqqqqq"

const strayProject = `
apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop, qqqqqqqqqq: 1}
spec:
  context: {qqqqqqqqqq: 1}
  policies: [{qqqqqqqqqq: 1, cueRef: {qqqqqqqqqq: 1, verify: {qqqqqqqqqq: 1}}}]
  workloads:
    module: {qqqqqqqqqq: 1}
    provisioners: [{qqqqqqqqqq: 1}]
    secrets: {qqqqqqqqqq: 1, providers: {qqqqqqqqqq: 1, aws: {qqqqqqqqqq: 1}}, bindings: {NAME: {qqqqqqqqqq: 1}}, store: {qqqqqqqqqq: 1, provider: {qqqqqqqqqq: 1}}}
    network: {qqqqqqqqqq: 1, dns: {qqqqqqqqqq: 1}}
    canary: {qqqqqqqqqq: 1}
    images: {qqqqqqqqqq: 1, pullSecretsFrom: {NAME: {qqqqqqqqqq: 1}}}
    defaults: {qqqqqqqqqq: 1, container: {qqqqqqqqqq: 1}}
    qqqqqqqqqq: 1
  environments: {NAME: {qqqqqqqqqq: 1}}
  qqqqqqqqqq: 1
qqqqqqqqqq: 1
`

const strayFunction = `
apiVersion: ropewalk.dev/v1alpha1
kind: Function
metadata: {name: resize}
spec:
  container: {image: a}
  scale: {qqqqqqqqqq: 1}
  qqqqqqqqqq: 1
qqqqqqqqqq: 1
`

const strayWorkload = `
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api, qqqqqqqqqq: 1}
spec:
  replicas: {qqqqqqqqqq: 1, queue: {qqqqqqqqqq: 1}, cron: [{qqqqqqqqqq: 1}], http: {qqqqqqqqqq: 1}}
  serving: {qqqqqqqqqq: 1}
  identity: {qqqqqqqqqq: 1, azure: {qqqqqqqqqq: 1}}
  network: {qqqqqqqqqq: 1, allowTo: [{qqqqqqqqqq: 1, ports: [{qqqqqqqqqq: 1}]}]}
  containers:
    NAME:
      image: nginx:1.29
      variables: {NAME: {qqqqqqqqqq: 1}}
      resources: {qqqqqqqqqq: 1}
      livenessProbe: {qqqqqqqqqq: 1}
      files: {NAME: {qqqqqqqqqq: 1}}
      volumes: {NAME: {qqqqqqqqqq: 1}}
      before: {NAME: {qqqqqqqqqq: 1}}
      qqqqqqqqqq: 1
  service: {ports: {NAME: {qqqqqqqqqq: 1}}, qqqqqqqqqq: 1}
  resources: {NAME: {qqqqqqqqqq: 1}}
  serviceAccount: {qqqqqqqqqq: 1}
  deploy: {canary: {qqqqqqqqqq: 1}, qqqqqqqqqq: 1}
  disruption: {qqqqqqqqqq: 1}
  qqqqqqqqqq: 1
qqqqqqqqqq: 1
`

// fieldsOf are the fields in the table of the reference page whose head begins so, sorted,
// by the path of their map.
func fieldsOf(t *testing.T, head string) map[string][]string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, referencePage), "\n| "+head+" | fields |\n|---|---|\n")
	require.True(t, ok, head)
	table, _, _ := strings.Cut(rest, "\n\n")
	out := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.SplitN(row, "|", 3)
		path := strings.Trim(strings.TrimSpace(cells[1]), "`")
		if path == "(document)" {
			path = ""
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			out[path] = append(out[path], m[1])
		}
		slices.Sort(out[path])
	}
	return out
}

// The decoder names the fields that it knows beside one that it does not.
func TestTheReferenceHasEveryField(t *testing.T) {
	docs, projectErr := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(strayProject)}, {Name: "w.yaml", Data: []byte(strayWorkload)}})
	require.Len(t, docs.Workloads, 1)
	_, workloadErrs := score.Decode(score.Document{Value: docs.Workloads[0].Value})
	_, defaultsErrs := score.ReadDefaults(docs.Projects[0], "")
	functions, err := spec.Parse([]spec.File{{Name: "f.yaml", Data: []byte(strayFunction)}})
	require.NoError(t, err)
	for head, errs := range map[string]object.Errors{
		"in a Project": append(object.AsErrors(projectErr, object.StageSpec), defaultsErrs...), "in a Workload": workloadErrs,
		"in a Function": decoded(functions.Workloads[0]),
	} {
		fields := fieldsOf(t, head)
		seen := map[string]bool{}
		for _, e := range errs {
			known, hinted := strings.CutPrefix(e.Hint, "known: ")
			if !hinted || !strings.HasSuffix(e.Path, stray) {
				continue
			}
			path := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(e.Path, stray), "."), "[0]", "[]")
			seen[path] = true
			want := fields[path]
			names, more, cut := strings.Cut(known, " and ")
			if cut {
				n, err := strconv.Atoi(strings.TrimSuffix(more, " more"))
				require.NoError(t, err, e.Hint)
				listed := strings.Split(names, ", ")
				require.Len(t, want, len(listed)+n, path)
				require.Subset(t, want, listed, path)
				continue
			}
			require.Equal(t, strings.Split(names, ", "), want, "%s: %s", head, path)
		}
		require.Len(t, seen, len(fields), "%s: %v", head, seen)
	}
}
