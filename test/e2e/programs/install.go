// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Source is the module of a project as it was downloaded.
type Source struct {
	// Version is with its v.
	Version string
	// Dir is the folder with its files.
	Dir string
}

// Modules are the folders of modules of a checkout. Its programs may be installed
// by several processes at once.
type Modules struct {
	// Root is the folder of package e2e, which holds those of the modules.
	Root string
	// Log is told what is built, and how long it takes.
	Log io.Writer
}

// Source is the module that a folder of modules is for, downloaded where it is
// not there yet.
func (m Modules) Source(ctx context.Context, folder string) (Source, error) {
	for _, p := range projects() {
		if p.folder == folder {
			return m.source(ctx, p)
		}
	}
	return Source{}, fmt.Errorf("no module %q", folder)
}

// Dependency is a module that the one of a folder requires.
func (m Modules) Dependency(ctx context.Context, folder, module string) (Source, error) {
	return m.source(ctx, project{folder: folder, module: module})
}

func (m Modules) source(ctx context.Context, p project) (Source, error) {
	c := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Version}}\n{{.Dir}}", p.module) //nolint:gosec // a module of ours
	c.Dir = filepath.Join(m.Root, p.folder)
	out, err := told(c)
	if err != nil {
		return Source{}, err
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if dir == "" { // it was never downloaded, or only its go.mod was
		c = exec.CommandContext(ctx, "go", "mod", "download", p.module) //nolint:gosec // a module of ours
		c.Dir = filepath.Join(m.Root, p.folder)
		if _, err := told(c); err != nil {
			return Source{}, err
		}
		return m.source(ctx, p)
	}
	return Source{version, dir}, nil
}

// Install is the path of a program, which is built where it is not there yet.
func (m Modules) Install(ctx context.Context, name string) (string, error) {
	p, one, err := of(name)
	if err != nil {
		return "", err
	}
	source, err := m.source(ctx, p)
	if err != nil {
		return "", err
	}
	id, err := m.identity(p, source.Version)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "ropewalk", "e2e")
	binary := filepath.Join(cache, p.folder+"-"+strings.TrimPrefix(source.Version, "v")+"-"+id, name)
	if there(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o750); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if there(binary) {
		return binary, nil // who held the lock has built it
	}
	return binary, m.build(ctx, p, one, source.Version, binary)
}

// InstallAll builds every program that is not there yet, one after the other.
func (m Modules) InstallAll(ctx context.Context) error {
	for _, p := range projects() {
		for _, one := range p.programs {
			if _, err := m.Install(ctx, one.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// there reports whether a program was built whole: it has the size that was written
// beside it after the build. What a machine that stopped has left has not.
func there(binary string) bool {
	want, err := os.ReadFile(sizeOf(binary))
	if err != nil {
		return false
	}
	f, err := os.Stat(binary)
	return err == nil && strconv.FormatInt(f.Size(), 10) == string(want)
}

// sizeOf is the file with the size of a program.
func sizeOf(binary string) string { return binary + ".size" }

// keep puts a program that was built in its place.
func keep(built, binary string) error {
	f, err := os.Stat(built)
	if err != nil {
		return err
	}
	if err := os.Rename(built, binary); err != nil {
		return err
	}
	return os.WriteFile(sizeOf(binary), []byte(strconv.FormatInt(f.Size(), 10)), 0o600)
}

// identity is a hash of all that the programs of a project are made of.
func (m Modules) identity(p project, version string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, p.flags(version)) // a hash takes all
	sources, err := filepath.Glob(filepath.Join(m.Root, p.folder, "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range append([]string{"go.mod", "go.sum"}, sources...) {
		data, err := os.ReadFile(filepath.Join(m.Root, p.folder, filepath.Base(name)))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(name), len(data), data)
	}
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// build builds a program, and says so every half a minute.
func (m Modules) build(ctx context.Context, p project, one program, version, binary string) error {
	building := fmt.Sprintf("%s.%d", binary, os.Getpid())
	c := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", building}, p.flags(version)...), one.pkg)...) //nolint:gosec // a program of ours
	c.Dir = filepath.Join(m.Root, p.folder)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	start := time.Now()
	m.tell("building %s %s, which takes minutes and is kept", one.name, version)
	ended := make(chan struct{})
	go func() {
		every := time.NewTicker(30 * time.Second)
		defer every.Stop()
		for {
			select {
			case <-ended:
				return
			case <-every.C:
				m.tell("building %s %s, for %s now", one.name, version, time.Since(start).Round(time.Second))
			}
		}
	}()
	_, err := told(c)
	close(ended)
	if err != nil {
		return errors.Join(err, os.RemoveAll(building))
	}
	m.tell("built %s %s in %s: %s", one.name, version, time.Since(start).Round(time.Second), binary)
	return keep(building, binary)
}

func (m Modules) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(m.Log, "e2e: "+format+"\n", args...) // whoever does not listen is not told
}

// told runs a command; its error has what the command said.
func told(c *exec.Cmd) ([]byte, error) {
	var diagnostics bytes.Buffer
	c.Stderr = &diagnostics
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(diagnostics.String()))
	}
	return out, nil
}
