-- What a script finds around it, as in Redis 7: globals and libraries that cannot be changed, no
-- file, no clock, no address of anything. Scripts of all servers and runs share one machine, so
-- nothing that a script does may be remembered.
--
-- Lua 5.1 has no read-only tables. Every protected table hides behind a face, a userdata that
-- looks its fields up; nothing in Lua can write into one, `rawset` and `table.insert` included.
--
-- `host` are the functions that Rust lends. Returned are the globals that a script sees, for Rust to
-- put KEYS and ARGV among them, and the handler of its errors.

local host = ...
local globals = _G
local error, getmetatable, newproxy, pairs, rawset = error, getmetatable, newproxy, pairs, rawset
local setmetatable, tostring, type, xpcall, pcall = setmetatable, tostring, type, xpcall, pcall
local loadstring, concat, resume = loadstring, table.concat, coroutine.resume

local faces = {}

local function refuse()
    error("Attempt to modify a readonly table", 2)
end

local function freeze(members)
    local face = newproxy(true)
    local metatable = getmetatable(face)
    metatable.__index, metatable.__newindex, metatable.__metatable = members, refuse, false
    faces[face] = true
    return face
end

-- An error that Rust raised is a userdata until it is made what Redis would raise.
local function thaw(raised)
    if type(raised) == "userdata" then
        return host.thaw(raised)
    end
    return raised
end

-- Redis hands a script the text of a caught error, not its table.
local function caught(ok, ...)
    if ok then
        return true, ...
    end
    local raised = thaw((...))
    if type(raised) == "table" and type(raised.err) == "string" then
        raised = raised.err
    end
    return false, raised
end

local function copy(source, names)
    local result = {}
    for name in names:gmatch("%S+") do
        result[name] = source[name]
    end
    return result
end

local members = copy(globals, [[assert error getmetatable ipairs next pairs rawequal rawget rawset
    select setmetatable tonumber unpack _VERSION]])

function members.pcall(...)
    return caught(pcall(...))
end

function members.xpcall(f, handler)
    return xpcall(f, function(raised)
        return handler(thaw(raised))
    end)
end

function members.type(...)
    if faces[(...)] then
        return "table"
    end
    return type(...)
end

function members.tostring(...)
    local text = tostring(...)
    -- An address would differ from run to run.
    local kind = text:match("^(%a+): 0x%x+$")
    if kind and kind == type((...)) then
        return members.type((...)) .. ": 0x000000000000"
    end
    return text
end

-- Text only: forged bytecode could break the whole process.
function members.loadstring(text, name)
    if type(text) == "string" and text:sub(1, 1) == "\27" then
        return nil, "bytecode is not allowed"
    end
    return loadstring(text, name)
end

function members.load(piece, name)
    local pieces = {}
    repeat
        local text = piece()
        pieces[#pieces + 1] = text
    until text == nil or text == ""
    return members.loadstring(concat(pieces), name or "=(load)")
end

-- How much memory is in use depends on what ran before.
function members.collectgarbage()
    return 0
end

local strings = copy(string, [[byte char find format gfind gmatch gsub len lower match rep reverse
    sub upper]])
members.string = freeze(strings)
getmetatable("").__index = strings
getmetatable("").__metatable = false

members.table = freeze(copy(table, "concat foreach foreachi getn insert maxn remove sort"))

local coroutines = copy(coroutine, "create running status wrap yield")
local function resumed(ok, ...)
    if ok then
        return true, ...
    end
    return false, thaw((...))
end
function coroutines.resume(...)
    return resumed(resume(...))
end
members.coroutine = freeze(coroutines)

local maths = copy(math, [[abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp
    log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh]])
maths.random, maths.randomseed = host.random, host.randomseed
members.math = freeze(maths)

members.redis = freeze({
    call = host.call,
    pcall = host.pcall,
    error_reply = host.error_reply,
    status_reply = host.status_reply,
    sha1hex = host.sha1hex,
    -- Since Redis 7 scripts always replicate by their effects.
    replicate_commands = function()
        return true
    end,
    log = function() end,
    LOG_DEBUG = 0,
    LOG_VERBOSE = 1,
    LOG_NOTICE = 2,
    LOG_WARNING = 3,
})
members._G = freeze(members)

local names = {}
for name in pairs(globals) do
    names[#names + 1] = name
end
for _, name in pairs(names) do
    rawset(globals, name, nil)
end
setmetatable(members, {
    __index = function(_, name)
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})
setmetatable(globals, { __index = members, __newindex = refuse, __metatable = false })

local function explain(raised)
    local source, line = host.raiser()
    raised = thaw(raised)
    if type(raised) ~= "table" then
        raised = { err = "ERR " .. members.tostring(raised) }
    end
    if source then
        raised.source, raised.line = source, line
    end
    return raised
end

return members, explain
