// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestExcerptsHideWhatMayBeAPassword(t *testing.T) {
	for line, want := range map[string]string{
		`ref: "https://user:s3cret@host/x.git?tag=v1"`: `ref: "https://***********@host/x.git?tag=v1"`,
		`a: ssh://git@host/x, b: oci://u:p@host/y`:     `a: ssh://git@host/x, b: oci://***@host/y`,
		`https://host/@scope/x`:                        `https://host/@scope/x`,
		`ref: https://p@ss:w@rd@host`:                  `ref: https://*********@host`,
		`git: https://host/x?tag=a&token=s3cret&sig=x`: `git: https://host/x?tag=a&token=******&sig=*`,
		`no reference`: `no reference`,
		`://`:          `://`,
	} {
		require.Equal(t, want, (*object.Secrets)(nil).Mask(line, ""))
	}
}

func TestNoExcerptIsMadeOfAFileWithASecret(t *testing.T) {
	for text, shown := range map[string]bool{
		"kind: ConfigMap\ndata: {a: b}\n":                                                              true,
		"a: 1\nkind: Secret\nstringData: {p: hunter2}\n":                                               false,
		"---\n- kind: \"Secret\"\r\n  data: {p: aHVudGVyMg==}\n":                                       false,
		"{\n\"kind\": \"Secret\",\n\"data\": 3}\n":                                                     false,
		"{\"kind\":\"Secret\",\n\"data\": 3}\n":                                                        false,
		"kind: SecretStore\nspec: {}\n":                                                                true,
		"a: 1\n{apiVersion: v1, kind: Secret, stringData: {p: hunter2}}\n":                             false,
		"a: 1\n{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"stringData\": {\"p\": \"hunter2\"}}\n": false,
		"a: 1\nb: {apiVersion: \"v1\", kind: \"Secret\", stringData: p: \"hunter2\"}\n":                false,
		"a: 1\nkind: !!str Secret\n":                                                                   false,
		"a: 1\nkind: &k \"Secret\"\n":                                                                  false,
		"a: 1\ntext: '{\\\"kind\\\":\\\"Secret\\\"}'":                                                  false,
		"a: 1\nref: {kind: SecretKeySelector}\n":                                                       true,
	} {
		got := excerpt(fileReader(map[string][]byte{"a.yaml": []byte(text)}), object.Pos{File: "a.yaml", Line: 2, Column: 1}, nil)
		require.Equal(t, shown, got != "", text)
	}
}
