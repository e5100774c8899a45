// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

func TestTheSocketAndACommandGiveTheSame(t *testing.T) {
	s, socket := start(t, options(t))
	tests := map[string]Request{
		"the shop":                 {Path: "shop", Files: os.DirFS(examples)},
		"the shop, in a namespace": {Path: "shop", Files: os.DirFS(examples), Variables: map[string]string{"ARGOCD_APP_NAMESPACE": "elsewhere"}},
		"workloads of Score":       {Path: "workloads", Files: os.DirFS(examples), Variables: map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "prod"}},
		"a module beside":          {Files: texts(projectOf("web")), Path: "apps/web"},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			want, err := generate(t, socket, call{archive: archive(t, in.Files), path: in.Path, env: in.Variables})
			require.NoError(t, err)
			require.NotEmpty(t, want)
			got, err := s.Generate(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestCredentialsAreRequestedWithTheNonceOfTheEnvironment(t *testing.T) {
	_, name := startRepoServer(t)
	opts := options(t)
	opts.AskPass = AskPass(name)
	var got *Source
	opts.Connect = func(c Connection) (host.Host, error) {
		got = c.Source
		return offline(c)
	}
	_, err := New(opts).Generate(t.Context(), Request{
		Files: texts(projectOf("web")), Path: "apps/web",
		Variables: Variables([]string{"ARGOCD_GIT_ASKPASS_NONCE=known", "ARGOCD_APP_SOURCE_REPO_URL=oci://registry.example/shop", "HOME=/", "nothing"}),
	})
	require.NoError(t, err)
	require.Equal(t, "oci://registry.example/shop", got.Repository)
	user, password, err := got.Credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"anna", "pencil"}, []string{user, password})
}

func TestVariablesAreThoseOfTheRequest(t *testing.T) {
	require.Equal(t, map[string]string{
		"ARGOCD_APP_NAME": "web", "ARGOCD_ENV_X": "a=b", "KUBE_VERSION": "1.36", "KUBE_API_VERSIONS": "v1", "ARGOCD_GIT_ASKPASS_NONCE": "n",
	}, Variables([]string{
		"ARGOCD_APP_NAME=web", "ARGOCD_ENV_X=a=b", "KUBE_VERSION=1.36", "KUBE_API_VERSIONS=v1", "ARGOCD_GIT_ASKPASS_NONCE=n",
		"PATH=/bin", "ARGOCD_CMP_WORKDIR=/tmp", "KUBERNETES_SERVICE_HOST=10.0.0.1", "ARGOCD_REDIS_PASSWORD=x",
	}))
}

func TestAServerThatDoesNotAnswerIsNoFinding(t *testing.T) {
	pos := object.Pos{File: "web.yaml", Line: 3}
	for _, kind := range []error{source.ErrUnavailable, source.ErrUnauthorized, source.ErrHostKey, source.ErrAbsent, context.DeadlineExceeded} {
		var refused *Refusal
		require.ErrorAs(t, refusal(answer(fmt.Errorf("registry.example: %w", kind))), &refused)
		require.False(t, refused.Findings, "%v", kind)
		require.Contains(t, refused.Error(), "registry.example")
	}
	mistakes := object.Errors{{Pos: pos, Err: source.ErrUnauthorized}}
	var refused *Refusal
	require.ErrorAs(t, refusal(answer(mistakes)), &refused)
	require.False(t, refused.Findings)
	require.ErrorAs(t, refusal(answer(append(mistakes, &object.Error{Pos: pos, Err: errors.New("too large")}))), &refused)
	require.True(t, refused.Findings, "one of them is the user's")
}
