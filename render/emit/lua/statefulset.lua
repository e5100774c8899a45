-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a StatefulSet as Argo CD sees it on its own.
local function builtin(object)
  local spec, status = object.spec or {}, object.status or {}
  local seen = status.observedGeneration or 0
  if seen == 0 or (field(object, "metadata", "generation") or 0) > seen then
    return health("Progressing", "Waiting for statefulset spec update to be observed...")
  end
  if spec.replicas ~= nil and (status.readyReplicas or 0) < spec.replicas then
    return health("Progressing", "Waiting for " .. (spec.replicas - (status.readyReplicas or 0)) .. " pods to be ready...")
  end
  local strategy, updated = field(spec, "updateStrategy", "type"), status.updatedReplicas or 0
  local rolling = field(spec, "updateStrategy", "rollingUpdate")
  if strategy == "RollingUpdate" and rolling ~= nil then
    local partition = rolling.partition
    if spec.replicas ~= nil and partition ~= nil and updated < spec.replicas - partition then
      return health("Progressing", "Waiting for partitioned roll out to finish: " .. updated .. " out of " ..
        (spec.replicas - partition) .. " new pods have been updated...")
    end
    return health("Healthy", "partitioned roll out complete: " .. updated .. " new pods have been updated...")
  end
  if strategy == "OnDelete" then
    return health("Healthy", "statefulset has " .. (status.readyReplicas or 0) .. " ready pods")
  end
  if status.updateRevision ~= status.currentRevision then
    return health("Progressing", "waiting for statefulset rolling update to complete " .. updated ..
      " pods at revision " .. (status.updateRevision or "") .. "...")
  end
  return health("Healthy", "statefulset rolling update complete " .. (status.currentReplicas or 0) ..
    " pods at revision " .. (status.currentRevision or "") .. "...")
end
