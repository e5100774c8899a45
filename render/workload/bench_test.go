// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"

	"github.com/ropewalk/ropewalk/render/workload/resource"
)

const plainDoc = `
metadata: {name: %s}
service: {ports: {http: {port: 80}}}
containers:
  web:
    image: nginx
    variables: {LOG_LEVEL: info, MODE: production, NAME: "${metadata.name}"}
    files: {/etc/app.conf: {content: "a = 1\n"}}
    resources: {requests: {cpu: 100m, memory: 64Mi}}
`

const resourcesDoc = plainDoc + `resources:
  db: {type: postgres}
  dns: {type: dns}
  route: {type: route, params: {host: "${resources.dns.host}", path: /}}
  queue: {type: redis, id: jobs}
  next: {type: service, params: {workload: w0000}}
`

func many(b *testing.B, doc string, n int) []Source {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf(doc, fmt.Sprintf("w%04d", i))
	}
	return sources(b, docs...)
}

// BenchmarkJoin is for the linear cost in the number of workloads.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		all := many(b, resourcesDoc, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, errs := Join(all, testConfig(), testCatalog())
				if len(errs.Failures()) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// BenchmarkResolve is one workload without the making of its input.
func BenchmarkResolve(b *testing.B) {
	for name, doc := range map[string]string{"plain": plainDoc, "resources": resourcesDoc} {
		p, _ := Join(many(b, doc, 1), testConfig(), testCatalog())
		results := map[string]resource.Answer{
			"db": answerOf(postgresResult), "dns": answerOf(`{"outputs": {"host": "h"}}`), "route": answerOf(`{"after": true}`),
			"queue": answerOf(`{"outputs": {"host": "q", "port": 6379}}`), "next": answerOf(`{"outputs": {"host": "n", "url": "http://n"}}`),
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := p.Compile("w0000")
				for requests := c.Next(); len(requests) > 0; requests = c.Next() {
					for _, r := range requests {
						c.Answer(r, results)
					}
				}
				c.resolve()
				if !c.complete() {
					b.Fatal("not whole")
				}
			}
		})
	}
}
