// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// spellings are lists of references that lead to one place.
func spellings() map[string][]string {
	return map[string][]string{
		"oci://r.example:5077/acme/web": {
			"oci://r.example:5077/acme/web", "oci://r.example:05077/acme/web:v1", "oci://r.example:0000005077/acme/web", "oci://R.EXAMPLE:5077/acme/web",
			"oci://r.example.:5077/acme/web", "oci://R.Example.:05077/acme/web@sha256:" + strings.Repeat("0", 64), "oci://r.example:5077/acme/web?semver=^1",
		},
		"oci://r.example/acme/web": {
			"oci://r.example/acme/web", "oci://r.example:443/acme/web", "oci://r.example:0443/acme/web", "oci://r.example.:443/acme/web", "oci://r.example:/acme/web",
		},
		"oci://127.0.0.1:5077/a": {"oci://127.0.0.1:5077/a", "oci://[::ffff:127.0.0.1]:5077/a", "oci://[::FFFF:7f00:1]:05077/a", "oci://127.0.0.1.:5077/a"},
		"oci://[::1]/a":          {"oci://[::1]/a", "oci://[0:0:0:0:0:0:0:1]:443/a", "oci://[0::01]/a", "oci://[::0001]:0443/a"},
		"oci://docker.io/a/b":    {"oci://docker.io/a/b", "oci://index.docker.io/a/b", "oci://registry-1.docker.io:443/a/b", "oci://Index.Docker.IO./a/b:v1"},
		"https://g.example/a/web": {
			"https://g.example/a/web", "https://g.example:443/a/web.git", "https://G.example.:00443/a/web/", "https://g.example/a/web.git/?tag=v1",
		},
		"http://g.example/a/web":   {"http://g.example/a/web", "http://g.example:80/a/web.git", "http://g.example:080/a/web"},
		"ssh://g.example/a/web":    {"git@g.example:a/web", "git@g.example:/a/web.git", "ssh://git@g.example:22/a/web.git", "ssh://g.example:022/a/web", "x@G.EXAMPLE.:a/web"},
		"https://g.example:80/a/b": {"https://g.example:80/a/b", "https://g.example:0080/a/b.git"},
	}
}

// cosignKey is a public key in PEM.
func cosignKey(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// judged is what a policy says of a reference.
func judged(p *pullpolicy.Policy, ref string) string {
	signatures, err := p.Judge("", refOf(ref))
	return fmt.Sprint(len(signatures), " signatures, ", err)
}

func TestEverySpellingOfAPlaceIsJudgedAlike(t *testing.T) {
	for want, refs := range spellings() {
		verify := `{provider: ssh, keys: ["` + sshKey + `"]}`
		if strings.HasPrefix(want, "oci:") {
			verify = `{provider: cosign, keys: ["` + strings.ReplaceAll(cosignKey(t), "\n", `\n`) + `"]}`
		}
		rule := `{name: r, sources: ["` + want + `"], `
		deny := parse(t, "rules: ["+rule+"effect: Deny}]\n")
		signed := parse(t, "rules: ["+rule+"effect: Allow, verify: "+verify+"}]\n")
		allow := parse(t, "default: Deny\nrules: ["+rule+"effect: Allow}]\n")
		for _, ref := range refs {
			require.Equal(t, fmt.Sprintf("0 signatures, rule \"r\" of the pull policy denies %q", want), judged(deny, ref), ref)
			require.Equal(t, "1 signatures, <nil>", judged(signed, ref), ref)
			require.Equal(t, "0 signatures, <nil>", judged(allow, ref), ref)
		}
	}
}

func TestARuleIsWrittenInTheCanonicalForm(t *testing.T) {
	for want, refs := range spellings() {
		for _, written := range refs {
			written, _, _ = strings.Cut(written, "?")
			written, _, _ = strings.Cut(written, "@sha256")
			written = strings.NewReplacer("git@", "", "x@", "").Replace(strings.TrimSuffix(written, ":v1"))
			_, err := pullpolicy.Parse("policy.yaml", []byte(head+"rules:\n- {name: r, effect: Deny, sources: [\"oci://x/**\",\n  \""+written+"\"]}\n"))
			if written == want {
				require.NoError(t, err, written)
				continue
			}
			require.ErrorIs(t, err, pullpolicy.ErrPolicy, written)
			require.ErrorContains(t, err, "policy.yaml:5:3: ", written)
		}
	}
}

func TestWhatHasNoOneFormIsRefused(t *testing.T) {
	p := parse(t, "rules: [{name: r, effect: Deny, sources: [\"oci://elsewhere.example/**\"]}]\n")
	for _, host := range []string{
		"r。example", "ｒ.example", "r.example｡", "\u212a.example", "rſ.example", "r..example", ".example", "r.example..", "0x7f.1", "127.1", "127.0.1", "2130706433",
		"0x7f000001", "0177.0.0.1", "127.0.0.01", "0x7F.0.0.0x1", "1.2.3.4.5", "0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "[::1%25lo]", "[127.0.0.1]", "[::1", "[::1]x", "r%2eexample",
		"r example", "r.example:0", "r.example:65536", "r.example:+80", "r.example:8 0", "r.example:80:80", "r$.example", "*.example",
	} {
		for _, scheme := range []string{"oci", "https", "http", "ssh"} {
			require.Contains(t, judged(p, scheme+"://"+host+"/a/b"), "the pull policy cannot judge this reference", "%s://%s", scheme, host)
		}
	}
	for _, path := range []string{
		"a//b", "a/./b", "a/../b", "a/%62", "a/b;x", "a;x/b", "a\\b", "a/b//", "a/b.git.git", "a/b.GIT", "a/.git", "a/b/.git/", "a./b", "a/ｂ", "a/b*", "a/b\u212a", "~/b", "a/b'",
	} {
		require.Contains(t, judged(p, "https://g.example/"+path), "the pull policy cannot judge this reference", path)
		require.Contains(t, judged(p, "git@g.example:"+path), "the pull policy cannot judge this reference", path)
	}
	require.Contains(t, judged(p, "oci://me@r.example/a"), "it has a user")
	require.Contains(t, judged(p, "https://me@g.example/a"), "it has a user")
}

func TestASuffixOfGitIsOneOfGitOnly(t *testing.T) {
	p := parse(t, "rules: [{name: r, effect: Deny, sources: [\"*://r.example/acme/web\", \"oci://r.example/other/web.git\", \"https://r.example/deep.git/**\"]}]\n")
	for ref, want := range map[string]bool{
		"oci://r.example/acme/web": false, "oci://r.example/acme/web.git": true, "oci://r.example/other/web.git": false, "oci://r.example/other/web": true,
		"https://r.example/acme/web": false, "https://r.example/acme/web.git": false, "https://r.example/deep.git/x": false, "https://r.example/deep/x": true,
	} {
		_, err := p.Judge("", refOf(ref))
		require.Equal(t, want, err == nil, ref)
	}
}

func TestARuleThatWantsASignatureWantsItInDoubt(t *testing.T) {
	p := parse(t, "default: Deny\nrules:\n"+
		"- {name: all, effect: Allow, sources: [\"https://example.com/**\"]}\n"+
		"- {name: signed, effect: Allow, projects: [shop], sources: [\"https://example.com/Ours/**\", \"https://other.example/ours/*\"], verify: {provider: ssh, keys: [\""+sshKey+"\"]}}\n")
	for ref, want := range map[string]int{"https://example.com/Ours/a": 1, "https://example.com/ours/a": 1, "https://example.com/OURS/a/b": 1, "https://example.com/theirs/a": 0} {
		for _, project := range []string{"shop", ""} {
			signatures, err := p.Judge(project, refOf(ref))
			require.NoError(t, err, ref)
			require.Len(t, signatures, want, "%s for %q", ref, project)
		}
	}
	_, err := p.Judge("shop", refOf("https://other.example/OURS/a"))
	require.ErrorIs(t, err, pullpolicy.ErrRefused, "a rule allows what it says and no more")
	_, err = p.Judge("", refOf("https://other.example/ours/a"))
	require.ErrorIs(t, err, pullpolicy.ErrRefused)
}

func TestAStarStandsForAPortAtTheEndOfAHostOnly(t *testing.T) {
	p := parse(t, "default: Deny\nrules:\n- {name: r, effect: Allow, sources: [\"https://a*/x\", \"https://b*c/x\", \"https://d:*/x\", \"*://e:443/x\", \"oci://plain/x\"]}\n"+
		"- {name: n, effect: Deny, sources: [\"oci://old/x\"]}\n- {name: o, effect: Allow, sources: [\"oci://old:*/x\", \"oci://old*/x\"]}\n")
	for ref, want := range map[string]bool{
		"https://abc:8/x": true, "https://a/x": true, "https://bc/x": true, "https://b:443c/x": false, "https://bxc:8/x": false, "https://d/x": true, "https://d:7/x": true,
		"https://e/x": true, "ssh://e/x": false, "ssh://e:443/x": true, "http://e:443/x": true,
		"oci://plain/x": true, "oci://plain:80/x": false, "oci://old/x": false, "oci://old:80/x": false, "oci://old:443/x": false, "oci://old:8080/x": true,
	} {
		_, err := p.Judge("", refOf(ref))
		require.Equal(t, want, err == nil, "%s: %v", ref, err)
	}
}

func TestASourceThatNothingIsLikeIsAMistake(t *testing.T) {
	for text, want := range map[string]string{
		"oci://ghcr.io/acme/web:v1":                 "it has a tag",
		"oci://ghcr.io/acme/web:*":                  "it has a tag",
		"oci://ghcr.io/acme/web@sha256:0a":          "only host and path count",
		"oci://ghcr.io/Acme/**":                     "upper case in its path",
		"oci://ghcr.io:65536/acme/**":               "not a number from 1 to 65535",
		"oci://ghcr.io:0/acme/**":                   "not a number from 1 to 65535",
		"oci://*.ghcr.io:70000/acme/**":             "not a number from 1 to 65535",
		"https://host:00*/acme/**":                  "not a number from 1 to 65535",
		"https://ho。st/a":                           "its host is ambiguous",
		"https://127.1/a":                           "its host is ambiguous",
		"https://[::1*]/a":                          "its host is ambiguous",
		"https://*..x/a":                            "its host is ambiguous",
		"https://host/a;b":                          "no source is ever like that",
		"https://host/a//b":                         "no source is ever like that",
		"https://host//**":                          "no source is ever like that",
		"https://host/é":                            "no source is ever like that",
		"oci://host/a+b":                            "no source is ever like that",
		"oci://host/a/":                             "no source is ever like that",
		"https://host/a.git":                        "it ends with .git: leave that out",
		"https://host/a.git.git":                    "it ends with .git: leave that out",
		"https://host/a.GIT":                        "it ends with .git: leave that out",
		"https://host/.git":                         "it ends with .git: leave that out",
		"https://host/a/":                           "no source is ever like that",
		"*://host/a.git":                            "it ends with .git: leave that out",
		"https://host:50*/a":                        "not a number from 1 to 65535",
		"https://host:/a":                           "not a number from 1 to 65535",
		"https://host:443/a":                        "its port is not in the canonical form",
		"https://Host/a":                            "its host is not in the canonical form",
		"https://*.Host/a":                          "its host is not in the canonical form",
		"https://[::0001]/a":                        "its host is not in the canonical form",
		"oci://index.docker.io/a/b":                 "index.docker.io is another name of docker.io",
		"*://*.docker.io/a/b":                       "index.docker.io is another name of docker.io",
		"https://host/a b":                          "no source is ever like that",
		"https://host/a#b":                          "only host and path count",
		"https://me@host/a":                         "only host and path count",
		"https:///a":                                "no host",
		"oci://" + strings.Repeat("a.", 200) + "/b": "its host is ambiguous",
	} {
		_, err := pullpolicy.Parse("policy.yaml", []byte(head+"rules:\n- {name: a, effect: Deny, sources: [\"oci://x/**\",\n  \""+text+"\"]}\n"))
		require.ErrorIs(t, err, pullpolicy.ErrPolicy, text)
		require.ErrorContains(t, err, "policy.yaml:5:3: ", text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzAPlaceThatIsJudgedHasOneForm(f *testing.F) {
	for _, refs := range spellings() {
		for _, ref := range refs {
			f.Add(ref)
		}
	}
	p := parse(f, "default: Deny\n")
	f.Fuzz(func(t *testing.T, ref string) {
		refusal := func(ref string) string {
			_, err := p.Judge("", source.Ref{Type: source.TypeGit, Ref: ref})
			require.ErrorIs(t, err, pullpolicy.ErrRefused)
			return err.Error()
		}
		first := refusal(ref)
		place, judged := strings.CutPrefix(first, "no rule of the pull policy allows ")
		if !judged {
			return
		}
		place = strings.Trim(place, `"`)
		require.Equal(t, first, refusal(place), "the form that is shown is the same place")
		host, _, _ := strings.Cut(place[strings.Index(place, "://")+3:], "/")
		require.Equal(t, strings.ToLower(host), host)
		require.NotContains(t, host, "@")
		for _, r := range place {
			require.True(t, r > ' ' && r < 0x7f, "%q", place)
		}
	})
}
