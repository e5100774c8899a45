-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local READY = { ConfigurationsReady = true, RoutesReady = true, Ready = true }

-- builtin is the health of a Service of Knative as Argo CD sees it on its own.
local function builtin(object)
  local conditions = field(object, "status", "conditions")
  if conditions == nil then return health("Progressing", "Waiting for status update.") end
  local good, bad, unknown, message = 0, 0, 0, ""
  for _, c in ipairs(conditions) do
    if c.status == "True" and READY[c.type] then
      good = good + 1
    elseif c.status == "False" or c.status == "Unknown" then
      message = message .. tostring(c.type) .. " is " .. c.status
      if (c.reason or "") ~= "" then message = message .. ", since " .. c.reason .. "." end
      if (c.message or "") ~= "" then message = message .. " " .. c.message end
      message = message .. "\n"
      if c.status == "False" then bad = bad + 1 else unknown = unknown + 1 end
    end
  end
  if good == 3 and bad == 0 and unknown == 0 then return health("Healthy", "Knative Service is healthy.") end
  return health(bad > 0 and "Degraded" or "Progressing", message)
end
