-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health that Argo CD gives kinds with a condition Ready, such as those of
-- the External Secrets Operator.
local function builtin(object)
  local conditions = field(object, "status", "conditions")
  for _, c in ipairs(type(conditions) == "table" and conditions or {}) do
    if c.type == "Ready" and c.status == "False" then return health("Degraded", c.message) end
    if c.type == "Ready" and c.status == "True" then return health("Healthy", c.message) end
  end
  return health("Progressing", "Waiting for " .. tostring(object.kind))
end
