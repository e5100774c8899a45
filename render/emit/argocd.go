// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// largeObject is the size of an object, in bytes of JSON, from which Argo CD is instructed
// to apply it on the server: client-side apply copies the object into an annotation,
// and all annotations of an object may have 256 KiB.
const largeObject = 200 << 10

// argo writes objects for Argo CD.
type argo struct {
	*writer
	// kinds are those whose CustomResourceDefinition is in the render.
	kinds map[string]bool
	// ruled holds, for each kind that has a readiness rule, the node that comes
	// first by id.
	ruled map[string]*object.Node
}

func newArgo(w *writer) *argo {
	a := &argo{writer: w, kinds: map[string]bool{}, ruled: map[string]*object.Node{}}
	for _, wave := range w.plan.Waves {
		for _, n := range wave.Nodes {
			o := n.Object
			if o.Kind() == "CustomResourceDefinition" && n.Apply.Adopt != object.AdoptMirror {
				a.kinds[object.Ref{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}.GroupKind()] = true
			}
		}
	}
	return a
}

// object returns n for Argo CD, or nil if it is left out.
func (a *argo) object(n *object.Node, wave int) object.Object {
	if n.Apply.Adopt == object.AdoptMirror {
		a.checkReady(n)
		a.reportLeftOut(n)
		return nil
	}
	a.reportLost(n)
	a.reportTimeouts(n)
	notes := map[string]string{dialect.ArgoSyncWave: strconv.Itoa(wave)}
	a.reportOverwritten(n, dialect.ArgoSyncWave, notes[dialect.ArgoSyncWave], "waves are computed from the graph")
	if rule, problems := a.ready.annotation(n); rule != "" {
		notes[dialect.ReadyWhen] = rule
		kind := n.Object.Ref().GroupKind()
		if first := a.ruled[kind]; first == nil || n.ID < first.ID {
			a.ruled[kind] = n
		}
		a.reportOverwritten(n, dialect.ReadyWhen, rule, "it is computed from readyWhen")
	} else {
		a.reportProblems(n, problems)
	}
	if options := a.options(n); options != "" {
		notes[dialect.ArgoSyncOptions] = options
	}
	return annotated(n.Object, notes)
}

// reportOverwritten reports an annotation of the author's that gets another value.
func (a *argo) reportOverwritten(n *object.Node, key, value, why string) {
	if old, ok := n.Object.Annotations()[key]; ok && old != value {
		a.warn(n, annotationPath(key), "remove the annotation", "%q is replaced with %q: %s", old, value, why)
	}
}

func (a *argo) reportLost(n *object.Node) {
	if n.Apply.Mode == object.ModeCreate {
		a.warn(n, "apply.mode", "", "Argo CD cannot create %s once and then leave it alone: it applies it at every sync", n.Object.Ref())
	}
	a.reportTakeover(n)
}

// options returns the sync options of n. What the author wrote into the annotation comes first,
// and wins option by option because it was written for this very engine. What follows from the
// policies comes after it.
func (a *argo) options(n *object.Node) string {
	var out []string
	for option := range strings.SplitSeq(n.Object.Annotations()[dialect.ArgoSyncOptions], ",") {
		option = strings.TrimSpace(option)
		if option != "" && !slices.Contains(out, option) {
			out = append(out, option)
		}
	}
	for _, option := range a.desired(n) {
		name, _, _ := strings.Cut(option, "=")
		i := slices.IndexFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"=") })
		switch {
		case i < 0 && !clash(out, option):
			out = append(out, option)
		case i < 0 || out[i] != option:
			a.warn(n, annotationPath(dialect.ArgoSyncOptions), "",
				"%q is kept, although apply of the node requires %s", strings.Join(out, ","), option)
		}
	}
	return strings.Join(out, ",")
}

// clash reports whether option cannot be combined with the options in list: Replace and Force
// combined delete and create the object at every sync.
func clash(list []string, option string) bool {
	switch option {
	case "Force=true":
		return slices.Contains(list, "Replace=true")
	case "Replace=true":
		return slices.Contains(list, "Force=true")
	}
	return false
}

// desired returns the sync options that follow from the policies and the object.
func (a *argo) desired(n *object.Node) []string {
	policy := n.Apply.WithDefaults(n.Object.Ref())
	var out []string
	if !*policy.Prune {
		out = append(out, "Prune=false")
	}
	if policy.Deletion == object.DeletionOrphan {
		out = append(out, "Delete=false")
	}

	// A mode is an option of the sync.
	switch policy.Mode {
	case object.ModeReplace:
		out = append(out, "Replace=true")
	case object.ModeForce:
		out = append(out, "Force=true")
	}
	if r := n.Object.Ref(); object.IsCustom(r.Group) && !a.kinds[r.GroupKind()] {
		out = append(out, "SkipDryRunOnMissingResource=true")
	}

	// Client-side apply would write the whole object into an annotation.
	if size := len(JSON(n.Object)); size >= largeObject && policy.Mode != object.ModeReplace {
		if policy.Mode == object.ModeForce {
			// Force is an option of client-side apply only.
			a.warn(n, "apply.mode", "use mode Replace, or a smaller object",
				"Argo CD cannot force %s, which has %d bytes: above 256 KiB it must be applied on the server, which has no Force",
				n.Object.Ref(), size)
			return out
		}
		out = append(out, "ServerSideApply=true")
	}
	return out
}

// reportTimeouts warns of timeouts of rules: a sync of Argo CD waits for an object without an end.
func (a *argo) reportTimeouts(n *object.Node) {
	for i, r := range n.ReadyWhen {
		if r.Timeout != "" {
			//nolint:staticcheck // Argo CD is a name
			err := fmt.Errorf("Argo CD has no timeout of an object: it waits for %s until it is ready, however long that takes", n.Object.Ref())
			a.addFound(n, &object.Error{
				Severity: object.SeverityWarning, Pos: r.Pos, Path: fmt.Sprintf("readyWhen[%d].timeout", i),
				Err: err, Hint: "remove timeout, or deliver with Flux",
			})
		}
	}
}

// reportHealth warns, once for each kind, that readyWhen needs the health check of
// that kind in argocd-cm.
func (a *argo) reportHealth() {
	if a.opts.HealthConfigured {
		return
	}
	for _, kind := range object.SortedKeys(a.ruled) {
		n := a.ruled[kind]
		effect := "uses its built-in health of the kind"
		if nativeHealth(n.Object.Group(), n.Object.Kind()) == otherHealth {
			effect = "may not wait for the kind at all"
		} else if !isExact(n.Object.Group(), n.Object.Kind()) {
			effect += "; with it, objects of the kind without readyWhen follow their condition Ready instead of the check of Argo CD"
		}
		a.warn(n, "readyWhen", "merge what render --argocd-cm FILE writes into argocd-cm, and add --argocd-health once it is there",
			"for kind %s Argo CD needs the key %q in the ConfigMap argocd-cm: without it, it %s", kind, healthKey(n.Object), effect)
	}
}
