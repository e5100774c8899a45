-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local function ends(bytes, tail)
  local want = split(tail)
  for i = 1, #want do
    if bytes[#bytes - #want + i] ~= want[i] then return false end
  end
  return true
end

-- stuck says whether a container waits for something that has gone wrong.
local function stuck(container)
  local reason = field(container, "state", "waiting", "reason")
  if type(reason) ~= "string" then return false end
  local bytes = split(reason)
  return (reason >= "Err" and reason < "Ers") or ends(bytes, "Error") or ends(bytes, "BackOff")
end

local function failure(container)
  local over = field(container, "state", "terminated")
  if over == nil then return nil end
  if over.message ~= nil and over.message ~= "" then return over.message end
  if over.reason == "OOMKilled" then return over.reason end
  if (over.exitCode or 0) ~= 0 then
    return "container \"" .. (container.name or "") .. "\" failed with exit code " .. over.exitCode
  end
  return nil
end

-- builtin is the health of a Pod as Argo CD sees it on its own.
local function builtin(object)
  local status, policy = object.status or {}, field(object, "spec", "restartPolicy")
  local containers, messages = status.containerStatuses or {}, {}
  for _, c in ipairs(containers) do
    if policy == "Always" and stuck(c) then messages[#messages + 1] = c.state.waiting.message or "" end
  end
  if messages[1] ~= nil then return health("Degraded", table.concat(messages, ", ")) end
  local known = { Pending = "Progressing", Succeeded = "Healthy" }
  if known[status.phase or ""] ~= nil then return health(known[status.phase], status.message) end
  if status.phase == "Failed" then
    if status.message ~= nil and status.message ~= "" then return health("Degraded", status.message) end
    for _, list in ipairs({ status.initContainerStatuses or {}, containers }) do
      for _, c in ipairs(list) do
        local message = failure(c)
        if message ~= nil then return health("Degraded", message) end
      end
    end
    return health("Degraded")
  end
  if status.phase ~= "Running" then return health("Unknown", status.message) end
  if policy == "OnFailure" or policy == "Never" then return health("Progressing", status.message) end
  if policy ~= "Always" then return health("Unknown", status.message) end
  local ready = condition(object, "Ready")
  if ready ~= nil and ready.status == "True" then return health("Healthy", status.message) end
  for _, c in ipairs(containers) do
    if field(c, "lastState", "terminated") ~= nil then return health("Degraded", status.message) end
  end
  return health("Progressing", status.message)
end
