// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// MediaTypeCycloneDX is the media type of [CycloneDX] by itself.
const MediaTypeCycloneDX = "application/vnd.cyclonedx+json"

// bom is a CycloneDX 1.6 document (ECMA-424) as it is written.
type bom struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Components  []component `json:"components"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// CycloneDX returns the list of container images as a CycloneDX 1.6 document in JSON. The
// list is sorted and has each image once, however its reference is written, with its package
// URL. The images are references as manifests have them (nginx, ghcr.io/a/b:v1@sha256:…). The
// error is ErrImage.
func CycloneDX(images []string) ([]byte, error) {
	out := bom{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Components: []component{}}
	for _, reference := range images {
		i, err := ParseImage(reference)
		if err != nil {
			return nil, err
		}
		p := i.purl()
		out.Components = append(out.Components, component{
			Type: "container", Ref: p, Name: i.Repository, Version: cmp.Or(i.Tag, i.Digest), PURL: p,
		})
	}
	slices.SortFunc(out.Components, func(a, b component) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.PURL, b.PURL))
	})
	out.Components = slices.Compact(out.Components)
	return manifest.Encode(out)
}

// Image is a reference to an image, taken apart and completed.
type Image struct {
	Repository string // with the registry: docker.io/library/nginx
	Tag        string // "" where there is only a digest
	Digest     string // "" where there is only a tag
}

// purl returns the package URL of type oci (ECMA-427 and the definition of the type): the
// name is the last part of the repository, the version is the digest.
func (i Image) purl() string {
	out := "pkg:oci/" + i.Repository[strings.LastIndexByte(i.Repository, '/')+1:]
	if i.Digest != "" {
		out += "@" + i.Digest
	}
	// Nothing but the slash can be in a repository and needs an escape.
	out += "?repository_url=" + strings.ReplaceAll(i.Repository, "/", "%2F")
	if i.Tag != "" {
		out += "&tag=" + i.Tag
	}
	return out
}

// ParseImage reads a reference as the container runtimes do (the grammar of
// github.com/distribution/reference). A reference without a registry is one of Docker Hub,
// and a reference without a tag and a digest is latest. Registries that are IPv6 addresses
// are refused. The error is ErrImage.
func ParseImage(reference string) (Image, error) {
	bad := func(why string) error {
		return fmt.Errorf("%w: %.300q: %s", ErrImage, reference, why)
	}

	// The digest comes last, and the tag before it.
	name, digest, hasDigest := strings.Cut(reference, "@")
	if hasDigest && (registry.Reference{Reference: digest}).ValidateReferenceAsDigest() != nil {
		return Image{}, bad("after @, sha256: and 64 lower-case hexadecimal digits are required")
	}
	out := Image{Digest: digest}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, out.Tag = name[:i], name[i+1:]
		if (registry.Reference{Reference: out.Tag}).ValidateReferenceAsTag() != nil {
			return Image{}, bad("a tag is up to 128 letters, digits, _, . and -")
		}
	}
	if out.Tag == "" && !hasDigest {
		out.Tag = "latest"
	}

	// The first part is a registry if it cannot be part of a repository; all else is of Docker
	// Hub.
	host, path, ok := strings.Cut(name, "/")
	isRegistryName := strings.ContainsAny(host, ".:") || host == "localhost" || host != strings.ToLower(host)
	if !ok || !isRegistryName {
		host, path = "docker.io", name
	}
	if host == "index.docker.io" {
		host = "docker.io"
	}
	if host == "docker.io" && !strings.Contains(path, "/") {
		path = "library/" + path
	}

	// The grammar is checked part by part, so that the error says which part is wrong.
	switch {
	case !isRegistry(host):
		return Image{}, bad("its registry is not a host name")
	case len(path) > maxRepository || isHex(reference, 64):
		return Image{}, bad("a repository has at most 255 characters, and is not a bare digest")
	case (registry.Reference{Repository: path}).ValidateRepository() != nil:
		return Image{}, bad("the parts of a repository are lower-case letters and digits, with ., _, __ or - between them")
	}
	out.Repository = host + "/" + path
	return out, nil
}

// isRegistry reports whether s is a host name or address with an optional port.
func isRegistry(s string) bool {
	host, port, hasPort := strings.Cut(s, ":")
	if hasPort && (port == "" || !consistsOf(port, digits)) {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		hasDashAround := strings.Trim(label, "-") != label
		if label == "" || hasDashAround || !consistsOf(label, lower+upper+digits+"-") {
			return false
		}
	}
	return true
}

const (
	maxRepository = 255

	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

func consistsOf(s, alphabet string) bool { return strings.Trim(s, alphabet) == "" }
