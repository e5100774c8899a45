// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		want, got string
		paths     []string
	}{
		"nothing":                              {`{"spec":{"a":1}}`, `{"spec":{"a":1}}`, nil},
		"a value":                              {`{"spec":{"a":1,"b":"x"}}`, `{"spec":{"a":2,"b":"y"}}`, []string{"spec.a", "spec.b"}},
		"a type":                               {`{"spec":{"a":"1","b":{},"c":[]}}`, `{"spec":{"a":1,"b":[],"c":{}}}`, []string{"spec.a", "spec.b", "spec.c"}},
		"a large number":                       {`{"spec":{"a":9223372036854775807}}`, `{"spec":{"a":9223372036854775806}}`, []string{"spec.a"}},
		"a field that is lost":                 {`{"spec":{"a":{"b":"x"}}}`, `{"spec":{}}`, []string{"spec.a"}},
		"empty fields that are left out":       {`{"spec":{"a":"","b":0,"c":false,"d":{},"e":[],"f":null}}`, `{"spec":{}}`, nil},
		"a null that is filled":                {`{"spec":{"a":null}}`, `{"spec":{"a":1}}`, []string{"spec.a"}},
		"a default":                            {`{"spec":{"a":{}}}`, `{"spec":{"a":{"b":"x"},"c":1}}`, nil},
		"a default in an item":                 {`{"spec":[{"a":1}]}`, `{"spec":[{"a":1,"b":2}]}`, nil},
		"an item":                              {`{"spec":[{"a":1},2]}`, `{"spec":[{"a":3},2]}`, []string{"spec[0].a"}},
		"an item more":                         {`{"spec":[1]}`, `{"spec":[1,2]}`, []string{"spec"}},
		"an item less":                         {`{"spec":{"l":[1,2]}}`, `{"spec":{"l":[1]}}`, []string{"spec.l"}},
		"a label more":                         {`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"b","c":"d"}}}`, []string{"metadata.labels.c"}},
		"annotations where there were none":    {`{"metadata":{"name":"n"}}`, `{"metadata":{"name":"n","annotations":{"c":"d"}}}`, []string{"metadata.annotations"}},
		"a field more of an owner":             {`{"metadata":{"ownerReferences":[{"name":"n"}]}}`, `{"metadata":{"ownerReferences":[{"name":"n","controller":true}]}}`, []string{"metadata.ownerReferences[0].controller"}},
		"a label more of a template":           {`{"spec":{"metadata":{"labels":{}}}}`, `{"spec":{"metadata":{"labels":{"c":"d"}}}}`, nil},
		"a field that is called like metadata": {`{"metadatas":{}}`, `{"metadatas":{"a":1}}`, nil},
		"an object that is none":               {`{"a":1}`, `[]`, []string{""}},
		"a secret, which is not shown":         {`{"data":{"key":"aHVudGVyMg=="}}`, `{"data":{"key":"b3RoZXI="}}`, []string{"data.key"}},
		"more data":                            {`{"data":{"key":"a"},"binaryData":{}}`, `{"data":{"key":"a","other":"b"},"binaryData":{"c":"d"}}`, []string{"binaryData.c", "data.other"}},
	} {
		t.Run(name, func(t *testing.T) {
			paths, err := Differences([]byte(c.want), []byte(c.got))
			require.NoError(t, err)
			require.Equal(t, c.paths, paths)
		})
	}
	_, err := Differences([]byte(`{`), []byte(`{}`))
	require.EqualError(t, err, "expected object: unexpected EOF")
	_, err = Differences([]byte(`{}`), nil)
	require.EqualError(t, err, "object: EOF")
}
