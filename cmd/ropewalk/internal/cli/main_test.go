// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/test/servers"
)

// TestMain lets the test program be the command, and a worker of it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Arg {
		os.Exit(Main())
	}
	testscript.Main(once{m}, map[string]func(){"ropewalk": func() { os.Exit(Main()) }})
}

// once are the tests, and the folder of what they build once.
type once struct{ *testing.M }

var built = filepath.Join(os.TempDir(), fmt.Sprintf("ropewalk-cli-%d", os.Getpid()))

func (o once) Run() int {
	defer os.RemoveAll(built)
	return o.M.Run()
}

// componentsProgram builds the program that builds kustomizations and charts, which has to be of
// the release of the command.
var componentsProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(built, "ropewalk-components")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/ropewalk/ropewalk/cmd/ropewalk-components").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return program, err
})

// useComponents lets the commands of a test find that program, which is built with the modules of
// the user: a test that is alone has none.
func useComponents(t *testing.T) {
	t.Helper()
	program, err := componentsProgram()
	require.NoError(t, err)
	t.Setenv("ROPEWALK_COMPONENTS", program)
}

// TestScripts runs every script of testdata/script as a user would. With
// ROPEWALK_UPDATE=1 what they compare with is written anew.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../../../cue/examples")
	require.NoError(t, err)
	registry := servers.InProcess(t).Host
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		UpdateScripts:      os.Getenv("ROPEWALK_UPDATE") != "",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("REGISTRY", registry)
			env.Setenv("MODULES", filepath.Join(filepath.Dir(examples), "modules"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"components": components,
			"expand":     expand,
			"fill":       fill,
			"interrupt":  interrupt,
		},
	})
}

// expand replaces $NAME in files by what the environment has.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(os.Expand(ts.ReadFile(name), ts.Getenv)), 0o600))
	}
}

// components tells the command where the program is that builds kustomizations and charts.
func components(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: components")
	}
	program, err := componentsProgram()
	ts.Check(err)
	ts.Setenv("ROPEWALK_COMPONENTS", program)
}

// exits runs a command and wants its exit code: exits CODE COMMAND ARG…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed):
		code = failed.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s exits with %d, not with %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// fill writes a file of a size from a pattern: fill FILE BYTES HEAD BODY puts
// BODY after HEAD until there are so many bytes. Escapes are those of Go.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: fill FILE BYTES HEAD BODY")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	unquote := func(text string) string {
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
		ts.Check(err)
		return text
	}
	head, body := unquote(args[2]), unquote(args[3])
	text := head
	if body != "" {
		text += strings.Repeat(body, max(0, size-len(head))/len(body))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
