// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// mistaken are documents with a password in them and a mistake beside it, by what
// is wrong. What an author writes stands in the file for all to read, but logs
// are read by more. What a param is and what it should be is told in full: params
// hold no secrets, and a text that touches one is refused in them.
func mistaken() map[string]string {
	doc := func(variables, files, resources string) string {
		return "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers:\n  main:\n    image: a\n    variables:\n      B: c\n" + variables +
			"    files:\n      /etc/a: {content: a}\n" + files + "resources:\n  db: {type: postgres}\n" + resources
	}
	return map[string]string{
		"an output that is not there": doc("      A: \"SECRET ${resources.db.nope} SECRET\"\n", "", ""),
		"a resource that is not":      doc("      A: \"SECRET${resources.nope.a}\"\n", "", ""),
		"a root that is not":          doc("      A: \"SECRET${nope.a}SECRET\"\n", "", ""),
		"a key that is not":           doc("      A: \"SECRET${metadata.a}SECRET\"\n", "", ""),
		"a zero byte":                 doc("      A: \"SECRET\\0\"\n", "", ""),
		"a list for text":             doc("      A: [SECRET]\n", "", ""),
		"a map for text":              doc("      A: {a: SECRET}\n", "", ""),
		"a variable twice":            doc("      A: SECRET\n      A: SECRET\n", "", ""),
		"a quote that stays open":     doc("      A: \"SECRET\n", "", ""),
		"a tab":                       doc("      A: SECRET\n\tB: SECRET\n", "", ""),
		"text after a quote":          doc("      A: \"SECRET\" SECRET\n", "", ""),
		"two colons":                  doc("      A: SECRET: SECRET\n", "", ""),
		"a wrong indent":              doc("      A: |\n        a\n       SECRET\n", "", ""),
		"a name that is wrong":        doc("      A=B: SECRET\n", "", ""),
		"a field that is not":         doc("", "    password: SECRET\n", ""),
		"no base64":                   doc("", "      /etc/b: {binaryContent: SECRET-}\n", ""),
		"a file that is a map":        doc("", "      /etc/b: {content: {a: SECRET}}\n", ""),
		"a file with a bad output":    doc("", "      /etc/b:\n        content: |\n          SECRET\n          ${resources.db.nope} SECRET\n", ""),
		"a file twice":                doc("", "      /etc/a/: {content: SECRET}\n", ""),
		"a file beside its source":    doc("", "      /etc/b: {content: SECRET, source: a}\n", ""),
		"a file that is too large":    doc("", "      /etc/b: {content: \""+strings.Repeat("SECRET", 60_000)+"\"}\n", ""),
		"files that are too large":    doc("", "      /etc/b: {content: \""+strings.Repeat("SECRET", 20_000)+"\"}\n      /etc/c: {content: \""+strings.Repeat("SECRET", 20_000)+"\"}\n", ""),
		"a param in a list":           doc("", "", "  ledger: {type: ledger, params: {list: [a, {b: SECRET}]}}\n"),
		"a param that is not":         doc("", "", "  ledger: {type: ledger, params: {password: SECRET}}\n"),
		"a param with a bad output":   doc("", "", "  ledger: {type: ledger, params: {note: \"SECRET${resources.db.nope}\"}}\n"),
		"a param with a secret":       doc("", "", "  ledger: {type: ledger, params: {note: \"SECRET${resources.db.password}\"}}\n"),
		"params that are text":        doc("", "", "  ledger: {type: ledger, params: SECRET}\n"),
		"a Secret in the file":        doc("", "", "  nope: {type: nope}\n") + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: SECRET}\n",
		"a broken Secret in the file": doc("", "", "") + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: SECRET\n",
		"a Secret that is a Workload": "apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: web}\nstringData: {a: SECRET}\nspec: {}\n",
	}
}

func TestAMistakeIsToldWithoutWhatStandsAroundIt(t *testing.T) {
	e := evaluator()
	l := newLeaks()
	project, err := (&project{backend: "external-secrets"}).yaml()
	require.NoError(t, err)
	documents := mistaken()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, project)
			write(t, dir, map[string]string{"web.yaml": strings.ReplaceAll(documents[name], "SECRET", head+tail)})
			require.NotEmpty(t, told(t, e, l, host.Options{Dir: dir, Root: "."}))
		})
	}
}

// TestAMistakeInWhatIsLaidOverIsToldWithoutIt has the password in files of values.
func TestAMistakeInWhatIsLaidOverIsToldWithoutIt(t *testing.T) {
	e := evaluator()
	l := newLeaks()
	project, err := (&project{backend: "external-secrets"}).yaml()
	require.NoError(t, err)
	secret := head + tail
	for name, opts := range map[string]host.Options{
		"values of another shape": {Values: []string{"shape.yaml"}},
		"values that are broken":  {Values: []string{"broken.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, project)
			write(t, dir, map[string]string{
				"web.yaml":    "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers:\n  main: {image: a, variables: {B: c}}\n",
				"shape.yaml":  "containers: {main: {variables: [" + secret + "]}}\n",
				"broken.yaml": "containers: {main: {variables: {A: \"" + secret + "\n",
			})
			opts.Dir, opts.Root = dir, "."
			opts.Args = []string{"ropewalk.yaml", "web.yaml"}
			require.NotEmpty(t, told(t, e, l, opts))
		})
	}
}

// told renders what has a mistake and gives what is said of it, which holds no
// canary.
func told(t *testing.T, e evaluate.Evaluator, l leaks, opts host.Options) string {
	t.Helper()
	loaded, err := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}.Load(t.Context(), opts)
	if err == nil {
		_, err = render.Renderer{Evaluator: e}.Render(t.Context(), loaded.Request)
	}
	var mistakes object.Errors
	require.ErrorAs(t, err, &mistakes)
	l.Require(t, "an error", []byte(err.Error()))
	for _, m := range mistakes {
		data, err := m.MarshalJSON()
		require.NoError(t, err)
		l.Require(t, "an error", data)
	}
	return err.Error()
}
