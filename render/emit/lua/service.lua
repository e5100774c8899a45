-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Service as Argo CD sees it on its own.
local function builtin(object)
  if field(object, "spec", "type") == "LoadBalancer" and field(object, "status", "loadBalancer", "ingress", 1) == nil then
    return health("Progressing")
  end
  return health("Healthy")
end
