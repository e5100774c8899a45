-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a kind that says it by the usual conditions. Argo CD
-- may ship a finer check for the kind, which this one stands in front of. An
-- object that says nothing is healthy, as a kind without a check is.
local function builtin(object)
  if not observed(object) then return health("Progressing", "the last change is not seen yet") end
  local stalled = condition(object, "Stalled")
  if stalled ~= nil and stalled.status == "True" then return health("Degraded", stalled.message) end
  for _, name in ipairs({ "Ready", "Available", "Succeeded" }) do
    local c = condition(object, name)
    if c ~= nil then
      return health(c.status == "True" and "Healthy" or "Progressing", c.message)
    end
  end
  return health("Healthy")
end
