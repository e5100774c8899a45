// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
)

func ExampleRegistries() {
	registries := &remote.Registries{PlainHTTP: func(host string) bool { return host == "127.0.0.1:1" }, Attempts: 1}
	repo, err := registries.Repository(context.Background(), "127.0.0.1:1/modules/web", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = repo.Resolve(context.Background(), "v1")
	err = remote.Explain(err, "oci://127.0.0.1:1/modules/web:v1")
	fmt.Println(errors.Is(err, source.ErrUnavailable), err)
	// Output: true oci://127.0.0.1:1/modules/web:v1: "127.0.0.1:1": connection refused: correct host and port, or try again later
}
