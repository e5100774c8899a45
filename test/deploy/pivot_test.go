// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// TestAParentAndAChildHaveTheseRightsAndNoMore: a child has those of its first days, which its
// agent deletes, and a role that machines bind to the account of its own delivery.
func TestAParentAndAChildHaveTheseRightsAndNoMore(t *testing.T) {
	all := installations()
	parent := documents(t, "parent", read(t, all["kustomize of a parent"]))
	child := documents(t, "child", read(t, all["kustomize of a child"]))
	of := rights(parent)
	for name, rules := range rights(documents(t, "kustomize", read(t, all["kustomize"]))) {
		require.Equal(t, rules, of[name], "as without pivot")
		delete(of, name)
	}
	const clusterAPI = "cluster.x-k8s.io bootstrap.cluster.x-k8s.io controlplane.cluster.x-k8s.io infrastructure.cluster.x-k8s.io"
	require.Equal(t, map[string][]string{
		"ropewalk-pivot": {
			// The Role of that name, in ropewalk-system.
			"[] [secrets] [create]",
			"[] [secrets] [get update][ropewalk-pivot-authority ropewalk-agent]",
			"[] [services] [create patch][ropewalk-cell]",
			"[ropewalk.dev] [pivotclusters] [get list watch update patch]",
			"[ropewalk.dev] [pivotclusters/status pivotclusters/finalizers] [get update patch]",
			"[ropewalk.dev] [transforms] [create delete]",
			"[] [namespaces serviceaccounts] [get list create]",
			"[] [namespaces] [delete]",
			"[rbac.authorization.k8s.io] [rolebindings] [create delete]",
			"[rbac.authorization.k8s.io] [clusterroles] [bind][ropewalk-cluster-delivery ropewalk-pivot-mover]",
			"[apiextensions.k8s.io] [customresourcedefinitions] [get list]",
			"[clusterctl.cluster.x-k8s.io] [providers] [get list]",
			"[] [configmaps] [get]",
			"[cluster.x-k8s.io] [clusters] [get]",
			"[rbac.authorization.k8s.io] [clusterrolebindings] [delete][ropewalk-agent-bootstrap]",
			"[] [nodes] [list]",
			"[infrastructure.cluster.x-k8s.io runtime.cluster.x-k8s.io] [*] [get list]",
			"[admissionregistration.k8s.io] [validatingadmissionpolicies validatingadmissionpolicybindings] [get list create update patch]",
		},
		"ropewalk-cluster-delivery": {
			"[source.toolkit.fluxcd.io] [gitrepositories buckets] [get]",
			"[source.toolkit.fluxcd.io] [ocirepositories externalartifacts] [get list create update patch delete]",
			"[kustomize.toolkit.fluxcd.io] [kustomizations] [get list create update patch delete]",
			"[] [configmaps secrets serviceaccounts] [get]",
			"[" + clusterAPI + "] [*] [get list watch create update patch delete]",
		},
		"ropewalk-pivot-mover": {
			"[" + clusterAPI + " addons.cluster.x-k8s.io ipam.cluster.x-k8s.io runtime.cluster.x-k8s.io] [*] [get list create update patch delete]",
			"[] [secrets configmaps] [get list create update patch delete]",
			"[kustomize.toolkit.fluxcd.io source.toolkit.fluxcd.io] [kustomizations ocirepositories] [get list update patch delete]",
		},
	}, of)

	of = rights(child)
	for name, rules := range rights(parent) {
		require.Equal(t, rules, of[name], "as a parent")
		delete(of, name)
	}
	require.Equal(t, map[string][]string{
		"ropewalk-agent-bootstrap": {
			"[ropewalk.dev] [pivotclusters] [create]",
			"[] [secrets] [get create update]",
			"[source.toolkit.fluxcd.io] [gitrepositories ocirepositories buckets] [get create patch]",
			"[kustomize.toolkit.fluxcd.io] [kustomizations] [get create patch]",
			"[argoproj.io] [applications] [get create patch]",
			"[infrastructure.cluster.x-k8s.io] [*] [get list create update patch delete]",
		},
		"ropewalk-cluster-pools": {"[cilium.io] [ciliumloadbalancerippools] [get list watch create update patch delete]"},
	}, of)
	require.Equal(t, []string{"ropewalk-controller", "ropewalk-delivery", "ropewalk-pivot"}, boundEverywhere(parent))
	require.Equal(t, []string{"ropewalk-agent-bootstrap", "ropewalk-controller", "ropewalk-delivery", "ropewalk-pivot"}, boundEverywhere(child))
}

// boundEverywhere are the roles that are bound in all namespaces.
func boundEverywhere(objects []object.Object) []string {
	var out []string
	for _, o := range objects {
		if o.Kind() == "ClusterRoleBinding" {
			out = append(out, o["roleRef"].(map[string]any)["name"].(string))
		}
	}
	return out
}

// TestOnlyAParentIsReached: a child calls, and no Service leads to it.
func TestOnlyAParentIsReached(t *testing.T) {
	all := installations()
	const service, deployment = "Service ropewalk-system/ropewalk-cell", "Deployment ropewalk-system/ropewalk-controller"
	parent := byName(documents(t, "parent", read(t, all["kustomize of a parent"])))
	child := byName(documents(t, "child", read(t, all["kustomize of a child"])))
	require.Contains(t, parent, service)
	require.NotContains(t, child, service)
	require.Equal(t, "transforms,pivot", flagOf(t, container(t, parent[deployment], "controller"), "--parts="))
	require.Equal(t, "transforms,pivot,agent", flagOf(t, container(t, child[deployment], "controller"), "--parts="))

	// The name of the ConfigMap has its sum: another host, or manifest, is another Pod.
	volume := at(t, parent[deployment], "spec", "template", "spec", "volumes", "parent", "configMap").(map[string]any)
	config := parent["ConfigMap ropewalk-system/"+volume["name"].(string)]
	require.Equal(t, "parent.example.com", at(t, config, "data", "host"))
	mounted := at(t, container(t, parent[deployment], "controller"), "volumeMounts", "parent", "mountPath").(string)
	require.Equal(t, flagOf(t, container(t, parent[deployment], "controller"), "--child-manifest="), mounted+"/child.yaml")
	require.True(t, strings.HasPrefix(at(t, config, "data", "child.yaml").(string), "# Copyright"))
}

// TestTheGuidesOfChildrenNameWhatThereIs: files, targets of make, flags, and commands.
func TestTheGuidesOfChildrenNameWhatThereIs(t *testing.T) {
	const pivot = root + "/deploy/pivot"
	binary := install(t)
	known := read(t, commandHelp) + run(t, binary, "pivot", "--help")
	for _, command := range []string{"install", "run", "status", "abort", "takeover"} {
		known += run(t, binary, "pivot", command, "--help")
	}
	for _, name := range []string{"README.md", "children.md", "recovery.md", "threats.md", "fips.md"} {
		text := read(t, pivot+"/"+name)
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			require.FileExists(t, pivot+"/"+m[1], name)
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^)make ([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
			require.Contains(t, read(t, root+"/Makefile"), "\n"+m[1]+":", name)
		}
		for _, m := range regexp.MustCompile("`(--[a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `(?m)^ +`+m[1]+`\b`, known, name)
		}
		for _, m := range regexp.MustCompile(`ropewalk pivot ([a-z]+) `).FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `(?m)^  `+m[1]+` `, known, name)
		}
	}
}
