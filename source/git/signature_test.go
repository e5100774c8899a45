// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return key
}

func publicKey(t testing.TB, key ed25519.PrivateKey) ssh.PublicKey {
	t.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	require.NoError(t, err)
	return public
}

func publicLine(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	return string(ssh.MarshalAuthorizedKey(publicKey(t, key)))
}

func pemOf(t testing.TB, key ed25519.PrivateKey) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	return pem.EncodeToMemory(block)
}

func pemText(block *pem.Block) string { return string(pem.EncodeToMemory(block)) }

// need skips a test where a program is missing, or fails it in CI.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv(servers.Required) == "required" {
			t.Fatal(program + " is missing")
		}
		t.Skip(program + " is missing")
	}
}

// sshKey is a key in a file for ssh-keygen, and the line of its public half.
func sshKey(t *testing.T) (file, line string) {
	t.Helper()
	key := newKey(t)
	file = filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, pemOf(t, key), 0o600))
	require.NoError(t, os.WriteFile(file+".pub", []byte(publicLine(t, key)), 0o600))
	return file, publicLine(t, key)
}

// pgpKey is a new key in a key ring of its own, and its public half.
func pgpKey(t *testing.T) (home, public string) {
	t.Helper()
	// The socket of the agent needs a short path.
	home, err := os.MkdirTemp("", "gpg")
	require.NoError(t, err)
	run := func(program string, args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GNUPGHOME=" + home, "HOME=" + home}
		out, err := cmd.Output()
		require.NoError(t, err, "%s %v: %s", program, args, out)
		return string(out)
	}
	t.Cleanup(func() {
		run("gpgconf", "--kill", "all")
		require.NoError(t, os.RemoveAll(home))
	})
	run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.com", "ed25519", "sign", "never")
	return home, run("gpg", "--armor", "--export", "test@example.com")
}

func TestSignaturesOfSSH(t *testing.T) {
	t.Parallel()
	need(t, "ssh-keygen")
	key, public := sshKey(t)
	_, stranger := sshKey(t)
	sign := []string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + key}
	have := secrets{
		"key": {"me.pub": public}, "stranger": {"me.pub": stranger}, "both": {"a.pub": stranger, "b.pub": public},
		"signers":  {"allowed_signers": "# people\nme@example.com namespaces=\"git\" " + public},
		"files":    {"allowed_signers": "me@example.com namespaces=\"file\" " + public},
		"past":     {"allowed_signers": "me@example.com valid-before=\"20200101\" " + public},
		"past too": {"allowed_signers": "me@example.com valid-after=\"20200101\",valid-before=\"20990101Z\" " + public},
		"garbage":  {"me.pub": "no key"}, "empty": {}, "pgp": {"me.asc": "x"},
	}
	accepted := []string{"key", "both", "signers", "past too"}
	testSignatures(t, "ssh", sign, nil, have, accepted)
}

func TestSignaturesOfPGP(t *testing.T) {
	t.Parallel()
	need(t, "gpg")
	home, public := pgpKey(t)
	_, stranger := pgpKey(t)
	sign := []string{"-c", "gpg.format=openpgp", "-c", "user.signingKey=test@example.com"}
	have := secrets{
		"key": {"me.asc": public}, "stranger": {"me.asc": stranger}, "both": {"a.asc": stranger, "b.asc": public},
		"garbage": {"me.asc": "no key"}, "empty": {}, "ssh": {"me.pub": "x"},
	}
	testSignatures(t, "pgp", sign, []string{"GNUPGHOME=" + home}, have, []string{"key", "both"})
}

// testSignatures makes signed commits and tags with git itself.
func testSignatures(t *testing.T, provider string, sign, env []string, have secrets, accepted []string) {
	t.Helper()
	root := t.TempDir()
	g := servers.NewGit(t, filepath.Join(root, "r.git"))
	g.Env = env
	plain := g.Commit(map[string]string{"a": "b"}, "unsigned")
	run := func(args ...string) string {
		return strings.TrimSpace(g.Run(append(sign[:len(sign):len(sign)], args...)...))
	}
	signedCommit := run("commit-tree", "-S", "-m", "signed\n\nwith text", plain+"^{tree}")
	g.Run("update-ref", "refs/heads/signed", signedCommit)
	run("tag", "-s", "-m", "signed tag", "v1", plain)
	g.Run("tag", "-a", "-m", "unsigned tag of a signed commit", "v2", signedCommit)
	g.Run("tag", "-a", "-m", "unsigned tag", "v3", plain)
	g.Run("update-ref", "refs/tags/v4", g.Hash("refs/tags/v1"))
	text := g.Run("cat-file", "commit", signedCommit)
	g.Run("update-ref", "refs/heads/changed", strings.TrimSpace(g.Input(strings.Replace(text, "with text", "with lies", 1), "hash-object", "-w", "-t", "commit", "--stdin")))
	tag := g.Run("cat-file", "tag", "v1")
	g.Run("update-ref", "refs/tags/v5", strings.TrimSpace(g.Input(strings.Replace(tag, "tag v1", "tag v5", 1), "hash-object", "-w", "-t", "tag", "--stdin")))

	base := servers.GitHTTP(t, root)
	signed := []string{"branch=signed", "tag=v1", "tag=v2", "commit=" + signedCommit}
	unsigned := map[string]string{
		"branch=main": "is not signed", "tag=v3": "is not signed", "commit=" + plain: "is not signed", "tag=v4": `has the name "v1"`, "branch=changed": "", "tag=v5": "",
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = have
		fetch := func(query, secret, provider string) error {
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/r.git?" + query, Verify: source.Verify{Provider: provider, Secret: secret}})
			return err
		}
		for _, query := range signed {
			for _, secret := range accepted {
				require.NoError(t, fetch(query, secret, provider), "%s with %s", query, secret)
			}
		}
		for query, says := range unsigned {
			err := fetch(query, "key", provider)
			require.ErrorIs(t, err, source.ErrSignature, query)
			require.ErrorContains(t, err, says)
		}
		isAccepted := strings.Join(accepted, "|") + "|"
		for secret := range have {
			if !strings.Contains(isAccepted, secret+"|") {
				require.ErrorIs(t, fetch("branch=signed", secret, provider), source.ErrSignature, secret)
			}
		}
		require.ErrorIs(t, fetch("branch=signed", "missing", provider), source.ErrNotFound)
		require.ErrorIs(t, fetch("branch=signed", "", provider), source.ErrReference)
		require.ErrorIs(t, fetch("branch=signed", "key", "cosign"), source.ErrReference)
		other := map[string]string{"ssh": "pgp", "pgp": "ssh"}[provider]
		require.ErrorIs(t, fetch("branch=signed", "key", other), source.ErrSignature)
	})
}
