// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/workload/resource"
)

const variablesDoc = `
metadata: {name: api}
containers:
  web:
    image: nginx
    variables:
      A: ${GIVEN}
      B: x${GIVEN}y$(A)
      C: ${EMPTY:-fallback}${EMPTY}
      D: ${NONE:-http://a.b:1/$(A)}
      E: $${GIVEN} ${GIVEN:-${OTHER}}
      F: ${GIVEM}
      G: ${GIVEN:?c4nary}
      H: ${NONE-x} ${GIVEN.x}
    files:
      /a: {content: "${FILE}"}
      /b: {content: "${NOT}", noExpand: true}
    volumes:
      /data: {source: "${VOLUME}"}
resources:
  data: {type: volume}
  db: {type: postgres, params: {name: "${DATABASE}", deep: ["${GIVEN}"]}}
`

func TestTheVariablesThatAWorkloadMentionsAreFound(t *testing.T) {
	require.Equal(t, []string{"DATABASE", "EMPTY", "FILE", "GIVEM", "GIVEN", "NONE", "VOLUME"}, Mentioned(sources(t, variablesDoc)[0]))
}

func TestAVariableIsTextThatNothingReadsAgain(t *testing.T) {
	all := sources(t, variablesDoc)
	all[0].Variables = map[string]string{"GIVEN": "$(A) ${resources.db.password} $$ ${EMPTY}", "EMPTY": "", "FILE": "f", "VOLUME": "data", "DATABASE": "orders"}
	config := testConfig()
	config.Variables = []string{"EMPTY", "GIVEN"}
	p, errs := Join(all, config, testCatalog())
	require.NoError(t, errs.Err())
	c := p.Compile("api")
	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
		for _, r := range requests {
			resources, _ := r.Input.Get("resources")
			db, _ := resources.Get("db")
			params, _ := db.Get("params")
			require.JSONEq(t, `{"name": "orders", "deep": ["$(A) ${resources.db.password} $$ ${EMPTY}"]}`, string(params.JSON()))
			c.Answer(r, map[string]resource.Answer{"db": answerOf(postgresResult), "data": answerOf(`{"volume": {"emptyDir": {}}}`)})
		}
	}
	compiled, errs := c.Finish()
	require.NotContains(t, strings.ReplaceAll(messages(errs), "GIVEN:?c4nary", ""), "c4nary")
	text := messages(errs)
	require.Contains(t, text, "variables.E: ${GIVEN}: this form of a reference to a variable is not known")
	require.Contains(t, text, `variables.F: ${GIVEM}: no source gives the variable, and it has no default (did you mean "GIVEN"? Or write ${GIVEM:-default}`)
	require.Contains(t, text, "variables.G: ${GIVEN}: this form")
	require.Contains(t, text, "variables.H: ${NONE}: this form")
	require.Contains(t, text, "variables.H: ${GIVEN.x}: a placeholder begins with metadata, resources or secrets")
	configs, _ := compiled.Input.Get("configs")
	require.Contains(t, string(configs.JSON()), `"A":"$(A) ${resources.db.password} $$ ${EMPTY}"`)
	require.Contains(t, string(configs.JSON()), `"C":"fallback"`)
	// In a text that Kubernetes expands, the value is escaped and the author's own part is not.
	containers, _ := compiled.Input.Get("containers")
	require.Contains(t, string(containers.JSON()), `{"name":"B","value":"x$$(A) $${resources.db.password} $$$$ $${EMPTY}y$(A)"}`)
	require.Contains(t, string(containers.JSON()), `{"name":"D","value":"http://a.b:1/$(A)"}`)
}
