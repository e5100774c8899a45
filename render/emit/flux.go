// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// checkFlux rejects options that make no valid Flux object.
func checkFlux(opts Options) error {
	if opts.Repository == "" {
		return nil
	}
	// What is written may hold a password, so that no message repeats it.
	rest, ok := strings.CutPrefix(opts.Repository, "oci://")
	if !ok || rest == "" || strings.ContainsAny(opts.Repository+opts.Reference, " \t\n@?#") {
		return mistake("repository is not an OCI repository: expected a reference such as oci://registry.example/team/shop, " +
			"without credentials: these belong in a Secret of the cluster that secretRef of the OCIRepository names")
	}
	if opts.Interval != 0 && opts.Interval < time.Second {
		return mistake("interval %s is too short: expected at least 1s", opts.Interval)
	}
	return nil
}

// writeLayers writes one folder for each wave, and the delivery objects if there is a repository
// to deliver from.
func (w *writer) writeLayers() {
	width := max(2, len(strconv.Itoa(max(0, len(w.plan.Waves)-1))))
	for i, wave := range w.plan.Waves {
		number := fmt.Sprintf("%0*d", width, i)
		layer := Layer{Name: label(w.opts.Name, "-"+number), Dir: "layer-" + number, Waves: []int{i}}
		w.out.Layers = append(w.out.Layers, layer)
		for _, n := range wave.Nodes {
			w.warnEncrypted(n)
			w.writeFile(n, i, layer.Dir+"/"+w.names[n.ID], w.fluxObject(n))
		}
	}
	w.deliver()
}

// warnEncrypted warns of what SOPS encrypted (github.com/getsops/sops, stores/stores.go), if
// Ropewalk writes the Kustomization that applies it. Without spec.decryption,
// kustomize-controller 1.9.5 applies a Secret with stringData as it is, with its ciphertext.
func (w *writer) warnEncrypted(n *object.Node) {
	isEncrypted := n.Object.Group() == "" && n.Object.Text("sops", "mac") != ""
	if w.opts.Repository != "" && !w.opts.DecryptionConfigured && isEncrypted {
		w.warn(n, "", "add spec.decryption to the Kustomizations of this render",
			"%s is encrypted with SOPS, and its Kustomization has no spec.decryption: Flux would apply the ciphertext", n.Object.Ref())
	}
}

// fluxObject returns n with the annotations that carry its policies. What the author wrote under
// the same key wins: it was written for this very engine.
func (w *writer) fluxObject(n *object.Node) object.Object {
	notes := w.fluxPolicies(n)
	old := n.Object.Annotations()
	for _, key := range object.SortedKeys(notes) {
		if was, ok := old[key]; ok {
			if was != notes[key] {
				w.warn(n, annotationPath(key), "", "%q is kept, although apply of the node requires %q", was, notes[key])
			}
			delete(notes, key)
		}
	}
	return annotated(n.Object, notes)
}

// fluxPolicies returns the annotations for the policies of n. It reports the policies that have no
// annotation.
func (w *writer) fluxPolicies(n *object.Node) map[string]string {
	notes := map[string]string{}
	r, policy := n.Object.Ref(), n.Apply.WithDefaults(n.Object.Ref())
	orphan := policy.Deletion == object.DeletionOrphan
	if !*policy.Prune || orphan {
		notes[dialect.FluxPrune] = "disabled"
		switch {
		case orphan && n.Apply.Prune != nil && *n.Apply.Prune:
			w.warn(n, "apply.prune", "", "Flux cannot prune %s and also orphan it at deletion: it does neither prune nor delete it", r)
		case !orphan && n.Apply.Deletion == object.DeletionDelete:
			w.warn(n, "apply.deletion", "",
				"Flux cannot exempt %s from pruning and also delete it with the rest: it does neither prune nor delete it", r)
		}
	}

	// A mode is an annotation, if Flux has the mode at all.
	switch policy.Mode {
	case object.ModeCreate:
		notes[dialect.FluxSSA] = "IfNotPresent"
	case object.ModeForce:
		notes[dialect.FluxForce] = "enabled"
	case object.ModeReplace:
		w.warn(n, "apply.mode", "use mode Force if an immutable field is the reason",
			"Flux cannot replace %s: it always uses server-side apply", r)
	}
	if policy.Adopt == object.AdoptMirror {
		// With Ignore, Flux would not create it either. What it does not create it neither
		// prunes nor deletes, because that has not its labels.
		notes[dialect.FluxSSA] = "IfNotPresent"
	}
	w.reportTakeover(n)
	return notes
}

// label returns a name that is a valid label as well, and keeps its end. Flux labels all that it
// applies with the name of the Kustomization, and a label has at most 63 characters.
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
