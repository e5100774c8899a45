// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/artifact"
)

// Names in the folder.
const (
	// kind is the first part of each path: the kind of the owners of artifacts.
	kind = "transform"
	// incoming holds files that are being written.
	incoming = "incoming"

	archiveSuffix = ".tar.gz"
	planSuffix    = ".json"
	// markSuffix ends the name of an empty file. Since the time of that file, nothing needs the
	// archive and the plan of the same name.
	markSuffix = ".unused"
)

// DefaultTTL is the time for which a file that is not needed stays.
const DefaultTTL = 10 * time.Minute

// Options configure the folder and the addresses of a Storage. Path and URL are needed.
type Options struct {
	// Path is a folder that exists, and that nothing else writes to.
	Path string
	// Address is the address of the server, such as :9790.
	Address string
	// URL is the address by which Flux reaches the server: a host with a port, or a
	// URL.
	URL string
	// TTL is the time for which a file that is not needed stays; DefaultTTL where zero. An
	// engine that has read an object before it was changed may still ask for the file.
	TTL time.Duration
}

// Storage keeps artifacts in a folder. It may be used by many goroutines, and
// by one process at a time.
type Storage struct {
	root   *os.Root
	url    string
	ttl    time.Duration
	limits artifact.Limits

	// mu is held while files get or lose their names.
	mu sync.Mutex
}

// Open opens a folder.
func Open(options Options) (*Storage, error) {
	root, err := os.OpenRoot(options.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: the storage needs a folder that is there and can be written to", err)
	}
	s := &Storage{
		root: root, url: strings.TrimSuffix(options.URL, "/"), ttl: options.TTL,
		limits: artifact.Limits{Files: 100_000, Bytes: 512 << 20},
	}
	if !strings.Contains(s.url, "://") {
		s.url = "http://" + s.url
	}
	if s.ttl <= 0 {
		s.ttl = DefaultTTL
	}
	if err := root.MkdirAll(incoming, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: the storage needs a folder that can be written to", err), root.Close())
	}
	return s, nil
}

// Close closes the folder.
func (s *Storage) Close() error { return s.root.Close() }

// folder returns the folder of the files of a Transform.
func folder(owner types.NamespacedName) (string, error) {
	if len(validation.IsDNS1123Label(owner.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(owner.Name)) > 0 {
		return "", fmt.Errorf("%w: %q is not NAMESPACE/NAME", ErrName, owner.String())
	}
	return path.Join(kind, owner.Namespace, owner.Name), nil
}

// encoded returns the hexadecimal part of a digest, which is the name of its files.
func encoded(digest string) (string, error) {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || !isSum(sum) {
		return "", fmt.Errorf("%w: %q is not a sha256 digest", ErrName, digest)
	}
	return sum, nil
}

// isSum reports whether s is a SHA-256 in lower-case hexadecimal.
func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// file returns the path of a file of a Transform.
func file(owner types.NamespacedName, digest, suffix string) (string, error) {
	dir, err := folder(owner)
	if err != nil {
		return "", err
	}
	sum, err := encoded(digest)
	return path.Join(dir, sum+suffix), err
}

// write writes a file. It is written and synced under another name first, so that a reader sees
// all of it or nothing.
func (s *Storage) write(name string, data []byte) (err error) {
	// A temporary file does not outlive an error.
	temporary := path.Join(incoming, rand.Text())
	f, err := s.root.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignore(s.root.Remove(temporary), fs.ErrNotExist))
		}
	}()

	// All of it is on the disk before it gets its name.
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}

	// A file with a new name is needed, so it loses its mark.
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := s.root.Rename(temporary, name); err != nil {
		return err
	}
	return s.removeMark(name)
}

// useExisting reports whether a file of that size exists, and removes its mark. A name that is not a
// regular file counts as missing.
func (s *Storage) useExisting(name string, size int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, ignore(err, fs.ErrNotExist)
	}
	return true, s.removeMark(name)
}

// removeMark removes the mark of a file that is needed again. The caller holds mu.
func (s *Storage) removeMark(name string) error {
	sum, _, _ := strings.Cut(path.Base(name), ".")
	return ignore(s.root.Remove(path.Join(path.Dir(name), sum+markSuffix)), fs.ErrNotExist)
}

// ignore returns err, or nil if it wraps kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
