// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// What writes a release; its libraries for images and packages are none of the product's.
module github.com/ropewalk/ropewalk/test/tools/release

go 1.26.0

replace github.com/ropewalk/ropewalk => ../../..

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/go-containerregistry v0.21.7
	github.com/opencontainers/image-spec v1.1.1
	github.com/package-url/packageurl-go v0.1.7
	github.com/ropewalk/ropewalk v0.0.0-00010101000000-000000000000
	github.com/ulikunitz/xz v0.5.15
)

require (
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/opencontainers/go-digest v1.0.1-0.20220411205349-bde1400a84be // indirect
	github.com/secure-systems-lab/go-securesystemslib v0.11.1 // indirect
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.56.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	oras.land/oras-go/v2 v2.6.4 // indirect
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect
	sigs.k8s.io/yaml v1.6.0
)
