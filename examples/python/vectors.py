"""Tests consumer.py: by every vector of domain/vectors/entries.json, and by a sale."""
import json, os, sys
from pathlib import Path

os.environ["ROWS"] = ":memory:"
from consumer import GROUP, ORDERS, STREAMS, db, entry_of, letter_of, prepare, r, step

NAMES = {"user": "userId", "voucher": "voucherId"}
LETTER = {"entry": "dlqId", "stream": "dlqStream", "group": "dlqGroup", "reason": "dlqReason",
          "order": "dlqOrder"}
vectors = json.loads((Path(__file__).parents[2] / "domain/vectors/entries.json").read_text())
assert len(vectors) > 50
prepare()
refused = set()
for vector in vectors:
    which = vector["stream"]
    stream = f"stream.{which}" if which.startswith("orders") else f"{ORDERS}.{which}"
    entry_id = r.execute_command("XADD", stream, "*", *sum(vector["fields"], []))
    flat = r.xrange(stream, entry_id, entry_id)[0][1]
    is_letter = stream not in STREAMS
    try:
        entry = letter_of(flat) if is_letter else entry_of(stream, flat)
    except ValueError as error:
        assert vector["refused"], (vector, error)
        refused |= set() if is_letter else {entry_id}
        continue
    assert not vector["refused"], vector
    for name, value in vector["read"].items():
        name = LETTER.get(name) if is_letter else NAMES.get(name, name)
        assert name in ("says", None) or entry.get(name) == value, (name, vector, entry)
step(block=1)
pending = {one["message_id"] for stream in STREAMS
           for one in r.xpending_range(stream, GROUP, "-", "+", 1000)}
assert pending == refused, pending ^ refused

db.execute("DELETE FROM orders")
db.execute("DELETE FROM refunds")
for line in """SECKILL.CREATE rows 9 LIMIT 3 HOLD 900000
SECKILL.TRY rows ann a1 UNITS 3
SECKILL.TRY rows bob b1
SECKILL.TRY rows cat c1
SECKILL.CONFIRM rows ann a1 REF p1
SECKILL.CONFIRM rows ann a1 REF p2
SECKILL.CANCEL rows ann a1 KEEP 2
SECKILL.CANCEL rows bob b1""".splitlines():
    r.execute_command(*line.split())
step(block=1)
rows = set(db.execute("SELECT id, user, units, state FROM orders"))
assert rows == {("a1", "ann", 2, "sold"), ("b1", "bob", 1, "cancelled"),
                ("c1", "cat", 1, "held")}, rows
refunds = list(db.execute("SELECT * FROM refunds"))
assert refunds == [("p2", "ann", "duplicate")], refunds

# What a dead consumer has left is behind more entries than XAUTOCLAIM looks at in one step.
for number in range(1_200):
    last = r.xadd(ORDERS, {"userId": "dan", "voucherId": "long", "id": f"d{number}"})
r.xreadgroup(GROUP, "alive", {ORDERS: ">"}, count=1_200)
r.execute_command("XCLAIM", ORDERS, GROUP, "dead", 0, last, "IDLE", 60_001)
step(block=1)
step(block=1)
assert not r.xpending_range(ORDERS, GROUP, last, last, 1), last
