// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Knative prints why the webhook of Knative Serving would refuse the Service on standard
// input, and nothing where it would not. Its warnings are not printed: containers without a
// security context have some, because Knative may change their defaults.
//
// It is a module of its own: the newest version of Knative Serving that is complete as a
// module is of 2024, and wants the libraries of Kubernetes of that year.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"knative.dev/pkg/apis"
	"knative.dev/serving/pkg/apis/config"
	serving "knative.dev/serving/pkg/apis/serving/v1"
)

func main() {
	var service serving.Service
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields() // As the webhook does.
	if err := decoder.Decode(&service); err != nil {
		fmt.Println(err)
		return
	}
	ctx := apis.WithinCreate(config.ToContext(context.Background(), config.FromContextOrDefaults(context.Background())))
	service.SetDefaults(ctx)
	if err := service.Validate(ctx).Filter(apis.ErrorLevel); err != nil {
		fmt.Println(err)
	}
}
