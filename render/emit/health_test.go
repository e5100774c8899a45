// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

type m = map[string]any

func live(kind string, spec, status m) object.Object {
	o := node("a", kind, "shop").Object
	o["spec"], o["status"] = spec, status
	o["metadata"].(m)["generation"] = int64(2)
	return o
}

func cond(kv ...string) m {
	c := m{}
	for i := 0; i < len(kv); i += 2 {
		c[kv[i]] = kv[i+1]
	}
	return c
}

func conds(kv ...string) m { return m{"conditions": []any{cond(kv...)}} }

// seen is the field of a status that says which generation it is about.
const seen = "observedGeneration"

// healthCase is an object without a rule and its health.
type healthCase struct {
	kind         string
	spec, status m
	want         string
}

func workloadHealth() []healthCase {
	return []healthCase{
		{"Deployment.apps/v1", m{"paused": true}, m{}, "Suspended"},
		{"Deployment.apps/v1", m{}, m{seen: int64(1)}, "Progressing"},
		{"Deployment.apps/v1", m{}, m{seen: int64(2), "conditions": []any{cond("type", "Progressing", "reason", "ProgressDeadlineExceeded")}}, "Degraded"},
		{"Deployment.apps/v1", m{"replicas": int64(2)}, m{seen: int64(2), "updatedReplicas": int64(1)}, "Progressing"},
		{"Deployment.apps/v1", m{"replicas": int64(1)}, m{seen: int64(2), "replicas": int64(2), "updatedReplicas": int64(1)}, "Progressing"},
		{"Deployment.apps/v1", m{"replicas": int64(1)}, m{seen: int64(2), "replicas": int64(1), "updatedReplicas": int64(1)}, "Progressing"},
		{"Deployment.apps/v1", m{"replicas": int64(1)}, m{seen: int64(2), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}, "Healthy"},
		{"ReplicaSet.apps/v1", m{}, m{seen: int64(1)}, "Progressing"},
		{"ReplicaSet.apps/v1", m{}, m{seen: int64(2), "conditions": []any{cond("type", "ReplicaFailure", "status", "True")}}, "Degraded"},
		{"ReplicaSet.apps/v1", m{"replicas": int64(2)}, m{seen: int64(2), "availableReplicas": int64(1)}, "Progressing"},
		{"ReplicaSet.apps/v1", m{"replicas": int64(1)}, m{seen: int64(2), "availableReplicas": int64(1)}, "Healthy"},
		{"StatefulSet.apps/v1", m{}, m{}, "Progressing"},
		{"StatefulSet.apps/v1", m{"replicas": int64(2)}, m{seen: int64(2), "readyReplicas": int64(1)}, "Progressing"},
		{"StatefulSet.apps/v1", m{"replicas": int64(2), "updateStrategy": m{"type": "RollingUpdate", "rollingUpdate": m{"partition": int64(1)}}}, m{seen: int64(2), "readyReplicas": int64(2)}, "Progressing"},
		{"StatefulSet.apps/v1", m{"replicas": int64(2), "updateStrategy": m{"type": "RollingUpdate", "rollingUpdate": m{"partition": int64(1)}}}, m{seen: int64(2), "readyReplicas": int64(2), "updatedReplicas": int64(1)}, "Healthy"},
		{"StatefulSet.apps/v1", m{"updateStrategy": m{"type": "OnDelete"}}, m{seen: int64(2)}, "Healthy"},
		{"StatefulSet.apps/v1", m{}, m{seen: int64(2), "updateRevision": "b", "currentRevision": "a"}, "Progressing"},
		{"StatefulSet.apps/v1", m{}, m{seen: int64(2), "updateRevision": "a", "currentRevision": "a"}, "Healthy"},
		{"DaemonSet.apps/v1", m{}, m{seen: int64(1)}, "Progressing"},
		{"DaemonSet.apps/v1", m{"updateStrategy": m{"type": "OnDelete"}}, m{seen: int64(2), "desiredNumberScheduled": int64(1)}, "Healthy"},
		{"DaemonSet.apps/v1", m{}, m{seen: int64(2), "desiredNumberScheduled": int64(1)}, "Progressing"},
		{"DaemonSet.apps/v1", m{}, m{seen: int64(2), "desiredNumberScheduled": int64(1), "updatedNumberScheduled": int64(1)}, "Progressing"},
		{"DaemonSet.apps/v1", m{}, m{seen: int64(2), "desiredNumberScheduled": int64(1), "updatedNumberScheduled": int64(1), "numberAvailable": int64(1)}, "Healthy"},
		{"Job.batch/v1", m{}, m{}, "Progressing"},
		{"Job.batch/v1", m{}, conds("type", "Failed", "status", "True"), "Degraded"},
		{"Job.batch/v1", m{}, conds("type", "Complete", "status", "True"), "Healthy"},
		{"Job.batch/v1", m{}, conds("type", "Suspended", "status", "True"), "Suspended"},
		{"Job.batch/v1", m{}, conds("type", "Suspended", "status", "False"), "Healthy"},
	}
}

func otherHealth() []healthCase {
	return []healthCase{
		{"Pod/v1", m{}, m{"phase": "Pending"}, "Progressing"},
		{"Pod/v1", m{}, m{"phase": "Succeeded"}, "Healthy"},
		{"Pod/v1", m{}, m{"phase": "Failed", "containerStatuses": []any{m{"name": "c", "state": m{"terminated": m{"exitCode": int64(3)}}}}}, "Degraded"},
		{"Pod/v1", m{}, m{"phase": "Failed", "message": "evicted"}, "Degraded"},
		{"Pod/v1", m{}, m{}, "Unknown"},
		{"Pod/v1", m{"restartPolicy": "Never"}, m{"phase": "Running"}, "Progressing"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Running", "conditions": []any{cond("type", "Ready", "status", "True")}}, "Healthy"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Running"}, "Progressing"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Running", "containerStatuses": []any{m{"lastState": m{"terminated": m{}}}}}, "Degraded"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Pending", "containerStatuses": []any{m{"state": m{"waiting": m{"reason": "ImagePullBackOff"}}}}}, "Degraded"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Pending", "containerStatuses": []any{m{"state": m{"waiting": m{"reason": "ErrImagePull"}}}}}, "Degraded"},
		{"Pod/v1", m{"restartPolicy": "Always"}, m{"phase": "Pending", "containerStatuses": []any{m{"state": m{"waiting": m{"reason": "ContainerCreating"}}}}}, "Progressing"},
		{"PersistentVolumeClaim/v1", m{}, m{"phase": "Bound"}, "Healthy"},
		{"PersistentVolumeClaim/v1", m{}, m{"phase": "Pending"}, "Progressing"},
		{"PersistentVolumeClaim/v1", m{}, m{"phase": "Lost"}, "Degraded"},
		{"PersistentVolumeClaim/v1", m{}, m{}, "Unknown"},
		{"Service/v1", m{"type": "ClusterIP"}, m{}, "Healthy"},
		{"Service/v1", m{"type": "LoadBalancer"}, m{"loadBalancer": m{}}, "Progressing"},
		{"Service/v1", m{"type": "LoadBalancer"}, m{"loadBalancer": m{"ingress": []any{m{"ip": "1.2.3.4"}}}}, "Healthy"},
		{"Ingress.networking.k8s.io/v1", m{}, m{}, "Progressing"},
		{"Ingress.networking.k8s.io/v1", m{}, m{"loadBalancer": m{"ingress": []any{m{"ip": "1.2.3.4"}}}}, "Healthy"},
		{"HorizontalPodAutoscaler.autoscaling/v2", m{}, conds("type", "AbleToScale", "status", "True"), "Healthy"},
		{"HorizontalPodAutoscaler.autoscaling/v2", m{}, conds("type", "AbleToScale", "reason", "FailedGetScale"), "Degraded"},
		{"HorizontalPodAutoscaler.autoscaling/v2", m{}, m{}, "Progressing"},
		{"HorizontalPodAutoscaler.autoscaling/v1", m{}, m{"desiredReplicas": int64(1)}, "Progressing"},
		{"APIService.apiregistration.k8s.io/v1", m{}, conds("type", "Available", "status", "True"), "Healthy"},
		{"APIService.apiregistration.k8s.io/v1", m{}, conds("type", "Available", "status", "False"), "Progressing"},
		{"CustomResourceDefinition.apiextensions.k8s.io/v1", m{}, conds("type", "Established", "status", "True"), "Healthy"},
		{"CustomResourceDefinition.apiextensions.k8s.io/v1", m{}, conds("type", "NamesAccepted", "status", "False"), "Degraded"},
		{"CustomResourceDefinition.apiextensions.k8s.io/v1", m{}, m{}, "Progressing"},
		{"Widget.example.com/v1", m{}, nil, "Healthy"},
		{"Widget.example.com/v1", m{}, m{seen: int64(1)}, "Healthy"},
		{"Widget.example.com/v1", m{}, conds("type", "Ready", "status", "False"), "Healthy"},
		{"Widget.example.com/v1", m{}, conds("type", "Stalled", "status", "True"), "Healthy"},
		{"ExternalSecret.external-secrets.io/v1", m{}, nil, "Progressing"},
		{"ExternalSecret.external-secrets.io/v1", m{}, conds("type", "Ready", "status", "Unknown"), "Progressing"},
		{"ExternalSecret.external-secrets.io/v1", m{}, conds("type", "Ready", "status", "False"), "Degraded"},
		{"SecretStore.external-secrets.io/v1", m{}, conds("type", "Ready", "status", "True"), "Healthy"},
		{"Certificate.cert-manager.io/v1", m{}, conds("type", "Ready", "status", "True"), "Healthy"},
		{"Bucket.s3.aws.upbound.io/v1beta1", m{}, conds("type", "Ready", "status", "False"), "Degraded"},
		{"Cluster.postgresql.cnpg.io/v1", m{}, nil, "Progressing"},
		{"Cluster.postgresql.cnpg.io/v1", m{}, m{"phase": "Failing over", "conditions": []any{}}, "Degraded"},
		{"Cluster.postgresql.cnpg.io/v1", m{}, m{"phase": "no such phase", "conditions": []any{}}, "Unknown"},
	}
}

// TestObjectsWithoutARuleGetTheHealthThatArgoCDHasBuiltIn has the cases of
// gitops-engine, pkg/health.
func TestObjectsWithoutARuleGetTheHealthThatArgoCDHasBuiltIn(t *testing.T) {
	for _, row := range append(workloadHealth(), otherHealth()...) {
		o := live(row.kind, row.spec, row.status)
		got, message := argoCD(t, emit.HealthLua(o.Group(), o.Kind()), o)
		require.Equal(t, row.want, got, "%s %v: %s", row.kind, row.status, message)

		o.Annotate(dialect.ReadyWhen, "")
		same, _ := argoCD(t, emit.HealthLua(o.Group(), o.Kind()), o)
		require.Equal(t, got, same, "an empty annotation says nothing")
	}
}

func TestARuleStandsInFrontOfTheHealthOfTheKind(t *testing.T) {
	rule := func(o object.Object, text string) (string, string) {
		o.Annotate(dialect.ReadyWhen, text)
		return argoCD(t, emit.HealthLua(o.Group(), o.Kind()), o)
	}
	const isReady = `["==",["object","status","x"],1]`
	status, _ := rule(live("Deployment.apps/v1", m{"replicas": int64(2)}, m{"observedGeneration": int64(2), "x": int64(1)}), isReady)
	require.Equal(t, "Healthy", status)
	status, message := rule(live("Deployment.apps/v1", m{}, m{"observedGeneration": int64(2)}), isReady)
	require.Equal(t, "Progressing", status)
	require.Contains(t, message, "ropewalk.dev/ready-when")
	status, _ = rule(live("Deployment.apps/v1", m{}, m{"observedGeneration": int64(1), "x": int64(1)}), isReady)
	require.Equal(t, "Progressing", status, "the status is that of an older generation")
	status, _ = rule(live("Job.batch/v1", m{}, conds("type", "Failed", "message", "no luck")), isReady)
	require.Equal(t, "Degraded", status, "what the kind calls a failure stays one")

	// What the provider says is kept.
	for _, row := range []struct{ kind, ready, rule, status, message string }{
		{"ExternalSecret.external-secrets.io/v1", "True", "true", "Healthy", "ready as ropewalk.dev/ready-when says: the store answered"},
		{"ExternalSecret.external-secrets.io/v1", "Unknown", "false", "Progressing", "waiting for ropewalk.dev/ready-when: Waiting for ExternalSecret"},
		{"ExternalSecret.external-secrets.io/v1", "False", "false", "Degraded", "the store answered"},
		{"Widget.example.com/v1", "True", "true", "Healthy", "ready as ropewalk.dev/ready-when says: the store answered"},
		{"Widget.example.com/v1", "False", "false", "Progressing", "waiting for ropewalk.dev/ready-when: the store answered"},
	} {
		status, message = rule(live(row.kind, m{}, conds("type", "Ready", "status", row.ready, "message", "the store answered")), row.rule)
		require.Equal(t, []string{row.status, row.message}, []string{status, message}, "%+v", row)
	}
	status, message = rule(live("Widget.example.com/v1", m{}, conds("type", "Stalled", "status", "True", "message", "no quota")), "false")
	require.Equal(t, []string{"Degraded", "no quota"}, []string{status, message})
	stale := conds("type", "Stalled", "status", "True", "message", "no quota")
	stale[seen] = int64(1)
	status, _ = rule(live("Widget.example.com/v1", m{}, stale), "false")
	require.Equal(t, "Progressing", status, "the failure is that of an older generation")
}

// TestAnAnnotationIsNeverRun has what someone might write who may annotate an
// object but must not harm Argo CD.
func TestAnAnnotationIsNeverRun(t *testing.T) {
	bomb := `["object","status","l"]`
	for range 6 {
		bomb = `["all",["object","status","l"],"x",` + bomb + `]`
	}
	list := make([]any, 30)
	for i := range list {
		list[i] = true
	}
	for text, want := range map[string]string{
		`return {status="Healthy"}`: "unknown word return",
		`os.exit()`:                 "unknown word os.exit()",
		`[`:                         "",
		`["and"`:                    "a list has no end",
		`["and",true`:               "a list has no end",
		`"text`:                     "text has no end",
		`["run","x"]`:               "unknown operator run",
		`[]`:                        "unknown operator nil",
		`true false`:                "text follows the rule",
		`"\ud83d"`:                  "unknown escape",
		`"\uzzzz"`:                  "unknown escape",
		strings.Repeat("[", 100):    "too deep",
		strings.Repeat("x", 5000):   "longer than 2048 bytes",
		`["all",["object","status","l"],"x",` + bomb + `]`: "steps",
	} {
		o := live("Widget.example.com/v1", m{}, m{"l": list, "observedGeneration": int64(2)})
		o.Annotate(dialect.ReadyWhen, text)
		status, message := argoCD(t, emit.HealthLua("example.com", "Widget"), o)
		require.Equal(t, "Unknown", status, text)
		require.Contains(t, message, want, text)
	}
}

// TestTheLongestRuleIsReadInTime lets a rule fill the annotation: reading it
// is quadratic, and Argo CD stops a script after a second.
func TestTheLongestRuleIsReadInTime(t *testing.T) {
	long := strings.Repeat("x~", 1005)
	rule, err := emit.CELForArgoCD(`status.x == "` + long + `"`)
	require.NoError(t, err)
	require.Greater(t, len(rule), 2000)
	o := live("Widget.example.com/v1", m{}, m{"x": long, "observedGeneration": int64(2)})
	o.Annotate(dialect.ReadyWhen, rule)
	status, message := argoCD(t, emit.HealthLua("example.com", "Widget"), o)
	require.Equal(t, "Healthy", status, message)
}

func FuzzAnAnnotationNeverBreaksTheHealthCheck(f *testing.F) {
	f.Add(`["and",["==",["object","status","x"],1],true]`)
	f.Add(`["exists",["object","status","l"],"x",["size",["var","x"]]]`)
	script := emit.HealthLua("example.com", "Widget")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			return
		}
		o := live("Widget.example.com/v1", m{}, m{"x": int64(1), "l": []any{"a", m{"b": true}}, "observedGeneration": int64(2)})
		o.Annotate(dialect.ReadyWhen, text)
		status, _ := argoCD(t, script, o)
		require.Contains(t, []string{"Healthy", "Progressing", "Unknown"}, status)
	})
}

// TestTheLuaUsesOnlyWhatArgoCDOpens reads the sources: what is not open would
// be seen only when a line that needs it runs.
func TestTheLuaUsesOnlyWhatArgoCDOpens(t *testing.T) {
	names, err := filepath.Glob("lua/*.lua")
	require.NoError(t, err)
	require.Len(t, names, 19)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, closed := range []string{"string.", "math.", "os.", "io.", "load(", "loadstring", "loadfile", "dofile", "require(", "require \"", "require'", "setfenv", "getfenv", ":sub(", ":match(", ":find(", ":byte(", "goto"} {
			require.NotContains(t, string(data), closed, "%s", name)
		}
	}
}

func TestEveryKindHasItsFile(t *testing.T) {
	for kind, want := range map[string]string{"apps/Deployment": "deployment", "/Pod": "pod", "example.com/Deployment": "other", "extensions/Ingress": "other",
		"external-secrets.io/ExternalSecret": "conditions", "cert-manager.io/Issuer": "conditions", "cert-manager.io/Certificate": "certificate", "serving.knative.dev/Service": "knativeservice", "rds.aws.upbound.io/Instance": "conditions", "postgresql.cnpg.io/Cluster": "cnpgcluster"} {
		group, kind, _ := strings.Cut(kind, "/")
		require.Equal(t, want, emit.Native(group, kind))
		require.FileExists(t, fmt.Sprintf("lua/%s.lua", want))
		require.Contains(t, emit.HealthLua(group, kind), "return builtin(obj)")
	}
}

func BenchmarkHealthLua(b *testing.B) {
	o := live("Deployment.apps/v1", m{}, conds("type", "Ready", "status", "True"))
	rule, err := emit.CELForArgoCD(`status.conditions.exists(c, c.type == "Ready" && c.status == "True")`)
	require.NoError(b, err)
	o.Annotate(dialect.ReadyWhen, rule)
	script := emit.HealthLua("apps", "Deployment")
	b.ReportAllocs()
	for b.Loop() {
		argoCD(b, script, o)
	}
}

func TestArgoCDHasNoTimeoutOfAnObject(t *testing.T) {
	rule := object.Ready{Type: object.ReadyDeploymentAvailable, Timeout: "10m", Pos: object.Pos{File: "module.cue", Line: 9, Column: 5}}
	plan := one(node("api", "Deployment.apps/v1", "shop", ready(object.Ready{Type: object.ReadyExists}, rule)))
	out, err := emit.Write(plan, emit.Options{Dialect: dialect.ArgoCD, HealthConfigured: true})
	require.NoError(t, err)
	require.Len(t, out.Warnings, 1)
	require.Equal(t, rule.Pos, out.Warnings[0].Notes[0].Pos, "the line of the rule")
	require.Contains(t, out.Warnings[0].Error(), "shop/deployment-api: readyWhen[1].timeout: Argo CD has no timeout of an object: it waits for Deployment.apps shop/api until it is ready")
	for _, other := range []dialect.Name{dialect.Flux, dialect.Plain} {
		_, found := write(t, plan, other)
		require.Empty(t, found)
	}
}
