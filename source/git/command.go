// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

// maxListing limits the list of references, in bytes.
const maxListing = 64 << 20

// command is a repository by way of the git binary: a bare repository in a
// temporary folder, without hooks, refs and worktree.
type command struct {
	binary string
	// dir holds everything that is temporary; repo is the repository in it.
	dir, repo string
	at        location
	with      credentials
	env       []string
	transfer  int64
	batch     *batch
}

var (
	_ remote  = (*command)(nil)
	_ partial = (*command)(nil)
)

// newCommand makes the repository in dir, and owns dir, also where it fails. With userConfig, the
// configuration of the user applies.
func newCommand(ctx context.Context, f *Fetcher, dir string, server location, with credentials, userConfig bool) (remote, error) {
	c := &command{binary: f.Binary, dir: dir, repo: filepath.Join(dir, "repo"), at: server, with: with, transfer: f.transfer()}
	protocols := server.scheme
	if userConfig {
		c.env = userEnv(f.UserEnv)
		protocols = "https:ssh"
		if server.scheme == schemeHTTP {
			protocols += ":http"
		}
	} else {
		c.env = cleanEnv(dir)
	}
	c.env = append(c.env, "GIT_DIR="+c.repo, "GIT_ALLOW_PROTOCOL="+protocols)

	// The repository is written by hand, because git init would copy the templates of the user.
	err := errors.Join(
		os.MkdirAll(filepath.Join(c.repo, "objects", "pack"), 0o700),
		os.MkdirAll(filepath.Join(c.repo, "refs"), 0o700),
		c.write(filepath.Join("repo", "HEAD"), "ref: refs/heads/main\n"),
		c.configure(false),
	)
	switch {
	case err != nil:
	case userConfig:
		err = c.trust(ctx, f.CA)
	default:
		err = c.authenticate(ctx, f.CA)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// cleanEnv returns an environment in which git reads no configuration, has no prompt and
// fetches nothing by itself. The path is for sh and ssh.
func cleanEnv(home string) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
	}
}

// userEnv returns the environment of the user, without the variables that would lead git to
// another repository, as inside a hook.
func userEnv(env []string) []string {
	elsewhere := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_ALLOW_PROTOCOL", "LC_ALL",
	}
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(elsewhere, name) || strings.HasPrefix(name, "GIT_TRACE")
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1")
}

// configure writes the configuration of the repository, which outranks the configuration of the
// user. It holds nothing secret.
func (c *command) configure(sha256 bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, `[core]
	repositoryformatversion = 1
	bare = true
	hooksPath = %s
[extensions]
	partialClone = origin
`, os.DevNull)

	// The server decides about the format of the objects.
	if sha256 {
		b.WriteString("\tobjectFormat = sha256\n")
	}

	// Git fetches what is asked for and no more, and starts no work of its own.
	fmt.Fprintf(&b, `[remote "origin"]
	url = "%s"
	promisor = true
	partialclonefilter = blob:none
[transfer]
	fsckObjects = true
[fetch]
	unpackLimit = 1
	writeCommitGraph = false
	recurseSubmodules = false
	negotiationAlgorithm = noop
[gc]
	auto = 0
[maintenance]
	auto = false
`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.at.url))
	if c.with.header() != "" || c.at.scheme == schemeHTTP {
		// The header would follow every redirect, and git does not check whether
		// plain http is allowed at the target.
		b.WriteString("[http]\n\tfollowRedirects = false\n")
	}
	return c.write(filepath.Join("repo", "config"), b.String())
}

// authenticate passes the credentials to git and ssh, by the environment and by files that
// only this user can read.
func (c *command) authenticate(ctx context.Context, ca []byte) error {
	if c.at.scheme != schemeSSH {
		if header := c.with.header(); header != "" {
			c.set("http.extraHeader", "Authorization: "+header)
		}
		return c.trust(ctx, ca)
	}
	options := []string{
		"StrictHostKeyChecking=yes", "UserKnownHostsFile=" + sshQuote(filepath.Join(c.dir, "known_hosts")),
		"GlobalKnownHostsFile=" + os.DevNull,
		"IdentitiesOnly=yes",
		"IdentityAgent=none",
		"IdentityFile=" + sshQuote(filepath.Join(c.dir, "identity")),
		"BatchMode=yes", "UpdateHostKeys=no", "LogLevel=ERROR",
	}
	line := shellQuote(findSSH()) + " -F none"
	for _, option := range options {
		line += " -o " + shellQuote(option)
	}
	c.env = append(c.env, "GIT_SSH_COMMAND="+line, "GIT_SSH_VARIANT=ssh")
	return errors.Join(c.write("known_hosts", string(c.with.knownHosts)), c.write("identity", string(c.with.identity)))
}

// findSSH returns the path of an OpenSSH client, or "" where none can run: the client refuses
// a user without an entry in /etc/passwd, as arbitrary ids in containers are.
func findSSH() string {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return ""
	}
	if _, err := user.LookupId(strconv.Itoa(os.Getuid())); err != nil {
		return ""
	}
	return path
}

// sshQuote quotes a path for an option of ssh, where percent signs and spaces have a meaning.
func sshQuote(path string) string { return `"` + strings.ReplaceAll(path, "%", "%%") + `"` }

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func (c *command) write(name, text string) error {
	return os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600)
}

// close ends git and removes the repository.
func (c *command) close() {
	if c.batch != nil {
		c.batch.stop()
	}
	_ = os.RemoveAll(c.dir) // what is left is in a folder of temporary files, and readable by this user only
}

// listRefs runs git ls-remote.
func (c *command) listRefs(ctx context.Context, patterns []string) ([]advert, error) {
	out, _, err := c.run(ctx, nil, append([]string{"ls-remote", "--symref", "origin"}, patterns...)...)
	if err != nil {
		return nil, err
	}

	// A reference may have several lines: its hash, its target, and its peeled tag.
	byName := map[string]int{}
	var adverts []advert
	find := func(name string) *advert {
		i, ok := byName[name]
		if !ok {
			i = len(adverts)
			byName[name] = i
			adverts = append(adverts, advert{name: name})
		}
		return &adverts[i]
	}
	for line := range strings.Lines(string(out)) {
		value, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if symref, ok := strings.CutPrefix(value, "ref: "); ok {
			find(name).symref = symref
		} else if tag, ok := strings.CutSuffix(name, peeled); ok {
			find(tag).commit = value
		} else {
			find(name).id = value
		}
	}
	return adverts, nil
}

// open fetches a commit, without blobs if the server can leave them out.
func (c *command) open(ctx context.Context, commit chosen, signed bool) (objects, error) {
	ids := []string{commit.commit}
	if commit.tag != "" && signed {
		ids = append(ids, commit.tag)
	}
	if len(commit.commit) == 64 {
		if err := c.configure(true); err != nil {
			return nil, err
		}
	}
	_, stderr, err := c.run(ctx, nil, append([]string{
		"fetch", "--depth=1", "--filter=blob:none", "--no-tags", "--no-write-fetch-head", "--quiet", "origin",
	}, ids...)...)
	if err != nil {
		return nil, err
	}
	c.batch, err = newBatch(ctx, c.binary, c.dir, append(c.env, "GIT_ALLOW_PROTOCOL=none"))
	if strings.Contains(stderr, "filtering not recognized") {
		return c.batch, err // all blobs are here
	}
	return c, err
}

// fetchBlobs fetches blobs.
func (c *command) fetchBlobs(ctx context.Context, ids []string) error {
	_, _, err := c.run(ctx, []byte(strings.Join(ids, "\n")+"\n"),
		"fetch", "--stdin", "--no-filter", "--no-tags", "--no-write-fetch-head", "--quiet", "origin")
	return err
}

// read reads an object from git cat-file.
func (c *command) read(id, kind string, most int64) ([]byte, error) {
	return c.batch.read(id, kind, most)
}

// run runs git, and returns its output and its warnings.
func (c *command) run(ctx context.Context, input []byte, args ...string) (out []byte, warnings string, err error) {
	inSize, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go c.watch(inSize, cancel)
	out, warnings, err = runGit(inSize, c.binary, c.dir, c.env, input, args...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, warnings, c.check()
	case errors.As(err, &exit):
		err = diagnose(c.with.scrub(warnings))
	}
	return nil, "", err
}

// runGit runs git, and returns what it writes to both streams. The error is an
// *exec.ExitError where git fails.
func runGit(ctx context.Context, binary, dir string, env []string, input []byte, args ...string) ([]byte, string, error) {
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // the binary is an option of the caller, and options end before a revision
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, bytes.NewReader(input)
	stdout, stderr := &capped{limit: maxListing}, &capped{limit: 64 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	isolate(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case stdout.full:
		err = errListingTooLong()
	case !errors.As(err, &exit):
		err = fmt.Errorf("%q cannot be run: %w", binary, err)
	}
	return stdout.Bytes(), stderr.String(), err
}

// watch cancels a fetch whose server sends too much; git itself has no limit.
func (c *command) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.check(); err != nil {
			cancel(err)
		}
	}
}

// check refuses a repository that is too large.
func (c *command) check() error {
	var size int64
	_ = filepath.WalkDir(c.repo, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // files come and go meanwhile
	})
	if size > c.transfer {
		return errTooMuch(c.transfer)
	}
	return nil
}

// capped keeps so many bytes, and then drops the rest or ends the writer.
type capped struct {
	bytes.Buffer
	limit int
	drop  bool
	full  bool
}

// Write keeps data up to the limit.
func (c *capped) Write(data []byte) (int, error) {
	if room := c.limit - c.Len(); len(data) > room {
		c.full = true
		if !c.drop {
			return 0, source.ErrLimit
		}
		_, _ = c.Buffer.Write(data[:max(room, 0)])
		return len(data), nil
	}
	return c.Buffer.Write(data)
}

// The variables by which git takes authorities and configuration; see git(1)
// and git-config(1).
const (
	caVariable    = "GIT_SSL_CAINFO="
	countVariable = "GIT_CONFIG_COUNT="
)

// bundles returns the files in which systems keep their authorities: Debian and Alpine,
// Fedora, SUSE, macOS and the BSDs.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	}
}

// trust makes git trust the authorities in ca beside the authorities of the Secret. If the Secret
// has no authorities, ca is added to the authorities of the user or the system. Git takes one file,
// so that file has all of them. A http.<url>.sslCAInfo of the user outranks it.
func (c *command) trust(ctx context.Context, ca []byte) error {
	if c.at.scheme == schemeSSH || len(c.with.ca)+len(ca) == 0 {
		return nil
	}
	trusted := c.with.ca
	if len(trusted) == 0 {
		trusted = c.readAuthorities(ctx)
	}
	trusted = slices.Concat(bytes.TrimRight(trusted, "\n"), []byte("\n"), ca)
	c.set("http.sslCAInfo", filepath.Join(c.dir, "ca.crt"))
	return c.write("ca.crt", string(trusted))
}

// readAuthorities returns the authorities of the user or of the system; nothing where they
// are in no readable file. It removes the variable of the user, which would outrank the
// configuration.
func (c *command) readAuthorities(ctx context.Context) []byte {
	files := bundles()
	// It fails where nothing is configured.
	if out, _, err := c.run(ctx, nil, "config", "--type=path", "--get", "http.sslCAInfo"); err == nil {
		files = []string{strings.TrimSpace(string(out))}
	}
	c.env = slices.DeleteFunc(c.env, func(pair string) bool {
		name, mine := strings.CutPrefix(pair, caVariable)
		if mine {
			files = []string{name}
		}
		return mine
	})
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil { //nolint:gosec // the user or the system chose the path
			return data
		}
	}
	return nil
}

// set adds configuration of git to the environment, after what is there.
func (c *command) set(key, value string) {
	count := 0
	c.env = slices.DeleteFunc(c.env, func(pair string) bool {
		text, mine := strings.CutPrefix(pair, countVariable)
		if n, err := strconv.Atoi(text); mine && err == nil && n > 0 {
			count = n
		}
		return mine
	})
	n := strconv.Itoa(count)
	c.env = append(c.env, "GIT_CONFIG_KEY_"+n+"="+key, "GIT_CONFIG_VALUE_"+n+"="+value, countVariable+strconv.Itoa(count+1))
}
