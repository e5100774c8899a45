// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/plugin/host/release"
)

// reviewed returns a render whose objects have a text each.
func reviewed(project, environment string, objects map[string]string) release.Reviewed {
	out := release.Reviewed{Project: project, Environment: environment, Dialect: "flux", Objects: map[string]string{}}
	all := ""
	for _, name := range []string{"ConfigMap a", "ConfigMap b", "ConfigMap c"} {
		if text, ok := objects[name]; ok {
			out.Objects[name] = digests.Of([]byte(text))
			all += name + text
		}
	}
	out.Tree = digests.Of([]byte(all))
	return out
}

func TestARenderIsComparedWithTheOneOfItsName(t *testing.T) {
	dev := map[string]string{"ConfigMap a": "1", "ConfigMap b": "1"}
	prod := map[string]string{"ConfigMap a": "2", "ConfigMap b": "2"}
	plan := release.PreviewPlan{Spec: release.PreviewPlanSpec{
		Head: release.Revision{Name: "HEAD", Commit: strings.Repeat("0123456789", 4)}, Renders: []release.Reviewed{reviewed("shop", "dev", dev), reviewed("shop", "prod", prod)},
	}}
	for name, tt := range map[string]struct {
		got  release.Reviewed
		want string
	}{
		"the same":                 {reviewed("shop", "prod", prod), ""},
		"that of another one":      {reviewed("shop", "prod", dev), "shop prod is not what was reviewed at 012345678901: ConfigMap a differs, ConfigMap b differs"},
		"another environment":      {reviewed("shop", "test", dev), "shop test was not reviewed: the plan has shop dev, shop prod"},
		"no name, and the same":    {reviewed("", "", dev), ""},
		"no name, and the nearest": {reviewed("", "", map[string]string{"ConfigMap a": "2", "ConfigMap c": "2"}), "shop prod is not what was reviewed at 012345678901: ConfigMap b is gone, ConfigMap c is new"},
		"other files": {
			release.Reviewed{Project: "shop", Environment: "dev", Tree: digests.Of(nil), Objects: reviewed("shop", "dev", dev).Objects},
			"shop dev is not what was reviewed at 012345678901: its objects are the same, in other files",
		},
		"another dialect": {
			release.Reviewed{Project: "shop", Environment: "dev", Dialect: "argocd", Tree: digests.Of(nil)},
			"shop dev is not what was reviewed at 012345678901: it was reviewed in the dialect flux, and this is argocd",
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, plan.Mismatch(tt.got)) })
	}
}

func TestAPlanOfAPreviewIsReadAsItWasWritten(t *testing.T) {
	plan := release.PreviewPlan{
		Header: release.Header{APIVersion: release.Version, Kind: release.KindPreviewPlan, Metadata: release.Metadata{Name: "preview"}},
		Spec: release.PreviewPlanSpec{
			Ropewalk: "v0.1.0", Base: release.Revision{Name: "main"}, Head: release.Revision{Name: "HEAD"}, Summary: "Nothing differs.",
			Renders: []release.Reviewed{reviewed("shop", "", map[string]string{"ConfigMap a": "1"})},
		},
	}
	text, err := plan.Seal()
	require.NoError(t, err)
	read, err := release.Read("plan.yaml", text, "v0.9.0")
	require.NoError(t, err)
	require.Equal(t, &plan, read)
	_, err = release.Read("plan.yaml", []byte(strings.Replace(string(text), "shop", "shap", 1)), "v0.9.0")
	require.ErrorIs(t, err, release.ErrPlan)

	plan.Spec.Summary = strings.Repeat("x", 9<<20)
	_, err = plan.Seal()
	require.ErrorContains(t, err, "plan fewer environments at once", "what is written can be read")
}
