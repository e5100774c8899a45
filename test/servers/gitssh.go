// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// privilege is the empty folder that sshd shuts itself into when root runs it.
const privilege = "/run/sshd"

// SSH is an OpenSSH server that serves Git repositories for reading, to one
// key, and nothing else.
type SSH struct {
	// Host and Port are where it listens; Host is 127.0.0.1.
	Host string
	Port int
	// User is the user that runs the tests: sshd can be no other.
	User string
	// KnownHosts is the text of a known_hosts file with the key of the host.
	KnownHosts string
	// ClientKey is the private key that may come in, in PEM, without passphrase.
	ClientKey []byte

	t        testing.TB
	sshd     string
	config   string
	mu       sync.Mutex
	sessions []session
	stopped  bool
	log      []*output
}

// session is a connection and the sshd that has it.
type session struct {
	conn *net.TCPConn
	sshd *process
}

// URL is where the repository is that lies at repo below the root.
func (s *SSH) URL(repo string) string {
	return fmt.Sprintf("ssh://%s@%s:%d/%s", s.User, s.Host, s.Port, strings.TrimPrefix(repo, "/"))
}

// Log is what sshd said, for a test that wonders.
func (s *SSH) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, o := range s.log {
		b.WriteString(o.String())
	}
	return b.String()
}

// GitSSH serves the repositories below root with OpenSSH.
func GitSSH(t testing.TB, root string) *SSH {
	t.Helper()
	sshd := find(t, "sshd", "openssh-server")
	me, err := user.Current()
	if err != nil {
		lack(t, "sshd needs a user with a name: "+err.Error())
	}
	if os.Getuid() == 0 {
		if err := os.MkdirAll(privilege, 0o755); err != nil { //nolint:gosec // the mode that Debian gives it
			lack(t, "sshd of root needs a folder: "+err.Error())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &SSH{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: me.Username, t: t, sshd: sshd}
	s.configure(root, l.Addr().String())

	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			s.serve(conn.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // nothing more comes in
		<-accepting
		s.stop()
	})
	return s
}

// configure writes keys, configuration and the command that every connection
// gets.
func (s *SSH) configure(root, address string) {
	s.t.Helper()
	dir := s.t.TempDir()
	hostPublic, hostKey := newKey(s.t)
	clientPublic, clientKey := newKey(s.t)
	s.ClientKey = clientKey
	s.KnownHosts = knownhosts.Line([]string{knownhosts.Normalize(address)}, hostPublic) + "\n"
	s.config = filepath.Join(dir, "sshd_config")
	files := map[string]string{
		"host_key":        string(hostKey),
		"authorized_keys": string(ssh.MarshalAuthorizedKey(clientPublic)),
		"serve":           gitCommand(find(s.t, "git", "git"), root, dir),
		"sshd_config":     sshdConfig(dir),
	}
	for name, text := range files {
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func sshdConfig(dir string) string {
	return fmt.Sprintf(`HostKey "%[1]s/host_key"
AuthorizedKeysFile "%[1]s/authorized_keys"
ForceCommand /bin/sh '%[1]s/serve'
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
LogLevel ERROR
AcceptEnv GIT_PROTOCOL
DisableForwarding yes
PermitTTY no
PermitUserRC no
PrintMotd no
LoginGraceTime 30
KexAlgorithms curve25519-sha256
`, dir)
}

// gitCommand is a script that runs git upload-pack for a repository below root,
// and refuses everything else.
func gitCommand(git, root, home string) string {
	return fmt.Sprintf(`repo=${SSH_ORIGINAL_COMMAND#"git-upload-pack '"}
[ "$repo" != "$SSH_ORIGINAL_COMMAND" ] || { echo 'only git-upload-pack is served' >&2; exit 1; }
repo=${repo%%\'}
case "$repo" in *\'*|*..*) echo 'no such repository' >&2; exit 1 ;; esac
exec env -i %s GIT_PROTOCOL="$GIT_PROTOCOL" '%s' upload-pack '%s'/"${repo#/}"
`, "'"+strings.Join(gitEnv(home), "' '")+"'", git, root)
}

// newKey is an Ed25519 key: its public half, and PEM of the private one.
func newKey(t testing.TB) (ssh.PublicKey, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	return key, pem.EncodeToMemory(block)
}

// serve has an sshd of its own take a connection over.
func (s *SSH) serve(conn *net.TCPConn) {
	p, err := s.start(conn)
	if err != nil {
		s.mu.Lock()
		s.log = append(s.log, failure(err))
		s.mu.Unlock()
	}
	if p == nil {
		_ = conn.Close() // nobody has it
		return
	}
	go func() {
		<-p.done
		_ = conn.Close() // sshd has ended it
	}()
}

// start is the sshd that takes conn over, nil where the server has stopped.
func (s *SSH) start(conn *net.TCPConn) (*process, error) {
	file, err := conn.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()                                      //nolint:errcheck // sshd has a copy of it
	cmd := exec.Command(s.sshd, "-i", "-e", "-f", s.config) //nolint:gosec // the binary is the one that was found
	cmd.Stdin, cmd.Stdout, cmd.Env = file, file, []string{"PATH=" + os.Getenv("PATH")}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, nil
	}
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	s.sessions, s.log = append(s.sessions, session{conn, p}), append(s.log, p.log)
	return p, nil
}

func failure(err error) *output {
	o := &output{}
	o.buf.WriteString(err.Error() + "\n")
	return o
}

// stop ends every session: by the end of its connection, so that sshd ends its
// own children, and by force where that is not enough.
func (s *SSH) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, one := range s.sessions {
		_ = one.conn.CloseRead()  // sshd may have ended
		_ = one.conn.CloseWrite() // as above
	}
	patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, one := range s.sessions {
		select {
		case <-one.sshd.done:
		case <-patience.Done():
			one.sshd.stop()
		}
	}
}
