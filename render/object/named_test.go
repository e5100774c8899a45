// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestExpandTakesListsApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"an object":                         {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`, []string{"v1 Pod a"}},
		"a List in a List":                  {`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}]}`, []string{"v1 Pod a"}},
		"an empty List":                     {`{"apiVersion": "v1", "kind": "List"}`, nil},
		"a List of one kind":                {`{"apiVersion": "rbac/v1", "kind": "RoleList", "items": [{"apiVersion": "rbac/v1", "kind": "Role", "metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`, []string{"rbac/v1 Role a", "rbac/v1 Role b"}},
		"a kind that ends so, by its name":  {`{"apiVersion": "x/v1", "kind": "AllowList", "metadata": {"name": "a"}, "items": [{"a": 1}]}`, []string{"x/v1 AllowList a"}},
		"a kind that ends so, by its items": {`{"apiVersion": "x/v1", "kind": "AllowList", "metadata": {"generateName": "a"}}`, []string{"x/v1 AllowList "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := object.Decode([]byte(tt.text))
			require.NoError(t, err)
			var got []string
			below, mistake := o.Expand()
			require.Nil(t, mistake)
			for _, item := range below {
				got = append(got, item.APIVersion()+" "+item.Kind()+" "+item.Name())
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAListThatWouldLoseObjectsIsAMistake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"apiVersion": "v1", "kind": "List", "item": []}`:                                                  `item: a List has no such field; it has apiVersion, kind, metadata, items (did you mean "items"?)`,
		`{"apiVersion": "v1", "kind": "List", "Items": []}`:                                                 `Items: a List has no such field; it has apiVersion, kind, metadata, items (did you mean "items"?)`,
		`{"apiVersion": "v1", "kind": "List", "items": {"kind": "Pod"}}`:                                    `items: expected a list of objects (begin each object with a dash)`,
		`{"apiVersion": "v1", "kind": "List", "items": "x"}`:                                                `items: expected a list of objects (begin each object with a dash)`,
		`{"apiVersion": "v1", "kind": "PodList", "items": [], "extra": 1}`:                                  `extra: a PodList has no such field; it has apiVersion, kind, metadata, items`,
		`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "List", "items": 1}]}`: `items: expected a list of objects (begin each object with a dash)`,
	} {
		o, err := object.Decode([]byte(text))
		require.NoError(t, err)
		_, mistake := o.Expand()
		require.EqualError(t, mistake, want)
	}
}

func TestANameThatIsNoTextIsToBeQuoted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`"on"`: "", `null`: "", `{}`: "",
		`true`:  "write metadata.name in quotes: without them it is true for kubectl, as on, yes and y are",
		`false`: "write metadata.name in quotes: without them it is false for kubectl, as off, no and n are",
		`12`:    "write metadata.name in quotes: without them it is a number",
		`1.5`:   "write metadata.name in quotes: without them it is a number",
	} {
		o, err := object.Decode([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ` + name + `}}`))
		require.NoError(t, err)
		require.Equal(t, want, o.NameHint(), name)
	}
}
