"""Writes the orders of the three streams to a table, by the rules of docs/consumers.md.

It has no unique index, and trims no stream. REDIS_URL names the server.
"""
import os, socket, sqlite3, time, uuid
import redis

ORDERS, GROUP = "stream.orders", "rows"
RELEASED, CONFIRMED = f"{ORDERS}.released", f"{ORDERS}.confirmed"
STREAMS = (ORDERS, CONFIRMED, RELEASED)
ME = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"),
                         decode_responses=True, encoding_errors="surrogateescape")
db = sqlite3.connect("rows.db", isolation_level=None)
db.execute("""CREATE TABLE IF NOT EXISTS orders (voucher TEXT, sale TEXT, id TEXT, user TEXT,
              units INTEGER, state TEXT, PRIMARY KEY (voucher, sale, id))""")

def write(stream, entry):
    key, user = (entry["voucherId"], entry.get("sale", ""), entry["id"]), entry["userId"]
    units, state = int(entry.get("units", 1)), "held" if "deadline" in entry else "sold"
    known = db.execute("SELECT user FROM orders WHERE (voucher, sale, id) = (?, ?, ?)",
                       key).fetchone()
    if stream in (CONFIRMED, RELEASED):
        if known and known[0] != user:
            return  # the release of another user's order, which was rejected
        # A released order stays released, in whichever order the streams are read.
        db.execute("""INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)
                      ON CONFLICT (voucher, sale, id) DO UPDATE SET state = excluded.state
                      WHERE excluded.state <> 'sold' OR state = 'held'""",
                   (*key, user, units, entry.get("reason", "sold")))
    elif known is None:
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)",
                   (*key, user, units, state))
    elif known[0] != user:
        raise ValueError("the order id is another user's")

def handle(stream, entry_id, entry):
    try:
        db.execute("BEGIN IMMEDIATE")
        write(stream, entry)
        db.execute("COMMIT")
    except (KeyError, ValueError, sqlite3.IntegrityError) as error:  # the entry is faulty
        db.execute("ROLLBACK")
        # A person decides on SECKILL.REJECT.
        print(f"{entry_id} of {stream} stays pending: {error!r}")
        return
    r.xack(stream, GROUP, entry_id)

def step():
    for stream in STREAMS:
        for entry_id, entry in r.xautoclaim(stream, GROUP, ME, 60_000, "0-0")[1]:
            handle(stream, entry_id, entry)
    new = r.xreadgroup(GROUP, ME, {stream: ">" for stream in STREAMS}, count=100, block=5_000)
    for stream, entries in new or []:
        for entry_id, entry in entries:
            handle(stream, entry_id, entry)

while True:
    try:
        for stream in STREAMS:
            try:
                r.xgroup_create(stream, GROUP, id="0", mkstream=True)
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        while True:
            step()
    # A server is down, or the group is missing.
    except (redis.RedisError, sqlite3.OperationalError) as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        print(error)
        time.sleep(1)
