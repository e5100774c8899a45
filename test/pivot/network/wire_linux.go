// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	mtu = 1500
	// packets are how many wait at most.
	packets = 4096
)

// Condition is how one direction of a wire is. The zero value carries all at once.
type Condition struct {
	// Drop loses all packets, and neither end gets to know of it.
	Drop bool
	// Loss is the share of packets that is lost.
	Loss float64
	// Delay is added to each packet.
	Delay time.Duration
	// Rate is in bits in a second; no limit where 0. Queue is how many bytes wait at most where
	// more than that is sent: others are lost, as in a router.
	Rate, Queue int
}

// End is one of a wire.
type End struct {
	*Namespace

	// Address is that of its device.
	Address string

	device string
	file   *os.File
}

// Wire connects two namespaces. A and B are its ends.
type Wire struct {
	A, B End

	toA, toB direction
}

// direction is one way of a wire.
type direction struct {
	mu    sync.Mutex
	is    Condition
	clear time.Time // when what was sent so far is through, as the rate goes
}

type packet struct {
	data []byte
	at   time.Time
}

// Connect makes a wire for the time of a test. An address may be used for several wires.
func Connect(t testing.TB, name string, a, b *Namespace, addressA, addressB string) *Wire {
	t.Helper()
	w := &Wire{A: End{Namespace: a, Address: addressA, device: name}, B: End{Namespace: b, Address: addressB, device: name}}
	w.A.open(t, addressB)
	w.B.open(t, addressA)
	go w.toB.carry(w.A.file, w.B.file)
	go w.toA.carry(w.B.file, w.A.file)
	return w
}

// open makes the device of an end.
func (e *End) open(t testing.TB, peer string) {
	t.Helper()
	require.NoError(t, e.do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(e.device)
		if err != nil {
			return err
		}
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			return err
		}
		e.file = os.NewFile(uintptr(fd), e.device)
		return nil
	}), "a TUN device in namespace %q", e.Name)
	t.Cleanup(func() { _ = e.file.Close() }) // it ends what carries
	e.IP(t, "address", "add", e.Address, "peer", peer+"/32", "dev", e.device)
	e.IP(t, "link", "set", e.device, "up", "mtu", "1500")
}

// Down takes the interface of an end down, and Up brings it back.
func (e *End) Down(t testing.TB) {
	t.Helper()
	e.IP(t, "link", "set", e.device, "down")
}

// Up is the end of Down.
func (e *End) Up(t testing.TB) {
	t.Helper()
	e.IP(t, "link", "set", e.device, "up")
}

// Move gives an end another address instead of the one that it has: what was connected from that
// is connected no more, and gets to know nothing of it.
func (w *Wire) Move(t testing.TB, e, other *End, address string) {
	t.Helper()
	e.IP(t, "address", "del", e.Address, "peer", other.Address+"/32", "dev", e.device)
	e.IP(t, "address", "add", address, "peer", other.Address+"/32", "dev", e.device)
	other.IP(t, "address", "add", other.Address, "peer", address+"/32", "dev", other.device)
	e.Address = address
}

// Set changes how the wire is from A to B, and from B to A.
func (w *Wire) Set(toB, toA Condition) {
	w.toB.set(toB)
	w.toA.set(toA)
}

func (d *direction) set(is Condition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.is, d.clear = is, time.Time{}
}

// through is when a packet of a size is through; false where it is lost.
func (d *direction) through(size int) (at time.Time, carried bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.is.Drop || rand.Float64() < d.is.Loss { //nolint:gosec // no secret
		return now, false
	}
	if d.is.Rate > 0 {
		took := func(size int) time.Duration { return time.Duration(size) * 8 * time.Second / time.Duration(d.is.Rate) }
		if d.clear.Before(now) {
			d.clear = now
		}
		if d.clear.Sub(now) > took(d.is.Queue) {
			return now, false
		}
		d.clear = d.clear.Add(took(size))
		now = d.clear
	}
	return now.Add(d.is.Delay), true
}

// carry carries packets until a device is closed. They stay in their order.
func (d *direction) carry(from, to *os.File) {
	queue := make(chan packet, packets)
	defer close(queue)
	go func() {
		for p := range queue {
			time.Sleep(time.Until(p.at))
			_, _ = to.Write(p.data) // an interface that is down takes nothing
		}
	}()
	for {
		data := make([]byte, 2*mtu)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		if at, carried := d.through(n); carried {
			select {
			case queue <- packet{data[:n], at}:
			default: // it is lost
			}
		}
	}
}
