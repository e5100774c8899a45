// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// judgeDefinition judges a CustomResourceDefinition, whose types live in a
// scheme of their own.
func judgeDefinition(v *Verdict, content []byte) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	internal, _, err := decoder.Decode(content, nil, nil)
	if err != nil {
		v.refuseDecoding(err)
	}
	definition, ok := internal.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return
	}
	// The storage of the server fills this in before it validates.
	for _, version := range definition.Spec.Versions {
		if version.Storage && len(definition.Status.StoredVersions) == 0 {
			definition.Status.StoredVersions = []string{version.Name}
		}
	}
	for _, e := range validation.ValidateCustomResourceDefinition(context.Background(), definition) {
		v.refuse(e.Field, e.ErrorBody())
	}
}
