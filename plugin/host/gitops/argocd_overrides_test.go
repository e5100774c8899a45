// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatArgoCDKnowsOfAnApplicationIsInItsSource(t *testing.T) {
	files := map[string]string{
		"chart/Chart.yaml": "name: web\n", "chart/values-web.yaml": "a: b\n", "kustom/kustomization.yaml": "resources: []\n",
		"beside/Chart.yaml": "name: web\n", "beside/.argocd-source.yaml": "path: other\nhelm: {releaseName: one, parameters: [{name: a, value: b}]}\n",
		"beside/.argocd-source-web.yaml": "helm: {parameters: [{name: image.tag, value: v2, forceString: true}]}\n",
		"broken/Chart.yaml":              "name: web\n", "broken/.argocd-source.yaml": "a: [\n",
	}
	const own = "{source: {repoURL: https://git.example.com/acme/fleet, path: "
	for name, c := range map[string]struct{ spec, want, warning string }{
		"variables of a chart": {
			own + "chart, helm: {valueFiles: [values-$ARGOCD_APP_NAME.yaml], parameters: [{name: a, value: '$ARGOCD_APP_NAME in ${ARGOCD_APP_NAMESPACE} of $ARGOCD_APP_SOURCE_PATH $$5 $OTHER'}]}}, destination: {namespace: shop}}",
			`{"helm":{"chart":"chart","releaseName":"web","values":{"a":"web in shop of chart $5 "},"valuesFiles":["chart/values-web.yaml"]}}`, "",
		},
		"a revision": {
			own + "chart, helm: {parameters: [{name: a, value: v-$ARGOCD_APP_REVISION_SHORT}]}}}",
			`{"helm":{"chart":"chart","releaseName":"web","values":{"a":"v-${ARGOCD_APP_REVISION_SHORT}"}}}`, "$ARGOCD_APP_REVISION_SHORT stays",
		},
		"parameters as helm --set reads them": {
			own + `chart, helm: {parameters: [{name: 'a\.b.c', value: 'x,y'}, {name: d, value: '{1,z}'}, {name: e, value: 'True'}, {name: f, value: '007'}]}}}`,
			`{"helm":{"chart":"chart","releaseName":"web","values":{"a.b":{"c":"x,y"},"d":[1,"z"],"e":true,"f":"007"}}}`, "",
		},
		"variables and labels of a kustomization": {
			own + "kustom, kustomize: {commonLabels: {app: $ARGOCD_APP_NAME}, labelWithoutSelector: true, labelIncludeTemplates: true, commonAnnotations: {a: $ARGOCD_APP_NAME}, commonAnnotationsEnvsubst: true, components: [none], ignoreMissingComponents: true}}}",
			`{"kustomize":{"commonAnnotations":{"a":"web"},"enableHelm":true,"labels":[{"includeSelectors":false,"includeTemplates":true,"pairs":{"app":"web"}}],"loadRestrictor":"none","path":"kustom"}}`, "",
		},
		"files beside the source": {
			own + "beside, helm: {releaseName: two}}}",
			`{"helm":{"chart":"beside","releaseName":"one","values":{"image":{"tag":"v2"}}}}`, "",
		},
		"a file beside the source that is no YAML": {own + "broken}}", "broken/.argocd-source.yaml:1:1: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"a.yaml": application(c.spec)}
			for name, text := range files {
				all[name] = text
			}
			units := expand(t, all, "https://git.example.com/acme/fleet").Units
			require.Len(t, units, 1)
			if units[0].Problem != nil {
				require.Contains(t, units[0].Problem.Error(), c.want)
				return
			}
			require.JSONEq(t, c.want, string(units[0].Components[0].JSON()))
			if c.warning == "" {
				require.Empty(t, units[0].Warnings)
				return
			}
			require.Len(t, units[0].Warnings, 1)
			require.ErrorContains(t, units[0].Warnings[0], c.warning)
		})
	}
}
