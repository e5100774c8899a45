// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Handler returns the server over HTTP, in the paths and the JSON of an API server: get, list,
// create, update, delete, lists of metadata, and discovery.
func (s *Server) Handler() http.Handler {
	client := s.Client()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := s.serve(r, client)
		code := http.StatusOK
		if err != nil {
			failure := apierrors.NewInternalError(err)
			_ = errors.As(err, &failure) // What is no answer of an API server stays an internal error.
			status := failure.Status()
			status.APIVersion, status.Kind, code = "v1", "Status", int(status.Code)
			out = status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(out) // The client is gone.
	})
}

// serve answers a request through a client.
func (s *Server) serve(r *http.Request, client dynamic.Interface) (any, error) {
	ctx := r.Context()

	// The path names an object, a kind, or what is served.
	gvr, namespace, name := parse(r.URL.Path)
	if gvr.Resource == "" {
		data, err := s.discovery(ctx, r.URL.Path)
		return json.RawMessage(data), err
	}
	var api dynamic.ResourceInterface = client.Resource(gvr)
	if namespace != "" {
		api = client.Resource(gvr).Namespace(namespace)
	}
	query := r.URL.Query()

	// These have no object in the body.
	switch {
	case r.Method == http.MethodGet && name != "":
		return api.Get(ctx, name, metav1.GetOptions{})
	case r.Method == http.MethodGet:
		limit, _ := strconv.ParseInt(query.Get("limit"), 10, 64)
		out, err := list(ctx, api, metav1.ListOptions{LabelSelector: query.Get("labelSelector"), Continue: query.Get("continue"), Limit: limit})
		if err == nil && strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			out["apiVersion"], out["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
		}
		return out, err
	case r.Method == http.MethodDelete:
		var options metav1.DeleteOptions
		if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}, api.Delete(ctx, name, options)
	}

	// The others have one.
	o := &unstructured.Unstructured{}
	if err := json.NewDecoder(r.Body).Decode(o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	manager := query.Get("fieldManager")
	validation := query.Get("fieldValidation")
	dryRun := query["dryRun"]
	if r.Method == http.MethodPut {
		return api.Update(ctx, o, metav1.UpdateOptions{FieldManager: manager, FieldValidation: validation, DryRun: dryRun})
	}
	return api.Create(ctx, o, metav1.CreateOptions{FieldManager: manager, FieldValidation: validation, DryRun: dryRun})
}

func list(ctx context.Context, api dynamic.ResourceInterface, options metav1.ListOptions) (map[string]any, error) {
	found, err := api.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return found.UnstructuredContent(), nil
}
