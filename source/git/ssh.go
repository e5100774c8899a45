// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ropewalk/ropewalk/source"
)

// overSSH is a line over ssh. It reads no configuration of the user, and asks
// no agent.
type overSSH struct {
	at      location
	signer  ssh.Signer
	known   ssh.HostKeyCallback
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     *bufio.Reader
	said    *capped
	stop    func() bool
}

func newSSH(at location, with credentials, scratch string) (line, error) {
	signer, err := ssh.ParsePrivateKey(with.identity)
	if err != nil {
		return nil, source.Refuse(source.ErrUnauthorized, fmt.Sprintf("entry \"identity\" of secret %q is no private key in PEM", with.secret))
	}
	known, err := readKnown(with.knownHosts, scratch)
	if err != nil {
		return nil, source.Refuse(source.ErrHostKey, fmt.Sprintf("entry \"known_hosts\" of secret %q cannot be read", with.secret))
	}
	return &overSSH{at: at, signer: signer, known: known}, nil
}

// readKnown reads known_hosts, which the library takes from files only.
func readKnown(text []byte, scratch string) (ssh.HostKeyCallback, error) {
	file, err := os.CreateTemp(scratch, "known_hosts-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it holds nothing secret
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return knownhosts.New(file.Name())
}

// algorithms are those of the host's known keys: a server that has several
// shows one of another kind otherwise.
func (s *overSSH) algorithms(address string) ([]string, error) {
	err := s.known(address, &net.TCPAddr{}, noKey{})
	var unknown *knownhosts.KeyError
	if !errors.As(err, &unknown) || len(unknown.Want) == 0 {
		return nil, source.Refuse(source.ErrHostKey, fmt.Sprintf("known_hosts has no key for %s: ssh-keyscan prints what to check and put there", address))
	}
	var out []string
	for _, k := range unknown.Want {
		kinds := []string{k.Key.Type()}
		if k.Key.Type() == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, kind := range kinds {
			if !slices.Contains(out, kind) {
				out = append(out, kind)
			}
		}
	}
	return out, nil
}

// noKey is a key that no host has, to learn which ones it has.
type noKey struct{}

// Type is that of no algorithm.
func (noKey) Type() string { return "none" }

// Marshal is nothing.
func (noKey) Marshal() []byte { return nil }

// Verify refuses everything.
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// hello connects and starts git upload-pack on the server.
func (s *overSSH) hello(ctx context.Context) (*bufio.Reader, error) {
	address := net.JoinHostPort(s.at.host, s.at.portNumber())
	algorithms, err := s.algorithms(address)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // whoever waits for it gets an error
	config := &ssh.ClientConfig{
		User: s.at.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.signer)}, HostKeyCallback: s.known, HostKeyAlgorithms: algorithms,
	}
	c, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close() // the handshake failed already
		return nil, handshake(err)
	}
	s.client = ssh.NewClient(c, channels, requests)
	if s.session, err = s.client.NewSession(); err != nil {
		return nil, err
	}
	s.said = &capped{most: 64 << 10, drop: true}
	s.session.Stderr = s.said
	if s.in, err = s.session.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A server that does not take the variable speaks version 0.
	_ = s.session.Setenv("GIT_PROTOCOL", "version=2")
	s.out = bufio.NewReaderSize(&telling{s: s, from: out}, 32<<10)
	path := strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s.at.path)
	return s.out, s.session.Start("git-upload-pack '" + path + "'")
}

// telling reads from a session, and has what the server says as the error
// where it says nothing else.
type telling struct {
	s    *overSSH
	from io.Reader
	any  bool
}

// Read reads.
func (t *telling) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if t.any = t.any || n > 0; errors.Is(err, io.EOF) && !t.any {
		_ = t.s.session.Wait() // all of stderr has been read then
		if text := t.s.said.String(); text != "" {
			return n, said(text)
		}
	}
	return n, err
}

// handshake is the error for a connection that did not come about.
func handshake(err error) error {
	var key *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &key) || errors.As(err, &revoked):
		return source.Refuse(source.ErrHostKey, "the key of the host is not the one in known_hosts: check it with whoever runs the server")
	case strings.Contains(err.Error(), "unable to authenticate"):
		return source.Refuse(source.ErrUnauthorized, fmt.Sprintf("the server does not take the key: check the Secret of the reference (%s)", gist(err.Error())))
	case strings.Contains(err.Error(), "no common algorithm for host key"):
		return source.Refuse(source.ErrHostKey, "the host has no key of a kind that is in known_hosts: check it with whoever runs the server")
	}
	return err
}

// ask sends a request on the session.
func (s *overSSH) ask(_ context.Context, request []byte) (*bufio.Reader, error) {
	if s.in == nil {
		return nil, io.ErrUnexpectedEOF
	}
	_, err := io.Copy(s.in, bytes.NewReader(request))
	return s.out, err
}

func (s *overSSH) close() {
	if s.in != nil {
		_, _ = io.WriteString(s.in, flush) // it says that nothing follows
	}
	if s.client != nil {
		_ = s.client.Close() // nothing is waited for any more
	}
	if s.stop != nil {
		s.stop()
	}
}
