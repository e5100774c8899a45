// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Conditions beside those of Flux (Ready, Reconciling, Stalled).
const (
	// ValidatedCondition says that the input, the objects and the policies agree.
	ValidatedCondition = "Validated"
	// RenderedCondition says that the artifact of this generation and revision is
	// published.
	RenderedCondition = "Rendered"
	// SharedObjectsCondition says which objects another Transform delivers too. There is
	// none where all objects are its own.
	SharedObjectsCondition = "SharedObjects"
	// OverQuotaCondition says what ResourceQuotas and LimitRanges do not allow the pods of
	// the last render. There is none where they allow all, or are not known.
	OverQuotaCondition = "OverQuota"
	// RolledBackCondition says which artifact was not Ready within delivery.rollbackAfter, and
	// which one is delivered in its place. There is none otherwise.
	RolledBackCondition = "RolledBack"
)

// Reasons of conditions.
const (
	// SourceNotReadyReason: the source has no artifact yet, or none that is current.
	SourceNotReadyReason = "SourceNotReady"
	// SourceNotFoundReason: there is no such source.
	SourceNotFoundReason = "SourceNotFound"
	// AccessDeniedReason: the controller's flags or the account forbid it.
	AccessDeniedReason = "AccessDenied"
	// DependencyNotReadyReason: a Transform that this one depends on is not Ready.
	DependencyNotReadyReason = "DependencyNotReady"
	// NeedsReason: a layer waits for an object outside of the render.
	NeedsReason = "NeedsNotMet"
	// OutsideWindowReason: what is published waits for a window in which it may be delivered.
	OutsideWindowReason = "OutsideWindow"
	// FetchFailedReason: a module or an input could not be had.
	FetchFailedReason = "FetchFailed"
	// InvalidReason: the input, a module or the objects have mistakes.
	InvalidReason = "Invalid"
	// PolicyViolationReason: a policy says no.
	PolicyViolationReason = "PolicyViolation"
	// RenderFailedReason: the render ended by a limit.
	RenderFailedReason = "RenderFailed"
	// PublishFailedReason: the artifact could not be pushed or stored.
	PublishFailedReason = "PublishFailed"
	// ForeignObjectsReason: objects have another owner.
	ForeignObjectsReason = "ForeignObjects"
	// SharedObjectsReason: another Transform delivers the same objects.
	SharedObjectsReason = "SharedObjects"
	// OverQuotaReason: a ResourceQuota or a LimitRange will refuse pods.
	OverQuotaReason = "OverQuota"
	// HandingOverReason: all is applied, and objects that another Transform wants, or may
	// want, are kept until it has them.
	HandingOverReason = "HandingOver"
	// DeliveryFailedReason: the objects of the engine could not be written.
	DeliveryFailedReason = "DeliveryFailed"
	// FeatureDisabledReason: a gate of the engine or of the controller is off.
	FeatureDisabledReason = "FeatureDisabled"
	// LayerNotReadyReason: the engine has given up on a layer.
	LayerNotReadyReason = "LayerNotReady"
	// RolledBackReason: what is delivered is an earlier digest.
	RolledBackReason = "RolledBack"
	// DeletingReason: the delivered objects are being taken away.
	DeletingReason = "Deleting"
	// ValidReason, PublishedReason and SucceededReason: all is well.
	ValidReason     = "Valid"
	PublishedReason = "Published"
	SucceededReason = "ReconciliationSucceeded"
)

// States of layers.
const (
	// LayerWaiting: a layer before it is not Ready at its new digest, or an object that it
	// needs is not there.
	LayerWaiting = "Waiting"
	// LayerApplying: the engine is at it.
	LayerApplying = "Applying"
	LayerReady    = "Ready"
	LayerFailed   = "Failed"
	// LayerRetiring: it is not rendered any more, and goes when its objects are
	// owned by others or deleted.
	LayerRetiring = "Retiring"
	// LayerHandingOver: it keeps an object until another layer, or Transform, owns it.
	LayerHandingOver = "HandingOver"
)
