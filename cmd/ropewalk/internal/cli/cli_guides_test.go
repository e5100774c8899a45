// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// TestCommandsOfTheGuidesRun runs the commands of each page of the documentation, in order, in a folder
// of its own. A block of code is
//
//	```sh                run; a line that begins with "!" has to fail
//	```sh fails          run; each line has to fail
//	```sh norun="why"    not run, for a reason
//	```yaml file=NAME    written to a file where the commands before have led
//
// and any other block is something to read.
func TestCommandsOfTheGuidesRun(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	pages = append(pages, "../../../../README.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		script := guideScript(t, page, string(text))
		if script == "" {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail")
			cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(script)
			cmd.Env = append(os.Environ(), "ROPEWALK_CACHE="+t.TempDir(), "HOME="+t.TempDir(), "REGISTRY="+localhost(servers.InProcess(t).Host))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", script, out)
		})
	}
}

// localhost is a host of the loopback as registries of a laptop are called, which need no TLS.
func localhost(host string) string { return strings.Replace(host, "127.0.0.1", "localhost", 1) }

// guideScript is the script of a page; "" where nothing in it runs.
func guideScript(t *testing.T, page, text string) string {
	var out strings.Builder
	runs := false
	blocks := regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	for _, b := range blocks {
		info, body := b[1], b[2]
		language, rest, _ := strings.Cut(info, " ")
		name, isFile := strings.CutPrefix(rest, "file=")
		switch {
		case isFile:
			out.WriteString("mkdir -p $(dirname '" + name + "'); cat >'" + name + "' <<'END OF FILE'\n" + body + "END OF FILE\n")
		case language != "sh":
		case strings.HasPrefix(rest, "norun="):
			require.Regexp(t, `^norun="[^"]{8,}"$`, rest, "%s: say why the block is not run", page)
		default:
			require.Contains(t, []string{"", "fails"}, rest, page)
			runs = true
			for line := range strings.Lines(body) {
				if wrong, fails := strings.CutPrefix(line, "! "); fails || rest == "fails" {
					line = "if " + strings.TrimSpace(wrong) + "; then echo 'has to fail: " + strings.ReplaceAll(strings.TrimSpace(wrong), "'", "") + "'; exit 1; fi\n"
				}
				out.WriteString(line)
			}
		}
	}
	if !runs {
		return ""
	}
	return out.String()
}
