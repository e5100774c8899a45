// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pullpolicy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// maxBytes limits the text of a policy.
const maxBytes = 1 << 20

// File is a policy that may change while it is in use. It is safe for concurrent
// use.
type File struct {
	name   string
	report func(error)

	mu     sync.Mutex
	data   []byte
	policy *Policy
	// reported is the text of the last error that was reported.
	reported string
	stats    FileStats
}

// FileStats count what became of a file since it was opened.
type FileStats struct {
	// Loaded counts the policies that were taken, the first of them included, and Failed the
	// refused ones.
	Loaded, Failed int64
	// Good says that the policy in use is the one in the file.
	Good bool
}

// Open reads a policy. Report receives later errors of the file; nil ignores them. Errors come from
// [Parse] and from the file system; a file that is not regular is ErrPolicy, and is not opened.
func Open(name string, report func(error)) (*File, error) {
	f := &File{name: name, report: report}
	data, err := f.read()
	if err != nil {
		return nil, err
	}
	f.data = data
	f.policy, err = Parse(name, data)
	if err != nil {
		return nil, err
	}
	f.stats = FileStats{Loaded: 1, Good: true}
	return f, nil
}

// Current returns the policy that the file holds now, or the last valid policy. The file is read
// each time, which costs some microseconds, because its times do not tell every change.
func (f *File) Current() *Policy {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()

	// A file that cannot be read, or did not change, leaves the policy in force.
	data, err := f.read()
	if err != nil {
		f.reportOnce(err)
		return f.policy
	}
	if bytes.Equal(data, f.data) {
		if f.reported == "" {
			return f.policy
		}
		// The file could not be read, or was broken, and is as it was.
		f.reported = ""
		f.stats.Good = true
		return f.policy
	}

	// A changed file replaces the policy if it is valid.
	policy, err := Parse(f.name, data)
	if err != nil {
		f.reportOnce(err)
		return f.policy
	}
	f.data, f.policy = data, policy
	f.reported = ""
	f.stats.Loaded++
	f.stats.Good = true
	return f.policy
}

// Stats returns the counters of what was read so far.
func (f *File) Stats() FileStats {
	if f == nil {
		return FileStats{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// reportOnce reports an error, unless it was the last one that was reported; the lock is
// held.
func (f *File) reportOnce(err error) {
	f.stats.Good = false
	if err.Error() == f.reported {
		return
	}
	f.reported = err.Error()
	f.stats.Failed++
	if f.report != nil {
		f.report(fmt.Errorf("the pull policy stays as it was: %w", err))
	}
}

func (f *File) read() ([]byte, error) {
	// Opening a pipe or a device may block, and with it every request.
	info, err := os.Stat(f.name)
	if err != nil {
		return nil, err
	}
	if err := f.checkRegular(info); err != nil {
		return nil, err
	}

	// It may be another file by now, so the open file is checked again.
	file, err := os.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err = file.Stat()
	if err == nil {
		err = f.checkRegular(info)
	}
	if err != nil {
		return nil, err
	}

	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrPolicy, f.name, maxBytes)
	}
	return data, err
}

// checkRegular refuses a file that is not regular.
func (f *File) checkRegular(info os.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%w: %s is not a regular file: put the text of the policy there", ErrPolicy, f.name)
}
