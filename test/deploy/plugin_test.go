// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// sidecar is a plugin that runs.
type sidecar struct{ socket, http string }

// serve runs the command with the arguments of the component, in folders of its own.
func serve(t *testing.T, command string) sidecar {
	t.Helper()
	address := servers.FreeAddress(t)
	dir, sockets := t.TempDir(), t.TempDir()
	config := filepath.Join(dir, "pull-policy.yaml")
	require.NoError(t, os.WriteFile(config, []byte(read(t, folder+"/sidecar/pull-policy.yaml")), 0o600))
	place := strings.NewReplacer("/etc/ropewalk/policy/pull-policy.yaml", config, "/etc/ropewalk", dir, "/var/cache/ropewalk", dir+"/cache", "=/tmp", "="+dir)
	args := texts(container(t, only(t, folder+"/sidecar/container.yaml"), "ropewalk")["args"])
	for i, arg := range args {
		args[i] = place.Replace(arg)
	}
	var said bytes.Buffer
	// The context of a test ends before its cleanup.
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	c := exec.CommandContext(ctx, command, append(args, "--socket-dir="+sockets, "--http="+address)...)
	c.Env = []string{"HOME=" + dir, "TMPDIR=" + dir}
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		defer time.AfterFunc(20*time.Second, kill).Stop()
		_ = c.Process.Signal(syscall.SIGTERM)
		require.NoError(t, <-ended, "it ends by itself")
	})
	s := sidecar{socket: filepath.Join(sockets, "ropewalk.sock"), http: "http://" + address}
	for status := 0; status != http.StatusOK; _, status = s.get(t.Context(), "/readyz") {
		select {
		case err := <-ended:
			ended <- err
			require.FailNow(t, "it ended", "%v: %s", err, &said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return s
}

// TestWhatIsDeployedSuitsTheCommand builds the command and runs it as the component
// does.
func TestWhatIsDeployedSuitsTheCommand(t *testing.T) {
	command := install(t)
	s := serve(t, command)
	for _, c := range []struct {
		name string
		test func(t *testing.T, command string, s sidecar)
	}{
		{"the example is rendered", exampleIsRendered},
		{"a preview is all that its project permits", previewIsPermitted},
		{"the lock of the example is fresh", lockIsFresh},
		{"the health checks suffice for what comes with Ropewalk", healthChecksSuffice},
		{"commands of the guide have their flags", commandsHaveTheirFlags},
		{"flags of the guide are those of the plugin", flagsAreThere},
		{"tables of the guide are complete", tablesAreComplete},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, command, s) })
	}
}

// get is a page of the sidecar, and 0 where it does not answer.
func (s sidecar) get(ctx context.Context, path string) (page string, status int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http+path, http.NoBody)
	if err != nil {
		return "", 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return "", 0
	}
	return string(data), response.StatusCode
}
