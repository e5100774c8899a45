// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/modules"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/test/servers"
)

// guard holds a project to rules.
func guard(t testing.TB, project, rules string) pullpolicy.Guard {
	t.Helper()
	p, err := pullpolicy.Parse("policy.yaml", []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\n"+rules))
	require.NoError(t, err)
	return pullpolicy.Guard{Policy: p, Project: project}
}

// cached fetches through a cache on disk.
func cached(t testing.TB) fetch.Options {
	t.Helper()
	store, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	return fetch.Options{Registries: registries, Store: func() (*cache.Store, error) { return store, nil }}
}

// with is options with a guard.
func with(o fetch.Options, g pullpolicy.Guard) fetch.Options {
	o.Guard = g
	return o
}

// using is a project with one spec.
func using(t testing.TB, kind, ref string) string {
	t.Helper()
	return write(t, t.TempDir(), map[string]string{"web.yaml": spec(fmt.Sprintf("{type: %s, ref: %q}", kind, ref))})
}

func TestAPolicyHoldsForWhatIsCachedAndForWhereALockLeads(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", module())
	ref := "oci://" + server.Host + "/example.com/web:v0.1.0"
	dir, options := using(t, "oci", ref), cached(t)
	record := &lock.Recorder{}
	recorded := options
	recorded.Record, recorded.Mode = record, lock.Update
	_, err := rendered(t, dir, recorded)
	require.NoError(t, err)

	server.Reset()
	denied := guard(t, "shop", "rules: [{name: no-web, effect: Deny, projects: [shop], sources: [\"oci://*/example.com/**\"]}]\n")
	var refused []string
	denied.Refused = func(rule string) { refused = append(refused, rule) }
	_, err = rendered(t, dir, with(options, denied))
	require.ErrorIs(t, err, pullpolicy.ErrRefused)
	require.ErrorContains(t, err, "web.yaml:5:28: ", "it is at the reference")
	require.ErrorContains(t, err, `rule "no-web" of the pull policy denies "oci://`+server.Host+`/example.com/web" for the project "shop"`)
	require.Equal(t, []string{"no-web"}, refused)
	require.Empty(t, server.Requests())
	denied.Project = "other"
	_, err = rendered(t, dir, with(options, denied))
	require.NoError(t, err)

	// The lock belongs to whoever writes the spec.
	forged := record.File()
	forged.Sources[0].Ref = "oci://good.example/web:v1"
	locked := with(options, guard(t, "", "rules: [{name: no-web, effect: Deny, sources: [\"oci://*/example.com/**\"]}]\n"))
	locked.Lock = forged
	_, err = rendered(t, using(t, "oci", "oci://good.example/web:v1"), locked)
	require.ErrorIs(t, err, pullpolicy.ErrRefused)
}

func TestNoOtherSpellingOfAPlaceGetsAroundAPolicy(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", module())
	host, port, _ := strings.Cut(server.Host, ":")
	options := cached(t)
	denied := with(options, guard(t, "", "rules: [{name: no-web, effect: Deny, sources: [\"oci://"+server.Host+"/**\"]}]\n"))
	_, public, err := signature.GenerateKey()
	require.NoError(t, err)
	signed := with(options, guard(t, "", signedBy("oci://"+server.Host+"/**", "cosign", public)))
	for _, spelled := range []string{server.Host, host + ":0" + port, host + ":000" + port, "[::ffff:" + host + "]:" + port, "127.1:" + port, "127.0.0.01:" + port} {
		dir := using(t, "oci", "oci://"+spelled+"/example.com/web:v0.1.0")
		server.Reset()
		_, err := rendered(t, dir, denied)
		require.ErrorIs(t, err, pullpolicy.ErrRefused, spelled)
		require.Empty(t, server.Requests())
		_, err = rendered(t, dir, signed)
		require.True(t, errors.Is(err, source.ErrSignature) || errors.Is(err, pullpolicy.ErrRefused), "%s: %v", spelled, err)
	}
	_, err = rendered(t, using(t, "oci", "oci://"+host+":0"+port+"/example.com/web:v0.1.0"), options)
	require.NoError(t, err, "such a spelling leads there")
}

func TestAPolicyHoldsForDependencies(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", map[string]string{
		"cue.mod/module.cue": "module: \"example.com/base@v0\"\nlanguage: version: \"v0.17.0\"\nsource: kind: \"self\"\n", "base.cue": "package base\n\nteam: \"blue\"\n",
	})
	files := module()
	files["cue.mod/module.cue"] += "deps: \"example.com/base@v0\": v: \"v0.1.0\"\n"
	files["parts/parts.cue"] = "package parts\n\nimport \"example.com/base@v0\"\n\nteam: base.team\n"
	dir := write(t, t.TempDir(), map[string]string{"web.yaml": spec("{type: path, ref: ./web}")})
	write(t, filepath.Join(dir, "web"), files)
	options := cached(t)
	options.Signed = fetch.NewSigned()
	options.Modules = func() *modules.Registry {
		return fetch.ModuleRegistry(server.Host+"+insecure", options.Registries)
	}
	denied := with(options, guard(t, "", "rules: [{name: no-base, effect: Deny, sources: [\"oci://*/example.com/base\"]}]\n"))
	server.Reset()
	_, err := rendered(t, dir, denied)
	require.ErrorIs(t, err, pullpolicy.ErrRefused)
	require.ErrorContains(t, err, "web.yaml:5:29: ", "it is at the reference")
	require.ErrorContains(t, err, `dependency "example.com/base@v0.1.0": rule "no-base" of the pull policy denies "oci://`+server.Host+`/example.com/base"`)
	require.Empty(t, server.Requests(), "nobody was asked for it")
	_, err = rendered(t, dir, options)
	require.NoError(t, err)
	_, err = rendered(t, dir, with(options, guard(t, "", "rules: [{name: no-base, effect: Deny, sources: [\"oci://*/example.com/base\"]}]\n")))
	require.ErrorIs(t, err, pullpolicy.ErrRefused, "it is in the cache of CUE by now")
	require.ErrorContains(t, err, `web.yaml:5:`)
	require.ErrorContains(t, err, `dependency "example.com/base@v0.1.0": rule "no-base"`)

	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	signed := with(options, guard(t, "", signedBy("oci://*/example.com/*", "cosign", public)))
	_, err = rendered(t, dir, signed)
	require.ErrorIs(t, err, source.ErrSignature)
	require.ErrorContains(t, err, `dependency "example.com/base@v0.1.0": rule "signed" of the pull policy requires a signature`)
	sign(t, server, "example.com/base", private)
	_, err = rendered(t, dir, signed)
	require.NoError(t, err)
	server.Reset()
	_, err = rendered(t, dir, signed)
	require.NoError(t, err)
	require.Empty(t, server.Requests(), "it was verified before")
	_, other, err := signature.GenerateKey()
	require.NoError(t, err)
	_, err = rendered(t, dir, with(options, guard(t, "", signedBy("oci://*/example.com/*", "cosign", other))))
	require.ErrorIs(t, err, source.ErrSignature, "what another key verified is none")
}

// signedBy is a rule that wants a signature.
func signedBy(sources, provider string, key []byte) string {
	return fmt.Sprintf("rules: [{name: signed, effect: Allow, sources: [%q], verify: {provider: %s, keys: [%q]}}]\n", sources, provider, key)
}

// sign signs v0.1.0 of a repository.
func sign(t testing.TB, server *servers.OCI, name string, private []byte) {
	t.Helper()
	signer, err := signature.ParsePrivateKey(private, nil)
	require.NoError(t, err)
	_, err = artifact.SignSet(t.Context(), repository(t, server, name), "v0.1.0", signer)
	require.NoError(t, err)
}

func TestAPolicyWantsSignaturesOfArtifacts(t *testing.T) {
	server := servers.InProcess(t)
	publish(t, server, "v0.1.0", module())
	dir, options := using(t, "oci", "oci://"+server.Host+"/example.com/web:v0.1.0"), cached(t)
	_, err := rendered(t, dir, options)
	require.NoError(t, err)
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	signed := with(options, guard(t, "", signedBy("oci://"+server.Host+"/**", "cosign", public)))
	_, err = rendered(t, dir, signed)
	require.ErrorIs(t, err, source.ErrSignature, "what is in the cache was verified by nobody")
	require.ErrorContains(t, err, `web.yaml:5:28: `)
	require.ErrorContains(t, err, `rule "signed" of the pull policy requires a signature`)
	sign(t, server, "example.com/web", private)
	_, err = rendered(t, dir, signed)
	require.NoError(t, err)
	_, other, err := signature.GenerateKey()
	require.NoError(t, err)
	_, err = rendered(t, dir, with(options, guard(t, "", signedBy("oci://"+server.Host+"/**", "cosign", other))))
	require.ErrorIs(t, err, source.ErrSignature)
}

func TestAPolicyWantsSignaturesOfGit(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	public, err := ssh.NewPublicKey(key.Public())
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	repo.Commit(module(), "nobody signed it")
	repo.Run("-c", "gpg.format=ssh", "-c", "user.signingKey="+file, "tag", "-s", "-m", "signed", "v1", "main")
	base := servers.GitHTTP(t, root)
	options := cached(t)
	options.Git = func() git.Fetcher { return git.Fetcher{PlainHTTP: func(string) bool { return true }} }
	g := guard(t, "",
		signedBy(base[:strings.LastIndex(base, ":")]+"*/**", "ssh", ssh.MarshalAuthorizedKey(public)))

	tagged := using(t, "git", base+"/web.git?tag=v1")
	record := &lock.Recorder{}
	first := with(options, g)
	first.Record, first.Mode = record, lock.Update
	_, err = rendered(t, tagged, first)
	require.NoError(t, err)
	held := with(options, g)
	held.Lock, held.Mode = record.File(), lock.Enforce
	_, err = rendered(t, tagged, held)
	require.NoError(t, err, "the tag is signed, and the commit in the lock is not")
	_, err = rendered(t, using(t, "git", base+"/web.git?branch=main"), with(options, g))
	require.ErrorIs(t, err, source.ErrSignature)
}
