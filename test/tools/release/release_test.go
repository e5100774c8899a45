// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	ropewalk "github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/deploy"
)

const root = "../../.."

// TestARelease writes a release for linux/amd64, and uses what is in it as the documentation says.
func TestARelease(t *testing.T) {
	require.Equal(t, "linux/amd64", runtime.GOOS+"/"+runtime.GOARCH, "the programs of the release are run here")
	private, public, err := signature.GenerateKey()
	require.NoError(t, err)
	key := filepath.Join(t.TempDir(), "release.key")
	require.NoError(t, os.WriteFile(key, private, 0o600))
	version := versionOfTheChart(t)
	out := filepath.Join(t.TempDir(), "first")
	write := func(out string, args ...string) string {
		var stdout bytes.Buffer
		require.NoError(t, run(t.Context(), append(args, "-version", version, "-platforms", "linux/amd64", "-out", out), &stdout))
		return stdout.String()
	}
	printed := write(out, "-key", key)
	for _, e := range entriesOf(t, out) {
		require.Contains(t, printed, e.Name())
	}

	t.Run("the same commit gives the same bytes", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "again")
		require.Contains(t, write(again), "nothing is signed")
		signed := sums(t, out)
		for name, sum := range sums(t, again) {
			// These two say what is signed: a signature has other bytes each time.
			if name != "checksums.txt" && path.Base(name) != "index.json" {
				require.Equal(t, signed[name], sum, name)
			}
		}
	})
	t.Run("install.sh installs what its checksum says", func(t *testing.T) { testInstall(t, out, version) })
	t.Run("pipelines install it", func(t *testing.T) { testPipelines(t, out, version) })
	t.Run("the archive has completions, the licence and no names of users", func(t *testing.T) { testArchive(t, out, version) })
	t.Run("the image runs its programs, git and ssh", func(t *testing.T) { testImage(t, out, version) })
	t.Run("the manifests name the image by its digest", func(t *testing.T) { testDeploy(t, out, version) })
	t.Run("every signature is that of the key", func(t *testing.T) { testSignatures(t, out, version, public) })
	t.Run("the documentation names what is there", func(t *testing.T) { testDocumentation(t, out, version) })
}

func testInstall(t *testing.T, out, version string) {
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	defer server.Close()
	bin := t.TempDir()
	install := func() ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(out, "install.sh"))
		cmd.Env = append(os.Environ(), "BIN="+bin, "DOWNLOAD="+server.URL, "no_proxy=*", "NO_PROXY=*")
		return cmd.CombinedOutput()
	}
	text, err := install()
	require.NoError(t, err, "%s", text)
	require.Contains(t, command(t, filepath.Join(bin, "ropewalk"), "version"), "ropewalk "+version+" ")
	require.Contains(t, command(t, filepath.Join(bin, "ropewalk-components"), "--version"), "ropewalk-components "+version+" ")

	// A damaged archive is refused, and nothing is replaced.
	archive := filepath.Join(out, "ropewalk_"+version+"_linux_amd64.tar.gz")
	good, err := os.ReadFile(archive)
	require.NoError(t, err)
	defer func() { require.NoError(t, os.WriteFile(archive, good, 0o644)) }()
	require.NoError(t, os.WriteFile(archive, append(bytes.Clone(good), 0), 0o644))
	text, err = install()
	require.Error(t, err)
	require.Contains(t, string(text), "has the checksum")
}

func testArchive(t *testing.T, out, version string) {
	folder := "ropewalk_" + version + "_linux_amd64/"
	var names []string
	for _, h := range headers(t, filepath.Join(out, strings.TrimSuffix(folder, "/")+".tar.gz")) {
		require.Empty(t, h.Uname+h.Gname)
		require.Zero(t, h.Uid+h.Gid)
		names = append(names, strings.TrimPrefix(h.Name, folder))
	}
	require.Equal(t, []string{
		"LICENSE", "README.md", "completions/_ropewalk", "completions/ropewalk.bash", "completions/ropewalk.fish", "completions/ropewalk.ps1", "ropewalk", "ropewalk-components",
	}, names)

	r := &release{}
	r.Version = version
	require.Equal(t, "[a](https://github.com/ropewalk/ropewalk/blob/"+version+"/docs/a.md#b) [c](https://d.e) [f](#g)", string(r.alone([]byte("[a](docs/a.md#b) [c](https://d.e) [f](#g)"))))
}

// testImage unpacks the image, and runs what is in it as its user, with its libraries alone.
func testImage(t *testing.T, out, version string) {
	image := imageOf(t, out)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	dockerfile := read(t, "Dockerfile")
	require.Contains(t, dockerfile, fmt.Sprintf("ENTRYPOINT [%q]\n", config.Config.Entrypoint[0]))
	require.Contains(t, dockerfile, "USER "+config.Config.User+"\n")
	require.Contains(t, dockerfile, "ENV "+config.Config.Env[0]+"\n")
	require.Contains(t, dockerfile, "FROM debian:"+debianSuite+"-slim\n")
	for _, name := range imagePrograms() {
		require.Contains(t, dockerfile, "-o /"+name+" ./cmd/"+name)
	}

	dir := t.TempDir()
	from := mutate.Extract(image)
	defer func() { _ = from.Close() }()
	extract(t, dir, from)
	for _, p := range []string{"etc/ssl/certs/ca-certificates.crt", "usr/share/doc/git/copyright", "var/lib/dpkg/status.d/git", "etc/os-release"} {
		require.FileExists(t, filepath.Join(dir, p))
	}
	require.Contains(t, read(t, "test/tools/release/debian.lock"), "arm64 git ")
	require.Zero(t, os.Getuid(), "run it as root: only root can change its root directory")
	// Engines mount it; git and ssh do not start without it.
	require.NoError(t, syscall.Mknod(filepath.Join(dir, "dev/null"), syscall.S_IFCHR, 1<<8|3))
	require.NoError(t, os.Chmod(filepath.Join(dir, "dev/null"), 0o666))
	inside := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		cmd.Dir, cmd.Env = "/tmp", append(config.Config.Env, "HOME=/tmp", "GIT_SSH_COMMAND=ssh -v -o BatchMode=yes -p 1")
		text, _ := cmd.CombinedOutput()
		return string(text)
	}
	require.Contains(t, inside("/usr/local/bin/ropewalk", "version"), "ropewalk "+version+" ")
	require.Contains(t, inside("/usr/local/bin/ropewalk-components", "--version"), "ropewalk-components "+version+" ")
	require.Contains(t, inside("/usr/local/bin/ropewalk-controller", "--version"), "ropewalk-controller "+version+" ")
	// The helpers of git find their libraries, and a shell for ssh: each gets as far as the network.
	require.Contains(t, inside("/usr/bin/git", "ls-remote", "https://127.0.0.1:1/a"), "Failed to connect")
	require.Contains(t, inside("/usr/bin/git", "ls-remote", "ssh://127.0.0.1/a"), "connect to host 127.0.0.1 port 1: Connection refused")
	require.Empty(t, inside("/usr/bin/git", "init", "-q", "/tmp/a"))
}

func testDeploy(t *testing.T, out, version string) {
	_, digest, _ := strings.Cut(strings.Fields(string(readFile(t, filepath.Join(out, "digests.txt"))))[0], "@")
	want := deploy.Image + ":" + version + "@" + digest
	manifests := string(readFile(t, filepath.Join(out, "ropewalk-controller.yaml")))
	require.Contains(t, manifests, "image: "+want+"\n")
	require.NotContains(t, strings.ReplaceAll(manifests, want, ""), deploy.Image+":")
	program := filepath.Join(t.TempDir(), "ropewalk")
	archive := "ropewalk_" + version + "_linux_amd64"
	require.NoError(t, os.WriteFile(program, []byte(command(t, "tar", "-xOzf", filepath.Join(out, archive+".tar.gz"), archive+"/ropewalk")), 0o700))
	require.Equal(t, strings.ReplaceAll(manifests, "@"+digest, ""), command(t, program, "install", "flux", "--export"))
	chart := command(t, "tar", "-xOzf", filepath.Join(out, "ropewalk-controller-"+version[1:]+".tgz"), "ropewalk-controller/values.yaml", "ropewalk-controller/Chart.yaml")
	require.Contains(t, chart, fmt.Sprintf("digest: %q\n", digest))
	require.Contains(t, chart, "\nversion: "+version[1:]+"\nappVersion: \""+version[1:]+"\"\n")
	files := command(t, "tar", "-xOzf", filepath.Join(out, "ropewalk_"+version+"_deploy.tar.gz"))
	require.Equal(t, 3, strings.Count(files, "image: "+want+"\n"), "flux, and argocd for kustomize and for Helm")
}

func testSignatures(t *testing.T, out, version string, public []byte) {
	keys, err := signature.ParsePublicKeys(public)
	require.NoError(t, err)
	require.Equal(t, string(public), string(readFile(t, filepath.Join(out, "ropewalk.pub"))))
	checksums := readFile(t, filepath.Join(out, "checksums.txt"))
	require.NoError(t, keys.Signature(readFile(t, filepath.Join(out, "checksums.txt.sigstore.json")), fmt.Sprintf("sha256:%x", sha256.Sum256(checksums))))
	digests := string(readFile(t, filepath.Join(out, "digests.txt")))
	for _, p := range (&release{Options: Options{Version: version}}).published() {
		in, err := ropewalk.Open(filepath.Join(out, p.dir), false)
		require.NoError(t, err)
		subject, err := in.Resolve(t.Context(), p.tag)
		require.NoError(t, err)
		require.NoError(t, artifact.Verify(t.Context(), in, subject, keys), p.dir)
		require.Contains(t, digests, fmt.Sprintf("%s:%s@%s\n", p.name, p.tag, subject.Digest))
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = out
	text, err := check.CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// testDocumentation holds what the pages and manifests name against what is there. Of archives for
// platforms that this release lacks, the platform is looked at.
func testDocumentation(t *testing.T, out, version string) {
	found := map[string]bool{}
	downloads := regexp.MustCompile(regexp.QuoteMeta(repository) + `/releases/(?:latest/download|download/([^/\s]+))/([A-Za-z0-9_.-]+)`)
	image := regexp.MustCompile(regexp.QuoteMeta(deploy.Image) + `:(v\d[^\s"'@)]*)`)
	charts := regexp.MustCompile(`oci://ghcr\.io/ropewalk/charts/(\S+) --version (\S+)`)
	archives := regexp.MustCompile(`ropewalk_(v[^_\s]+)_([a-z0-9]+)_([a-z0-9]+)\.(?:tar\.gz|zip)`)
	for _, page := range append(strings.Fields(command(t, "git", "-C", root, "ls-files", "*.md", "deploy")), ".github/workflows/release.yaml") {
		text := read(t, page)
		for _, m := range downloads.FindAllStringSubmatch(text, -1) {
			if m[1] != "" {
				require.Equal(t, version, m[1], page)
			}
			if !archives.MatchString(m[2]) {
				require.FileExists(t, filepath.Join(out, m[2]), page)
			}
			found[m[2]] = true
		}
		for _, m := range archives.FindAllStringSubmatch(text, -1) {
			require.Equal(t, version, m[1], page)
			require.Contains(t, allPlatforms(), m[2]+"/"+m[3], page)
			require.Equal(t, m[0], (&release{Options: Options{Version: version}}).archiveName(m[2]+"/"+m[3]), page)
		}
		for _, m := range image.FindAllStringSubmatch(text, -1) {
			require.Equal(t, version, m[1], page)
		}
		for _, m := range charts.FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join(out, m[1]+"-"+m[2]+".tgz"), page)
			found["chart"] = true
		}
		for _, m := range regexp.MustCompile(`brew install ([a-z/]+)`).FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join(out, filepath.Base(m[1])+".rb"), page)
			found["formula"] = true
		}
		for _, m := range regexp.MustCompile(`go install github\.com/ropewalk/ropewalk/(\S+)@`).FindAllStringSubmatch(text, -1) {
			require.FileExists(t, filepath.Join(root, m[1], "main.go"), page)
		}
		for _, m := range regexp.MustCompile(`oci://(ghcr\.io/ropewalk/deploy)\b`).FindAllStringSubmatch(text, -1) {
			require.Equal(t, deployName, m[1], page)
		}
	}
	for _, name := range []string{"install.sh", "ropewalk-controller.yaml", "chart", "formula"} {
		require.True(t, found[name], "no page says how to install by %s", name)
	}
}

func TestNamesOfPackagesAreReadFromAPT(t *testing.T) {
	got, err := parseURIs("'http://m.example/debian/pool/main/libc/a_1%2bb_arm64.deb' a_2%3a1+b_arm64.deb 12 SHA256:"+strings.Repeat("0", 64)+"\n", "arm64", "http://m.example")
	require.NoError(t, err)
	require.Equal(t, []debianPackage{{arch: "arm64", name: "a", version: "2:1+b", sha256: strings.Repeat("0", 64), path: "debian/pool/main/libc/a_1+b_arm64.deb"}}, got)
}

func TestArchivesForWindowsAreZip(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	data, err := pack([]entry{{name: "ropewalk.exe", mode: 0o755, data: []byte("program")}, {name: "LICENSE", mode: 0o644}}, "top", at, true)
	require.NoError(t, err)
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	require.Len(t, r.File, 2)
	require.Equal(t, "top/LICENSE", r.File[0].Name)
	require.Equal(t, fs.FileMode(0o755), r.File[1].Mode())
	require.True(t, at.Equal(r.File[1].Modified))
	got, err := fs.ReadFile(r, "top/ropewalk.exe")
	require.NoError(t, err)
	require.Equal(t, "program", string(got))
}

func TestWhatIsNoReleaseIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-version 1.0":                           `version "1.0": expected one such as v0.1.0`,
		"-version v1.0.0 -platforms plan9/amd64": `platform "plan9/amd64"`,
		"-version v1.0.0":                        "-out: expected a directory",
	} {
		require.ErrorContains(t, run(t.Context(), strings.Fields(args), io.Discard), want)
	}
}

func TestEveryArchitectureOfTheImageIsLocked(t *testing.T) {
	for _, platform := range imagePlatforms() {
		packages, snapshot, err := readLock(debianLock, strings.TrimPrefix(platform, "linux/"))
		require.NoError(t, err)
		require.NotEmpty(t, snapshot)
		var names []string
		for _, p := range packages {
			names = append(names, p.name)
		}
		require.Subset(t, names, wanted())
	}
}

// TestProgramsAreBuiltAsInTheDockerfile: the flags are written in both places.
func TestProgramsAreBuiltAsInTheDockerfile(t *testing.T) {
	for _, flag := range []string{"grpcnotrace,kustomize_disable_go_plugin_support", "process.linkedVersion=", "process.linkedRevision="} {
		require.Equal(t, 3, strings.Count(read(t, "Dockerfile"), flag), flag)
		require.Contains(t, strings.ReplaceAll(read(t, "test/tools/release/release.go"), "%[1]s", "process"), flag)
	}
}

// versionOfTheChart is the release that the manifests of this commit belong to.
func versionOfTheChart(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^appVersion: "(.+)"$`).FindStringSubmatch(read(t, "deploy/chart/Chart.yaml"))
	require.NotNil(t, m)
	return "v" + m[1]
}

func imageOf(t *testing.T, out string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "image"))
	require.NoError(t, err)
	_, digest, _ := strings.Cut(strings.Fields(string(readFile(t, filepath.Join(out, "digests.txt"))))[0], "@")
	hash, err := v1.NewHash(digest)
	require.NoError(t, err)
	platforms, err := index.ImageIndex(hash)
	require.NoError(t, err)
	manifest, err := platforms.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, "linux/amd64", manifest.Manifests[0].Platform.String())
	image, err := platforms.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	return image
}

// extract unpacks the files, directories and links of a tar.
func extract(t *testing.T, dir string, from io.Reader) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Zero(t, h.Mode&0o6000, "%s is run as its owner", h.Name)
		to := filepath.Join(dir, h.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		switch h.Typeflag {
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(to, 0o755))
			require.NoError(t, os.Chmod(to, h.FileInfo().Mode()))
		case tar.TypeSymlink:
			require.NoError(t, os.Symlink(h.Linkname, to))
		default:
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, data, h.FileInfo().Mode()))
		}
	}
	// t.TempDir is readable by root alone, and the user of the image is another one.
	require.NoError(t, os.Chmod(dir, 0o755))
}

func headers(t *testing.T, file string) (out []*tar.Header) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(readFile(t, file)))
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, h)
	}
}

// sums are the SHA-256 of every file below a directory.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[p] = fmt.Sprintf("%x", sha256.Sum256(readFile(t, filepath.Join(dir, p))))
		}
		return err
	}))
	require.True(t, json.Valid(readFile(t, filepath.Join(dir, "ropewalk_linux_amd64.cdx.json"))))
	return out
}

func entriesOf(t *testing.T, dir string) []fs.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	return entries
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	require.NoError(t, err, "%s %v", name, args)
	return string(out)
}

func read(t *testing.T, name string) string {
	t.Helper()
	return string(readFile(t, filepath.Join(root, name)))
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}
