-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Job as Argo CD sees it on its own.
local function builtin(object)
  local failed, complete, suspended = condition(object, "Failed"), condition(object, "Complete"), condition(object, "Suspended")
  if failed ~= nil then return health("Degraded", failed.message) end
  if suspended ~= nil and suspended.status == "True" then return health("Suspended", suspended.message) end
  if complete ~= nil then return health("Healthy", complete.message) end
  if suspended ~= nil then return health("Healthy", suspended.message) end
  return health("Progressing", "the job runs")
end
