-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of an Ingress as Argo CD sees it on its own.
local function builtin(object)
  return health(field(object, "status", "loadBalancer", "ingress", 1) == nil and "Progressing" or "Healthy")
end
