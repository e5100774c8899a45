// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// samples are values that keep the rules of the table, in the order in which they are tried.
func samples() []string {
	return []string{
		"a", "a.example", "/b", "GET", `"https://a.example"`, "30s", "1", "10.0.0.0/8", "10Mi",
	}
}

// written are the documents of a field: one for each of its values, with what it needs beside it.
func written(f gateway.Field) (out []string) {
	var beside []string
	for _, own := range f.Fields {
		if own.Need {
			beside = append(beside, own.Name+": "+written(own)[0])
		}
	}
	for _, own := range f.Fields {
		for _, v := range written(own) {
			in := []string{own.Name + ": " + v}
			for _, other := range beside {
				if !strings.HasPrefix(other, own.Name+":") {
					in = append(in, other)
				}
			}
			out = append(out, "{"+strings.Join(in, ", ")+"}")
		}
	}
	switch {
	case f.Kind == object.KindMap && f.Fields == nil:
		out = []string{"{X-A: a}"}
	case f.Kind == object.KindBool:
		out = []string{"true"}
	case f.Values != nil:
		for _, c := range f.Values {
			out = append(out, c.Name)
		}
	case f.Fields == nil:
		for _, v := range samples() {
			if f.Rule.Allows(strings.Trim(v, `"`)) {
				out = []string{v}
				break
			}
		}
	}
	if f.Kind == object.KindList {
		for i := range out {
			out[i] = "[" + out[i] + "]"
		}
	}
	return out
}

// Every field of the table is written for every target. Where that is a mistake that names
// other targets, each of them takes the same document.
func TestHintsNameTargetsThatCan(t *testing.T) {
	named := regexp.MustCompile(`set target: ([a-z-]+(?:(?:, | or )[a-z-]+)*)`)
	checked := map[string]int{}
	for _, f := range gateway.Fields() {
		if f.Name != "routes" {
			continue
		}
		for _, own := range f.Fields {
			if own.Name == "path" || own.Name == "to" || own.Name == "hosts" || own.Name == "pathType" {
				continue
			}
			for _, v := range written(own) {
				for _, target := range gateway.Targets() {
					text := func(target string) string {
						return document("g", target, "  class: own\n", "    - {path: /a, to: {workload: api}, "+own.Name+": "+v+"}\n")
					}
					_, _, errs := joined(t, text(target))
					for _, e := range errs {
						hint := named.FindStringSubmatch(e)
						if hint == nil {
							continue
						}
						for _, other := range strings.FieldsFunc(strings.ReplaceAll(hint[1], " or ", ","), func(c rune) bool { return c == ',' || c == ' ' }) {
							_, _, errs := joined(t, text(other))
							require.NotContains(t, strings.Join(errs, "\n"), "the target ", "%s\n%s", text(target), e)
							checked[other]++
						}
					}
				}
			}
		}
	}
	for _, target := range gateway.Targets() {
		require.NotZero(t, checked[target], target)
	}
}
