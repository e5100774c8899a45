-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of an APIService as Argo CD sees it on its own.
local function builtin(object)
  local c = condition(object, "Available")
  if c == nil then return health("Progressing", "Waiting to be processed") end
  return health(c.status == "True" and "Healthy" or "Progressing", (c.reason or "") .. ": " .. (c.message or ""))
end
