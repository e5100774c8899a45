// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package statement_test

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/artifact/statement"
)

func ExampleSignature() {
	data, err := statement.Signature(statement.Subject{Digest: "sha256:" + strings.Repeat("0", 64)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(data))
	// Output: {"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}
}

func ExampleCycloneDX() {
	data, err := statement.CycloneDX([]string{"nginx:1.27", "docker.io/library/nginx:1.27"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(data))
	// Output: {"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[{"type":"container","bom-ref":"pkg:oci/nginx?repository_url=docker.io%2Flibrary%2Fnginx&tag=1.27","name":"docker.io/library/nginx","version":"1.27","purl":"pkg:oci/nginx?repository_url=docker.io%2Flibrary%2Fnginx&tag=1.27"}]}
}
