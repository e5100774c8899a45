// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/render/object"
)

// Annotations of Flux's kustomize-controller.
const (
	fluxPrune = "kustomize.toolkit.fluxcd.io/prune"
	fluxSSA   = "kustomize.toolkit.fluxcd.io/ssa"
	fluxForce = "kustomize.toolkit.fluxcd.io/force"
)

// checkFlux refuses options that no Flux object could be made of.
func checkFlux(opts Options) error {
	if opts.Repository == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(opts.Repository, "oci://")
	if !ok || rest == "" || strings.ContainsAny(rest, " \t\n@") {
		return mistake("%q is no OCI repository: expected one such as oci://registry.example/team/shop", opts.Repository)
	}
	if opts.Interval < 0 || opts.Interval > 0 && opts.Interval < time.Second {
		return mistake("an interval of %s is too short: expected a second or more", opts.Interval)
	}
	return nil
}

// layers writes one folder for each wave, and the delivery objects where there
// is a repository to deliver from.
func (w *writer) layers() {
	width := max(2, len(strconv.Itoa(max(0, len(w.waves)-1))))
	for wave, nodes := range w.waves {
		number := fmt.Sprintf("%0*d", width, wave)
		layer := Layer{Name: label(w.opts.Name, "-"+number), Dir: "layer-" + number, Waves: []int{wave}}
		w.out.Layers = append(w.out.Layers, layer)
		for _, n := range nodes {
			w.undecrypted(n)
			w.file(n, wave, layer.Dir+"/"+w.names[n.ID], w.fluxObject(n))
		}
	}
	w.deliver()
}

// undecrypted warns of what SOPS encrypted (github.com/getsops/sops, stores/stores.go)
// where we write the Kustomization that applies it: kustomize-controller 1.9.5 applies a
// Secret with stringData as it is, ciphertext and all, where nothing says how to decrypt.
func (w *writer) undecrypted(n *object.Node) {
	if w.opts.Repository != "" && !w.opts.DecryptionConfigured && n.Object.Group() == "" && n.Object.Text("sops", "mac") != "" {
		w.warn(n, "", "add spec.decryption to the Kustomizations of this render",
			"%s is encrypted with SOPS, and nothing tells Flux how to decrypt it: it would apply what is encrypted", n.Object.Ref())
	}
}

// fluxObject is n with the annotations that carry its policies. What the
// author wrote under the same key wins: it was written for this very engine.
func (w *writer) fluxObject(n *object.Node) object.Object {
	notes := map[string]string{}
	old := n.Object.Annotations()
	wanted := w.fluxPolicies(n)
	for _, key := range object.SortedKeys(wanted) {
		value := wanted[key]
		switch was, ok := old[key]; {
		case !ok:
			notes[key] = value
		case was != value:
			w.warn(n, `metadata.annotations["`+key+`"]`, "", "%q of the author stands against %q, which the policies of the node ask for", was, value)
		}
	}
	return annotated(n.Object, notes)
}

// fluxPolicies is the annotations for the policies of n; it reports what none
// can say.
func (w *writer) fluxPolicies(n *object.Node) map[string]string {
	notes := map[string]string{}
	r, policy := n.Object.Ref(), n.Apply.WithDefaults(n.Object.Ref())
	orphan := policy.Deletion == object.DeletionOrphan
	if !*policy.Prune || orphan {
		notes[fluxPrune] = "disabled"
		switch {
		case orphan && n.Apply.Prune != nil && *n.Apply.Prune:
			w.warn(n, "apply.prune", "", "flux cannot prune %s and orphan it at deletion: it does neither", r)
		case !orphan && n.Apply.Deletion == object.DeletionDelete:
			w.warn(n, "apply.deletion", "", "flux cannot keep %s from pruning and delete it with the rest: it does neither", r)
		}
	}
	switch policy.Mode {
	case object.ModeCreate:
		notes[fluxSSA] = "IfNotPresent"
	case object.ModeForce:
		notes[fluxForce] = "enabled"
	case object.ModeReplace:
		w.warn(n, "apply.mode", "use mode Force where an immutable field is the reason", "flux cannot replace %s: it applies it on the server", r)
	}
	if policy.Adopt == object.AdoptMirror {
		if n.Apply.Mode == object.ModeCreate {
			w.warn(n, "apply.mode", "", "flux cannot create %s and only watch it: it watches", r)
		}
		notes[fluxSSA] = "Ignore"
	}
	lostConflict(w, n, "flux")
	return notes
}

// label is a name that may be a label as well, with an end that stays: Flux
// labels all that it applies with the name of the Kustomization, and a label
// has 63 characters at most.
func label(name, end string) string {
	name = strings.Trim(strings.NewReplacer(".", "-", "_", "-").Replace(fileSafe(name)), "-")
	if name == "" {
		name = "ropewalk"
	}
	const most = 63
	if over := len(name) + len(end) - most; over > 0 {
		name = strings.TrimRight(name[:len(name)-over], "-")
	}
	return name + end
}
