-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of an APIService as Argo CD sees it on its own.
local function builtin(object)
  local available = condition(object, "Available")
  if available ~= nil and available.status == "True" then return health("Healthy", available.message) end
  return health("Progressing", available ~= nil and available.message or "nothing has answered yet")
end
