// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

// score is a Score file without its apiVersion, and the others documents of ours.
const (
	score     = "metadata: {name: a}\ncontainers: {web: {image: x}}\n"
	transform = "kind: Transform\nmetadata: {name: a}\nspec: {cueRef: {type: path, ref: .}}\n"
	workload  = "kind: Workload\nmetadata: {name: a}\nspec: {containers: {web: {image: x}}}\n"
	project   = "kind: Project\nmetadata: {name: a}\nspec: {environments: {prod: {}}}\n"
)

func TestADocumentThatWasMeantToBeOursIsAMistake(t *testing.T) {
	const isOurs, isScore = "write apiVersion: ropewalk.dev/v1alpha1", "write apiVersion: score.dev/v1b1"
	for text, want := range map[string]string{
		"apiVersion: scoredev/v1b1\n" + score:             `f.yaml:1:13: spec: apiVersion: "scoredev/v1b1" is not known (` + isScore + `)`,
		"apiVersion: score/v1b1\n" + score:                `f.yaml:1:13: spec: apiVersion: "score/v1b1" is not known (` + isScore + `)`,
		"apiVersion: v1b1\n" + score:                      `f.yaml:1:13: spec: apiVersion: "v1b1" is not known (` + isScore + `)`,
		"apiVersion: SCORE.DEV/v1b1\n" + score:            `f.yaml:1:13: spec: apiVersion: "SCORE.DEV/v1b1" is not known (` + isScore + `)`,
		"apiVersion: score.io/v1b1\n" + score:             `f.yaml:1:13: spec: apiVersion: "score.io/v1b1" is not known (` + isScore + `)`,
		"apiVersion: scor # a cut\n" + score:              `f.yaml:1:13: spec: apiVersion: "scor" is not known (` + isScore + `)`,
		"apiVersion: v1\n" + score:                        `f.yaml:1:13: spec: apiVersion: "v1" is not known (` + isScore + `)`,
		"apiVersion: example.com/v1\n" + score:            `f.yaml:1:13: spec: apiVersion: "example.com/v1" is not known (` + isScore + `)`,
		"apiVersion: ropewalk.de/v1alpha1\n" + transform:  `f.yaml:1:13: spec: apiVersion: "ropewalk.de/v1alpha1" is not known (` + isOurs + `)`,
		"apiVersion: ropwalk.dev/v1alpha1\n" + project:    `f.yaml:1:13: spec: apiVersion: "ropwalk.dev/v1alpha1" is not known (` + isOurs + `)`,
		"apiVersion: ropewalk/v1alpha1\n" + workload:      `f.yaml:1:13: spec: apiVersion: "ropewalk/v1alpha1" is not known (` + isOurs + `)`,
		"apiVersion: v1\n" + workload:                     `f.yaml:1:13: spec: apiVersion: "v1" is not known (` + isOurs + `)`,
		"apiVersion: example.com/v1\n" + transform:        `f.yaml:1:13: spec: apiVersion: "example.com/v1" is not known (` + isOurs + `)`,
		"apiVerson: score.dev/v1b1\n" + score:             `f.yaml:1:1: spec: field "apiVerson" is not known (did you mean "apiVersion"?)`,
		"ApiVersion: ropewalk.dev/v1alpha1\n" + transform: `f.yaml:1:1: spec: field "ApiVersion" is not known (did you mean "apiVersion"?)`,
		"api_version: ropewalk.dev/v1alpha1\n" + workload: `f.yaml:1:1: spec: field "api_version" is not known (did you mean "apiVersion"?)`,
		"kind: Deployment\n---\n" + score:                 `f.yaml:3:1: spec: apiVersion: is missing (` + isScore + `)`,
		"kind: Transforms\nmetadata: {name: a}\n":         `f.yaml:1:1: spec: apiVersion: is missing (` + isOurs + `)`,
		"metadata: {name: a}\nspec: {cueRef: {ref: .}}\n": `f.yaml:1:1: spec: apiVersion: is missing (` + isOurs + `)`,
		workload:                   `f.yaml:1:1: spec: apiVersion: is missing (` + isOurs + `)`,
		project:                    `f.yaml:1:1: spec: apiVersion: is missing (` + isOurs + `)`,
		"apiVersion:\n" + workload: `f.yaml:1:12: spec: apiVersion: is missing (` + isOurs + `)`,
		`{"metadata":{"name":"a"},"containers":{"web":{"image":"x"}}}`: `f.yaml:1:1: spec: apiVersion: is missing (` + isScore + `)`,
		"# a file that is cut\napiVe":                                  `f.yaml:2:1: spec: the document ends in "apiVe": expected apiVersion and kind`,
		"apiVersion: s":                                                `f.yaml:1:1: spec: the document ends after apiVersion`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: score.dev/v1b1\n  metadata: {name: a}\n": `f.yaml:4:3: spec: a spec in a list is not read (write each as a document of its own, with "---" between them)`,
		"metadata: {name: a}\ncontainrs: {web: {image: x}}\n":                                       `f.yaml:1:1: spec: apiVersion: is missing (` + isScore + `)`,
		"metdata: {name: a}\ncontainers: {web: {image: x}}\n":                                       `f.yaml:1:1: spec: apiVersion: is missing (` + isScore + `)`,
		"workload:\n  apiVersion: score.dev/v1b1\n  metadata: {name: a}\n":                          `f.yaml:1:1: spec: a spec below the field "workload" is not read (write its fields at the top of the document)`,
		"a: {}\nspecs:\n  metadata: {name: a}\n  containers: {web: {image: x}}\n":                   `f.yaml:2:1: spec: a spec below the field "specs" is not read (write its fields at the top of the document)`,
		"items:\n- apiVersion: score.dev/v1b1\n  metadata: {name: a}\n":                             `f.yaml:2:3: spec: a spec in a list is not read (write each as a document of its own, with "---" between them)`,
		"- apiVersion: ropewalk.dev/v1alpha1\n  kind: Transform\n":                                  `f.yaml:1:3: spec: a spec in a list is not read (write each as a document of its own, with "---" between them)`,
	} {
		t.Run(text, func(t *testing.T) {
			docs, err := spec.Parse([]spec.File{{Name: "f.yaml", Data: []byte(text), Found: true}})
			require.EqualError(t, err, want)
			require.True(t, docs.Incomplete, "a name that is not there may be that of this document")
		})
	}
}

func TestAFileThatWasMeantToBeOursMustBeYAML(t *testing.T) {
	_, err := spec.Parse([]spec.File{{Name: "f.yaml", Data: []byte("apiVersion: scoredev/v1b1\nmetadata: {name: a\n"), Found: true}})
	require.ErrorContains(t, err, "f.yaml:")
}

func TestDocumentsOfOthersAreLeftOut(t *testing.T) {
	for name, text := range map[string]string{
		"a manifest":                        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{image: x}]}}}\n",
		"a Pod":                             "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: x}]}\n",
		"a List of manifests":               "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n",
		"a Project of OpenShift 3":          "apiVersion: v1\nkind: Project\nmetadata: {name: a}\n",
		"a Project of Garden":               "kind: Project\nname: demo\nenvironments: [{name: local}]\n",
		"an AppProject":                     "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: a}\nspec: {}\n",
		"a Workload of Kueue":               "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata: {name: a}\nspec: {podSets: []}\n",
		"a Workload of Cartographer":        "apiVersion: carto.run/v1alpha1\nkind: Workload\nmetadata: {name: a}\nspec: {image: x}\n",
		"a Workflow":                        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec: {}\n",
		"an extension of Humanitec":         "apiVersion: humanitec.org/v1b1\nprofile: x\nspec: {containers: {web: {}}}\n",
		"an entity of Humanitec":            "apiVersion: entity.humanitec.io/v1b1\nkind: Definition\nmetadata: {id: a}\n",
		"a chart":                           "apiVersion: v2\nname: a\nversion: 1.0.0\n",
		"a kustomization without a version": "kind: Kustomization\nresources: [a.yaml]\n",
		"values with a version":             "app_version:\n",
		"values":                            "containers: {web: {image: x}}\nkind: ClusterIP\n",
		"overrides of Score":                "containers: {web: {image: x}}\nresources: {}\n",
		"values with a Pod":                 "pod: {metadata: {name: a}, spec: {containers: [{name: a, image: x}]}}\nextra: [{apiVersion: v1, kind: Pod, spec: {}}]\n",
		"init containers by name":           "metadata: {name: a}\ninitContainers: {web: {image: x}}\n",
		"a compose file":                    "services: {web: {image: x}}\n",
		"a pipeline of Drone":               "kind: pipeline\ntype: docker\nname: a\n",
		"a template":                        "apiVersion: v1\nkind: Project\n{{- if .Values.on }}\nspec: {\n{{ end }}\n",
		"annotations of ours":               "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {ropewalk.dev/ready-when: x}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Parse([]spec.File{{Name: "f.yaml", Data: []byte(text), Found: true}})
			require.NoError(t, err)
		})
	}
}

func TestTextInOtherEncodingsOfUnicodeIsRead(t *testing.T) {
	const text = "apiVersion: score.dev/v1b1\nmetadata: {name: a, annotations: {who: \"Jürgen 😀\"}}\n"
	units := utf16.Encode([]rune(text))
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var short, long []byte
		for _, u := range units {
			short = order.AppendUint16(short, u)
		}
		for _, r := range text {
			long = order.AppendUint32(long, uint32(r))
		}
		require.Equal(t, text, string(spec.UTF8(short)), name)
		require.Equal(t, text, string(spec.UTF8(append(order.AppendUint16(nil, 0xfeff), short...))), name)
		require.Equal(t, text, string(spec.UTF8(long)), name)
		require.Equal(t, text, string(spec.UTF8(append(order.AppendUint32(nil, 0xfeff), long...))), name)
	}
	for _, same := range []string{"", "a", text, "\xff\xfea", "\x00\x00\x00\x00"} {
		require.Equal(t, same, string(spec.UTF8([]byte(same))))
	}
}
