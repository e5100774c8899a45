// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// values is one of everything.
func values() []any {
	return append([]any{
		nil, true, false, int64(0), int64(1), int64(-1), int64(2), int64(3), int64(65), int64(5), int64(10), int64(math.MaxInt64), int64(math.MinInt64),
		int64(math.MaxInt32), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, 0.0, 1.0, 1.5, 2.0, -0.1, 0.3, 3.0, 1e10, 1e18, 1e19, 1e300, 3.5e38, 5e-324, 9007199254740993.0,
		[]any{}, []any{"a"}, []any{"a", "a"}, []any{"a", "b"}, []any{int64(1), 1.0}, []any{int64(1), int64(1)}, []any{nil, nil}, []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(1)}},
		[]any{map[string]any{"a": int64(1)}, map[string]any{"a": 1.0}}, []any{[]any{}, []any{}}, []any{nil}, []any{int64(1), "b", true},
		map[string]any{}, map[string]any{"a": "x"}, map[string]any{"a": "x", "b": "y"}, map[string]any{"a": nil}, map[string]any{"a": int64(1), "b": int64(2), "c": int64(3)},
		map[string]any{"c.d": "x", "e[0]": int64(1)}, map[string]any{"b": "long text"}, map[string]any{"a": map[string]any{"a": "x"}},
	}, manyTexts()...)
}

// manyTexts is texts of all formats, and some of almost one.
func manyTexts() (out []any) {
	for _, t := range append(words(),
		"b", "A", "aa", "aé", "☃☃", "abc", "abcd", "é", "null", "true", "\n", "a\nb",
		"2026-01-02t03:04:05z", "2026-01-02T03:04:05.123+02:00", "2026-01-02T24:00:00Z", "2026-13-02", "2026-01-02T03:04:05", "2026-01-02T03:04:05x5Z", "2026-01-02T03:04:05Ztoo", "2026-1-2", "T", "",
		"3 days", "3 days 4 hours", "1 week", "5 wk", "2 sec", "1 µs", "1us", "7 nanos", "4hr", "1 fortnight", "99999999999999999999 s", "-1.5h", "12 mi", "9 micros", "3 MIN",
		"aGVsbG8", "aGVsbG8=", "aGVsb===", "a+/=", "a-_=", "====", "aG=s", "YQ==",
		"127.0.0.1", "127.0.00.01", "1.2.3", "1.2.3.4.5", "1.2.3.256", "256.1.1.1", "1.2.3.4:5", "::ffff:1.2.3.4", "::ffff:1.2.03.4", "1::2::3", "fe80::1%eth0", "2001:DB8::1", "::", "g::1", "1..2.3", "01.02.03.04", " 1.2.3.4",
		"10.0.0.0/33", "10.0.0.1/8", "010.0.0.0/8", "::/129", "::/0", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/08", "::ffff:1.2.3.4/100", "/8",
		"0123.4567.89ab", "00-11-22-33-44-55", "00:11:22:33:44", "3D-F2-C9-A6-B3:4F",
		"http://", "http://a b", "://", "a:b", "mailto:a@b", "/a b", "../a", "http://[::1]:80/", "http://a:b:c/", "#a", "urn:isbn:0", "*",
		"a@b", "A <a@b.c>", "@b", "a@", "a b@c",
		"-a", "a-", "a..b", "a.b.", "xn--a.com", "1.com", "a.1", "☃.com", "a_b.com", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127)+"bc", strings.Repeat("ab.", 84)+"cd", strings.Repeat("a.", 130)+"bc", "a-b", "a--b", "A-B.de",
		"123E4567-E89B-12D3-A456-426614174000", "123e4567e89b12d3a456426614174000", "123e4567-e89b-32d3-a456-426614174000", "123e4567-e89b-42d3-8456-426614174000", "123e4567-e89b-52d3-9456-426614174000", "123e4567-e89b-42d3-c456-426614174000", "123e4567-e89b-42d3-8456-42661417400",
		"0321751043", "978-0321751041", "0-321-75104-3", "080442957X", "X804429570", "9780321751042", "978 0321751041", "3836221195", "978\u00a00321751041",
		"4220855426222389", "4220-8554-2622-2389", "4220855426213389", "5139288802098206", "374953669708156", "6011464355444102", "3548209662790989", "30190239451016", "4220\u0664855426222389", "0",
		"191-60-2869", "191 60 2869", "191602869", "191-602869",
		"#fff", "fff", "#FFFFFF", "#ffff", "rgb(0,31,255)", "rgb( 0 , 31 , 255 )", "rgb(0,31,256)", "rgb(01,2,3)", "rgb(0,0)",
		"507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g",
	) {
		out = append(out, t)
	}
	return out
}

// keywords is a schema for each keyword, or for two that belong together.
func keywords(t testing.TB) map[string]string {
	content, err := os.ReadFile("testdata/server/keywords.json")
	require.NoError(t, err)
	var schemas map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(content, &schemas))
	out := map[string]string{}
	for name, schema := range schemas {
		out[name] = string(schema)
	}
	for _, format := range strings.Fields(`bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor
		byte password date duration datetime date-time k8s-short-name k8s-long-name u-u-i-d unheard-of int32 binary`) {
		out["the format "+format] = `{"type":"string","format":"` + format + `"}`
	}
	return out
}

// TestEveryKeywordIsJudgedAsByTheServer puts values of every kind before every
// keyword.
func TestEveryKeywordIsJudgedAsByTheServer(t *testing.T) {
	for name, keyword := range keywords(t) {
		t.Run(name, func(t *testing.T) {
			theirs, own := serverFor(t, []byte(`{"type":"object","properties":{"x":`+keyword+`,"y":{"type":"array","items":`+keyword+`}}}`))
			for _, v := range thin(values()) {
				o := map[string]any{"x": v, "y": []any{v, v}, "unknown": v}
				requireSame(t, theirs, own, o)
				requireSameDefaults(t, theirs, own, o)
			}
		})
	}
}

// TestDefaultsAreJudgedAsByTheServer gives every keyword every default.
func TestDefaultsAreJudgedAsByTheServer(t *testing.T) {
	found := 0
	for name, keyword := range keywords(t) {
		if strings.Contains(keyword, `"default"`) || strings.Contains(keyword, "embedded") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for i, v := range thin(values()) {
				if v == nil || i%3 > 0 && i > 60 {
					continue
				}
				schema := strings.TrimSuffix(keyword, "}") + `,"default":` + text(v) + "}"
				found += len(requireSameDefinition(t, []byte(`{"type":"object","properties":{"x":`+schema+`,"y":{"type":"array","items":{"type":"object","properties":{"z":`+schema+`}}}}}`)))
			}
		})
	}
	require.Greater(t, found, 300)
}

// TestDefaultsOfResourcesAndRules is the defaults that more than a schema judges.
func TestDefaultsOfResourcesAndRules(t *testing.T) {
	for name, property := range map[string]string{
		"a rule that the default keeps":     `{"type":"integer","default":3,"x-kubernetes-validations":[{"rule":"self > 2"}]}`,
		"a rule that the default breaks":    `{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 2","message":"more than two"}]}`,
		"an optional old value":             `{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"oldSelf.hasValue()","optionalOldSelf":true}]}`,
		"a rule of a part":                  `{"type":"object","default":{"a":{"b":1}},"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 2"}]}}}}}`,
		"a field that is not known":         `{"type":"object","default":{"a":1},"properties":{"b":{"type":"integer"}}}`,
		"a resource without a kind":         `{"type":"object","default":{"apiVersion":"v1"},"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
		"a resource with an empty kind":     `{"type":"object","default":{"apiVersion":"v1","kind":""},"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
		"a resource with a bad version":     `{"type":"object","default":{"apiVersion":"a/b/c","kind":"a b"},"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
		"a good resource":                   `{"type":"object","default":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`,
		"a resource within":                 `{"type":"object","default":{"a":[{"kind":"Pod"}]},"properties":{"a":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}`,
		"a default of a field in resources": `{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"kind":{"type":"string","default":"Pod"},"spec":{"type":"object","default":{"a":1}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			requireSameDefinition(t, []byte(`{"type":"object","properties":{"x":`+property+`}}`))
		})
	}
}
