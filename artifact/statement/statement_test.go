// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func digestOf(c string) string { return "sha256:" + strings.Repeat(c, 64) }

func subject() Subject { return Subject{Name: "registry.example.com/shop", Digest: digestOf("a")} }

func TestASignatureHasTheFormThatCosignWrites(t *testing.T) {
	data, err := Signature(subject())
	require.NoError(t, err)
	require.Equal(t, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"registry.example.com/shop","digest":{"sha256":"`+
		strings.Repeat("a", 64)+`"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, string(data))
}

func TestAProvenanceNamesEverySource(t *testing.T) {
	data, err := Provenance(Build{
		Project: "shop", Environment: "prod", Preview: "12", Dialect: "flux", Version: "v0.3.0",
		Sources: []Source{
			{URI: "https://example.com/a.git", Digest: digestOf("b"), Revision: "main@sha1:" + strings.Repeat("c", 40)},
			{URI: "./modules/web", Digest: digestOf("d")},
			{URI: "oci://example.com/m", Digest: digestOf("e"), Revision: "v1@" + digestOf("f")},
		},
	}, subject())
	require.NoError(t, err)
	require.JSONEq(t, `{
	  "_type": "https://in-toto.io/Statement/v1",
	  "subject": [{"name": "registry.example.com/shop", "digest": {"sha256": "`+strings.Repeat("a", 64)+`"}}],
	  "predicateType": "https://slsa.dev/provenance/v1",
	  "predicate": {
	    "buildDefinition": {
	      "buildType": "https://ropewalk.dev/provenance/render/v1",
	      "externalParameters": {"project": "shop", "environment": "prod", "preview": "12", "dialect": "flux"},
	      "resolvedDependencies": [
	        {"uri": "./modules/web", "digest": {"sha256": "`+strings.Repeat("d", 64)+`"}},
	        {"uri": "https://example.com/a.git",
	         "digest": {"sha256": "`+strings.Repeat("b", 64)+`", "gitCommit": "`+strings.Repeat("c", 40)+`"},
	         "annotations": {"revision": "main@sha1:`+strings.Repeat("c", 40)+`"}},
	        {"uri": "oci://example.com/m", "digest": {"sha256": "`+strings.Repeat("e", 64)+`"},
	         "annotations": {"revision": "v1@`+digestOf("f")+`"}}
	      ]
	    },
	    "runDetails": {"builder": {"id": "https://ropewalk.dev/builder/v1", "version": {"ropewalk": "v0.3.0"}}}
	  }
	}`, string(data))
}

func TestABareCommitBecomesAGitCommitToo(t *testing.T) {
	commit := strings.Repeat("0", 40)
	data, err := Provenance(Build{Project: "p", Sources: []Source{{URI: "ssh://git@example.com/a.git", Revision: "sha1:" + commit}}}, subject())
	require.NoError(t, err)
	require.Contains(t, string(data), `"digest":{"gitCommit":"`+commit+`"}`)
}

func TestTheOrderOfTheInputDoesNotShow(t *testing.T) {
	var sources []Source
	var images []string
	for i := range 30 {
		uri := fmt.Sprintf("oci://example.com/m%d", i%10)
		sources = append(sources, Source{URI: uri, Digest: digestOf(fmt.Sprint(i % 5)), Revision: digestOf(fmt.Sprint(i % 3))})
		images = append(images, fmt.Sprintf("example.com/m%d:v%d", i%10, i%3))
	}
	subjects := []Subject{{"b", digestOf("1")}, {"a", digestOf("2")}, {"a", digestOf("1")}}
	first := all(t, sources, images, subjects)
	for range 10 {
		rand.Shuffle(len(sources), func(i, j int) { sources[i], sources[j] = sources[j], sources[i] })
		rand.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
		rand.Shuffle(len(subjects), func(i, j int) { subjects[i], subjects[j] = subjects[j], subjects[i] })
		require.Equal(t, first, all(t, append(sources, sources[0]), append(images, images[0]), append(subjects, subjects[0])))
	}
}

func all(t *testing.T, sources []Source, images []string, subjects []Subject) string {
	t.Helper()
	before := slices.Clone(sources)
	provenance, err := Provenance(Build{Project: "p", Sources: sources}, subjects...)
	require.NoError(t, err)
	require.Equal(t, before, sources, "the caller's list stays as it is")
	sbom, err := SBOM(images, subjects...)
	require.NoError(t, err)
	return string(provenance) + string(sbom)
}

func TestABadStatementIsNotWritten(t *testing.T) {
	build := func(s Source) error {
		_, err := Provenance(Build{Project: "p", Sources: []Source{s}}, subject())
		return err
	}
	signature := func(s ...Subject) error {
		_, err := Signature(s...)
		return err
	}
	graph := func(g string) error {
		_, err := Graph([]byte(g), subject())
		return err
	}
	noProject := func() error {
		_, err := Provenance(Build{}, subject())
		return err
	}
	for name, c := range map[string]struct {
		err  error
		is   error
		says string
	}{
		"about nothing":                     {signature(), ErrSubject, "about something"},
		"a subject without a digest":        {signature(Subject{Name: "a"}), ErrSubject, `"a" has the digest ""`},
		"a subject with a digest too short": {signature(Subject{Name: "a", Digest: "sha256:ab"}), ErrSubject, "sha256:ab"},
		"a subject in upper case":           {signature(Subject{Name: "a", Digest: digestOf("A")}), ErrSubject, "lower-case"},
		"a subject of sha512":               {signature(Subject{Name: "a", Digest: "sha512:" + strings.Repeat("a", 128)}), ErrSubject, "sha256"},
		"a source without a URI":            {build(Source{Digest: digestOf("a")}), ErrSource, "no URI"},
		"a source with a bad digest":        {build(Source{URI: "x", Digest: "h1:abc"}), ErrSource, `"h1:abc"`},
		"a source with a password":          {build(Source{URI: "https://u:hunter2@example.com/a"}), ErrSource, "take it out"},
		"no project":                        {noProject(), ErrPredicate, "project"},
		"a graph that is cut short":         {graph(`{"nodes": [`), ErrPredicate, "JSON object"},
		"a graph that is a list":            {graph(`[]`), ErrPredicate, "JSON object"},
		"an empty graph":                    {graph(` `), ErrPredicate, "JSON object"},
		"two graphs":                        {graph(`{}{}`), ErrPredicate, "JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.err, c.is)
			require.ErrorContains(t, c.err, c.says)
			require.NotContains(t, c.err.Error(), "hunter2")
		})
	}
}

func TestAGraphIsCompactedAndOtherwiseKept(t *testing.T) {
	data, err := Graph([]byte("{\n  \"nodes\": [{\"id\": \"a<b\"}],\n  \"n\": 1.0\n}\n"), subject())
	require.NoError(t, err)
	require.Contains(t, string(data), `"predicate":{"nodes":[{"id":"a<b"}],"n":1.0}}`)
}

func TestTheSBOMIsADocumentOfCycloneDX(t *testing.T) {
	images := []string{"nginx", "docker.io/library/nginx:latest", "index.docker.io/nginx", "ghcr.io/a/b:v1@" + digestOf("1"), "ghcr.io/a/b@" + digestOf("1")}
	data, err := CycloneDX(images)
	require.NoError(t, err)
	require.JSONEq(t, `{
	  "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
	  "components": [
	    {"type": "container", "bom-ref": "pkg:oci/nginx?repository_url=docker.io%2Flibrary%2Fnginx&tag=latest",
	     "name": "docker.io/library/nginx", "version": "latest",
	     "purl": "pkg:oci/nginx?repository_url=docker.io%2Flibrary%2Fnginx&tag=latest"},
	    {"type": "container", "bom-ref": "pkg:oci/b@`+digestOf("1")+`?repository_url=ghcr.io%2Fa%2Fb",
	     "name": "ghcr.io/a/b", "version": "`+digestOf("1")+`", "purl": "pkg:oci/b@`+digestOf("1")+`?repository_url=ghcr.io%2Fa%2Fb"},
	    {"type": "container", "bom-ref": "pkg:oci/b@`+digestOf("1")+`?repository_url=ghcr.io%2Fa%2Fb&tag=v1",
	     "name": "ghcr.io/a/b", "version": "v1", "purl": "pkg:oci/b@`+digestOf("1")+`?repository_url=ghcr.io%2Fa%2Fb&tag=v1"}
	  ]
	}`, string(data))
	require.Contains(t, string(data), "&tag=", "no escapes for HTML")

	statement, err := SBOM(images, subject())
	require.NoError(t, err)
	var read struct {
		PredicateType string          `json:"predicateType"`
		Predicate     json.RawMessage `json:"predicate"`
	}
	require.NoError(t, json.Unmarshal(statement, &read))
	require.Equal(t, PredicateSBOM, read.PredicateType)
	require.Equal(t, string(data), string(read.Predicate))
}

func TestNoImagesMakeAnEmptyList(t *testing.T) {
	data, err := CycloneDX(nil)
	require.NoError(t, err)
	require.Equal(t, `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[]}`, string(data))
}

func TestImagesAreReadAsRuntimesReadThem(t *testing.T) {
	for reference, want := range map[string]Image{
		"nginx":                     {"docker.io/library/nginx", "latest", ""},
		"nginx:1.27":                {"docker.io/library/nginx", "1.27", ""},
		"bitnami/redis":             {"docker.io/bitnami/redis", "latest", ""},
		"localhost/a":               {"localhost/a", "latest", ""},
		"localhost:5000/a/b":        {"localhost:5000/a/b", "latest", ""},
		"127.0.0.1:5000/a":          {"127.0.0.1:5000/a", "latest", ""},
		"host:5000/a:b":             {"host:5000/a", "b", ""},
		"GHCR.io/a/b:V1":            {"GHCR.io/a/b", "V1", ""},
		"REGISTRY/a":                {"REGISTRY/a", "latest", ""},
		"a/b__c/d.e/f---g":          {"docker.io/a/b__c/d.e/f---g", "latest", ""},
		"a@" + digestOf("0"):        {"docker.io/library/a", "", digestOf("0")},
		"a:t@" + digestOf("0"):      {"docker.io/library/a", "t", digestOf("0")},
		"r.io/a:t@" + digestOf("0"): {"r.io/a", "t", digestOf("0")},
		"a@sha512:" + strings.Repeat("0", 128): {
			"docker.io/library/a", "", "sha512:" + strings.Repeat("0", 128),
		},
	} {
		got, err := ParseImage(reference)
		require.NoError(t, err, reference)
		require.Equal(t, want, got, reference)
	}
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	for _, reference := range []string{
		"", "/", "a/", "/a", "a//b", "nginx:", "nginx@", "nginx@sha256:abc", "nginx@" + digestOf("A"), "nginx:-a", "nginx:a b",
		"nginx:" + strings.Repeat("a", 129), "Nginx", "a/B", "-a", "a-", "a..b", "a___b", "a._b", "host:port/a", "-host.io/a", "host..io/a",
		"https://host.io/a", "${IMAGE}", "a\nb", "a@b@" + digestOf("0"), "docker.io/", "é.io/a", "host.io/é",
		strings.Repeat("0", 64), "a/" + strings.Repeat("b", 254), "[::1]:5000/a",
	} {
		_, err := CycloneDX([]string{"nginx", reference})
		require.ErrorIs(t, err, ErrImage, reference)
		require.ErrorContains(t, err, fmt.Sprintf("%q", reference))
	}
}

func FuzzImages(f *testing.F) {
	for _, s := range []string{"nginx", "a/b:c", "localhost:5000/a@" + digestOf("0"), "A/b", "a@b", ":", "a__b--c.d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		i, err := ParseImage(reference)
		if err != nil {
			require.ErrorIs(t, err, ErrImage)
			return
		}
		again := i.Repository
		if i.Tag != "" {
			again += ":" + i.Tag
		}
		if i.Digest != "" {
			again += "@" + i.Digest
		}
		twice, err := ParseImage(again)
		require.NoError(t, err, "what is complete can be read: %q", again)
		require.Equal(t, i, twice)
	})
}
