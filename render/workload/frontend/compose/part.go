// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"math"
	"strconv"
	"time"

	"github.com/docker/go-units"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// warnUnused warns of members that have no meaning in Kubernetes.
func warnUnused(p document.Part, names ...string) {
	for _, name := range names {
		if field := p.At(name); field.Given() {
			field.Warn("remove it", "%s has no meaning in Kubernetes", name)
		}
	}
}

// oneOrMore returns the items of a list, or p itself as the only item.
func oneOrMore(p document.Part) []document.Part {
	if p.Given() && p.Kind != object.KindList {
		return []document.Part{p}
	}
	return p.Parts()
}

// integer returns a whole number that is not below least. It returns false if there is no number,
// and reports a number that is out of range.
func integer(p document.Part, least int) (int, bool) {
	n, ok := p.Number()
	if p.Given() && (!ok || n < least || n > math.MaxInt32) {
		p.Fail("", "expected a whole number from %d on", least)
		return 0, false
	}
	return n, ok
}

// bytes returns an amount of memory such as 512m as a quantity of Kubernetes. The value is absent
// for 0, which means no limit.
func bytes(p document.Part) object.Value {
	if !p.Given() {
		return object.Value{}
	}
	n, err := units.RAMInBytes(p.Written())
	if err != nil || n < 0 {
		p.Fail("", "expected an amount of memory, such as 512m or 1g")
	}
	if err != nil || n <= 0 {
		return object.Value{}
	}

	// Write the number with the largest unit that divides it.
	const step = 1024
	unit := 0
	for n > 0 && n%step == 0 && unit < len(binaryUnits)-1 {
		n /= step
		unit++
	}
	return object.TextAt(strconv.FormatInt(n, 10)+binaryUnits[unit], p.Pos)
}

var binaryUnits = [...]string{"", "Ki", "Mi", "Gi", "Ti"} //nolint:gochecknoglobals // a constant

// cpus returns a number of CPUs as a quantity of Kubernetes. The value is absent for 0, which
// means no limit. Quantities such as 500m are not numbers in Compose.
func cpus(p document.Part) object.Value {
	n, err := strconv.ParseFloat(p.Written(), 64)
	switch {
	case !p.Given() || (n == 0 && err == nil):
		return object.Value{}
	case err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n):
		p.Fail(`write 0.5 in place of 500m`, "expected a number of CPUs, such as 0.5 or 2")
		return object.Value{}
	}
	if milli := n * 1000; milli < 1<<50 && math.Abs(milli-math.Round(milli)) > 1e-6 {
		p.Warn("write thousandths of a CPU, such as 0.001", "Kubernetes counts thousandths of a CPU, and %s is rounded up", p.Written())
	}
	return object.TextAt(p.Written(), p.Pos)
}

// seconds returns a duration in full seconds, rounded up, or 0 if none is given.
func seconds(p document.Part) int {
	if !p.Given() {
		return 0
	}
	d, err := time.ParseDuration(p.Written())
	if err != nil || d < 0 || d > math.MaxInt32*time.Second {
		p.Fail("", "expected a duration, such as 30s or 1m30s")
		return 0
	}
	if d%time.Second != 0 {
		p.Warn("write full seconds", "Kubernetes counts seconds, and %s is rounded up", p.Written())
	}
	return int(math.Ceil(d.Seconds()))
}
