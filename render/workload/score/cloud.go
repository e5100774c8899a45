// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// The annotations and the label that the clouds document: Workload Identity Federation for
// GKE, IAM roles for service accounts (EKS), and Microsoft Entra Workload ID (AKS).
const (
	azureClient = "azure.workload.identity/client-id"
	azureTenant = "azure.workload.identity/tenant-id"
	azureLabel  = "azure.workload.identity/use"
)

// decodeCloudIdentity decodes the account of a cloud that the pods act as, into the annotations of
// their ServiceAccount and the labels of the pods, by which the webhooks of the clouds find them.
// The ServiceAccount must be decoded before.
func (d *decoder) decodeCloudIdentity(p part) {
	if !p.given() {
		return
	}
	azure := p.field("azure")
	client := azure
	if azure.Kind == object.KindMap {
		client = azure.field("clientId")
		azure.field("tenantId").addAnnotation(azureTenant)
	}
	p.field("gcp").addAnnotation("iam.gke.io/gcp-service-account")
	p.field("aws").addAnnotation("eks.amazonaws.com/role-arn")
	client.addAnnotation(azureClient)

	// A null of an environment takes an identity away.
	if len(p.Members) > 1 {
		p.reject("", "expected one of gcp, aws and azure, got %d", len(p.Members))
	}
	if d.out.ServiceAccount.Existing {
		p.reject("annotate the account where it is made, and remove identity",
			"an identity is an annotation of the service account, and one that exists already is left as it is")
	}
}

// addAnnotation adds one annotation to the service account, unless the author wrote it.
func (p part) addAnnotation(annotation string) {
	if !p.given() {
		return
	}
	account := &p.out.ServiceAccount
	t := p.asText()

	// Insert it in the order of names.
	i, twice := slices.BinarySearchFunc(account.Annotations, Pair{Name: annotation}, comparePairs)
	if twice {
		p.reject("remove the annotation", "the annotation %s of the service account is written too, in line %d",
			annotation, account.Annotations[i].NamePos.Line)
		return
	}
	account.Annotations = slices.Insert(slices.Clone(account.Annotations), i, Pair{Name: annotation, NamePos: t.Pos, Value: t})
}

// useAzure labels the pods of an account with an identity of azure, which may also come from an
// annotation of the author: the webhook of AKS finds the pods by the label.
// Labels of the author stay.
func (d *decoder) useAzure() {
	account := d.out.ServiceAccount.Annotations
	client, ok := slices.BinarySearchFunc(account, Pair{Name: azureClient}, comparePairs)
	if !ok {
		return
	}
	if i, ok := slices.BinarySearchFunc(d.out.Labels, Pair{Name: azureLabel}, comparePairs); ok {
		if v := d.out.Labels[i].Value; v.Value != "true" {
			hint := "remove the label"
			loc := (*location)(nil).To(d.extra(), "labels", azureLabel)
			d.failAt(v.Pos, loc, hint, "%s keeps pods from the identity of azure: the label must be %q", shown(v.Value), "true")
		}
		return
	}
	pos := account[client].NamePos
	d.out.PodLabels = []Pair{{Name: azureLabel, NamePos: pos, Value: Text{Value: "true", Pos: pos}}}
}
