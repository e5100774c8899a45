-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a CustomResourceDefinition as Argo CD sees it on its own.
local function builtin(object)
  local conditions, established = field(object, "status", "conditions") or {}, false
  if conditions[1] == nil then return health("Progressing", "Status conditions not found") end
  for _, c in ipairs(conditions) do
    local message = c.message or ""
    if c.type == "Terminating" and c.status == "True" then
      return health("Progressing", "CRD is terminating: " .. message)
    end
    if c.type == "NamesAccepted" and c.status == "False" then
      return health("Degraded", "CRD names have not been accepted: " .. message)
    end
    if c.type == "NonStructuralSchema" and c.status == "True" then
      return health("Degraded", "Schema violations found: " .. message)
    end
    if c.type == "Established" and c.status ~= "True" and c.reason == "Installing" then
      return health("Progressing", "CRD is being installed")
    end
    established = established or c.type == "Established" and c.status == "True"
  end
  if not established then return health("Degraded", "CRD is not established") end
  return health("Healthy", "CRD is healthy")
end
