// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/ropewalk/ropewalk/source"
)

// redirected is why a redirect is not followed.
const redirected = "the server redirects to another URL, and neither credentials nor plain http follow: write the URL of the target"

// newHTTP returns a session of go-git over http with its own client. The client uses no proxy
// of the environment, follows the redirects that git follows, and bounds answers.
func newHTTP(server location, with credentials, ca []byte, limit int64) (session, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(with.ca)+len(ca) > 0 {
		config.RootCAs = authorities(with, ca)
	}

	// The library puts a host of IPv6 into a URL as it is.
	base := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	endpoint := &transport.Endpoint{Protocol: server.scheme, Host: server.host, Path: strings.TrimSuffix(server.path, "/")}
	if strings.Contains(server.host, ":") {
		endpoint.Host = "[" + server.host + "]"
	}
	endpoint.Port, _ = strconv.Atoi(server.port) // it was checked

	// Credentials are not sent to where a server redirects, and neither is a request over http.
	var auth transport.AuthMethod
	switch {
	case with.token != "":
		auth = &githttp.TokenAuth{Token: with.token}
	case with.header() != "":
		auth = &githttp.BasicAuth{Username: with.user, Password: with.password}
	}
	client := &http.Client{Transport: &bounded{base: base, limit: limit}, CheckRedirect: func(redirect *http.Request, via []*http.Request) error {
		if auth != nil || via[0].URL.Scheme == schemeHTTP {
			return source.Refuse(source.ErrReference, redirected)
		}
		return nil
	}}
	s, err := githttp.NewClient(client).NewUploadPackSession(endpoint, auth)
	return overHTTP{s, base}, err
}

// overHTTP is a session that closes its connections.
type overHTTP struct {
	session
	base *http.Transport
}

// Close closes idle connections.
func (s overHTTP) Close() error {
	s.base.CloseIdleConnections()
	return nil
}

// authorities returns the authorities of the Secret, or of the system, with the authorities in ca.
func authorities(with credentials, ca []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	if len(with.ca) > 0 {
		pool.AppendCertsFromPEM(with.ca)
	} else if system, err := x509.SystemCertPool(); err == nil {
		pool = system
	}
	pool.AppendCertsFromPEM(ca)
	return pool
}

// bounded refuses answers that are too long or no success.
type bounded struct {
	base  http.RoundTripper
	limit int64
}

// RoundTrip sends a request.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.base.RoundTrip(r)
	if err != nil || response.StatusCode/100 == 3 {
		return response, err
	}
	if err := errStatus(response); err != nil {
		_ = response.Body.Close() // the status is the error
		return nil, err
	}
	limit, err := int64(maxListing), errListingTooLong()
	if r.Method == http.MethodPost {
		limit, err = b.limit+b.limit/8, errTooMuch(b.limit) // the side band adds a little
	}
	response.Body = &limited{ReadCloser: response.Body, left: limit, err: err}
	return response, nil
}

// limited reads up to a limit.
type limited struct {
	io.ReadCloser
	left int64
	err  error
}

// Read reads until the limit is reached.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, l.err
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// errStatus returns the error for a status of http, or for an answer of another protocol; nil if
// there is no error.
func errStatus(response *http.Response) error {
	switch code, retry := response.StatusCode, response.Header.Get("Retry-After"); {
	case code == http.StatusTooManyRequests && retry != "":
		return source.Refuse(source.ErrUnavailable, fmt.Sprintf("the server returned error: %d: retry after %q", code, retry))
	case code != http.StatusOK:
		return diagnose(fmt.Sprintf("the server returned error: %d", code))
	case !strings.HasPrefix(response.Header.Get("Content-Type"), "application/x-git-upload-pack-"):
		return source.Refuse(source.ErrAbsent, "the URL is not that of a Git server with the smart protocol: correct the URL")
	}
	return nil
}

// overSSH is a session over ssh. That of go-git was not taken: it reads
// ~/.ssh/config, has no limit on references, and its handshake cannot be
// cancelled.
type overSSH struct {
	at      location
	config  *ssh.ClientConfig
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	stderr  *capped
	stop    func() bool
}

var _ session = (*overSSH)(nil)

func newSSH(server location, with credentials, scratch string) (session, error) {
	signer, err := ssh.ParsePrivateKey(with.identity)
	if err != nil {
		return nil, source.Refuse(source.ErrUnauthorized, fmt.Sprintf("entry \"identity\" of secret %q is not a private key in PEM", with.secret))
	}
	knownHosts, err := readKnown(with.knownHosts, scratch)
	if err != nil {
		return nil, source.Refuse(source.ErrHostKey, fmt.Sprintf("entry \"known_hosts\" of secret %q cannot be read", with.secret))
	}
	address := net.JoinHostPort(server.host, server.portNumber())
	algorithms := knownHosts.HostKeyAlgorithms(address)
	if len(algorithms) == 0 {
		return nil, source.Refuse(source.ErrHostKey, fmt.Sprintf(
			"known_hosts has no key for %s: get it with ssh-keyscan, check it, and add it", address))
	}
	return &overSSH{at: server, config: &ssh.ClientConfig{
		User:              server.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   knownHosts.HostKeyCallback(),
		HostKeyAlgorithms: algorithms,
	}}, nil
}

// readKnown reads known_hosts, which the library takes from files only.
func readKnown(text []byte, scratch string) (*knownhosts.HostKeyDB, error) {
	file, err := os.CreateTemp(scratch, "known_hosts-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it holds nothing secret
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return knownhosts.NewDB(file.Name())
}

// connect starts git upload-pack on the server.
func (s *overSSH) connect(ctx context.Context) error {
	address := net.JoinHostPort(s.at.host, s.at.portNumber())
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() }) // pending reads return an error

	// The handshake verifies the host key.
	c, channels, requests, err := ssh.NewClientConn(conn, address, s.config)
	if err != nil {
		_ = conn.Close() // the handshake failed already
		return err
	}
	s.client = ssh.NewClient(c, channels, requests)
	s.session, err = s.client.NewSession()
	if err != nil {
		return err
	}

	// The streams are connected before git-upload-pack starts.
	s.stderr = &capped{limit: 64 << 10, drop: true}
	s.session.Stderr = s.stderr
	s.in, err = s.session.StdinPipe()
	if err != nil {
		return err
	}
	s.out, err = s.session.StdoutPipe()
	if err != nil {
		return err
	}

	quoted := strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s.at.path)
	return s.session.Start("git-upload-pack '" + quoted + "'")
}

// AdvertisedReferencesContext connects and reads the references. What the server writes to
// stderr is the error if it writes nothing else.
func (s *overSSH) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	listing := packp.NewAdvRefs()
	err := listing.Decode(&limited{ReadCloser: io.NopCloser(s.out), left: maxListing, err: errListingTooLong()})
	if errors.Is(err, packp.ErrEmptyInput) {
		_ = s.session.Wait() // stderr is complete then
		if text := s.stderr.String(); text != "" {
			return nil, diagnose(text)
		}
	}
	isEmpty := err == nil && listing.IsEmpty()
	if errors.Is(err, packp.ErrEmptyAdvRefs) || isEmpty {
		return nil, transport.ErrEmptyRemoteRepository
	}
	transport.FilterUnsupportedCapabilities(listing.Capabilities)
	return listing, err
}

// UploadPack sends a request.
func (s *overSSH) UploadPack(_ context.Context, request *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	err := request.UploadRequest.Encode(s.in)
	if err == nil {
		err = pktline.NewEncoder(s.in).EncodeString("done\n")
	}
	if err != nil {
		return nil, err
	}
	response := packp.NewUploadPackResponse(request)
	return response, response.Decode(io.NopCloser(s.out))
}

// Close ends the connection.
func (s *overSSH) Close() error {
	if s.in != nil {
		_, _ = s.in.Write(pktline.FlushPkt) // no request follows
	}
	if s.client != nil {
		_ = s.client.Close() // nothing is pending
	}
	if s.stop != nil {
		s.stop()
	}
	return nil
}
