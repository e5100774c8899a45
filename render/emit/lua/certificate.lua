-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Certificate of cert-manager as Argo CD sees it on its own.
local function builtin(object)
  local issuing, ready = condition(object, "Issuing"), condition(object, "Ready")
  if issuing ~= nil and issuing.status == "True" then return health("Progressing", issuing.message) end
  if ready ~= nil and ready.status == "False" then return health("Degraded", ready.message) end
  if ready ~= nil and ready.status == "True" then return health("Healthy", ready.message) end
  return health("Progressing", "Waiting for certificate")
end
