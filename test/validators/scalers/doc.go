// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package scalers lets KEDA build the scalers of all triggers that Ropewalk renders, as its
// operator does after the webhooks took the object. It is a package of its own because the
// scalers of KEDA are one package with the clients of all clouds and brokers.
package scalers
