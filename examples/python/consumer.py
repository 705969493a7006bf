"""Writes the orders of the three streams to a table, by the rules of docs/consumers.md.

It has no unique index, and trims no stream. REDIS_URL names the server, ROWS the SQLite file.
"""
import os, re, socket, sqlite3, time, uuid
import redis

ORDERS, GROUP = "stream.orders", "rows"
RELEASED, CONFIRMED = f"{ORDERS}.released", f"{ORDERS}.confirmed"
STREAMS = (ORDERS, CONFIRMED, RELEASED)
# Where XAUTOCLAIM goes on: it looks at a part of what is pending, which may have nothing to take.
claim_from = dict.fromkeys(STREAMS, "0-0")
ME = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), protocol=2,
                         decode_responses=True, encoding_errors="surrogateescape")
for command in ("XREADGROUP", "XAUTOCLAIM", "XRANGE"):
    # As lists: a dict would hide a field that is there twice.
    r.set_response_callback(command, lambda reply, **_: reply)
db = sqlite3.connect(os.environ.get("ROWS", "rows.db"), isolation_level=None)
db.execute("""CREATE TABLE IF NOT EXISTS orders (voucher TEXT, sale TEXT, id TEXT, user TEXT,
              units INTEGER, state TEXT, PRIMARY KEY (voucher, sale, id))""")
db.execute("CREATE TABLE IF NOT EXISTS refunds (ref TEXT PRIMARY KEY, user TEXT, reason TEXT)")

LEAST = {"units": 1, "kept": 1, "paid": 1, "deadline": 0, "waited": 0}
WORDS = {"reason": ("cancelled", "expired", "rejected"), "was": ("held", "sold"),
         "payment": ("first", "released", "late", "duplicate", "unmatched")}
# Fields that only one stream has; elsewhere they are the shop's own.
FLAGS = ("norestock", "refunded")
ONLY_IN = {"paid": CONFIRMED, **dict.fromkeys((*FLAGS, "entry"), RELEASED)}

def number(text, least, most=2**63 - 1):
    return int(text) if re.fullmatch("0|[1-9][0-9]{0,18}", text) and least <= int(text) <= most \
        else None

def entry_of(stream, flat):
    """What an entry says, from its names and values in turn. A ValueError if it is none of ours."""
    names = flat[::2]
    for name in ("userId", "voucherId", "id", "sale", "ref", *LEAST, *WORDS, *ONLY_IN):
        if names.count(name) > 1:
            raise ValueError(f"two fields {name}")
    entry = dict(zip(names, flat[1::2]))
    if any(name.startswith("dlq") for name in names):
        raise ValueError("it is a dead letter")
    if stream != RELEASED and "reason" in entry:
        raise ValueError("it is a release")
    if stream == ORDERS and entry.get("payment", "first") != "first":
        raise ValueError("it is a payment")
    for name, its in ONLY_IN.items():
        if stream != its:
            entry.pop(name, None)
    if stream == RELEASED:
        entry.setdefault("reason", "")
        for name in FLAGS:
            if entry.get(name, "1") != "1":
                raise ValueError(f"{name} is not 1")
            entry[name] = name in entry
        if not re.fullmatch("[0-9]+(-[0-9]+)?", entry.get("entry", "0")):
            raise ValueError("entry is not an id")
    if "ref" not in entry and ("paid" in entry or entry.get("refunded")):
        raise ValueError("paid or refunded without ref")
    entry.setdefault("units", "1")
    for name, least in LEAST.items():
        if name in entry:
            entry[name] = number(entry[name], least)
            if entry[name] is None:
                raise ValueError(f"{name} is not a number of at least {least}")
    for name, words in WORDS.items():
        if name in entry and entry[name] not in words:
            raise ValueError(f"{name} is none of {words}")
    # Another `sale` is a field of the shop's own.
    entry["sale"] = number(entry.get("sale", ""), 1, 2**53 - 1)
    entry["key"] = (entry["voucherId"], str(entry["sale"] or ""), entry["id"])
    return entry

def letter_of(flat):
    """What a dead letter says of its entry. Its own fields are the last ones."""
    letter = dict(zip(flat[::2], flat[1::2]))
    if not re.fullmatch("[0-9]+(-[0-9]+)?", letter.get("dlqId", "")) or "dlqGroup" not in letter:
        raise ValueError("it names no entry of a group")
    return letter

def write(stream, entry):
    key, user, units = entry["key"], entry["userId"], entry["units"]
    known = db.execute("SELECT user FROM orders WHERE (voucher, sale, id) = (?, ?, ?)",
                       key).fetchone()
    if stream == CONFIRMED and entry.get("payment", "first") != "first":
        db.execute("INSERT OR REPLACE INTO refunds VALUES (?, ?, ?)",
                   (entry["ref"], user, entry["payment"]))
    elif stream == RELEASED and "kept" in entry:
        if known is None or known[0] == user:
            db.execute("""INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)
                          ON CONFLICT (voucher, sale, id) DO UPDATE SET units = excluded.units""",
                       (*key, user, entry["kept"], entry.get("was", "sold")))
    elif stream in (CONFIRMED, RELEASED):
        if known and known[0] != user:
            return  # the release of another user's order, which was rejected
        # A released order stays released, in whichever order the streams are read.
        db.execute("""INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)
                      ON CONFLICT (voucher, sale, id) DO UPDATE SET state = excluded.state
                      WHERE excluded.state <> 'sold' OR state = 'held'""",
                   (*key, user, units, entry.get("reason", "sold")))
    elif known is None:
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
                   (*key, user, units, "held" if "deadline" in entry else "sold"))
    elif known[0] != user:
        raise ValueError("the order id is another user's")

def handle(stream, entry_id, flat):
    try:
        db.execute("BEGIN IMMEDIATE")  # one writer: nobody else inserts what write() has not found
        write(stream, entry_of(stream, flat))
        db.execute("COMMIT")
    except (KeyError, ValueError, sqlite3.IntegrityError) as error:  # the entry is faulty
        db.execute("ROLLBACK")
        # An operator decides on SECKILL.REJECT.
        print(f"{entry_id} of {stream} stays pending: {error!r}")
        return
    r.xack(stream, GROUP, entry_id)

def step(block=5_000):
    for stream in STREAMS:
        reply = r.xautoclaim(stream, GROUP, ME, 60_000, claim_from[stream])
        claim_from[stream] = reply[0]
        for entry_id, flat in reply[1]:
            handle(stream, entry_id, flat)
    new = r.xreadgroup(GROUP, ME, {stream: ">" for stream in STREAMS}, count=100, block=block)
    for stream, entries in new or []:
        for entry_id, flat in entries:
            handle(stream, entry_id, flat)

def prepare():
    for stream in STREAMS:
        try:
            r.xgroup_create(stream, GROUP, id="0", mkstream=True)
        except redis.ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise

while __name__ == "__main__":
    try:
        prepare()
        while True:
            step()
    # A server is down, or the group is missing.
    except (redis.RedisError, sqlite3.OperationalError) as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        print(error)
        time.sleep(1)
