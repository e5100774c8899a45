// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"

	"github.com/ropewalk/ropewalk/render/object"
)

// podSpec is the spec of the pods that o makes, or is; the zero cursor where
// it makes none. Kinds that are not known count where they have containers at
// spec.template.spec, as Argo Rollouts and Knative Services do.
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

// podLabels is the labels of the pods that o makes.
func podLabels(o object.Object, kind string) map[string]any {
	switch kind {
	case "Pod":
		return o.Map("metadata", "labels")
	case "CronJob":
		return o.Map("spec", "jobTemplate", "spec", "template", "metadata", "labels")
	}
	return o.Map("spec", "template", "metadata", "labels")
}

// pod finds what the pods of a workload need.
func (f *finder) pod() {
	p := f.item.pod
	f.account(p)
	for _, s := range p.get("imagePullSecrets").items() {
		f.secret(s.get("name"))
	}
	for _, list := range [...]string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range p.get(list).items() {
			f.container(c)
		}
	}
	for _, v := range p.get("volumes").items() {
		f.podVolume(v)
	}
	if name := p.get("priorityClassName"); name.text() != "" {
		f.on(object.Ref{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: name.text()}, RuleClass, name.at)
	}
	if name := p.get("runtimeClassName"); name.text() != "" {
		f.on(object.Ref{Group: "node.k8s.io", Kind: "RuntimeClass", Name: name.text()}, RuleClass, name.at)
	}
	for _, quota := range f.quotas[f.item.ref.Namespace] {
		f.add(quota, RuleQuota, root(f.item.node.Object).get("metadata", "namespace").at)
	}
}

// account finds the ServiceAccount of pods and the bindings that give it its
// rights: a pod that starts before them is refused by the API it calls.
func (f *finder) account(p cursor) {
	name := p.get("serviceAccountName")
	if name.text() == "" {
		name = p.get("serviceAccount")
	}
	account := object.Ref{
		Kind: "ServiceAccount", Namespace: f.item.ref.Namespace, Name: cmp.Or(name.text(), "default"),
	}
	at := name.at
	if at == nil {
		at = p.at
	}
	f.on(account, RuleServiceAccount, at)
	for _, binding := range f.bindings[account] {
		f.add(binding, RuleRole, at)
	}
}

func (f *finder) container(c cursor) {
	for _, e := range c.get("env").items() {
		from := e.get("valueFrom")
		f.unlessOptional(from.get("secretKeyRef"), func(r cursor) { f.secret(r.get("name")) })
		f.unlessOptional(from.get("configMapKeyRef"), func(r cursor) { f.near("ConfigMap", r.get("name"), RuleConfigMap) })
	}
	for _, e := range c.get("envFrom").items() {
		f.unlessOptional(e.get("secretRef"), func(r cursor) { f.secret(r.get("name")) })
		f.unlessOptional(e.get("configMapRef"), func(r cursor) { f.near("ConfigMap", r.get("name"), RuleConfigMap) })
	}
}

func (f *finder) podVolume(v cursor) {
	f.unlessOptional(v.get("secret"), func(r cursor) { f.secret(r.get("secretName")) })
	f.unlessOptional(v.get("configMap"), func(r cursor) { f.near("ConfigMap", r.get("name"), RuleConfigMap) })
	f.near("PersistentVolumeClaim", v.get("persistentVolumeClaim", "claimName"), RuleClaim)
	f.storageClass(v.get("ephemeral", "volumeClaimTemplate", "spec", "storageClassName"))
	f.secret(v.get("csi", "nodePublishSecretRef", "name"))
	f.secret(v.get("azureFile", "secretName"))
	provider := v.get("csi", "volumeAttributes", "secretProviderClass")
	f.on(object.Ref{
		Group: "secrets-store.csi.x-k8s.io", Kind: "SecretProviderClass", Namespace: f.item.ref.Namespace, Name: provider.text(),
	}, RuleReference, provider.at)
	for _, s := range v.get("projected", "sources").items() {
		f.unlessOptional(s.get("secret"), func(r cursor) { f.secret(r.get("name")) })
		f.unlessOptional(s.get("configMap"), func(r cursor) { f.near("ConfigMap", r.get("name"), RuleConfigMap) })
	}
}

func (f *finder) storageClass(name cursor) {
	f.on(object.Ref{Group: "storage.k8s.io", Kind: "StorageClass", Name: name.text()}, RuleClass, name.at)
}
