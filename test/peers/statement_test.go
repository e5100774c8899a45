// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/distribution/reference"
	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/package-url/packageurl-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ropewalk/ropewalk/artifact/statement"
)

// images are references as people write them.
func images() []string {
	return []string{
		"nginx", "nginx:1.27", "bitnami/redis:7", "ghcr.io/a/b:v1@" + digestOf("1"), "ghcr.io/a/b@" + digestOf("2"), "localhost:5000/a/b__c/d-e.f",
		"index.docker.io/library/nginx:1.27", "docker.io/nginx:1.27", "registry.k8s.io/pause:3.10", "127.0.0.1:5000/xyz:v1",
	}
}

// statements are one of each kind.
func statements(t *testing.T) map[string][]byte {
	t.Helper()
	subject := statement.Subject{Name: "registry.example.com/shop", Digest: digestOf("a")}
	signature, err := statement.Signature(subject)
	require.NoError(t, err)
	provenance, err := statement.Provenance(statement.Build{
		Project: "shop", Environment: "prod", Dialect: "flux", Version: "v0.3.0",
		Sources: []statement.Source{
			{URI: "https://example.com/a.git", Digest: digestOf("b"), Revision: "main@sha1:" + strings.Repeat("c", 40)},
			{URI: "oci://example.com/m", Digest: digestOf("e"), Revision: "v1@" + digestOf("f")},
			{URI: "./modules/web"},
		},
	}, subject)
	require.NoError(t, err)
	sbom, err := statement.SBOM(images(), subject)
	require.NoError(t, err)
	graph, err := statement.Graph([]byte(`{"engine":"flux","nodes":[{"id":"web"}],"edges":[]}`), subject)
	require.NoError(t, err)
	return map[string][]byte{"signature": signature, "provenance": provenance, "sbom": sbom, "graph": graph}
}

func TestIntotoReadsEveryStatement(t *testing.T) {
	for name, data := range statements(t) {
		t.Run(name, func(t *testing.T) {
			var s intoto.Statement
			require.NoError(t, protojson.Unmarshal(data, &s), "no field is unknown to them")
			require.NoError(t, s.Validate())
			require.Equal(t, intoto.StatementTypeUri, s.GetType())
			require.Equal(t, "sha256:"+s.GetSubject()[0].GetDigest()["sha256"], digestOf("a"))
		})
	}
}

func TestSLSAReadsTheProvenance(t *testing.T) {
	var s struct {
		PredicateType string          `json:"predicateType"`
		Predicate     json.RawMessage `json:"predicate"`
	}
	require.NoError(t, json.Unmarshal(statements(t)["provenance"], &s))
	require.Equal(t, "https://slsa.dev/provenance/v1", s.PredicateType)
	var p slsa.Provenance
	require.NoError(t, protojson.Unmarshal(s.Predicate, &p), "no field is unknown to them")
	require.NoError(t, p.Validate())
	require.Equal(t, "shop", p.GetBuildDefinition().GetExternalParameters().GetFields()["project"].GetStringValue())
	require.Len(t, p.GetBuildDefinition().GetResolvedDependencies(), 3)
	require.Equal(t, strings.Repeat("c", 40), p.GetBuildDefinition().GetResolvedDependencies()[1].GetDigest()["gitCommit"])
}

func TestCycloneDXReadsTheSBOM(t *testing.T) {
	data, err := statement.CycloneDX(images())
	require.NoError(t, err)
	var bom cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(bytes.NewReader(data), cyclonedx.BOMFileFormatJSON).Decode(&bom))
	require.Equal(t, cyclonedx.SpecVersion1_6, bom.SpecVersion)
	require.Len(t, *bom.Components, 8, "nginx:1.27 is there once, whatever it is called")

	schema := cyclonedxSchema(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(document))

	broken, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(data), `"container"`, `"image"`, 1)))
	require.NoError(t, err)
	require.Error(t, schema.Validate(broken), "the schema can refuse")
}

// cyclonedxSchema is the schema that the module of CycloneDX has with it.
func cyclonedxSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(schemas(filepath.Join(strings.TrimSpace(string(out)), "schema")))
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	require.NoError(t, err)
	return schema
}

// schemas is a folder that stands for a site.
type schemas string

// Load reads the file that the last part of the URL names.
func (s schemas) Load(url string) (any, error) {
	file := path.Base(url)
	if strings.HasPrefix(file, "jsf-") {
		file = strings.Replace(file, ".schema.", ".schemax.", 1) // it is called so in their repository
	}
	f, err := os.Open(filepath.Join(string(s), file))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return jsonschema.UnmarshalJSON(io.Reader(f))
}

// component is what the SBOM says of one image.
func component(t *testing.T, image string) (cyclonedx.Component, error) {
	t.Helper()
	data, err := statement.CycloneDX([]string{image})
	if err != nil {
		return cyclonedx.Component{}, err
	}
	var bom cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(bytes.NewReader(data), cyclonedx.BOMFileFormatJSON).Decode(&bom))
	return (*bom.Components)[0], nil
}

func TestPackageURLsAreCanonical(t *testing.T) {
	for _, image := range images() {
		c, err := component(t, image)
		require.NoError(t, err)
		p, err := packageurl.FromString(c.PackageURL)
		require.NoError(t, err)
		require.Equal(t, p.ToString(), c.PackageURL)
		require.Equal(t, packageurl.TypeOCI, p.Type)
		require.Equal(t, c.Name, p.Qualifiers.Map()["repository_url"])
	}
}

func TestImagesAreReadAsContainerdReadsThem(t *testing.T) {
	for _, image := range append(images(), odd()...) {
		compareImage(t, image)
	}
}

// odd are references that are not, or nearly.
func odd() []string {
	return []string{
		"", "Nginx", "a//b", "a:b:c", "nginx@sha256:abc", "nginx:", "-a/b", "a/-b", "HOST/a", "host.io/a:-t", "a.b", "a.b/c", "LOCALHOST/a",
		"a/b@" + digestOf("A"), "a:b@" + digestOf("0") + "@" + digestOf("0"), "docker.io", "docker.io/", "index.docker.io/a/b", "a_b/c", "a-b.c:1/d",
		strings.Repeat("a", 130) + "/b", "a/" + strings.Repeat("b", 300),
	}
}

// TestReferencesThatNobodyWouldWriteAreReadAlike changes references at random,
// the same way each time. A fuzz target was not chosen: make fuzz looks for
// those of the main module.
func TestReferencesThatNobodyWouldWriteAreReadAlike(t *testing.T) {
	const alphabet = "aA0._-:/@ é"
	random := rand.New(rand.NewPCG(1, 2))
	seeds := append(images(), odd()...)
	valid := 0
	for range 20_000 {
		image := []rune(seeds[random.IntN(len(seeds))])
		for range 1 + random.IntN(3) {
			at := random.IntN(len(image) + 1)
			end := min(len(image), at+random.IntN(3))
			insert := []rune(alphabet)[random.IntN(len([]rune(alphabet)))]
			image = slices.Replace(image, at, end, insert)
		}
		if compareImage(t, string(image)) {
			valid++
		}
	}
	require.Greater(t, valid, 1000, "many are still references")
}

// compareImage wants the same of a reference as containerd, and says whether it
// is one.
func compareImage(t *testing.T, image string) bool {
	t.Helper()
	if strings.Contains(image, "[") {
		return false // we refuse addresses of IPv6
	}
	theirs, theirErr := reference.ParseDockerRef(image)
	if theirErr == nil && reference.Domain(theirs) == "" {
		return false // they take a host name that is none for a part of the repository
	}
	ours, err := component(t, image)
	if theirErr != nil || err != nil {
		require.Equal(t, theirErr == nil, err == nil, "%q: theirs %v, ours %v", image, theirErr, err)
		return false
	}
	require.Equal(t, theirs.Name(), ours.Name, image)
	if _, digested := theirs.(reference.Digested); !digested {
		require.Equal(t, theirs.(reference.Tagged).Tag(), ours.Version, image)
	}
	return true
}
