-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a PersistentVolumeClaim as Argo CD sees it on its own.
local function builtin(object)
  local phase = field(object, "status", "phase")
  if phase == "Bound" then return health("Healthy") end
  if phase == "Lost" then return health("Degraded", "the volume is lost") end
  if phase == "Pending" then return health("Progressing", "the volume is not bound yet") end
  return health("Unknown")
end
