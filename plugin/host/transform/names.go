// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// CheckNames refuses a name in a Transform that no object can have, before it is a part of the
// path of a request. The definition of the kind refuses it too, but a Transform may be older than
// that. The error is an object.Errors.
func CheckNames(t *v1alpha1.Transform) error {
	// Names of objects in the namespace of the Transform, and of its source.
	c := names{}
	c.checkObject("spec.serviceAccountName", t.Spec.ServiceAccountName)
	if ref := t.Spec.SourceRef; ref != nil {
		c.checkRequired("spec.sourceRef.name", ref.Name)
		c.checkNamespace("spec.sourceRef.namespace", ref.Namespace)
	}

	if own := t.Spec.Source; own != nil && own.Git.SecretRef != nil {
		c.checkRequired("spec.source.git.secretRef.name", own.Git.SecretRef.Name)
	}

	// References to modules name Secrets.
	for _, named := range t.Spec.References() {
		c.checkModule(named.At, *named.Ref)
	}
	if built := t.Spec.Component; built != nil {
		if h := built.Helm; h != nil {
			c.checkModule("spec.component.helm", v1alpha1.CueReference{PullSecretRef: h.PullSecretRef, Verify: h.Verify})
		}
		if a := built.Artifact; a != nil {
			c.checkModule("spec.component.artifact", v1alpha1.CueReference{PullSecretRef: a.PullSecretRef, Verify: a.Verify})
		}
	}
	for i, p := range t.Spec.Policies {
		c.checkModule(fmt.Sprintf("spec.policies[%d].cueRef", i), p.CueRef)
	}

	// Other Transforms, and inputs.
	for i, name := range t.Spec.DependsOn {
		c.checkRequired(fmt.Sprintf("spec.dependsOn[%d]", i), string(name))
	}
	for i, in := range t.Spec.InputsFrom {
		at := fmt.Sprintf("spec.inputsFrom[%d]", i)
		c.checkRequired(at+".name", in.Name)
		if in.Key != "" {
			c.check(at+".key", in.Key, `the key of an entry: expected letters, digits, "-", "_" and "."`, validation.IsConfigMapKey(in.Key))
		}
	}
	c.checkOutput(t.Spec.Output)
	c.checkDelivery(t.Spec.Delivery)
	return c.found.Err()
}

// names are the names that are wrong.
type names struct{ found object.Errors }

// check reports a name that is wrong.
func (c *names) check(at, name, what string, wrong []string) {
	if len(wrong) == 0 {
		return
	}
	const shown = 80
	c.found = append(c.found, &object.Error{
		Stage: object.StageSpec, Pos: object.Pos{File: at}, Err: fmt.Errorf("%.*q is not %s", shown, name, what),
	})
}

// checkObject checks the name of an object; "" is none.
func (c *names) checkObject(at, name string) {
	if name != "" {
		c.checkRequired(at, name)
	}
}

// checkRequired checks the name of an object that must be set.
func (c *names) checkRequired(at, name string) {
	c.check(at, name, `the name of an object: expected at most 253 lower-case letters, digits, "-" and "."`, validation.IsDNS1123Subdomain(name))
}

// checkNamespace checks a namespace; "" is none.
func (c *names) checkNamespace(at, name string) {
	if name != "" {
		c.check(at, name, `a namespace: expected at most 63 lower-case letters, digits and "-"`, validation.IsDNS1123Label(name))
	}
}

// checkReference checks the name in a reference; nil is none.
func (c *names) checkReference(at string, ref *v1alpha1.LocalObjectReference) {
	if ref != nil {
		c.checkRequired(at+".name", ref.Name)
	}
}

// checkModule checks the names that a reference to a module has.
func (c *names) checkModule(at string, ref v1alpha1.CueReference) {
	c.checkReference(at+".pullSecretRef", ref.PullSecretRef)
	if ref.Verify != nil {
		c.checkReference(at+".verify.secretRef", ref.Verify.SecretRef)
	}
	switch ref.Type {
	case source.TypeConfigMap:
		c.checkRequired(at+".ref", ref.Ref)
	case source.TypeFlux:
		plain, _, _ := strings.Cut(ref.Ref, "@")
		if parts := strings.Split(plain, "/"); len(parts) == 3 {
			c.checkNamespace(at+".ref", parts[1])
			c.checkRequired(at+".ref", parts[2])
		} else if len(parts) == 2 {
			c.checkRequired(at+".ref", parts[1])
		}
	}
}

// checkOutput checks the names of an output.
func (c *names) checkOutput(out *v1alpha1.Output) {
	if out == nil || out.OCI == nil {
		return
	}
	const at = "spec.output.oci."
	c.checkReference(at+"pushSecretRef", out.OCI.PushSecretRef)
	c.checkReference(at+"pullSecretRef", out.OCI.PullSecretRef)
	c.checkReference(at+"certSecretRef", out.OCI.CertSecretRef)
	c.checkReference(at+"signingKeyRef", out.OCI.SigningKeyRef)
}

// checkDelivery checks the names of a delivery.
func (c *names) checkDelivery(d *v1alpha1.Delivery) {
	if d == nil {
		return
	}
	if f := d.Flux; f != nil {
		if k := f.KubeConfig; k != nil && k.SecretRef != nil {
			c.checkRequired("spec.delivery.flux.kubeConfig.secretRef.name", k.SecretRef.Name)
		} else if k != nil && k.ConfigMapRef != nil {
			c.checkRequired("spec.delivery.flux.kubeConfig.configMapRef.name", k.ConfigMapRef.Name)
		}
		if f.Decryption != nil {
			c.checkReference("spec.delivery.flux.decryption.secretRef", f.Decryption.SecretRef)
			c.checkObject("spec.delivery.flux.decryption.serviceAccountName", f.Decryption.ServiceAccountName)
		}
	}
	if a := d.ArgoCD; a != nil {
		c.checkNamespace("spec.delivery.argocd.namespace", a.Namespace)
		c.checkObject("spec.delivery.argocd.project", a.Project)
	}
}
