// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// put copies objects of the source to the target, as they are there.
func (p *pair) put(change func(*unstructured.Unstructured), refs ...plane.Ref) {
	for _, r := range refs {
		o := p.source.Object(r)
		o.SetUID("")
		if change != nil {
			change(o)
		}
		p.target.Put(o)
	}
}

func TestObjectsThatAreOnTheTargetAlready(t *testing.T) {
	p := newPair(0)
	p.put(nil, ref(planetest.Core, "Machine", "blue-cp-0"), ref("", "Secret", "blue-ca"))
	p.put(func(o *unstructured.Unstructured) {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
	}, ref(planetest.Infrastructure, "DevCluster", "blue"))
	p.put(func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{snapshot.ImportAnnotation: "x/y"})
	}, ref(planetest.Core, "Cluster", "blue"))
	require.Equal(t, []string{
		"Secret apps/blue-ca: is on the target plane already: delete it there if it is not needed, or choose another target",
		"Cluster.cluster.x-k8s.io apps/blue: is on the target plane already: a pivot has left it there, whose receipt is gone: remove its finalizers, and delete it there; it was never in charge of anything",
		"Machine.cluster.x-k8s.io apps/blue-cp-0: is on the target plane already: delete it there if it is not needed, or choose another target",
		"DevCluster.infrastructure.cluster.x-k8s.io apps/blue: is being deleted from the target plane: wait until it is gone, or see which of its finalizers are left",
	}, p.check(t, true))
	p.untouched(t)
}

func TestCopiesMayBeOnTheTargetWhereTheyAreTheSame(t *testing.T) {
	p := newPair(0)
	secret, template, same := ref("", "Secret", "blue-ca"), ref(planetest.Infrastructure, "DevMachineTemplate", "blue"), ref(planetest.Bootstrap, "KubeadmConfigTemplate", "blue")
	copies := []plane.Ref{secret, template, same}
	for _, r := range copies {
		p.source.Edit(r, "user", func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
	}
	p.put(nil, copies...)
	// A default of a newer provider is no difference.
	p.target.Edit(same, "user", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "new", "spec", "template", "spec", "kind")
	})
	require.Empty(t, p.check(t, true, copies...))
	p.target.Edit(secret, "user", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "c3VycHJpc2U=", "data", "tls.key")
	})
	p.target.Edit(template, "user", func(o *unstructured.Unstructured) { o.Object["spec"] = "odd" })
	got := p.check(t, true, copies...)
	require.Equal(t, []string{
		"Secret apps/blue-ca: is on the target plane already, and differs from that of the source: make both the same, or rename one of them",
		"DevMachineTemplate.infrastructure.cluster.x-k8s.io apps/blue: is on the target plane already, and differs at spec: make both the same, or rename one of them",
	}, got)
}

// answers lets the dry run of the Machine fail.
func (p *pair) answers(err error) {
	p.target.Before = func(r planetest.Request) error {
		if r.DryRun && r.Ref.Kind == "KubeadmConfig" {
			return err
		}
		return nil
	}
}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func TestAnswersToADryRun(t *testing.T) {
	gr := schema.GroupResource{Group: planetest.Bootstrap, Resource: "kubeadmconfigs"}
	gk := schema.GroupKind{Group: planetest.Bootstrap, Kind: "KubeadmConfig"}
	const at = "KubeadmConfig.bootstrap.cluster.x-k8s.io apps/blue-cp-0: "
	const upgrade = ": upgrade the provider of the target plane to the version of the source plane, with the same features enabled"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a webhook that cannot be tried is no finding":                       {err: apierrors.NewBadRequest(`admission webhook "x" does not support dry run`)},
		"an object that was created meanwhile is the business of the import": {err: apierrors.NewAlreadyExists(gr, "blue-cp-0")},
		"an unknown field": {err: apierrors.NewBadRequest(`strict decoding error: unknown field "spec.new"`),
			want: at + `is rejected by the target plane: strict decoding error: unknown field "spec.new"` + upgrade},
		"fields that are not valid, without values": {
			err: apierrors.NewInvalid(gk, "blue-cp-0", field.ErrorList{
				field.Invalid(field.NewPath("spec", "format"), "hush-hush", "no"), field.Required(field.NewPath("spec", "files"), "yes"),
				field.Invalid(field.NewPath("spec", "format"), "hush-hush", "never"),
				field.Forbidden(field.NewPath("spec"), "only where the feature Ignition is enabled, not for hush-hush-content"),
			}),
			want: at + "is not valid on the target plane: spec.files: Required value: yes, spec.format (FieldValueInvalid), spec: Forbidden: only where the feature Ignition is enabled, not for (hidden)" + upgrade},
		"a definition that is not established": {err: apierrors.NewNotFound(gr, ""),
			want: at + "its kind is not served by the target plane: install its CustomResourceDefinition there, or see why it is not established"},
		"a webhook without a server": {err: status(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "v.example.org": connection refused`),
			want: at + `a webhook of the target plane does not answer: Internal error occurred: failed calling webhook "v.example.org": connection refused: ` +
				"see that the controller of the webhook runs, and that its Service and certificate are right"},
		"a policy that shows what it denies": {err: status(403, metav1.StatusReasonForbidden, `admission webhook "p" denied the request: hush-hush-content`),
			want: at + `is rejected by the target plane: admission webhook "p" denied the request: (hidden): see why, in the controllers and policies of that plane`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(0)
			p.source.Edit(ref(planetest.Bootstrap, "KubeadmConfig", "blue-cp-0"), "user", func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"path": "/x", "content": "hush-hush-content"}}, "spec", "files")
			})
			p.target.Put(planetest.Object("v1", "Namespace", "", "apps"))
			p.answers(c.err)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			require.Equal(t, want, p.check(t, true))
			p.untouched(t)
		})
	}
}

func TestWebhookThatAnswersAtLast(t *testing.T) {
	p := newPair(0)
	p.target.Put(planetest.Object("v1", "Namespace", "", "apps"))
	left := 3
	p.target.Before = func(r planetest.Request) error {
		if r.DryRun && r.Ref.Kind == "Machine" && left > 0 {
			left--
			return status(500, metav1.StatusReasonInternalError, `failed calling webhook "v.example.org"`)
		}
		return nil
	}
	require.Empty(t, p.check(t, true))
	require.Zero(t, left)
}

func TestNamespaceThatIsMissingIsAFindingWhereItShouldBeThere(t *testing.T) {
	p := newPair(0)
	got := p.check(t, true)
	require.NotEmpty(t, got)
	require.Contains(t, got[0], "its kind is not served by the target plane")
}

func TestSampleOfAnotherVersion(t *testing.T) {
	p := newPair(0)
	set, kinds := p.set(t)
	samples := Samples(set)
	samples[0].APIVersion = "cluster.x-k8s.io/v1alpha4"
	samples[1].Object = json.RawMessage(`{`)
	got := lines(Target(context.Background(), p.target.Plane(), kinds, samples, false))
	require.Len(t, got, 2)
	require.Contains(t, got[1], `Cluster.cluster.x-k8s.io apps/blue: is in version "cluster.x-k8s.io/v1alpha4", which is not served by both planes: upgrade the provider`)
	require.Contains(t, got[0], "its sample is no object")
	require.Empty(t, shape(json.RawMessage(`{`)))
	require.Empty(t, fields(&unstructured.Unstructured{}, errors.New("no status")))
}

func provider(name, typ, provider, version string) *unstructured.Unstructured {
	o := planetest.Object("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider", name+"-system", name)
	o.Object["providerName"], o.Object["type"], o.Object["version"] = provider, typ, version
	return o
}

func TestProvidersOfBothPlanes(t *testing.T) {
	ctx := context.Background()
	kind := plane.Kind{Group: providerGroup, Kind: "Provider", Resource: "providers", Namespaced: true, Version: "v1alpha3", Served: []string{"v1alpha3"}}
	p := newPair(0)
	set, kinds := p.set(t)
	require.Empty(t, Providers(ctx, p.source.Plane(), kinds), "clusterctl was not used")

	from, to := planetest.New("source", kind), planetest.New("target", kind)
	only := plane.Kinds{kind.GroupKind(): kind}
	from.Put(provider("cluster-api", "CoreProvider", "cluster-api", "v1.14.2"), provider("bootstrap-kubeadm", "BootstrapProvider", "kubeadm", "v1.14.2"),
		provider("control-plane-kubeadm", "ControlPlaneProvider", "kubeadm", "v1.14.2"), provider("infrastructure-odd", "InfrastructureProvider", "odd", "main"))
	to.Put(provider("cluster-api", "CoreProvider", "cluster-api", "v1.13.9"), provider("bootstrap-kubeadm", "BootstrapProvider", "kubeadm", "v1.14.0"),
		provider("bootstrap-kubeadm-new", "BootstrapProvider", "kubeadm", "v1.15.0"), provider("infrastructure-odd", "InfrastructureProvider", "odd", "dev"))
	a, b := Providers(ctx, from.Plane(), only), Providers(ctx, to.Plane(), only)
	require.Len(t, a, 4)
	require.Equal(t, []string{
		"Provider.clusterctl.cluster.x-k8s.io cluster-api-system/cluster-api: is at v1.14.2 on the source plane, and at v1.13.9 on the target plane: upgrade it on the target plane to at least v1.14.2",
		"Provider.clusterctl.cluster.x-k8s.io control-plane-kubeadm-system/control-plane-kubeadm: is not installed on the target plane: install it there in version v1.14.2",
	}, lines(Skew(set, kinds, a, b)))
	require.Empty(t, Skew(set, kinds, a, nil))
	require.Empty(t, Skew(set, kinds, nil, b))

	core := kinds[set.Cluster.GroupKind()]
	core.Labels = map[string]string{"cluster.x-k8s.io/provider": "cluster-api"}
	kinds[set.Cluster.GroupKind()] = core
	require.Len(t, Skew(set, kinds, a, b), 1, "only those of the kinds that are moved")

	to.Before = func(planetest.Request) error { return planetest.ErrKilled }
	require.Empty(t, Providers(ctx, to.Plane(), only))
}

func TestPlanSaysWhatMovesInWhichOrder(t *testing.T) {
	p := newPair(1)
	p.source.Edit(ref(planetest.Core, "Machine", "blue-md-0-0"), "provider", func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{"clusterctl.cluster.x-k8s.io/block-move": ""})
	})
	old := ref(planetest.Infrastructure, "DevMachineTemplate", "old")
	p.source.Put(planetest.Object(planetest.Infrastructure+"/v1beta2", old.Kind, old.Namespace, old.Name))
	set, kinds := p.set(t, ref("", "Secret", "blue-ca"))
	p.source.Denied = map[plane.Right]bool{{Verb: "get", Resource: "namespaces"}: true}
	plan := PlanOf(set.Cluster, set, Source(context.Background(), p.source.Plane(), kinds, set))
	require.Equal(t, len(set.Items), plan.Objects)
	require.Positive(t, plan.Bytes)
	require.Equal(t, []plane.Ref{set.Cluster}, plan.Levels[0])
	require.Equal(t, []plane.Ref{ref("", "Secret", "blue-ca")}, plan.Copied)
	require.Equal(t, []plane.Ref{ref(planetest.Core, "Machine", "blue-md-0-0")}, plan.Waits)
	require.Equal(t, Count{Kind: "Secret", Version: "v1", Count: 4}, plan.Kinds[0])
	require.Equal(t, []plane.Ref{old}, plan.Left)
	require.Len(t, plan.Findings, 1)
	total := 0
	for _, c := range plan.Kinds {
		total += c.Count
	}
	for _, l := range plan.Levels {
		total -= len(l)
	}
	require.Zero(t, total)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	require.Contains(t, string(text), `"findings":[{"object":{"group":"cluster.x-k8s.io","kind":"Cluster","namespace":"apps","name":"blue"},"problem":"user tester of`)
	require.Contains(t, string(text), `"left":[{"group":"infrastructure.cluster.x-k8s.io","kind":"DevMachineTemplate","namespace":"apps","name":"old"}]`)
	require.NotContains(t, string(text), "Y2Eta2V5")

	empty, err := json.Marshal(PlanOf(set.Cluster, set, nil))
	require.NoError(t, err)
	require.NotContains(t, string(empty), "findings")
}
