-- Lua 5.3, and nothing of a server.
local first = table.unpack({ 'a', 'b' })
return first
