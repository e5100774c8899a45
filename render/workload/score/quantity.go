// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

// amounts decodes the requests and limits of a container. Score knows cpu and memory. The other
// resources of Kubernetes, such as ephemeral-storage, are extras.
func (p part) amounts(out *Container, extra bool) {
	limits, requests := p.field("limits"), p.field("requests")
	limitPairs, requestPairs := limits.quantities(extra), requests.quantities(extra)
	requests.checkLimits(requestPairs, limitPairs)
	out.Limits, out.Requests = over(out.Limits, limitPairs), over(out.Requests, requestPairs)
}

// quantities decodes amounts of cpu, memory and other resources. The others are extras of a Score
// file.
func (p part) quantities(extra bool) []Pair {
	var out []Pair
	for _, e := range p.entries() {
		if usual := e.name == "cpu" || e.name == "memory"; e.doc.Score && usual == extra {
			hint := suggest(e.name, []string{"cpu", "memory"})
			if extra {
				hint = "it goes under resources of the container itself"
			} else if object.DidYouMean(e.name, []string{"cpu", "memory"}) == "" {
				hint = "what Score does not know goes under metadata.containers.NAME.resources"
			}
			e.failAt(e.namePos, e.loc, hint, "unknown field %s", shown(e.name))
			continue
		}
		out = append(out, Pair{Name: e.name, NamePos: e.namePos, Value: e.quantity()})
	}
	slices.SortFunc(out, comparePairs)
	return out
}

// quantity decodes one amount. The result is an amount that Kubernetes accepts: memory in full
// bytes, and a cpu with a digit before the point. It is empty after a mistake.
func (e entry) quantity() Text {

	// Warn of a form that Score does not have.
	t := Text{Pos: e.Pos, Value: e.Text}
	little := e.name == "memory" && !strings.ContainsAny(e.Text, "-.eE") && len(e.Text) < len("1048576") // bytes warns of it
	if e.Kind == object.KindNumber && e.doc.Score && !little {
		e.advise("write "+strconv.Quote(e.Text), "expected a string, got a number")
	}
	if e.name == "cpu" && strings.HasPrefix(t.Value, ".") && e.doc.Score {
		e.advise("write "+strconv.Quote("0"+t.Value), "an amount of CPU begins with a digit")
		t.Value = "0" + t.Value
	}

	// Check it by the rules of Score, then by the rules of Kubernetes.
	if problem, hint := e.badQuantity(t.Value); problem != "" {
		e.reject(hint, "%s %s", shown(t.Value), problem)
		return Text{Pos: e.Pos} // An empty amount is not compared with a limit.
	}
	q, err := resource.ParseQuantity(t.Value)
	switch {
	case err != nil:
		e.reject("", "%s is not a quantity: expected one such as %s", shown(t.Value), example(e.name))
	case q.Sign() < 0:
		e.reject("", "%s is negative", shown(t.Value))
	case e.name == "memory":
		t.Value = e.bytes(t.Value, q)
	}
	return t
}

// storage is the resource for local disk of the node.
const storage = "ephemeral-storage"

// bytes returns an amount of memory in full bytes, rounded up.
func (e entry) bytes(text string, q resource.Quantity) string {
	const little = 1 << 20
	if n := q.Value(); n < little && !q.IsZero() {
		e.advise("write a unit, such as "+example("memory"), "%d bytes are hardly enough for a container", n)
	}
	if !strings.Contains(text, ".") {
		return text
	}
	if rounded := resource.NewQuantity(q.Value(), q.Format); rounded.Cmp(q) != 0 {
		return strconv.FormatInt(q.Value(), 10)
	}
	return text
}

// example returns an amount of the resource called name, for messages.
func example(name string) string {
	if name == "cpu" {
		return `"500m" or "0.5"`
	}
	return `"128Mi"`
}

// badQuantity returns the mistake of an amount by the rules of Score, or an amount of Score that
// Kubernetes does not accept. It returns "" if the amount is right.
func (e entry) badQuantity(text string) (problem, hint string) {
	const digit = "0123456789"
	digits := strings.TrimLeft(text, digit)
	number := text[:len(text)-len(digits)]
	unit := strings.TrimLeft(text, digit+".")
	bytes := e.name == "memory" || e.name == storage
	if bytes && unit == "K" {
		n := strings.TrimSuffix(text, "K")
		return "is not a quantity of Kubernetes", "write " + strconv.Quote(n+"k") + " or " + strconv.Quote(n+"Ki")
	}
	if bytes && unit == "m" {
		n := strings.TrimSuffix(text, "m")
		return "is in thousandths of a byte", "write " + strconv.Quote(n+"M") + " or " + strconv.Quote(n+"Mi")
	}

	// Score has a grammar of its own.
	if !e.doc.Score {
		return "", ""
	}
	point := false
	fraction := ""
	if afterPoint, ok := strings.CutPrefix(digits, "."); ok {
		fraction = afterPoint[:len(afterPoint)-len(strings.TrimLeft(afterPoint, digit))]
		point = true
		digits = afterPoint[len(fraction):]
	}
	ok := number != "" && (!point || fraction != "")
	if e.name == "cpu" {
		ok = ok && (digits == "" || (digits == "m" && !point))
		hint = "expected CPUs or millicores, such as " + example("cpu")
	} else {
		noLeadingZero := number == "" || number[0] != '0' || (number == "0" && point)
		units := []string{"", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
		ok = ok && noLeadingZero && slices.Contains(units, digits)
		hint = "expected bytes with an optional unit: " + example("memory")
	}
	if ok {
		return "", ""
	}
	return "is not an amount of " + e.name, hint
}

// checkLimits checks that no request exceeds its limit.
func (p part) checkLimits(requests, limits []Pair) {
	for _, r := range requests {
		i, found := slices.BinarySearchFunc(limits, r, comparePairs)
		if !found {
			continue
		}
		request, err := resource.ParseQuantity(r.Value.Value)
		limit, limitErr := resource.ParseQuantity(limits[i].Value.Value)
		if err == nil && limitErr == nil && request.Cmp(limit) > 0 {
			p.field(r.Name).failBeside(limits[i].Value.Pos, "the limit",
				"%s is more than the limit, which is %s", shown(r.Value.Value), shown(limits[i].Value.Value))
		}
	}
}
