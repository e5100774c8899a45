// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRequest is one request as a repo-server makes it: dial, two checks,
// generate.
func BenchmarkRequest(b *testing.B) {
	large := projectOf("web")
	for i := range 3000 {
		large[fmt.Sprintf("other/%04d.yaml", i)] = strings.Repeat(fmt.Sprintf("k%d: %d\n", i*7919, i*104729), 260)
	}
	for _, bench := range []struct {
		name  string
		call  call
		fresh bool // each request is another one
	}{
		{"one object, remembered", call{archive: archive(b, texts(projectOf("web"))), path: "apps/web"}, false},
		{"one object, warm", call{archive: archive(b, texts(projectOf("web"))), path: "apps/web"}, true},
		{"shop, remembered", call{archive: archive(b, os.DirFS(examples)), path: "shop"}, false},
		{"3000 files, remembered", call{archive: archive(b, texts(large)), path: "apps/web"}, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			_, socket := start(b, options(b))
			n := 0
			for b.Loop() {
				c := bench.call
				if n++; bench.fresh {
					c.env = map[string]string{"ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", n)}
				}
				_, err := generate(b, socket, c)
				require.NoError(b, err)
			}
		})
	}
}
