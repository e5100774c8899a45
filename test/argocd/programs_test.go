// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs are those under test.
type programs struct{ repoServer, ropewalk string }

// install builds what is not there yet, once in a run.
var install = sync.OnceValues(func() (programs, error) {
	server, err := repoServer()
	if err != nil {
		return programs{}, err
	}
	command, err := ropewalk()
	return programs{server, command}, err
})

func installed(t testing.TB) programs {
	t.Helper()
	p, err := install()
	require.NoError(t, err)
	return p
}

// TestMain removes the command that was built for this run. The test binary starts
// itself as the server that others are compared with.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == bareServer {
		serveBare(os.Args[2])
	}
	code := m.Run()
	_ = os.RemoveAll(scratch()) // what is left is in a temporary folder
	os.Exit(code)
}

// scratch is the folder of a command that is built for this run only.
func scratch() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("ropewalk-e2e-%d", os.Getpid()))
}

// ropewalk is the command of ROPEWALK_BIN, or one built from this tree.
func ropewalk() (string, error) {
	if binary := os.Getenv("ROPEWALK_BIN"); binary != "" {
		return filepath.Abs(binary)
	}
	binary := filepath.Join(scratch(), "ropewalk")
	return binary, compile("../..", binary, "./cmd/ropewalk")
}

// repoServer is the repo-server of Argo CD.
func repoServer() (string, error) { return cached("argocd-repo-server", "reposerver") }

// stockServer is the argocd-cmp-server of Argo CD.
var stockServer = sync.OnceValues(func() (string, error) { return cached("argocd-cmp-server", "cmpserver") })

// cached is a program of Argo CD, made of a folder, out of the user's cache, where
// it is put when it is not there. Whoever is killed while it builds leaves nothing
// that is taken for one, and two that build at once do not mind each other.
func cached(name, folder string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	version, id, err := identity(folder)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ropewalk", "e2e", "argocd-"+version+"-"+id)
	binary := filepath.Join(dir, name)
	// A program is whole if it has the size that was written beside it after the build.
	if want, err := os.ReadFile(binary + ".size"); err == nil {
		if f, err := os.Stat(binary); err == nil && strconv.FormatInt(f.Size(), 10) == string(want) {
			return binary, nil
		}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	building := fmt.Sprintf("%s.%d", binary, os.Getpid())
	start := time.Now()
	ldflags := "-s -w -X github.com/argoproj/argo-cd/v3/common.version=" + version
	if err := compile(".", building, "-ldflags="+ldflags, "./"+folder); err != nil {
		return "", errors.Join(err, os.RemoveAll(building))
	}
	fmt.Printf("%s %s was built in %s and is kept in %s\n", name, version, time.Since(start).Round(time.Second), dir)
	f, err := os.Stat(building)
	if err != nil {
		return "", err
	}
	if err := os.Rename(building, binary); err != nil {
		return "", err
	}
	return binary, os.WriteFile(binary+".size", []byte(strconv.FormatInt(f.Size(), 10)), 0o600)
}

// identity is the version of Argo CD, and a hash of all that a program is made of.
func identity(folder string) (version, id string, _ error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum", folder + "/main.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
		if found := regexp.MustCompile(`argo-cd/v3 v(\S+)`).FindSubmatch(data); found != nil && version == "" {
			version = string(found[1])
		}
	}
	return version, hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// compile runs go build with the settings that the tests themselves are built
// with, so that they share what is compiled.
func compile(dir, binary string, args ...string) error {
	c := exec.Command("go", append([]string{"build", "-o", binary}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
