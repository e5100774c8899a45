// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"oras.land/oras-go/v2/content"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/test/servers"
)

// login is the folder of a docker configuration with a password for a registry.
func login(t testing.TB, host, password string) string {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte("alice:" + password))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, auth)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
	return dir
}

// TestAPolicyAtARegistryThatWantsALogin needs both of who fetches: a login for the
// registry, and of the module a signature, which lies behind the same login.
func TestAPolicyAtARegistryThatWantsALogin(t *testing.T) {
	for name, server := range map[string]*servers.OCI{
		"docker-registry, by name and password": servers.Registry(t, servers.WithBasicAuth("alice", canary)),
		"by tokens":                             servers.InProcess(t, servers.WithTokenAuth("alice", canary)),
	} {
		t.Run(name, func(t *testing.T) {
			good := login(t, server.Host, canary)
			publish(t, server, "v0.1.0", oneField("base", "blue"), "DOCKER_CONFIG="+good)
			files := module()
			files["cue.mod/module.cue"] += "deps: \"example.com/base@v0\": v: \"v0.1.0\"\n"
			files["parts/parts.cue"] = "package parts\n\nimport \"example.com/base@v0\"\n\nteam: base.team\n"
			publish(t, server, "v0.1.0", files, "DOCKER_CONFIG="+good)
			private, public, err := signature.GenerateKey()
			require.NoError(t, err)
			signer, err := signature.ParsePrivateKey(private, nil)
			require.NoError(t, err)
			connect := func(docker string) func() (*remote.Registries, error) {
				r := &remote.Registries{PlainHTTP: func(string) bool { return true }, Credentials: remote.DockerConfig(filepath.Join(docker, "config.json"))}
				return func() (*remote.Registries, error) { return r, nil }
			}
			sign := func(name string) {
				r, err := connect(good)()
				require.NoError(t, err)
				repo, err := r.Repository(t.Context(), server.Host+"/example.com/"+name, nil)
				require.NoError(t, err)
				_, err = artifact.SignSet(t.Context(), repo, "v0.1.0", signer)
				require.NoError(t, err)
			}
			dir := using(t, "oci", "oci://"+server.Host+"/example.com/web:v0.1.0")
			render := func(docker string) error {
				o := with(cached(t), guard(t, "", signedBy("oci://"+server.Host+"/**", "cosign", public)))
				o.Registries, o.Signed = connect(docker), fetch.NewSigned()
				o.Modules = func() *modules.Registry {
					return fetch.ModuleRegistry(server.Host+"+insecure", o.Registries)
				}
				result, err := rendered(t, dir, o)
				if err == nil {
					require.Contains(t, string(result.Files[0].Data), "blue")
				} else {
					require.NotContains(t, err.Error(), canary)
				}
				return err
			}
			require.ErrorIs(t, render(good), source.ErrSignature, "nobody has signed it")
			sign("web")
			require.ErrorContains(t, render(good), `dependency "example.com/base@v0.1.0": rule "signed" of the pull policy requires a signature`)
			sign("base")
			require.NoError(t, render(good))
			require.ErrorIs(t, render(login(t, server.Host, canary+"-wrong")), source.ErrUnauthorized)
			require.ErrorIs(t, render(login(t, "registry.example.com", canary)), source.ErrUnauthorized)
		})
	}
}

// TestAPolicyTakesNoKeylessSignature has the signature of a key in the form of one
// that belongs to a certificate: nobody here knows whose that is, and who could be it.
func TestAPolicyTakesNoKeylessSignature(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", module())
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	elsewhere := servers.InProcess(t)
	move(t, server, elsewhere, "example.com/web", "v0.1.0")
	sign(t, elsewhere, "example.com/web", private)

	from, to := repository(t, elsewhere, "example.com/web"), repository(t, server, "example.com/web")
	subject, err := from.Resolve(t.Context(), "v0.1.0")
	require.NoError(t, err)
	copied := 0
	require.NoError(t, from.Referrers(t.Context(), subject, "", func(all []ocispec.Descriptor) error {
		for _, d := range all {
			data, err := content.FetchAll(t.Context(), from, d)
			require.NoError(t, err)
			var m ocispec.Manifest
			require.NoError(t, json.Unmarshal(data, &m))
			for i, layer := range m.Layers {
				bundle, err := content.FetchAll(t.Context(), from, layer)
				require.NoError(t, err)
				changed := bytes.Replace(bundle, []byte(`{"publicKey":{`), []byte(`{"certificate":{`), 1)
				require.NotEqual(t, bundle, changed)
				m.Layers[i].Digest, m.Layers[i].Size = digest.FromBytes(changed), int64(len(changed))
				require.NoError(t, to.Push(t.Context(), m.Layers[i], bytes.NewReader(changed)))
			}
			config, err := content.FetchAll(t.Context(), from, m.Config)
			require.NoError(t, err)
			if err := to.Push(t.Context(), m.Config, bytes.NewReader(config)); err != nil {
				return err
			}
			if data, err = json.Marshal(m); err != nil {
				return err
			}
			copied++
			require.NoError(t, to.Push(t.Context(), ocispec.Descriptor{MediaType: m.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, bytes.NewReader(data)))
		}
		return nil
	}))
	require.Equal(t, 1, copied)
	dir := using(t, "oci", "oci://"+server.Host+"/example.com/web:v0.1.0")
	wanted := with(cached(t), guard(t, "", signedBy("oci://"+server.Host+"/**", "cosign", public)))
	_, err = rendered(t, dir, wanted)
	require.ErrorIs(t, err, source.ErrSignature)
	require.ErrorContains(t, err, `rule "signed" of the pull policy requires a signature`)
	require.ErrorContains(t, err, "keyless signatures need certificates")
	sign(t, server, "example.com/web", private)
	_, err = rendered(t, dir, wanted)
	require.NoError(t, err, "one of the key beside it counts")
}

// need skips a test where a program is missing, or fails it where all must be there.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv(servers.Required) == "required" {
			t.Fatal(program + " is missing")
		}
		t.Skip(program + " is missing")
	}
}

// signing is how git signs commits, and the public half of the key.
type signing struct {
	provider string
	public   []byte
	args     []string
	env      []string
}

func bySSH(t *testing.T) signing {
	t.Helper()
	need(t, "ssh-keygen")
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	public, err := ssh.NewPublicKey(key.Public())
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	return signing{"ssh", ssh.MarshalAuthorizedKey(public), []string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + file}, nil}
}

func byPGP(t *testing.T) signing {
	t.Helper()
	need(t, "gpg")
	home, err := os.MkdirTemp("", "gpg") // the socket of its agent needs a short path
	require.NoError(t, err)
	run := func(program string, args ...string) []byte {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GNUPGHOME=" + home, "HOME=" + home}
		out, err := cmd.Output()
		require.NoError(t, err, "%s %v", program, args)
		return out
	}
	t.Cleanup(func() {
		run("gpgconf", "--kill", "all")
		require.NoError(t, os.RemoveAll(home))
	})
	run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.com", "ed25519", "sign", "never")
	return signing{"pgp", run("gpg", "--armor", "--export", "test@example.com"),
		[]string{"-c", "gpg.format=openpgp", "-c", "user.signingKey=test@example.com"}, []string{"GNUPGHOME=" + home}}
}

// TestAPolicyWantsCommitsSignedAtAServerThatWantsALogin has commits signed by a key of
// either kind behind a password, which is that of the host, of a Secret, or in the
// .netrc of the user, which git reads.
func TestAPolicyWantsCommitsSignedAtAServerThatWantsALogin(t *testing.T) {
	for name, newKey := range map[string]func(*testing.T) signing{"ssh": bySSH, "pgp": byPGP} {
		t.Run(name, func(t *testing.T) {
			by, other := newKey(t), newKey(t)
			root := t.TempDir()
			repo := servers.NewGit(t, filepath.Join(root, "web.git"))
			plain := repo.Commit(module(), "nobody signed it")
			repo.Env = by.env
			signed := strings.TrimSpace(repo.Run(append(by.args, "commit-tree", "-S", "-m", "signed", plain+"^{tree}")...))
			repo.Run("update-ref", "refs/heads/main", signed)
			base := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
			host := strings.TrimPrefix(base, "http://")
			hosts, home := t.TempDir(), t.TempDir()
			mount(t, filepath.Join(hosts, host), password(canary))
			machine, _, _ := strings.Cut(host, ":")
			require.NoError(t, os.WriteFile(filepath.Join(home, ".netrc"), []byte("machine "+machine+" login alice password "+canary+"\n"), 0o600))
			every := func(string) bool { return true }
			for how, connect := range map[string]func(*fetch.Options){
				"the host": func(o *fetch.Options) {
					o.GitHosts, o.Git = fetch.Mounted(hosts), func() git.Fetcher { return git.Fetcher{PlainHTTP: every} }
				},
				".netrc": func(o *fetch.Options) {
					o.Git = func() git.Fetcher {
						return git.Fetcher{PlainHTTP: every, Binary: git.FindBinary(), UserEnv: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
					}
				},
				"nobody": func(o *fetch.Options) { o.Git = func() git.Fetcher { return git.Fetcher{PlainHTTP: every} } },
			} {
				render := func(query string, key []byte) error {
					o := with(cached(t), guard(t, "", signedBy(base[:strings.LastIndex(base, ":")]+"*/**", by.provider, key)))
					connect(&o)
					_, err := rendered(t, using(t, "git", base+"/web.git?"+query), o)
					if err != nil {
						require.NotContains(t, err.Error(), canary, how)
					}
					return err
				}
				if how == "nobody" {
					require.ErrorIs(t, render("commit="+signed, by.public), source.ErrUnauthorized)
					continue
				}
				require.NoError(t, render("commit="+signed, by.public), how)
				require.NoError(t, render("branch=main", by.public), how)
				require.ErrorIs(t, render("commit="+signed, other.public), source.ErrSignature, how)
				require.ErrorIs(t, render("commit="+plain, by.public), source.ErrSignature, how)
			}
		})
	}
}
