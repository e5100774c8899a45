// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/builder"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// The full name of a secret of Google Cloud is taken apart: External Secrets writes the project of
// its store before the name.
func TestTheFullNameOfASecretOfGoogleIsTakenApart(t *testing.T) {
	at := object.Pos{File: "p", Line: 1, Column: 1}
	made := builder.Pairs(at, "gcp", builder.Pairs(at, "projectID", object.TextAt("acme", at)))
	known := spec.Secrets{Backend: spec.BackendExternalSecrets, StoreName: "gcp", Provider: made, Providers: map[string]spec.SecretProvider{"gcp": {StoreName: "gcp"}, "aws": {StoreName: "aws"}}}
	unknown := known
	unknown.Provider = object.Value{}
	other := known
	other.StoreName = "other"
	kubernetes := known
	kubernetes.Backend = spec.BackendKubernetes
	const hint = "the secret is one of the Google project \"acme\", and the store \"gcp\" reads those of its own"
	for _, c := range []struct {
		config        spec.Secrets
		name, version string
		want          resource.Reference
		said          string
		warning       bool
	}{
		{known, "db", "3", resource.Reference{Provider: "gcp", Key: "db", Version: "3"}, "", false},
		{known, "projects/acme/secrets/db", "", resource.Reference{Provider: "gcp", Key: "db"}, "", false},
		{known, "projects/acme/secrets/db/versions/7", "", resource.Reference{Provider: "gcp", Key: "db", Version: "7"}, "", false},
		{known, "projects/acme/secrets/db/versions/latest", "", resource.Reference{Provider: "gcp", Key: "db"}, "", false},
		{known, "projects/acme/secrets/db", "7", resource.Reference{Provider: "gcp", Key: "db", Version: "7"}, "", false},
		{unknown, "projects/acme/secrets/db", "", resource.Reference{Provider: "gcp", Key: "db"}, hint, true},
		{other, "projects/acme/secrets/db", "", resource.Reference{Provider: "gcp", Key: "db"}, hint, true},
		{known, "projects/prod/secrets/db", "", resource.Reference{Provider: "gcp", Key: "db"}, "the secret is one of the Google project \"prod\", and the store \"gcp\" reads those of its own", false},
		{known, "projects/acme/secrets/db/versions/7", "8", resource.Reference{}, "the secret is version \"7\" by its name, and version \"8\" beside it", false},
		{known, "projects/acme/secret/db", "", resource.Reference{Provider: "gcp", Key: "projects/acme/secret/db"}, `"projects/acme/secret/db" is no name of a secret of gcp: expected letters, digits, _ and -, and a version such as 3`, false},
		{known, "projects/acme/secrets/", "", resource.Reference{Provider: "gcp"}, `"" is no name of a secret of gcp: expected letters, digits, _ and -, and a version such as 3`, false},
		{kubernetes, "projects/acme/secrets/db", "", resource.Reference{Kubernetes: true, Key: "db", Property: "K"}, "", false},
	} {
		got, err := referenceTo(&c.config, spec.SecretSource{Provider: "gcp", Secret: c.name, Version: c.version}, "K")
		require.Equal(t, c.want, got, c.name)
		if c.said == "" {
			require.Nil(t, err, c.name)
			continue
		}
		require.Equal(t, c.said, err.Err.Error())
		require.Equal(t, c.warning, err.Severity == object.SeverityWarning, c.name)
	}
	out, err := referenceTo(&known, spec.SecretSource{Provider: "aws", Secret: "projects/acme/secrets/db"}, "")
	require.Nil(t, err)
	require.Equal(t, "projects/acme/secrets/db", out.Key, "a name of AWS may have such parts")
}
