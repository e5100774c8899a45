// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ropewalk/ropewalk/render/object"
)

// shardKey is the label of Flux by which controllers share objects.
const shardKey = "sharding.fluxcd.io/key"

// objectsOf are the objects of a kustomization of the folder deploy.
func objectsOf(t *testing.T, folder string) []object.Object {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = kustomize.LoadRestrictionsRootOnly
	all, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	require.NoError(t, err)
	text, err := all.AsYaml()
	require.NoError(t, err)
	return documents(t, folder, string(text))
}

// labelsAt are labels at a path of an object.
func labelsAt(t *testing.T, in object.Object, path ...string) labels.Set {
	t.Helper()
	out := labels.Set{}
	for key, value := range at(t, in, path...).(map[string]any) {
		out[key] = value.(string)
	}
	return out
}

// TestShardsShareTheTransforms: each Transform has one controller, and each artifact is fetched
// from the controller that has it.
func TestShardsShareTheTransforms(t *testing.T) {
	objects := objectsOf(t, root+"/deploy/shards")
	require.Empty(t, judged(t, objects...))
	all := byName(objects)
	require.Len(t, all, len(objects), "nothing is there twice")
	require.Contains(t, all, "ServiceAccount ropewalk-system/ropewalk-controller")

	// What a controller selects follows from its flag and the label of its pods.
	pods, selectors := map[string]labels.Set{}, map[string]labels.Selector{}
	for _, o := range objects {
		if o.Kind() != "Deployment" {
			continue
		}
		pods[o.Name()] = labelsAt(t, o, "spec", "template", "metadata", "labels")
		require.Equal(t, "ropewalk-controller", at(t, o, "spec", "template", "spec", "serviceAccountName"))
		shard := strings.NewReplacer("$(SHARD)", pods[o.Name()][shardKey])
		controller := container(t, o, "controller")
		selector, err := labels.Parse(shard.Replace(flagOf(t, controller, "--watch-label-selector=")))
		require.NoError(t, err)
		selectors[o.Name()] = selector
		args := controller["args"].([]any)
		address := slices.IndexFunc(args, func(v any) bool {
			return shard.Replace(v.(string)) == "--storage-adv-addr="+o.Name()+".$(RUNTIME_NAMESPACE).svc.cluster.local."
		})
		require.GreaterOrEqual(t, address, 0, "%v", args)
		for _, later := range args[address+1:] {
			require.NotContains(t, later, "--storage-adv-addr=", "the last one counts")
		}
	}
	require.Len(t, pods, 5)
	for _, value := range []string{"", "shard1", "shard2", "shard3", "shard4"} {
		transform := labels.Set{}
		if value != "" {
			transform[shardKey] = value
		}
		var found []string
		for name, selector := range selectors {
			if selector.Matches(transform) {
				found = append(found, name)
			}
		}
		require.Equal(t, []string{strings.TrimSuffix("ropewalk-controller-"+value, "-")}, found)
	}

	// Services, policies and Deployments select the pods of one controller.
	selected := func(o object.Object, path ...string) (names []string) {
		selector := labels.SelectorFromSet(labelsAt(t, o, path...))
		for name, set := range pods {
			if selector.Matches(set) {
				names = append(names, name)
			}
		}
		return names
	}
	for name := range pods {
		require.Equal(t, []string{name}, selected(all["Deployment ropewalk-system/"+name], "spec", "selector", "matchLabels"))
		require.Equal(t, []string{name}, selected(all["Service ropewalk-system/"+name], "spec", "selector"))
		require.Equal(t, []string{name}, selected(all["NetworkPolicy ropewalk-system/"+name], "spec", "podSelector", "matchLabels"))
		from := at(t, all["NetworkPolicy flux-system/allow-"+name], "spec", "ingress").([]any)[0].(map[string]any)["from"].([]any)[0].(map[string]any)
		require.Equal(t, []string{name}, selected(object.Object(from), "podSelector", "matchLabels"))
	}
}

// TestAShardIsOfAnInstallationWithComponents: a shard takes the flags of the components that stand
// before it, and none of the rights, which the installation without a shard has.
func TestAShardIsOfAnInstallationWithComponents(t *testing.T) {
	dir := t.TempDir()
	text := strings.ReplaceAll(read(t, root+"/deploy/shards/shard1/kustomization.yaml"), "[../../flux/shard]", "[../../flux/servicemonitor, ../../flux/argocd-alone, ../../flux/tenants, ../../flux/shard]")
	require.Contains(t, text, "tenants")
	require.NoError(t, os.CopyFS(dir, os.DirFS(root+"/deploy")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shards", "shard1", "kustomization.yaml"), []byte(text), 0o600))
	var kinds []string
	scraped := map[string]labels.Set{}
	for _, o := range objectsOf(t, filepath.Join(dir, "shards", "shard1")) {
		kinds = append(kinds, o.Kind())
		switch o.Kind() {
		case "Service":
			scraped[o.Name()] = labelsAt(t, o, "metadata", "labels")
		case "ServiceMonitor":
			scraped["selector"] = labelsAt(t, o, "spec", "selector", "matchLabels")
		}
		if o.Kind() == "Deployment" {
			controller := container(t, o, "controller")
			require.Equal(t, "ropewalk", flagOf(t, controller, "--default-service-account="))
			require.Equal(t, shardKey+"=$(SHARD)", flagOf(t, controller, "--watch-label-selector="))
			require.Equal(t, "argocd", flagOf(t, controller, "--argocd-namespaces="))
		}
	}
	selector := labels.SelectorFromSet(scraped["selector"])
	require.True(t, selector.Matches(scraped["ropewalk-controller-metrics-shard1"]))
	slices.Sort(kinds)
	require.Equal(t, []string{"Deployment", "NetworkPolicy", "Service", "Service", "ServiceMonitor"}, kinds)
}
