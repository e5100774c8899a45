// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"regexp"
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// provider is a cloud whose identities the pods of a cluster can have: the field, the
// annotation of the ServiceAccount that its webhook reads, and the form of the value.
type provider struct {
	name, annotation string
	form             *regexp.Regexp
	hint             string
}

// The annotations and the label that the clouds document: Workload Identity Federation for
// GKE, IAM roles for service accounts (EKS), and Microsoft Entra Workload ID (AKS).
const (
	azureClient = "azure.workload.identity/client-id"
	azureTenant = "azure.workload.identity/tenant-id"
	azureLabel  = "azure.workload.identity/use"
)

func providers() []provider {
	return []provider{
		{
			"gcp", "iam.gke.io/gcp-service-account",
			regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?@[a-z0-9][-.a-z0-9]*\.gserviceaccount\.com$`),
			"expected the address of a service account, such as api@acme.iam.gserviceaccount.com",
		},
		{
			"aws", "eks.amazonaws.com/role-arn", regexp.MustCompile(`^arn:aws(-[a-z]+)*:iam::[0-9]{12}:role/[-\w+=,.@/]+$`),
			"expected the ARN of a role, such as arn:aws:iam::123456789012:role/api",
		},
		{
			"azure", azureClient, regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`),
			"expected a UUID, such as 12345678-90ab-cdef-1234-567890abcdef",
		},
	}
}

// cloudIdentity decodes the account of a cloud that the pods act as, into the annotations
// of their ServiceAccount and the labels of the pods. It comes after the ServiceAccount.
func (d *decoder) cloudIdentity(p part) {
	if !p.given() {
		return
	}
	f := p.fields()
	given := 0
	for _, cloud := range providers() {
		value := f.get(cloud.name)
		if !value.given() {
			continue
		}
		given++
		if cloud.name != "azure" {
			d.identityOf(cloud, value, cloud.annotation)
			continue
		}
		if value.Kind == object.KindMap {
			ids := value.fields()
			value = ids.need("clientId", cloud.hint)
			if tenant := ids.get("tenantId"); tenant.given() {
				d.identityOf(cloud, tenant, azureTenant)
			}
			ids.done(nil)
		}
		d.identityOf(cloud, value, cloud.annotation)
	}
	// A null of an environment takes an identity away.
	if given > 1 || f.given() && len(f.Members) == 0 {
		p.fail("", "expected one of gcp, aws and azure, got %d", given)
	}
	if d.out.ServiceAccount.Existing {
		p.fail("annotate the account where it is made, and remove identity",
			"an identity is an annotation of the service account, and one that exists already is left as it is")
	}
	f.done(nil)
}

// identityOf writes one annotation of the account, unless the author did.
func (d *decoder) identityOf(cloud provider, value part, annotation string) {
	if !value.given() {
		return
	}
	t := value.text()
	if value.Kind == object.KindString && !cloud.form.MatchString(t.Value) {
		value.fail(cloud.hint, "%s is not an identity of %s", shown(t.Value), cloud.name)
	}
	account := &d.out.ServiceAccount
	i, twice := slices.BinarySearchFunc(account.Annotations, Pair{Name: annotation}, comparePairs)
	if twice {
		value.fail("remove the annotation", "the annotation %s of the service account is written too, in line %d",
			annotation, account.Annotations[i].NamePos.Line)
		return
	}
	account.Annotations = slices.Insert(slices.Clone(account.Annotations), i, Pair{Name: annotation, NamePos: t.Pos, Value: t})
}

// useAzure labels the pods of an account with an identity of azure, which the author may
// have annotated: by the label the webhook of AKS finds them.
func (d *decoder) useAzure() {
	account := d.out.ServiceAccount.Annotations
	at, ok := slices.BinarySearchFunc(account, Pair{Name: azureClient}, comparePairs)
	if !ok {
		return
	}
	if i, ok := slices.BinarySearchFunc(d.out.Labels, Pair{Name: azureLabel}, comparePairs); ok {
		if v := d.out.Labels[i].Value; v.Value != "true" {
			root := "spec"
			if d.doc.Score {
				root = "metadata"
			}
			at := &location{up: &location{up: &location{step: object.Field(root)}, step: object.Field("labels")}, step: object.Field(azureLabel)}
			d.fail(v.Pos, at, "remove the label", "%s keeps pods from the identity of azure: the label must be %q", shown(v.Value), "true")
		}
		return
	}
	pos := account[at].NamePos
	d.out.PodLabels = []Pair{{Name: azureLabel, NamePos: pos, Value: Text{Value: "true", Pos: pos}}}
}
