// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

func TestMissingAreAllRightsThatAreDeniedSorted(t *testing.T) {
	s := planetest.New("source")
	rights := []plane.Right{
		{Verb: "list", Group: "z", Resource: "a", Namespace: "apps"},
		{Verb: "get", Resource: "secrets", Namespace: "apps"},
		{Verb: "delete", Resource: "secrets", Namespace: "apps"},
		{Verb: "get", Resource: "secrets"},
		{Verb: "get", Resource: "configmaps", Namespace: "apps"},
	}
	s.Denied = map[plane.Right]bool{}
	for _, r := range rights[:4] {
		s.Denied[r] = true
	}
	missing, err := s.Plane().Missing(context.Background(), rights)
	require.NoError(t, err)
	var text []string
	for _, r := range missing {
		text = append(text, r.String())
	}
	require.Equal(t, []string{"get secrets in all namespaces", "delete secrets in namespace apps", "get secrets in namespace apps", "list a.z in namespace apps"}, text)

	s.Before = func(planetest.Request) error { return errInjected }
	_, err = s.Plane().Missing(context.Background(), rights[:1])
	require.EqualError(t, err, "source plane: reviewing the right to list a.z in namespace apps: injected")
	_, err = s.Plane().User(context.Background())
	require.ErrorIs(t, err, errInjected)
}

func TestUser(t *testing.T) {
	s := planetest.New("source")
	s.User = "system:serviceaccount:a:b"
	user, err := s.Plane().User(context.Background())
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:a:b", user)
}
