// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	refused   = "is set by the API server, which refuses to apply an object with it"
	leftOut   = "is set by the API server, and is left out"
	certs     = "apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata: {name: a}\nspec: {selfSigned: {}}\n"
)

func TestFieldsOfTheServer(t *testing.T) {
	for name, tt := range map[string]struct {
		object string
		want   map[string]string // message by path
		kept   string            // what is applied, "" for the plain ConfigMap
	}{
		"nothing of the server": {object: configMap},
		"all of them empty": {
			object: configMap + "  creationTimestamp: null\n  deletionTimestamp: null\n  uid: ''\n  resourceVersion: ''\n" +
				"  generation: 0\n  selfLink: ''\n  managedFields: []\n  generateName: ''\n",
		},
		"an export from a cluster": {
			object: configMap + "  creationTimestamp: 2024-01-01T00:00:00Z\n  generation: 3\n  resourceVersion: '12'\n  uid: 0a1b\n" +
				"  selfLink: /api/v1\n  managedFields: [{manager: kubectl}]\n  deletionGracePeriodSeconds: 30\n",
			want: map[string]string{
				"metadata.creationTimestamp": refused, "metadata.resourceVersion": refused, "metadata.uid": refused,
				"metadata.managedFields": refused, "metadata.deletionGracePeriodSeconds": refused,
				"metadata.generation": leftOut, "metadata.selfLink": leftOut,
			},
		},
		"a generated name beside a name": {
			object: configMap + "  generateName: a-\n",
			want:   map[string]string{"metadata.generateName": "has no effect where name is set, and is left out"},
		},
		"a generated name alone": {
			object: "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
			want:   map[string]string{"metadata.name": "is required"},
			kept:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n",
		},
		"owners are not the server's": {
			object: configMap + "  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: 0a1b}]\n",
			kept:   configMap + "  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: 0a1b}]\n",
		},
		"an empty status": {
			object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus: {}\n",
			kept:   "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
		},
		"a status of empty values, which its schema would refuse": {
			object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus: {phase: '', conditions: [{type: '', status: ''}]}\n",
			kept:   "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
		},
		"a status": {
			object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus: {phase: Active}\n",
			want:   map[string]string{"status": "is written by controllers, and is left out"},
			kept:   "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
		},
		"a status where the kind has none": {
			object: configMap + "status: {}\n",
			want:   map[string]string{"status": "is not a known field"},
			kept:   configMap + "status: {}\n",
		},
		"the status of a custom resource": {
			object: certs + "status: {acme: {uri: x}}\n",
			want:   map[string]string{"status": "is written by controllers, and is left out"},
			kept:   certs,
		},
		"the status of an unknown kind": {
			object: "apiVersion: example.com/v1\nkind: X\nmetadata: {name: a}\nstatus: {on: true}\n",
			want:   map[string]string{"kind": "no schema is known for example.com/v1 X: the object was not checked"},
			kept:   "apiVersion: example.com/v1\nkind: X\nmetadata: {name: a}\nstatus: {on: true}\n",
		},
		"a template keeps its own": {
			object: "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: a}\ntemplate: {metadata: {creationTimestamp: null}, spec: {containers: [{name: a, image: a}]}}\n",
			kept:   "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: a}\ntemplate: {metadata: {creationTimestamp: null}, spec: {containers: [{name: a, image: a}]}}\n",
		},
		"what SOPS encrypted": {
			object: configMap + "  creationTimestamp: null\nsops: {mac: 'ENC[x]', lastmodified: '2024-01-01T00:00:00Z'}\n",
			want:   map[string]string{"sops": "is encrypted with SOPS: decrypt it before it is applied"},
			kept:   configMap + "  creationTimestamp: null\nsops: {mac: 'ENC[x]', lastmodified: '2024-01-01T00:00:00Z'}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := node(parse(t, tt.object))
			before, err := json.Marshal(nodes)
			require.NoError(t, err)
			checker := check.New(check.Options{})
			found := map[string]string{}
			for _, f := range judge(checker, nodes) {
				found[f.Path.String()] = f.Message
				require.Equal(t, f.Message == refused || f.Path.String() == "metadata.name" || f.Message == "is not a known field", f.Severity == object.SeverityError, f)
			}
			if tt.want == nil {
				tt.want = map[string]string{}
			}
			require.Equal(t, tt.want, found)
			if tt.kept == "" {
				tt.kept = configMap
			}
			require.Equal(t, parse(t, tt.kept), checker.Applied(nodes)[0].Object)
			after, err := json.Marshal(nodes)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "the nodes given are left as they are")
		})
	}
}

func TestTheStatusOfADefinitionOfTheRender(t *testing.T) {
	definition := func(subresources string) object.Object {
		return parse(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: xs.example.com}\n"+
			"spec: {group: example.com, scope: Namespaced, names: {kind: X, plural: xs}, versions: [{name: v1, served: true, storage: true, "+
			subresources+"schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}]}\n")
	}
	custom := parse(t, "apiVersion: example.com/v1\nkind: X\nmetadata: {name: a}\nstatus: {on: true}\n")
	checker := check.New(check.Options{})
	require.NotContains(t, checker.Applied(node(definition("subresources: {status: {}}, "), custom))[1].Object, "status")
	require.Contains(t, checker.Applied(node(definition(""), custom))[1].Object, "status")
}
