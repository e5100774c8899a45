// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/capabilities"
	"sigs.k8s.io/yaml"
)

// Verdict is what the API server says of one document.
type Verdict struct {
	// File is where the document is, and Document its number there, from 0.
	File     string `json:"file"`
	Document int    `json:"document"`
	Object   string `json:"object"`
	Refused  bool   `json:"refused"`
	// Skipped reports a custom resource, which this program knows nothing of.
	Skipped bool    `json:"skipped,omitempty"`
	Causes  []Cause `json:"causes,omitempty"`
}

// Cause is one reason for a refusal.
type Cause struct {
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Judge decodes and validates; it is made by [NewJudge].
type Judge struct {
	decoder runtime.Decoder
}

// NewJudge makes a Judge with the decoder that the API server uses when field
// validation is strict.
func NewJudge() *Judge {
	// The server does so by --allow-privileged, which clusters set.
	capabilities.Setup(true, 0)
	strict := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	return &Judge{decoder: strict.UniversalDecoder()}
}

// Stream judges every document of a YAML stream.
func (j *Judge) Stream(file string, content []byte) []Verdict {
	var out []Verdict
	// The reader loses a last line whose length is a multiple of its buffer.
	content = append(slices.Clip(content), '\n')
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for i := 0; ; i++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		v := Verdict{File: file, Document: i}
		if err != nil {
			v.refuse("", err.Error())
			return append(out, v)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		j.document(&v, document)
		out = append(out, v)
	}
}

// document judges one document.
func (j *Judge) document(v *Verdict, document []byte) {
	var head metav1.PartialObjectMetadata
	content, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		v.refuse("", err.Error())
		return
	}
	// A mistake in the metadata comes to light when the whole is decoded.
	_ = yaml.Unmarshal(content, &head)
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	v.Object = fmt.Sprintf("%s %s %s", head.APIVersion, head.Kind, head.Name)
	if !builtIn(gvk.Group) {
		v.Skipped = true
		return
	}
	if gvk.Group == "apiextensions.k8s.io" {
		judgeDefinition(v, content)
		return
	}
	if strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
		v.refuse("apiVersion", fmt.Sprintf("%s is not served by default", head.APIVersion))
		return
	}
	internal, _, err := j.decoder.Decode(content, nil, nil)
	if err != nil {
		v.refuseDecoding(err)
		if internal == nil || !runtime.IsStrictDecodingError(err) {
			return
		}
	}
	v.create(internal, gvk)
	v.Causes = slices.CompactFunc(v.Causes, func(a, b Cause) bool { return a == b })
}

// create runs what the server runs before it stores a new object.
func (v *Verdict) create(internal runtime.Object, gvk schema.GroupVersionKind) {
	strategy, ok := strategyFor(internal)
	if !ok {
		v.refuse("kind", "no such kind can be created")
		return
	}
	accessor, err := meta.Accessor(internal)
	if err != nil {
		v.refuse("metadata", err.Error())
		return
	}
	ctx := genericapirequest.WithNamespace(context.Background(), metav1.NamespaceNone)
	if strategy.NamespaceScoped() {
		if accessor.GetNamespace() == "" {
			accessor.SetNamespace(metav1.NamespaceDefault)
		}
		ctx = genericapirequest.WithNamespace(ctx, accessor.GetNamespace())
	}
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create",
		APIGroup: gvk.Group, APIVersion: gvk.Version, Namespace: accessor.GetNamespace(), Name: accessor.GetName(),
	})
	rest.FillObjectMetaSystemFields(accessor)
	if service, ok := internal.(*core.Service); ok {
		allocate(service)
	}
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		v.refuseStatus(err)
	}
}

// allocate fills in what the storage of Services does before it validates.
func allocate(service *core.Service) {
	spec := &service.Spec
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	local := spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal
	if spec.Type == core.ServiceTypeLoadBalancer && local && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = 30000
	}
}

func (v *Verdict) refuse(path, message string) {
	v.Refused = true
	v.Causes = append(v.Causes, Cause{Path: path, Message: message})
}

// refuseDecoding tells the mistakes apart that strict decoding joins.
func (v *Verdict) refuseDecoding(err error) {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		v.refuse("", err.Error())
		return
	}
	for _, e := range strict.Errors() {
		v.refuse("", e.Error())
	}
}

func (v *Verdict) refuseStatus(err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		v.refuse("", err.Error())
		return
	}
	for _, c := range status.Status().Details.Causes {
		v.refuse(c.Field, c.Message)
	}
}
