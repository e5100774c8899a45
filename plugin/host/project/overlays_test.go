// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

// overlaid reads options for specs of these names, and returns what is wrong with them.
func overlaid(t *testing.T, names []string, read func(*Overlays)) (*Overlays, error) {
	t.Helper()
	d, err := Open(Options{FS: fstest.MapFS{
		"values.yaml": {Data: []byte("replicas: 2\n")}, "ca.pem": {Data: []byte("PEM")},
	}})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	o := d.Overlays(names, false)
	o.Charts = map[string]string{"db": "helm.values."}
	read(o)
	return o, d.Errs.Err()
}

func TestAnOptionIsForTheSpecThatItNames(t *testing.T) {
	t.Parallel()
	one, two := []string{"web"}, []string{"web", "api"}
	for name, c := range map[string]struct {
		names                  []string
		files, sets, overrides []string
		want                   string
	}{
		"the only spec needs no name":       {names: one, files: []string{"values.yaml"}, sets: []string{"replicas=2"}},
		"one of two by its name":            {names: two, files: []string{"api:values.yaml"}, sets: []string{"web:replicas=2"}},
		"a set for two":                     {names: two, sets: []string{"replicas=2"}, want: "there are 2 specs: name the one that the value is for"},
		"a name as the first part of a set": {names: two, sets: []string{"web.replicas=2"}, want: "web is a spec: write web:replicas=VALUE"},
		"a name that no spec has":           {names: two, sets: []string{"ap:replicas=2"}, want: `there is no spec "ap"`},
		"a file of a spec that is not":      {names: two, files: []string{"db:values.yaml"}, want: `there is no spec "db"`},
		"a file that is not":                {names: one, files: []string{"value.yaml"}, want: "--values"},
		"a set without a value":             {names: one, sets: []string{"replicas"}, want: "replicas"},
		"an override of a spec that is not": {names: two, overrides: []string{"db:metadata.name=x"}, want: `there is no spec "db"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := overlaid(t, c.names, func(o *Overlays) { o.Read(c.files, c.sets, c.overrides) })
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A name that is not known may be that of a spec that could not be read.
func TestWhereSpecsCouldNotBeReadNoNameIsAMistake(t *testing.T) {
	t.Parallel()
	_, err := overlaid(t, []string{"web", "api"}, func(o *Overlays) {
		o.NamesIncomplete = true
		o.Read(nil, []string{"db:replicas=2", "replicas=2"}, nil)
	})
	require.NoError(t, err)
}

func TestValuesOfChartsAreInTheSyntaxOfHelm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names      []string
		flag, text string
		read       string // NAME=VALUE of the chart
		other      string // what is left for the inputs of other specs
		want       string
	}{
		"a value of a chart":          {[]string{"db", "web"}, "--set", "db:helm.values.a.b=1", "a.b=1", "", ""},
		"a value of the only spec":    {[]string{"db"}, "--set", "helm.values.a=1", "a=1", "", ""},
		"another spec is not a chart": {[]string{"db", "web"}, "--set", "web:replicas=2", "", "web:replicas=2", ""},
		"another field of a chart":    {[]string{"db", "web"}, "--set", "db:helm.name=x", "", "db:helm.name=x", ""},
		"text for another field":      {[]string{"db", "web"}, "--set-string", "db:helm.name=x", "", "", "it is no value of the chart"},
		"text for what is no chart":   {[]string{"db", "web"}, "--set-string", "web:a=1", "", "", "the flag is for charts"},
		"a file":                      {[]string{"db"}, "--set-file", "helm.values.ca=ca.pem", "ca=x", "", ""},
		"a file that is not":          {[]string{"db"}, "--set-file", "helm.values.ca=none.pem", "", "", "none.pem"},
		"two files":                   {[]string{"db"}, "--set-file", "helm.values.ca=ca.pem,cb=ca.pem", "", "", "it names no single file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var others []string
			o, err := overlaid(t, c.names, func(o *Overlays) { others = o.ReadHelm([]spec.HelmSet{{Flag: c.flag, Text: c.text}}) })
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			var read, other string
			for _, s := range o.Helm("db") {
				read += s.Text
			}
			for _, s := range others {
				other += s
			}
			require.Equal(t, c.read, read)
			require.Equal(t, c.other, other)
			if c.flag == "--set-file" {
				require.Equal(t, "PEM", o.Helm("db")[0].Content)
				require.Len(t, o.HelmFiles(), 1)
			}
		})
	}
}
