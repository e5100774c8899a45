-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local PHASES = { Bound = "Healthy", Lost = "Degraded", Pending = "Progressing" }

-- builtin is the health of a PersistentVolumeClaim as Argo CD sees it on its own.
local function builtin(object)
  return health(PHASES[field(object, "status", "phase") or ""] or "Unknown")
end
