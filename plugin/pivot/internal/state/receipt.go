// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Role is the role of a plane in a pivot.
type Role string

// The roles.
const (
	RoleSource Role = "source"
	RoleTarget Role = "target"
)

// Step is the last step that an end has finished. Freezing, Activating and Aborting have only begun.
type Step string

// The steps.
const (
	Freezing    Step = "Freezing"
	Frozen      Step = "Frozen"
	Snapshotted Step = "Snapshotted"
	Prepared    Step = "Prepared"
	Staged      Step = "Staged"
	Imported    Step = "Imported"
	Verified    Step = "Verified"
	Committed   Step = "Committed"
	Activating  Step = "Activating"
	Activated   Step = "Activated"
	Active      Step = "Active"
	Confirmed   Step = "Confirmed"
	Done        Step = "Done"
	Aborting    Step = "Aborting"
	Aborted     Step = "Aborted"
)

// Ended reports whether nothing of the pivot is left to be done.
func (s Step) Ended() bool { return s == "" || s == Done || s == Aborted }

// Forward reports whether the pivot cannot be aborted any more.
func (s Step) Forward() bool {
	return slices.Contains([]Step{Committed, Activating, Activated, Active, Confirmed, Done}, s)
}

// InCharge reports whether the cluster has moved to the plane of the receipt.
func (r *Receipt) InCharge() bool {
	return r.Role == RoleTarget && (r.Step == Active || r.Step == Done)
}

// Peer is a plane.
type Peer struct {
	// UID is the UID of its namespace kube-system.
	UID string `json:"uid"`
	// Server is the address of its API server as the process that drives the pivot sees it.
	Server string `json:"server,omitempty"`
}

// Mark records that an end has finished a step.
type Mark struct {
	Step Step      `json:"step"`
	At   time.Time `json:"at"`
	// Note explains the step to a user, such as the name of the user who took over.
	Note string `json:"note,omitempty"`
}

// Receipt is the state of a pivot at an end. Of the objects it has only names and digests.
type Receipt struct {
	ID   string `json:"id"`
	Role Role   `json:"role"`
	Step Step   `json:"step"`
	// Epoch counts the processes that have driven the pivot.
	Epoch int64 `json:"epoch"`
	// Cluster is the Cluster that moves, and ClusterUID its UID on the source.
	Cluster    plane.Ref `json:"cluster"`
	ClusterUID string    `json:"clusterUID,omitempty"`
	Source     Peer      `json:"source"`
	Target     Peer      `json:"target"`
	// Round counts the snapshots. Digest, Objects (the number of entries) and Chunks (the number of
	// parts) describe the last snapshot.
	Round   int    `json:"round,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Objects int    `json:"objects,omitempty"`
	Chunks  int    `json:"chunks,omitempty"`
	// Paused is the time at which the Cluster was paused on the source; zero before that.
	Paused time.Time `json:"paused,omitzero"`
	// Copy are the shared objects that the first process was told to copy.
	Copy []plane.Ref `json:"copy,omitempty"`
	// TakenOver means that the target was activated without its source.
	TakenOver bool   `json:"takenOver,omitempty"`
	Marks     []Mark `json:"marks"`
	// Past lists the earlier pivots, whose requests come too late.
	Past []string `json:"past,omitempty"`
	// Outline has the entries without their objects; on the source only.
	Outline []snapshot.Entry `json:"-"`
}

// past returns Past for the next receipt: at most the last 16 pivots.
func (r *Receipt) past() []string {
	const limit = 16
	if r == nil {
		return nil
	}
	out := append(slices.Clone(r.Past), r.ID)
	return out[max(0, len(out)-limit):]
}

// setStep sets the step, and adds its mark.
func (r *Receipt) setStep(s Step, now time.Time, note string) {
	r.Step = s
	r.Marks = append(r.Marks, Mark{Step: s, At: now.UTC().Truncate(time.Millisecond), Note: note})
}

// empty reports whether the target has nothing of the pivot but the receipt: a request that came
// late has prepared it.
func (r *Receipt) empty() bool { return r.Role == RoleTarget && r.Step == Prepared && r.Digest == "" }

// next returns what a user can do with a pivot of the source that is under way.
func (r *Receipt) next() string {
	if r.Step.Forward() {
		return "go on with `ropewalk pivot run --resume`"
	}
	return "go on with `ropewalk pivot run --resume`, or undo it with `ropewalk pivot abort`"
}

// When returns the time at which a step was finished last; zero if it was not.
func (r *Receipt) When(s Step) time.Time {
	for _, m := range slices.Backward(r.Marks) {
		if m.Step == s {
			return m.At
		}
	}
	return time.Time{}
}

// Names in the objects that the ends write.
const (
	// ReceiptLabel is on receipts, and ChunkLabel on the Secrets with chunks; the value is the
	// name of the Cluster, cut to the size of a label.
	ReceiptLabel = inventory.ReceiptLabel
	ChunkLabel   = inventory.ChunkLabel
	// Finalizer keeps a receipt until the pivot has ended, also if its namespace is deleted: without
	// the receipt the pivot could neither go on nor be undone.
	Finalizer = "pivot.ropewalk.dev/receipt"

	receiptKey = "receipt.json"
	outlineKey = "outline.gz"
	// maxOutline bounds the outline so that the ConfigMap stays below 1 MiB, in bytes before base64.
	maxOutline = 700 << 10
)

// ErrFenced means that another process drives the pivot now, or has ended it.
var ErrFenced = errors.New("another process goes on with a pivot of this Cluster, or has ended it: look at it with `ropewalk pivot status`")

// store reads and writes the receipt of a cluster on a plane.
type store struct {
	plane   *plane.Plane
	cluster types.NamespacedName
	// live is the ConfigMap that was read or written last; nil if there is none.
	live *unstructured.Unstructured
}

// ref returns the reference of the receipt.
func (s *store) ref() plane.Ref {
	return plane.Ref{Kind: "ConfigMap", Namespace: s.cluster.Namespace, Name: ReceiptName(s.cluster.Name)}
}

// ReceiptName returns the name of the receipt of a Cluster. Names of chunks begin with it.
func ReceiptName(cluster string) string {
	const size = 200
	return "pivot-" + cut(cluster, size)
}

// labelValue returns a name cut to the size of a label.
func labelValue(name string) string {
	const size = 63
	return cut(name, size)
}

// cut returns a name of at most so many bytes, with a digest in place of a longer end.
func cut(name string, size int) string {
	if len(name) <= size {
		return name
	}
	return name[:size-9] + "-" + snapshot.Sum([]byte(name))[:8]
}

// read returns the receipt; nil if there is none.
func (s *store) read(ctx context.Context) (*Receipt, error) {
	s.live = nil
	o, err := s.plane.Get(ctx, plane.ConfigMapKind, s.ref())
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no receipt is no error
	}
	if err != nil {
		return nil, fmt.Errorf("%s plane: receipt %s: %w", s.plane.Name(), s.ref(), err)
	}
	r, err := decodeReceipt(o)
	if err != nil {
		const format = "%s plane: %s is not a receipt of a pivot: %w: rename it, or delete it if no pivot is under way"
		return nil, fmt.Errorf(format, s.plane.Name(), s.ref(), err)
	}
	s.live = o
	return r, nil
}

// decodeReceipt reads a receipt from its ConfigMap, and checks its outline.
func decodeReceipt(o *unstructured.Unstructured) (*Receipt, error) {
	text, _, _ := unstructured.NestedString(o.Object, "data", receiptKey)
	r := &Receipt{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("data[%q]: %w", receiptKey, err)
	}

	// The source needs the outline once it has a snapshot.
	outline, _, _ := unstructured.NestedString(o.Object, "binaryData", outlineKey)
	switch {
	case outline == "" && r.Role == RoleSource && r.Objects > 0:
		return nil, fmt.Errorf("binaryData[%q]: it is missing: the names of %d objects are expected", outlineKey, r.Objects)
	case outline == "":
		return r, nil
	}
	if err := unpack(outline, &r.Outline); err != nil {
		return nil, fmt.Errorf("binaryData[%q]: %w", outlineKey, err)
	}
	if got := snapshot.Digest(r.Outline); got != r.Digest {
		return nil, fmt.Errorf("binaryData[%q]: its digest is %q, expected %q", outlineKey, got, r.Digest)
	}
	return r, nil
}

// unpack reads an outline that is packed and in base64.
func unpack(outline string, entries *[]snapshot.Entry) error {
	packed := base64.NewDecoder(base64.StdEncoding, strings.NewReader(outline))
	unzip, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	const limit = 64 << 20
	return json.NewDecoder(io.LimitReader(unzip, limit)).Decode(entries)
}

// encode returns the ConfigMap of a receipt. It keeps the metadata of an earlier ConfigMap.
func (s *store) encode(r *Receipt) (*unstructured.Unstructured, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}

	// Set the metadata. The finalizer is gone once the pivot has ended.
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	if s.live != nil {
		o = s.live.DeepCopy()
	}
	o.SetNamespace(s.cluster.Namespace)
	o.SetName(s.ref().Name)
	o.SetLabels(map[string]string{ReceiptLabel: labelValue(s.cluster.Name)})
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == Finalizer }))
	if !r.Step.Ended() {
		o.SetFinalizers(append(o.GetFinalizers(), Finalizer))
	}

	// Set the content.
	o.Object["data"] = map[string]any{receiptKey: string(text)}
	delete(o.Object, "binaryData")
	if r.Outline != nil {
		packed, err := pack(r.Outline)
		if err != nil {
			return nil, err
		}
		if len(packed) > maxOutline {
			const format = "%s has %d objects: their names are more than fit into one ConfigMap; move clusters of at most about 8000 objects"
			return nil, fmt.Errorf(format, r.Cluster, len(r.Outline))
		}
		o.Object["binaryData"] = map[string]any{outlineKey: base64.StdEncoding.EncodeToString(packed)}
	}
	return o, nil
}

// pack compresses an outline.
func pack(outline []snapshot.Entry) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if err := json.NewEncoder(zip).Encode(outline); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// write replaces the receipt that was read or written last. It returns ErrFenced if another
// process has written the receipt since.
func (s *store) write(ctx context.Context, r *Receipt) error {
	const attempts = 100
	for range attempts {
		// Create the receipt, or replace it.
		o, err := s.encode(r)
		if err != nil {
			return err
		}
		var out *unstructured.Unstructured
		if s.live == nil {
			out, err = s.plane.Create(ctx, plane.ConfigMapKind, o, metav1.CreateOptions{})
		} else {
			out, err = s.plane.Replace(ctx, plane.ConfigMapKind, o)
		}
		if err == nil {
			s.live = out
			return nil
		}

		// Only conflicts are tried again.
		isConflict := apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
		if !isConflict {
			return fmt.Errorf("%s plane: receipt %s: %w", s.plane.Name(), s.ref(), err)
		}
		if apierrors.IsNotFound(err) && r.Step.Ended() {
			s.live = nil
			return nil // Its namespace was being deleted, and waited for this.
		}

		// Read the receipt. If it is written already, the answer to an earlier attempt was lost. If it
		// is as before, only its metadata has changed, and another attempt may succeed.
		before := content(s.live)
		if _, err := s.read(ctx); err != nil {
			return err
		}
		live := content(s.live)
		if live == content(o) {
			return nil
		}
		if live != before {
			return fmt.Errorf("%s plane: receipt %s: %w", s.plane.Name(), s.ref(), ErrFenced)
		}
	}
	const format = "%s plane: receipt %s: it cannot be written: each attempt is in conflict with another change"
	return fmt.Errorf(format, s.plane.Name(), s.ref())
}

// content returns the JSON of a receipt; "" if there is none.
func content(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", receiptKey)
	return text
}

// Read returns the receipt of a Cluster on a plane; nil if there is none.
func Read(ctx context.Context, p *plane.Plane, cluster types.NamespacedName) (*Receipt, error) {
	return (&store{plane: p, cluster: cluster}).read(ctx)
}

// retryContested calls f again, up to 100 times, while another process writes the receipt before f.
func retryContested(f func() error) error {
	const attempts = 100 // A pivot has fewer steps.
	for i := 1; ; i++ {
		if err := f(); !errors.Is(err, ErrFenced) || i == attempts {
			return err
		}
	}
}
