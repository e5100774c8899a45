-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin waits until the kind can be used, and fails where its names are taken.
local function builtin(object)
  local names = condition(object, "NamesAccepted")
  if names ~= nil and names.status == "False" then return health("Degraded", names.message) end
  local established = condition(object, "Established")
  if established ~= nil and established.status == "True" then return health("Healthy") end
  return health("Progressing", "the kind is not established yet")
end
