-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- Health by the annotation ropewalk.dev/ready-when. The annotation is data, a
-- tree of JSON lists, and this script walks it: nothing in it is ever run. The
-- script needs none of the libraries that Argo CD leaves closed.

local ANNOTATION = "ropewalk.dev/ready-when"
local MAX_TEXT = 2048   -- bytes of the annotation that are read
local MAX_STEPS = 10000 -- nodes that one evaluation visits
local MAX_DEPTH = 60

local function health(status, message)
  return { status = status, message = message or "" }
end

-- field follows names from a table; nil where one leads nowhere.
local function field(at, ...)
  for i = 1, select("#", ...) do
    if type(at) ~= "table" then return nil end
    at = at[(select(i, ...))]
  end
  return at
end

local function condition(object, name)
  local list = field(object, "status", "conditions")
  if type(list) ~= "table" then return nil end
  for _, c in ipairs(list) do
    if type(c) == "table" and c.type == name then return c end
  end
  return nil
end

-- observed says whether the controller of the object has seen its last change.
local function observed(object)
  local seen = field(object, "status", "observedGeneration")
  local last = field(object, "metadata", "generation")
  return seen == nil or last == nil or seen == last
end

-- BYTES holds every byte that text may hold, in order.
local BYTES = { "\1", "\2", "\3", "\4", "\5", "\6", "\7", "\8", "\9", "\10",
  "\11", "\12", "\13", "\14", "\15", "\16", "\17", "\18", "\19", "\20", "\21", "\22", "\23",
  "\24", "\25", "\26", "\27", "\28", "\29", "\30", "\31", "\32", "\33", "\34", "\35", "\36",
  "\37", "\38", "\39", "\40", "\41", "\42", "\43", "\44", "\45", "\46", "\47", "\48", "\49",
  "\50", "\51", "\52", "\53", "\54", "\55", "\56", "\57", "\58", "\59", "\60", "\61", "\62",
  "\63", "\64", "\65", "\66", "\67", "\68", "\69", "\70", "\71", "\72", "\73", "\74", "\75",
  "\76", "\77", "\78", "\79", "\80", "\81", "\82", "\83", "\84", "\85", "\86", "\87", "\88",
  "\89", "\90", "\91", "\92", "\93", "\94", "\95", "\96", "\97", "\98", "\99", "\100", "\101",
  "\102", "\103", "\104", "\105", "\106", "\107", "\108", "\109", "\110", "\111", "\112", "\113", "\114",
  "\115", "\116", "\117", "\118", "\119", "\120", "\121", "\122", "\123", "\124", "\125", "\126", "\127",
  "\128", "\129", "\130", "\131", "\132", "\133", "\134", "\135", "\136", "\137", "\138", "\139", "\140",
  "\141", "\142", "\143", "\144", "\145", "\146", "\147", "\148", "\149", "\150", "\151", "\152", "\153",
  "\154", "\155", "\156", "\157", "\158", "\159", "\160", "\161", "\162", "\163", "\164", "\165", "\166",
  "\167", "\168", "\169", "\170", "\171", "\172", "\173", "\174", "\175", "\176", "\177", "\178", "\179",
  "\180", "\181", "\182", "\183", "\184", "\185", "\186", "\187", "\188", "\189", "\190", "\191", "\192",
  "\193", "\194", "\195", "\196", "\197", "\198", "\199", "\200", "\201", "\202", "\203", "\204", "\205",
  "\206", "\207", "\208", "\209", "\210", "\211", "\212", "\213", "\214", "\215", "\216", "\217", "\218",
  "\219", "\220", "\221", "\222", "\223", "\224", "\225", "\226", "\227", "\228", "\229", "\230", "\231",
  "\232", "\233", "\234", "\235", "\236", "\237", "\238", "\239", "\240", "\241", "\242", "\243", "\244",
  "\245", "\246", "\247", "\248", "\249", "\250", "\251", "\252", "\253", "\254", "\255" }

-- split cuts text into bytes. No library that could do so is open, so it asks
-- for each byte, by halves, whether the text sorts behind a guess.
local function split(text)
  local out, prefix = {}, ""
  for i = 1, #text do
    local low, high = 1, 255
    while low < high do
      local middle = (low + high + 1 - (low + high + 1) % 2) / 2
      if text < prefix .. BYTES[middle] then high = middle - 1 else low = middle end
    end
    out[i] = BYTES[low]
    prefix = prefix .. out[i]
  end
  return out
end

local ESCAPES = { b = "\8", f = "\12", n = "\n", r = "\r", t = "\t" }
local SEPARATORS = { [8232] = "\226\128\168", [8233] = "\226\128\169" }
local SPACE = { [" "] = true, ["\n"] = true, ["\t"] = true, ["\r"] = true }

-- parse reads the annotation. It raises an error where it is not what Ropewalk
-- writes; the caller catches it.
local function parse(text)
  local bytes, at = split(text), 1

  local function blank()
    while SPACE[bytes[at]] do at = at + 1 end
  end

  local function quoted()
    local out = {}
    at = at + 1
    while bytes[at] ~= "\"" do
      local c = bytes[at]
      if c == nil then error("text has no end", 0) end
      if c == "\\" then
        at = at + 1
        c = bytes[at]
        if c == "u" then
          local code = tonumber((bytes[at + 1] or "") .. (bytes[at + 2] or "") .. (bytes[at + 3] or "") .. (bytes[at + 4] or ""), 16)
          c, at = SEPARATORS[code] or BYTES[code or 0], at + 4
          if c == nil or code > 127 and SEPARATORS[code] == nil then error("unknown escape", 0) end
        else
          c = ESCAPES[c] or c
        end
      end
      out[#out + 1] = c
      at = at + 1
    end
    at = at + 1
    return table.concat(out)
  end

  local value
  local function list(depth)
    local out = {}
    at = at + 1
    blank()
    while bytes[at] ~= "]" do
      out[#out + 1] = value(depth + 1)
      blank()
      if bytes[at] == "," then
        at = at + 1
      elseif bytes[at] ~= "]" then
        error("a list has no end", 0)
      end
      blank()
    end
    at = at + 1
    return out
  end

  local function bare()
    local out = ""
    while bytes[at] ~= nil and bytes[at] ~= "," and bytes[at] ~= "]" and not SPACE[bytes[at]] do
      out = out .. bytes[at]
      at = at + 1
    end
    return out
  end

  value = function(depth)
    if depth > MAX_DEPTH then error("too deep", 0) end
    blank()
    local c = bytes[at]
    if c == "[" then return list(depth) end
    if c == "\"" then return quoted() end
    local word = bare()
    if word == "true" then return true end
    if word == "false" then return false end
    local number = tonumber(word)
    if number == nil then error("unknown word " .. word, 0) end
    return number
  end

  local out = value(1)
  blank()
  if bytes[at] ~= nil then error("text follows the rule", 0) end
  return out
end

-- FAULT is the value of an expression that has none, such as a field that is
-- not there. As in CEL, "and", "or", exists and all look past a fault where
-- the other operands decide.
local FAULT, NULL = {}, {}

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" or a == NULL or b == NULL then return a == b end
  for k, v in pairs(a) do
    if b[k] == nil or not equal(v, b[k]) then return false end
  end
  for k in pairs(b) do
    if a[k] == nil then return false end
  end
  return true
end

local function order(a, b)
  if type(a) == "boolean" and type(b) == "boolean" then
    a, b = a and 1 or 0, b and 1 or 0
  end
  if type(a) ~= type(b) or type(a) ~= "number" and type(a) ~= "string" then return nil end
  if a < b then return -1 end
  if b < a then return 1 end
  return 0
end

local COMPARE = {
  ["<"] = function(o) return o < 0 end,
  ["<="] = function(o) return o <= 0 end,
  [">"] = function(o) return o > 0 end,
  [">="] = function(o) return o >= 0 end,
}

local function isList(t) return t[1] ~= nil or next(t) == nil end

-- elements is what exists, all and "in" go through: the items of a list, the
-- keys of a map.
local function elements(t)
  if isList(t) then return t end
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  return keys
end

local function isTable(v) return type(v) == "table" and v ~= FAULT and v ~= NULL end

-- length is size(): items, or characters, which are the bytes that do not
-- continue one.
local function length(v)
  if type(v) == "string" then
    if #v > MAX_TEXT then return FAULT end
    local n = 0
    for _, c in ipairs(split(v)) do
      if c < "\128" or c > "\191" then n = n + 1 end
    end
    return n
  end
  if not isTable(v) then return FAULT end
  local n = 0
  for _ in pairs(v) do n = n + 1 end
  return n
end

local function evaluate(tree, object)
  local steps, eval = 0, nil

  -- path follows the names in e from its i-th operand on.
  local function path(at, e, i)
    for j = i, #e do
      if not isTable(at) or at[e[j]] == nil then return FAULT end
      at = at[e[j]]
    end
    return at
  end

  -- fold is "and" (stop is false) and "or" (stop is true) over n values.
  local function fold(n, stop, item)
    local out = not stop
    for i = 1, n do
      local v = item(i)
      if v == stop then return stop end
      if type(v) ~= "boolean" then out = FAULT end
    end
    return out
  end

  local function quantify(e, vars, stop)
    local over = eval(e[2], vars)
    if not isTable(over) then return FAULT end
    local items = elements(over)
    return fold(#items, stop, function(i)
      return eval(e[4], setmetatable({ [e[3]] = items[i] }, { __index = vars }))
    end)
  end

  local function index(of, key)
    if not isTable(of) then return FAULT end
    local v
    if type(key) == "number" and isList(of) then
      v = of[key + 1]
    elseif type(key) == "string" and not (isList(of) and next(of) ~= nil) then
      v = of[key]
    end
    if v == nil then return FAULT end
    return v
  end

  local function member(v, of)
    if v == FAULT or not isTable(of) then return FAULT end
    for _, item in ipairs(elements(of)) do
      if equal(v, item) then return true end
    end
    return false
  end

  local OPERATORS = {
    object = function(e) return path(object, e, 2) end,
    var = function(e, vars)
      if vars[e[2]] == nil then return FAULT end
      return path(vars[e[2]], e, 3)
    end,
    ["."] = function(e, vars) return path(eval(e[2], vars), e, 3) end,
    index = function(e, vars) return index(eval(e[2], vars), eval(e[3], vars)) end,
    has = function(e, vars)
      local of = eval(e[2], vars)
      if of == FAULT or isTable(of) and of[1] ~= nil then return FAULT end
      return isTable(of) and of[e[3]] ~= nil
    end,
    ["and"] = function(e, vars) return fold(#e - 1, false, function(i) return eval(e[i + 1], vars) end) end,
    ["or"] = function(e, vars) return fold(#e - 1, true, function(i) return eval(e[i + 1], vars) end) end,
    ["not"] = function(e, vars)
      local v = eval(e[2], vars)
      if type(v) ~= "boolean" then return FAULT end
      return not v
    end,
    ["if"] = function(e, vars)
      local v = eval(e[2], vars)
      if type(v) ~= "boolean" then return FAULT end
      return eval(v and e[3] or e[4], vars)
    end,
    ["in"] = function(e, vars) return member(eval(e[2], vars), eval(e[3], vars)) end,
    list = function(e, vars)
      local out = {}
      for i = 2, #e do
        out[i - 1] = eval(e[i], vars)
        if out[i - 1] == FAULT then return FAULT end
      end
      return out
    end,
    size = function(e, vars) return length(eval(e[2], vars)) end,
    exists = function(e, vars) return quantify(e, vars, true) end,
    all = function(e, vars) return quantify(e, vars, false) end,
    null = function() return NULL end,
  }

  eval = function(e, vars)
    steps = steps + 1
    if steps > MAX_STEPS then error("more than " .. MAX_STEPS .. " steps", 0) end
    if type(e) ~= "table" then return e end
    local name = e[1]
    if name == "==" or name == "!=" then
      local a, b = eval(e[2], vars), eval(e[3], vars)
      if a == FAULT or b == FAULT then return FAULT end
      return equal(a, b) == (name == "==")
    end
    if COMPARE[name] then
      local o = order(eval(e[2], vars), eval(e[3], vars))
      if o == nil then return FAULT end
      return COMPARE[name](o)
    end
    if OPERATORS[name] == nil then error("unknown operator " .. tostring(name), 0) end
    return OPERATORS[name](e, vars)
  end

  return eval(tree, {}) == true
end

-- ready is the health of an object that carries the annotation, with what its own
-- controller says of it. What the kind itself calls a failure stays one: waiting for it
-- would be waiting forever.
local function ready(object, text, builtin)
  if #text > MAX_TEXT then
    return health("Unknown", ANNOTATION .. " is longer than " .. MAX_TEXT .. " bytes")
  end
  local ok, result = pcall(function() return evaluate(parse(text), object) end)
  if not ok then
    return health("Unknown", ANNOTATION .. ": " .. tostring(result))
  end
  local known = builtin(object)
  local message = known.message ~= "" and ": " .. tostring(known.message) or ""
  if result and observed(object) then
    return health("Healthy", "ready as " .. ANNOTATION .. " says" .. message)
  end
  if known.status == "Degraded" and observed(object) then return known end
  return health("Progressing", "waiting for " .. ANNOTATION .. message)
end
