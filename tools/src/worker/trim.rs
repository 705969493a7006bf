//! Trims a stream by what every group has acknowledged, and by age.

use std::time::Duration;

use redis::{RedisResult, cmd};

use crate::source::{Source, Which, millis};

/// In one step, so that no group changes meanwhile. The first id that stays is the smallest over
/// all groups of the smallest pending id or, with none pending, the id after the last delivered
/// one. Ids are compared as texts, since Lua's numbers are not exact for great ids; for the same
/// reason the last delivered entry itself stays if its second part has more than 15 digits. An id
/// begins with its entry's time, so younger entries stay.
const TRIM: &str = "local function below(a, b)
  local am, as = a:match('^(%d+)-(%d+)$')
  local bm, bs = b:match('^(%d+)-(%d+)$')
  if am ~= bm then
    if #am ~= #bm then return #am < #bm end
    return am < bm
  end
  if #as ~= #bs then return #as < #bs end
  return as < bs
end
local function behind(id)
  local ms, seq = id:match('^(%d+)-(%d+)$')
  if #seq > 15 then return id end
  return ms .. '-' .. string.format('%.0f', tonumber(seq) + 1)
end
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local first
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local info = {}
  for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
  local stays = behind(info['last-delivered-id'])
  if info['pending'] > 0 then
    local pending = redis.call('XPENDING', KEYS[1], info['name'])[2]
    if below(pending, stays) then stays = pending end
  end
  if not first or below(stays, first) then first = stays end
end
if not first then return 0 end
local time = redis.call('TIME')
local old = string.format('%.0f-0', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[1] + 1)
if below(old, first) then first = old end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', first)";

/// Returns how many entries were removed.
pub async fn trim(source: &mut Source, which: Which, after: Duration) -> RedisResult<usize> {
    let mut eval = cmd("EVAL");
    eval.arg(TRIM).arg(1).arg(source.name(which)).arg(millis(after));
    eval.query_async(source.connection()).await
}
