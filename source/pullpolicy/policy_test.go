// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// head begins a policy.
const head = "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\n"

// sshKey is a public key.
const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJw2FwZ4n3sPzWkBB3ZtYTUe7JYOLlsRPfHUvFUxE7gd"

func parse(t testing.TB, rest string) *pullpolicy.Policy {
	t.Helper()
	p, err := pullpolicy.Parse("policy.yaml", []byte(head+rest))
	require.NoError(t, err)
	return p
}

// refOf is a reference by its scheme.
func refOf(text string) source.Ref {
	if strings.HasPrefix(text, "oci://") {
		return source.Ref{Type: source.TypeOCI, Ref: text}
	}
	return source.Ref{Type: source.TypeGit, Ref: text}
}

const rules = `default: Deny
rules:
- {name: ours, effect: Allow, sources: ["oci://ghcr.io/acme/**", "*://git.example.com/team-*/*", "oci://localhost:5000/**"]}
- {name: forks, effect: Deny, sources: ["oci://ghcr.io/acme/forks/**", "*://git.example.com/team-x/**"]}
- {name: payments, effect: Allow, projects: [payments, "payments-*"], sources: ["https://github.com/acme/payments"]}
- {name: not-dev, effect: Deny, projects: [dev], sources: ["oci://ghcr.io/acme/prod"]}
`

func TestReferencesAreJudgedByRules(t *testing.T) {
	p := parse(t, rules)
	const none = "default"
	for _, c := range []struct{ ref, project, rule string }{
		{"oci://ghcr.io/acme/web:v1", "", ""},
		{"oci://GHCR.io/acme/a/b/c@sha256:" + strings.Repeat("0", 64), "x", ""},
		{"oci://ghcr.io:443/acme/web", "", ""},
		{"oci://ghcr.io/acme", "", none},
		{"oci://ghcr.io/acme-evil/web", "", none},
		{"oci://ghcr.io.evil.example/acme/web", "", none},
		{"oci://localhost:5000/x", "", ""},
		{"oci://localhost/x", "", none},
		{"oci://ghcr.io/acme/forks/web:v1", "", "forks"},
		{"oci://ghcr.io/acme/Forks/web:v1", "", "forks"},
		{"oci://ghcr.io/Acme/web:v1", "", none},
		{"https://git.example.com/team-a/web.git?tag=v1", "", ""},
		{"https://git.example.com./team-a/web/", "", ""},
		{"ssh://git@git.example.com:22/team-a/web.git", "", ""},
		{"git@git.example.com:team-a/web.git", "", ""},
		{"git@git.example.com:/team-a/web.git?branch=main", "", ""},
		{"https://git.example.com/team-a/sub/web.git", "", none},
		{"https://git.example.com/team-x/web", "", "forks"},
		{"https://git.example.com/TEAM-X/web.git", "", "forks"},
		{"https://git.example.com//team-a/web", "", none},
		{"https://git.example.com/team-a/../team-x/web", "", none},
		{"https://git.example.com/team-a/%77eb", "", none},
		{"https://git.example.com@evil.example/team-a/web", "", none},
		{"https://git.example.com/team-a/web.git?submodules=true&tag=v1", "", none},
		{"https://git.example.com/team-a/web.git?submodules=false&tag=v1", "", ""},
		{"https://github.com/acme/payments.git", "payments", ""},
		{"https://github.com/acme/payments.git", "payments-eu", ""},
		{"https://github.com/acme/payments.git", "shop", none},
		{"https://github.com/acme/payments.git", "", none},
		{"http://github.com/acme/payments.git", "payments", none},
		{"oci://ghcr.io/acme/prod:1", "dev", "not-dev"},
		{"oci://ghcr.io/acme/prod:1", "shop", ""},
		{"oci://ghcr.io/acme/prod:1", "", "not-dev"},
	} {
		_, err := p.Judge(c.project, refOf(c.ref))
		if c.rule == "" {
			require.NoError(t, err, "%s for %q", c.ref, c.project)
			continue
		}
		var refusal *pullpolicy.Refusal
		require.ErrorAs(t, err, &refusal, "%s for %q", c.ref, c.project)
		require.ErrorIs(t, err, pullpolicy.ErrRefused)
		require.Equal(t, c.rule, refusal.Rule, "%s for %q: %v", c.ref, c.project, err)
	}
}

func TestWhatIsNotFetchedIsNotJudged(t *testing.T) {
	p := parse(t, "default: Deny\n")
	for _, kind := range []string{source.TypePath, source.TypeInline, source.TypeEmbedded, source.TypeConfigMap, source.TypeFlux} {
		_, err := p.Judge("", source.Ref{Type: kind, Ref: "x"})
		require.NoError(t, err)
	}
	var none *pullpolicy.Policy
	_, err := none.Judge("", refOf("oci://anywhere/x"))
	require.NoError(t, err)
	_, err = parse(t, "").Judge("", refOf("git@anywhere:x/%20"))
	require.NoError(t, err)
}

func TestDockerHubHasOneName(t *testing.T) {
	p := parse(t, "rules: [{name: hub, effect: Deny, sources: [\"oci://docker.io/**\"]}]\n")
	for _, ref := range []string{"oci://docker.io/library/x", "oci://index.docker.io/x/y", "oci://registry-1.docker.io/x/y:1"} {
		_, err := p.Judge("", refOf(ref))
		require.ErrorIs(t, err, pullpolicy.ErrRefused, ref)
	}
}

func TestNoCredentialOfAReferenceIsInARefusal(t *testing.T) {
	p := parse(t, "default: Deny\n")
	for _, ref := range []string{"https://u:canary-1@example.com/x", "oci://u:canary-1@example.com/x", "https://u:canary/1@example.com/x"} {
		_, err := p.Judge("", refOf(ref))
		require.ErrorIs(t, err, pullpolicy.ErrRefused)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestMistakesOfAPolicyHaveTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":              {"", []string{"policy.yaml: the file is empty"}},
		"no YAML":              {head + "rules: [", []string{"policy.yaml:3: the YAML is not well-formed"}},
		"two documents":        {head + "---\na: b\n", []string{"more than one document"}},
		"of another kind":      {"apiVersion: v1\nkind: Pod\n", []string{"policy.yaml:1:13: apiVersion is \"v1\"", "policy.yaml:2:7: kind is \"Pod\""}},
		"an unknown field":     {head + "defaults: Deny\n", []string{"policy.yaml:3:1: a PullPolicy has no field \"defaults\""}},
		"an unknown default":   {head + "default: deny\n", []string{"policy.yaml:3:10: default is \"deny\": expected Allow or Deny"}},
		"a rule of nothing":    {head + "rules: [{}]\n", []string{"3:9: the rule lacks name", "lacks effect", "lacks sources"}},
		"twice the same":       {head + "default: Deny\nrules:\n- {name: a, effect: Deny, sources: [\"oci://**\"]}\n- {name: a, effect: Deny, sources: [\"oci://**\"]}\n", []string{"policy.yaml:6:3: the name \"a\""}},
		"a rule for nothing":   {head + "rules: [{name: a, effect: Allow, sources: [\"oci://x/y\"]}]\n", []string{"policy.yaml:3:27: this rule changes nothing"}},
		"stars in the middle":  {head + "rules: [{name: a, effect: Deny, sources: [\"oci://x/**/y\"]}]\n", []string{"policy.yaml:3:43: ", "** stands alone"}},
		"no scheme":            {head + "rules: [{name: a, effect: Deny, sources: [ghcr.io/acme]}]\n", []string{"expected scheme://host/path"}},
		"a host alone":         {head + "rules: [{name: a, effect: Deny, sources: [\"oci://ghcr.io\"]}]\n", []string{"add /**"}},
		"a digest":             {head + "rules: [{name: a, effect: Deny, sources: [\"oci://ghcr.io/a@sha256:00\"]}]\n", []string{"only host and path count"}},
		"cosign for Git":       {head + "rules: [{name: a, effect: Allow, sources: [\"https://x/y\"], verify: {provider: cosign, keys: [x]}}]\n", []string{"write a rule for each", "not a public key in PEM"}},
		"no keys":              {head + "rules: [{name: a, effect: Allow, sources: [\"oci://x/y\"], verify: {provider: cosign, keys: []}}]\n", []string{"keys: expected a list that is not empty"}},
		"no key of SSH":        {head + "rules: [{name: a, effect: Allow, sources: [\"https://x/y\"], verify: {provider: ssh, keys: [x]}}]\n", []string{"not a public key of SSH"}},
		"no key of PGP":        {head + "rules: [{name: a, effect: Allow, sources: [\"https://x/y\"], verify: {provider: pgp, keys: [x]}}]\n", []string{"not a public key of PGP"}},
		"a signed denial":      {head + "rules: [{name: a, effect: Deny, sources: [\"https://x/y\"], verify: {provider: ssh, keys: [\"" + sshKey + "\"]}}]\n", []string{"needs no signature"}},
		"a name with a quote":  {head + "rules: [{name: 'a\"b', effect: Deny, sources: [\"oci://x/y\"]}]\n", []string{"3:16: the name"}},
		"a number for a name":  {head + "rules: [{name: 1, effect: Deny, sources: [\"oci://x/y\"]}]\n", []string{"name: expected text"}},
		"an alias":             {head + "rules: [{name: &a x, effect: Deny, sources: [*a]}]\n", []string{"a source: expected text"}},
		"a list for a mapping": {"[]", []string{"a PullPolicy: expected a mapping"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pullpolicy.Parse("policy.yaml", []byte(c.text))
			require.ErrorIs(t, err, pullpolicy.ErrPolicy)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAChangedFileCountsAndABrokenOneDoesNot(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	_, err := pullpolicy.Open(name, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	write("x")
	_, err = pullpolicy.Open(name, nil)
	require.ErrorIs(t, err, pullpolicy.ErrPolicy)

	write(head + "default: Allow\n")
	var told []string
	f, err := pullpolicy.Open(name, func(err error) { told = append(told, err.Error()) })
	require.NoError(t, err)
	judge := func() error {
		_, err := f.Current().Judge("", refOf("oci://x/y"))
		return err
	}
	first := f.Current().Digest()
	require.NoError(t, judge())
	write(head + "default: Deny\n")
	require.ErrorIs(t, judge(), pullpolicy.ErrRefused)
	require.NotEqual(t, first, f.Current().Digest())
	write(head + "default: Denx\n")
	for range 3 {
		require.ErrorIs(t, judge(), pullpolicy.ErrRefused, "the last good one holds")
	}
	require.Equal(t, pullpolicy.FileStats{Loaded: 2, Failed: 1}, f.Stats())
	require.Len(t, told, 1, "it is told once")
	require.Contains(t, told[0], "policy.yaml:3:10: ")
	require.NoError(t, os.Remove(name))
	require.ErrorIs(t, judge(), pullpolicy.ErrRefused)
	write(head + "default: Deny\n")
	require.ErrorIs(t, judge(), pullpolicy.ErrRefused)
	require.Equal(t, pullpolicy.FileStats{Loaded: 2, Failed: 2, Good: true}, f.Stats())
	write(head + "default: Allow\n")
	require.NoError(t, judge())
}

// recorded is a resolver that says what it was asked for.
type recorded struct {
	asked []source.Ref
	tree  func(ref source.Ref) (source.Tree, error)
}

func (r *recorded) Resolve(_ context.Context, ref source.Ref) (source.Resolved, error) {
	return source.Resolved{Ref: ref}, nil
}

func (r *recorded) Fetch(_ context.Context, ref source.Ref) (source.Tree, error) {
	r.asked = append(r.asked, ref)
	return r.tree(ref)
}

func TestEverySignatureThatIsWantedIsVerified(t *testing.T) {
	p := parse(t, "rules:\n"+
		"- {name: one, effect: Allow, sources: [\"https://example.com/**\"], verify: {provider: ssh, keys: [\""+sshKey+"\"]}}\n"+
		"- {name: two, effect: Allow, sources: [\"https://example.com/a/*\"], verify: {provider: ssh, keys: [\""+sshKey+"\", \""+sshKey+"\"]}}\n")
	g := pullpolicy.Guard{Policy: p}
	next := &recorded{tree: func(source.Ref) (source.Tree, error) { return source.Tree{Digest: "d"}, nil }}
	own := source.Verify{Provider: "pgp", Secret: "mine"}
	_, err := g.Before(g.Around(next)).Fetch(t.Context(), source.Ref{Type: source.TypeGit, Ref: "https://example.com/a/b", Verify: own})
	require.NoError(t, err)
	var asked []string
	for _, r := range next.asked {
		asked = append(asked, r.Verify.Provider+" by "+r.Verify.Secret)
	}
	require.Equal(t, []string{`ssh by rule "one" of the pull policy`, `ssh by rule "two" of the pull policy`, "pgp by mine"}, asked)
	secrets := g.Secrets(source.SecretsFunc(func(_ context.Context, name string) (map[string][]byte, error) {
		return map[string][]byte{name: nil}, nil
	}))
	keys, err := secrets.Secret(t.Context(), next.asked[1].Verify.Secret)
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"0000.pub": []byte(sshKey), "0001.pub": []byte(sshKey)}, keys)
	other, err := secrets.Secret(t.Context(), "mine")
	require.NoError(t, err)
	require.Contains(t, other, "mine")

	var refused []string
	g.Refused = func(rule string) { refused = append(refused, rule) }
	next.tree = func(source.Ref) (source.Tree, error) {
		return source.Tree{}, source.Refuse(source.ErrSignature, "by nobody")
	}
	_, err = g.Around(next).Fetch(t.Context(), refOf("https://example.com/x"))
	require.ErrorIs(t, err, source.ErrSignature)
	require.ErrorContains(t, err, `rule "one" of the pull policy requires a signature`)
	n := 0
	next.tree = func(source.Ref) (source.Tree, error) { n++; return source.Tree{Digest: fmt.Sprint(n)}, nil }
	_, err = g.Around(next).Fetch(t.Context(), refOf("https://example.com/a/x"))
	require.ErrorIs(t, err, source.ErrUnavailable, "two trees are not one that has two signatures")
	require.Equal(t, []string{"one"}, refused)
}

func FuzzAReferenceThatIsRefusedByItsHostStaysRefused(f *testing.F) {
	p := parse(f, "rules: [{name: evil, effect: Deny, sources: [\"*://evil.example/**\"]}]\n")
	for _, seed := range []string{"https://evil.example/x", "git@evil.example:x/y", "oci://EVIL.example/x:v1", "ssh://git@evil.example:22//x", "https://a@b@evil.example/%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		for _, kind := range []string{source.TypeOCI, source.TypeGit} {
			_, err := p.Judge("", source.Ref{Type: kind, Ref: ref})
			scheme, rest, ok := strings.Cut(ref, "://")
			if plain := strings.TrimPrefix(rest, "evil.example/"); err == nil && ok && plain != rest && scheme != "" && !strings.Contains(scheme, "?") {
				t.Fatalf("%q is allowed", ref)
			}
		}
	})
}

func Example() {
	policy, err := pullpolicy.Parse("policy.yaml", []byte(`apiVersion: ropewalk.dev/v1alpha1
kind: PullPolicy
default: Deny
rules:
- {name: ours, effect: Allow, sources: ["oci://ghcr.io/acme/**"]}
`))
	if err != nil {
		panic(err)
	}
	for _, ref := range []string{"oci://ghcr.io/acme/web:v1", "oci://docker.io/library/web"} {
		_, err := policy.Judge("shop", source.Ref{Type: source.TypeOCI, Ref: ref})
		fmt.Println(ref, err)
	}
	// Output:
	// oci://ghcr.io/acme/web:v1 <nil>
	// oci://docker.io/library/web no rule of the pull policy allows "oci://docker.io/library/web" for the project "shop"
}

func TestAChartIsJudgedBelowItsRepository(t *testing.T) {
	p := parse(t, `default: Deny
rules:
- {name: certificates, effect: Allow, sources: ["https://charts.jetstack.io/cert-manager", "https://example.com/charts/*"]}
`)
	for ref, allowed := range map[string]bool{
		"https://charts.jetstack.io?chart=cert-manager&version=%5E1":            true,
		"https://charts.jetstack.io/?chart=cert-manager":                        true,
		"https://charts.jetstack.io?chart=trust-manager":                        false,
		"https://example.com/charts?chart=web&version=1.0.0&digest=sha256:abcd": true,
		"https://example.com/charts?chart=..":                                   false,
		"https://example.com/charts/web.yaml#sha256=abcd":                       true,
		"https://example.com/other?chart=web":                                   false,
	} {
		_, err := p.Judge("shop", source.Ref{Type: source.TypeHelm, Ref: ref})
		require.Equal(t, allowed, err == nil, ref)
	}
}
