// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

// foos defines example.com/v1 Foo, whose spec.size is of the type given.
func foos(t testing.TB, kind string) object.Object {
	return parse(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: foos, kind: Foo}
  versions:
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              size: {type: %s}
              port: {x-kubernetes-int-or-string: true}
              parts: {type: array, x-kubernetes-list-type: set, items: {type: string, maxLength: 3}}
              notes: {type: object, additionalProperties: {type: string}}
              one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
            x-kubernetes-validations:
            - {rule: "!has(self.parts) || size(self.parts) < 3", message: at most two parts}
`, kind))
}

func TestKindsAndVersions(t *testing.T) {
	for name, c := range map[string]struct{ text, path, message, hint string }{
		"a group that moved":              {"{apiVersion: extensions/v1beta1, kind: Ingress}", "apiVersion", "extensions/v1beta1 Ingress is no longer served", "use networking.k8s.io/v1"},
		"a kind that was removed":         {"{apiVersion: policy/v1beta1, kind: PodSecurityPolicy}", "apiVersion", "policy/v1beta1 PodSecurityPolicy was removed in Kubernetes 1.25: use Pod Security Admission, by labels of the Namespace", ""},
		"a version that is no more":       {"{apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler}", "apiVersion", "autoscaling/v2beta2 HorizontalPodAutoscaler is not served", "use autoscaling/v2"},
		"a kind of another group":         {"{apiVersion: v1, kind: Deployment}", "apiVersion", `"v1" has no kind Deployment`, "use apps/v1"},
		"a typo in a kind":                {"{apiVersion: v1, kind: ConfgMap}", "kind", `"v1" has no kind "ConfgMap"`, `did you mean "ConfigMap"?`},
		"a List":                          {"{apiVersion: v1, kind: List}", "kind", "a List is not an object of its own", "write each item as a separate object"},
		"a group without a dot":           {"{apiVersion: app/v1, kind: Deployment}", "apiVersion", `"app/v1" has no kind Deployment`, "use apps/v1"},
		"a group in upper case":           {"{apiVersion: Apps/v1, kind: Deployment}", "apiVersion", `"Apps/v1" has no kind Deployment`, "use apps/v1"},
		"two slashes":                     {"{apiVersion: k8s.io/apps/v1, kind: Deployment}", "apiVersion", `"k8s.io/apps/v1" is not an API version: expected GROUP/VERSION, or v1`, ""},
		"a group that is near":            {"{apiVersion: network.k8s.io/v1, kind: Ingress, metadata: {name: a}}", "kind", "no schema is known for network.k8s.io/v1 Ingress: the object was not checked", `did you mean "networking.k8s.io/v1"? Otherwise name its CustomResourceDefinition with --crds`},
		"an unknown group":                {"{apiVersion: example.com/v1, kind: Bar, metadata: {name: a}}", "kind", "no schema is known for example.com/v1 Bar: the object was not checked", "name its CustomResourceDefinition with --crds"},
		"a kind of another system":        {"{apiVersion: lattice.dev/v1alpha1, kind: LatticeService, metadata: {name: a}}", "kind", "no schema is known for lattice.dev/v1alpha1 LatticeService: the object was not checked", "as a spec of Ropewalk it is kind Workload; as an object of the cluster, name its CustomResourceDefinition with --crds"},
		"an unknown kind beside ours":     {"{apiVersion: keda.sh/v1alpha1, kind: ScaledObjects, metadata: {name: a}}", "kind", "no schema is known for keda.sh/v1alpha1 ScaledObjects: the object was not checked", `did you mean "ScaledObject"? Otherwise name its CustomResourceDefinition with --crds`},
		"a kind that is near a known one": {"{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}}", "kind", "no schema is known for argoproj.io/v1alpha1 ApplicationSet: the object was not checked", "name its CustomResourceDefinition with --crds"},
		"a version in preview":            {"{apiVersion: storage.k8s.io/v1beta1, kind: VolumeAttributesClass, metadata: {name: a}, driverName: a.b}", "apiVersion", "storage.k8s.io/v1beta1 VolumeAttributesClass is served only where the cluster enables it", ""},
		"no apiVersion":                   {"{kind: ConfigMap}", "apiVersion", "is required", ""},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(check.New(check.Options{}), node(parse(t, c.text)))
			require.Len(t, findings, 1, "%v", findings)
			require.Equal(t, c.path, findings[0].Path.String())
			require.Equal(t, c.message, findings[0].Message)
			require.Equal(t, c.hint, findings[0].Hint)
			require.Equal(t, strings.HasPrefix(c.message, "no schema") || strings.Contains(c.message, "enables it"), findings[0].Severity == object.SeverityWarning)
		})
	}
}

// TestAVersionLacksWhatCameLater: what no version before a version has is refused for those.
func TestAVersionLacksWhatCameLater(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostnameOverride: a, containers: [{name: a, image: a}], tolerations: [{key: a, operator: Lt, value: '1'}]}}"
	const policy = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: a}}"
	late := func(version string) string {
		return "apiVersion: admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding is not in Kubernetes " + version + ": it came with 1.36"
	}
	for version, want := range map[string][]string{
		"":       nil,
		"1.36":   nil,
		"1.99.1": nil,
		"1.35.4": {late("1.35")},
		"1.34":   {late("1.34"), `spec.tolerations[0].operator: "Lt" is not in Kubernetes 1.34: it came with 1.35`},
		"1.33": {
			late("1.33"), "spec.hostnameOverride: is not in Kubernetes 1.33: it came with 1.34",
			`spec.tolerations[0].operator: "Lt" is not in Kubernetes 1.33: it came with 1.35`,
		},
	} {
		var got []string
		for _, text := range []string{policy, pod} {
			for _, f := range judge(check.New(check.Options{KubeVersion: version}), node(parse(t, text))) {
				got = append(got, f.Path.String()+": "+f.Message)
			}
		}
		require.Equal(t, want, got, version)
	}
}

func TestDefinitionsOfTheRenderWinOverThoseOfTheCaller(t *testing.T) {
	foo := parse(t, "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {size: 3}}")
	given := check.New(check.Options{CRDs: []object.Object{foos(t, "string")}})
	findings := judge(given, node(foo))
	require.Len(t, findings, 1)
	require.Equal(t, "expected a string, found the number 3", findings[0].Message)
	require.Equal(t, `quote it: "3"`, findings[0].Hint)
	require.Empty(t, judge(given, node(foo, foos(t, "integer"))), "the render defines the kind as well")
}

func TestMistakesOfACustomResourceComeTogether(t *testing.T) {
	checker := check.New(check.Options{CRDs: []object.Object{foos(t, "integer")}})
	findings := judge(checker, node(
		parse(t, "{apiVersion: example.com/v1, kind: Foo, metadata: {name: A, namespace: b}, spec: {size: '3', port: true, sise: 1, parts: [a, a, long], notes: {a.b: 1}, one: {a: x, b: y}}}"),
		parse(t, "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {parts: [a, b, c]}}"),
		parse(t, "{apiVersion: example.com/v1alpha1, kind: Foo, metadata: {name: a}}"),
		parse(t, "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}"),
	))
	var lines []string
	for _, f := range findings {
		lines = append(lines, string(f.Node)+" "+f.Rule+" "+f.Path.String()+" "+f.Message)
	}
	require.Equal(t, []string{
		`s/n0 name metadata.name expected lower-case letters, digits, "-" and "." (at most 253, beginning and ending with a letter or digit), found "A"`,
		`s/n0 namespace metadata.namespace has no effect: Foo is a cluster-scoped kind`,
		`s/n0 schema spec.notes["a.b"] expected a string, found the number 1`,
		`s/n0 exclusive spec.one needs exactly one of a or b`,
		`s/n0 listType spec.parts[1] is in the list already`,
		`s/n0 size spec.parts[2] expected at most 3 characters, found 4`,
		`s/n0 schema spec.port expected an integer or a string, found the boolean true`,
		`s/n0 unknownField spec.sise is not a known field`,
		`s/n0 schema spec.size expected an integer, found the string "3"`,
		`s/n1 cel spec at most two parts`,
		`s/n2 apiVersion apiVersion example.com/v1alpha1 Foo is not served`,
		`s/n3 required spec is required`,
	}, lines)
}

func TestKeysOfListsAreComparedInFull(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a, env: [{name: %s, value: x}, {name: %s, value: x}]}]}}`
	prefix := strings.Repeat("A", 62)
	require.Empty(t, judge(check.New(check.Options{}), node(parse(t, fmt.Sprintf(pod, prefix+"_1", prefix+"_2")))))
	findings := judge(check.New(check.Options{}), node(parse(t, fmt.Sprintf(pod, prefix, prefix))))
	require.Len(t, findings, 1)
	require.Equal(t, "has the same name as item 0 of the list", findings[0].Message)
}

func TestACheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	findings, err := check.New(check.Options{}).Check(ctx, node(foos(t, "Foo"), parse(t, "{apiVersion: v1, kind: ConfgMap}")))
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, findings)
}

// TestKindsThatControllersWrite covers kinds that a server or a controller makes, not
// a render: they have schemas, and no rules beyond.
func TestKindsThatControllersWrite(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}, spec: {leaseDurationSeconds: %s}}",
		"{apiVersion: v1, kind: Endpoints, metadata: {name: a}, subsets: [{ports: [{port: %s}]}]}",
		"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, endpoints: [], ports: [{port: %s}]}",
		"{apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: {replicas: %s}}",
		"{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {taints: [{key: a, effect: NoSchedule}], unschedulable: %s}}",
	} {
		good := "1"
		if strings.Contains(text, "Node") {
			good = "true"
		}
		require.Empty(t, judge(check.New(check.Options{}), node(parse(t, fmt.Sprintf(text, good)))), text)
		findings := judge(check.New(check.Options{}), node(parse(t, fmt.Sprintf(text, "x"))))
		require.Len(t, findings, 1, text)
		require.Equal(t, "schema", findings[0].Rule)
	}
}

func TestBadDefinitionsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		crd  object.Object
		want string
	}{
		"no definition at all": {parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), "is a ConfigMap, not a CustomResourceDefinition"},
		"an old apiVersion":    {parse(t, "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a}}"), `has the apiVersion "apiextensions.k8s.io/v1beta1", expected "apiextensions.k8s.io/v1"`},
		"no versions":          {parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a.b, names: {kind: A}}}"), "lacks spec.group, spec.names.kind or spec.versions"},
		"text for a map":       {parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: x}"), "has a string where spec should be"},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(check.New(check.Options{CRDs: []object.Object{c.crd}}), nil)
			require.Len(t, findings, 1)
			require.Equal(t, `CustomResourceDefinition "a" `+c.want, findings[0].Message)
		})
	}
}

func TestTheOrderOfTheNodesChangesNothing(t *testing.T) {
	var nodes []*object.Node
	files := corpus(t, "testdata/oracle")
	for i, name := range object.SortedKeys(files) {
		nodes = append(nodes, &object.Node{ID: object.MakeID("s", fmt.Sprint(i)), Object: files[name]})
	}
	checker := check.New(check.Options{})
	want := judge(checker, nodes)
	require.NotEmpty(t, want)
	for range 3 {
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		require.Equal(t, want, judge(checker, nodes))
	}
}

func TestACheckChangesNoObject(t *testing.T) {
	checker := check.New(check.Options{})
	for name, o := range corpus(t, "testdata/custom") {
		before := o.Clone()
		judge(checker, node(o))
		require.Equal(t, before, o, name)
	}
}

func TestManyChecksAtOnceShareSchemas(t *testing.T) {
	schemas := &check.Schemas{}
	files := corpus(t, "testdata/custom")
	names := object.SortedKeys(files)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			checker := check.New(check.Options{Schemas: schemas})
			for _, name := range slices.Sorted(slices.Values(names)) {
				good := strings.HasPrefix(name, "good/")
				if failed(judge(checker, node(files[name].Clone()))) == good {
					t.Errorf("%d: %s", i, name)
				}
			}
		})
	}
	wg.Wait()
}
