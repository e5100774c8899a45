-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a kind that Argo CD has no check for: nothing waits for
-- an object of it.
local function builtin() return health("Healthy") end

-- reported is what the usual conditions say of an object with a rule.
local function reported(object)
  local stalled = condition(object, "Stalled")
  if stalled ~= nil and stalled.status == "True" then return health("Degraded", stalled.message) end
  for _, name in ipairs({ "Ready", "Available", "Succeeded" }) do
    local c = condition(object, name)
    if c ~= nil then return health("Progressing", c.message) end
  end
  return health("Progressing")
end
