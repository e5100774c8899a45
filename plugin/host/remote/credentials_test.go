// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// dockerConfig writes a configuration of docker and returns its path.
func dockerConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// helper puts a credential helper on the path that prints a text, and fails
// where that is no JSON.
func helper(t *testing.T, name, prints string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\ncat '" + filepath.Join(dir, "text") + "'\n"
	if !json.Valid([]byte(prints)) {
		script += "exit 1\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte(prints), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestTheConfigurationOfDockerLogsIn(t *testing.T) {
	o := servers.InProcess(t, servers.WithTokenAuth("ann", canary))
	good, err := json.Marshal(map[string]string{"ServerURL": o.Host, "Username": "ann", "Secret": canary})
	require.NoError(t, err)
	helper(t, "good", string(good))
	helper(t, "broken", "no secret but "+canary)
	basic := base64.StdEncoding.EncodeToString([]byte("ann:" + canary))
	for name, c := range map[string]struct{ config, says string }{
		"auths":                    {`{"auths":{"` + o.Host + `":{"auth":"` + basic + `"}}}`, ""},
		"a helper for the host":    {`{"credHelpers":{"` + o.Host + `":"good"}}`, ""},
		"a store":                  {`{"credsStore":"good"}`, ""},
		"nothing":                  {`{}`, "requires valid credentials"},
		"a helper that fails":      {`{"credsStore":"broken"}`, "or a credential helper that it names, gives no credentials for"},
		"a helper that is missing": {`{"credsStore":"missing"}`, "or a credential helper that it names, gives no credentials for"},
		"no JSON":                  {`{"auths":` + canary, "is not a docker configuration"},
		"no name and password": {
			`{"auths":{"` + o.Host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(canary)) + `"}}}`, "gives no credentials for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := push(t.Context(), repository(t, plain(t, DockerConfig(dockerConfig(t, c.config))), o, nil))
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			err = Explain(err, "oci://x")
			require.ErrorIs(t, err, source.ErrUnauthorized)
			require.ErrorContains(t, err, c.says)
			safe(t, err, "oci://x")
		})
	}
}

func TestALoginWhileWeRunCounts(t *testing.T) {
	o := servers.InProcess(t, servers.WithBasicAuth("ann", canary))
	path := filepath.Join(t.TempDir(), "config.json")
	repo := repository(t, plain(t, DockerConfig(path)), o, nil)
	_, _, err := push(t.Context(), repo)
	err = Explain(err, "oci://x")
	require.ErrorIs(t, err, source.ErrUnauthorized)
	require.ErrorContains(t, err, "there are none for it: log in there")
	basic := base64.StdEncoding.EncodeToString([]byte("ann:" + canary))
	require.NoError(t, os.WriteFile(path, []byte(`{"auths":{"`+o.Host+`":{"auth":"`+basic+`"}}}`), 0o600))
	_, _, err = push(t.Context(), repo)
	require.NoError(t, err)
}

func TestAPullSecretStartsNoPrograms(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "ran")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docker-credential-evil"), []byte("#!/bin/sh\ntouch '"+mark+"'\n"), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c, err := PullSecret([]byte(`{"credsStore":"evil","credHelpers":{"host":"evil"},"auths":{"host":{}}}`))
	require.NoError(t, err)
	got, err := c(t.Context(), "host")
	require.NoError(t, err)
	require.Equal(t, auth.EmptyCredential, got)
	require.NoFileExists(t, mark)
}

func TestTheNearestEntryOfAPullSecretCounts(t *testing.T) {
	entry := func(user string) string {
		return `{"auth":"` + base64.StdEncoding.EncodeToString([]byte(user+":x")) + `"}`
	}
	e, err := parseConfig([]byte(`{"auths":{
		"host": ` + entry("host") + `, "https://host/v1/": ` + entry("old") + `, "host/a": ` + entry("a") + `, "host/a/b/": ` + entry("ab") + `,
		"https://index.docker.io/v1/": ` + entry("hub") + `}}`))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"host": "host", "host/x": "host", "host/a": "a", "host/a/c": "a", "host/a/b": "ab", "host/a/b/c": "ab", "host/ab": "host",
		"docker.io/library/alpine": "hub", "registry-1.docker.io": "hub", "other/a": "",
	} {
		for range 20 { // an order that depends on a map would show
			require.Equal(t, want, e.find(name).Username, name)
		}
	}
}

// FuzzPullSecret feeds anything to the reader of pull secrets: whatever an
// error says, it is none of the passwords.
func FuzzPullSecret(f *testing.F) {
	f.Add(`{"auths":{"host":{"auth":"YTpi"}}}`, "host/a")
	f.Add(`{"auths":{"host":{"auth":"!"},"":{}}}`, "")
	f.Add(`{"auths":{"https://host/v1/":{"username":"a","password":"b"}}}`, "host/a/b")
	f.Fuzz(func(t *testing.T, config, name string) {
		e, err := parseConfig([]byte(config))
		if err == nil {
			e.find(name)
			return
		}
		require.ErrorIs(t, err, source.ErrUnauthorized)
		require.False(t, strings.ContainsAny(err.Error(), "\n\r\x1b"), err.Error())
	})
}
