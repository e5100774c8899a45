// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

func TestKindsThatNoServerKnows(t *testing.T) {
	for name, c := range map[string]struct {
		apiVersion, kind string
		text, hint       string
	}{
		"a group that changed":        {"extensions/v1beta1", "Ingress", "extensions/v1beta1 Ingress is no longer served", "use networking.k8s.io/v1"},
		"a kind that is gone":         {"policy/v1beta1", "PodSecurityPolicy", "policy/v1beta1 PodSecurityPolicy was removed in Kubernetes 1.25", ""},
		"a version that is gone":      {"batch/v1beta1", "CronJob", "batch/v1beta1 CronJob is not served", "use batch/v1"},
		"a kind of another group":     {"v1", "Deployment", `"v1" has no kind Deployment`, "use apps/v1"},
		"a kind with a slip":          {"apps/v1", "Deploymnt", `"apps/v1" has no kind "Deploymnt"`, `did you mean "Deployment"?`},
		"a version of too many parts": {"web/v1/x", "Site", "is not an API version: expected GROUP/VERSION, or v1", ""},
		"a list":                      {"v1", "List", "a List is not an object of its own", "write each item as a separate object"},
		"a custom resource":           {"example.com/v1", "Widget", "", ""},
		"a custom one called as ours": {"example.com/v1", "Deployment", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &finding.Report{Root: map[string]any{"apiVersion": c.apiVersion, "kind": c.kind}}
			require.Equal(t, c.text != "", Unserved(finding.NewValue(r)))
			if c.text == "" {
				require.Empty(t, r.Findings)
				return
			}
			require.Len(t, r.Findings, 1)
			require.Contains(t, r.Findings[0].Message, c.text)
			require.Equal(t, c.hint, r.Findings[0].Hint)
		})
	}
}

func TestGroupsWithASlip(t *testing.T) {
	require.Equal(t, "networking.k8s.io/v1", Near("networking.k8s.oi", "Ingress"))
	require.Equal(t, "apps/v1", Near("app", "Deployment"))
	require.Empty(t, Near("example.com", "Deployment"))
	require.Empty(t, Near("apps", "Widget"))
}
