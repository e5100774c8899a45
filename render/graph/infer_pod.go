// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"

	"github.com/ropewalk/ropewalk/render/object"
)

// podSpec returns the spec of the pods that o makes, or is. It returns the zero cursor if o makes
// no pods. An unknown kind makes pods if it has containers at spec.template.spec, as Argo Rollouts
// and Knative Services do.
func podSpec(o object.Object) cursor {
	c := root(o)
	switch o.Ref().GroupKind() {
	case "Pod":
		return c.get("spec")
	case "CronJob.batch":
		return c.get("spec", "jobTemplate", "spec", "template", "spec")
	}
	spec := c.get("spec", "template", "spec")
	if _, ok := spec.get("containers").value.([]any); !ok {
		return cursor{}
	}
	return spec
}

// podLabels returns the labels of the pods that o makes.
func podLabels(o object.Object, kind string) map[string]any {
	switch kind {
	case "Pod":
		return o.Map("metadata", "labels")
	case "CronJob":
		return o.Map("spec", "jobTemplate", "spec", "template", "metadata", "labels")
	}
	return o.Map("spec", "template", "metadata", "labels")
}

// findPod finds what the pods of a workload need.
func (f *finder) findPod() {
	p := f.item.pod
	f.findAccount(p)
	for _, s := range p.get("imagePullSecrets").items() {
		f.addSecret(s.get("name"))
	}
	for _, list := range [...]string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range p.get(list).items() {
			f.findContainer(c)
		}
	}
	for _, v := range p.get("volumes").items() {
		f.findPodVolume(v)
	}
	if name := p.get("priorityClassName"); name.text() != "" {
		f.addRef(object.Ref{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: name.text()}, RuleClass, name.at)
	}
	if name := p.get("runtimeClassName"); name.text() != "" {
		f.addRef(object.Ref{Group: "node.k8s.io", Kind: "RuntimeClass", Name: name.text()}, RuleClass, name.at)
	}
	for _, quota := range f.quotas[f.item.ref.Namespace] {
		f.add(quota, RuleQuota, root(f.item.node.Object).get("metadata", "namespace").at)
	}
}

// findAccount finds the ServiceAccount of pods and the bindings that give it its
// rights: a pod that starts before them is refused by the API it calls.
func (f *finder) findAccount(p cursor) {
	name := p.get("serviceAccountName")
	if name.text() == "" {
		name = p.get("serviceAccount")
	}
	account := object.Ref{
		Kind: "ServiceAccount", Namespace: f.item.ref.Namespace, Name: cmp.Or(name.text(), "default"),
	}
	place := name.at
	if place == nil {
		place = p.at
	}
	f.addRef(account, RuleServiceAccount, place)
	for _, binding := range f.bindings[account] {
		f.add(binding, RuleRole, place)
	}
}

func (f *finder) findContainer(c cursor) {
	for _, e := range c.get("env").items() {
		from := e.get("valueFrom")
		f.findUnlessOptional(from.get("secretKeyRef"), func(r cursor) { f.addSecret(r.get("name")) })
		f.findUnlessOptional(from.get("configMapKeyRef"), func(r cursor) { f.addNear("ConfigMap", r.get("name"), RuleConfigMap) })
	}
	for _, e := range c.get("envFrom").items() {
		f.findUnlessOptional(e.get("secretRef"), func(r cursor) { f.addSecret(r.get("name")) })
		f.findUnlessOptional(e.get("configMapRef"), func(r cursor) { f.addNear("ConfigMap", r.get("name"), RuleConfigMap) })
	}
}

func (f *finder) findPodVolume(v cursor) {
	f.findUnlessOptional(v.get("secret"), func(r cursor) { f.addSecret(r.get("secretName")) })
	f.findUnlessOptional(v.get("configMap"), func(r cursor) { f.addNear("ConfigMap", r.get("name"), RuleConfigMap) })
	f.addNear("PersistentVolumeClaim", v.get("persistentVolumeClaim", "claimName"), RuleClaim)
	f.addStorageClass(v.get("ephemeral", "volumeClaimTemplate", "spec", "storageClassName"))
	f.addSecret(v.get("csi", "nodePublishSecretRef", "name"))
	f.addSecret(v.get("azureFile", "secretName"))
	provider := v.get("csi", "volumeAttributes", "secretProviderClass")
	f.addRef(object.Ref{
		Group: "secrets-store.csi.x-k8s.io", Kind: "SecretProviderClass", Namespace: f.item.ref.Namespace, Name: provider.text(),
	}, RuleReference, provider.at)
	for _, s := range v.get("projected", "sources").items() {
		f.findUnlessOptional(s.get("secret"), func(r cursor) { f.addSecret(r.get("name")) })
		f.findUnlessOptional(s.get("configMap"), func(r cursor) { f.addNear("ConfigMap", r.get("name"), RuleConfigMap) })
	}
}

func (f *finder) addStorageClass(name cursor) {
	f.addRef(object.Ref{Group: "storage.k8s.io", Kind: "StorageClass", Name: name.text()}, RuleClass, name.at)
}
