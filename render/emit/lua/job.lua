-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Job as Argo CD sees it on its own.
local function builtin(object)
  local failed, ended, suspended = nil, nil, false
  for _, c in ipairs(field(object, "status", "conditions") or {}) do
    if c.type == "Failed" then failed = c end
    if c.type == "Complete" or c.type == "Suspended" then ended = c end
    if c.type == "Suspended" and c.status == "True" then suspended = true end
  end
  if failed ~= nil then return health("Degraded", failed.message) end
  if suspended then return health("Suspended") end
  if ended ~= nil then return health("Healthy", ended.message) end
  return health("Progressing")
end
