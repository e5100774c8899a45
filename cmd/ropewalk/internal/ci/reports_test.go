// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// hostile are mistakes whose texts would end a line, a command, a tag or a file name.
func hostile() []Result {
	return Of(object.Errors{
		{Pos: object.Pos{File: "a,b:c%.yaml", Line: 7, Column: 2}, Err: errors.New("a\n::set-output name=x::y \x1b[31m]]> <b> % \r"), Hint: "do\nit"},
		{Pos: object.Pos{File: "oci://ghcr.io/acme/web", Line: 3}, Severity: object.SeverityWarning, Policy: "tags", Err: errors.New("b")},
		{Pos: object.Pos{File: "/abs/with space.yaml", Line: 1}, Err: errors.New("c")},
		{Pos: object.Pos{File: "shop/web.yaml", Line: 11}, Err: errors.New("d")},
	}, "shop")
}

func TestCommandsOfAWorkflowStayInTheirLines(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(string(GitHub(hostile())), "\n"), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^::error title=ropewalk check::a`, lines[0], "a name with a colon is none of this repository")
	require.NotContains(t, lines[0], "\x1b")
	require.Contains(t, lines[0], "%25")
	require.Equal(t, "::warning title=ropewalk policy/tags::policy tags: b", lines[1])
	require.Equal(t, "::error file=/abs/with space.yaml,line=1,title=ropewalk check::c", lines[2])
	require.Equal(t, "::error file=shop/web.yaml,line=11,title=ropewalk check::d", lines[3])
}

func TestAReportOfJUnitIsReadAgain(t *testing.T) {
	data, err := JUnit("ropewalk vet", "good", hostile())
	require.NoError(t, err)
	var read junitSuites
	require.NoError(t, xml.Unmarshal(data, &read))
	require.Equal(t, []int{4, 3}, []int{read.Suite.Tests, read.Suite.Failures})
	require.Equal(t, "shop/web.yaml:11: d", read.Suite.Cases[3].Failure.Text)
	require.Equal(t, "policy tags: b", read.Suite.Cases[1].Output)

	data, err = JUnit("ropewalk vet", "good: 1 spec", nil)
	require.NoError(t, err)
	require.Contains(t, string(data), `tests="1" failures="0"`)
}
