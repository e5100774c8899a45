// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"testing"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

// BenchmarkCheck judges the good objects of the corpora over and over, with
// warm schemas.
func BenchmarkCheck(b *testing.B) {
	for _, dir := range []string{"oracle", "custom"} {
		var good []object.Object
		files := corpus(b, "testdata/"+dir)
		for _, name := range object.SortedKeys(files) {
			if name[:5] == "good/" && name != "good/crd.yaml" {
				good = append(good, files[name])
			}
		}
		for _, n := range []int{10, 100, 1000} {
			nodes := make([]*object.Node, n)
			for i := range nodes {
				nodes[i] = &object.Node{ID: object.MakeID("s", fmt.Sprint(i)), Object: good[i%len(good)]}
			}
			b.Run(fmt.Sprintf("%s/%d", dir, n), func(b *testing.B) {
				checker := check.New(allowed())
				judge(checker, nodes)
				b.ReportAllocs()
				for b.Loop() {
					judge(checker, nodes)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/object")
			})
		}
	}
}

// BenchmarkCold judges one object with schemas that nobody has asked for yet.
func BenchmarkCold(b *testing.B) {
	for _, name := range []string{"oracle/good/deployment", "oracle/good/service", "custom/good/scaledobject", "custom/good/httproute", "custom/good/cluster", "custom/good/clustersecretstore"} {
		o := corpus(b, "testdata/"+name[:6])[name[7:]+".yaml"]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				judge(check.New(check.Options{}), node(o))
			}
		})
	}
}
