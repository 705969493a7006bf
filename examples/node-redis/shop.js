// A flash sale and a lock by node-redis. Runs on a new server that has the module.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, ErrorReply } from "@redis/client";

const URL = process.env.REDIS_URL ?? "redis://127.0.0.1:6379/";
const OUTCOMES = [
  "accepted", "sold out", "at the limit", "not started", "ended", "released", "waiting",
  "not taken",
];
// An id is a string. As a number this one, 2^53 + 1, would silently become another; sendCommand
// takes nothing but strings anyway, for numbers too.
const ORDER_ID = "9007199254740993";

async function connect() {
  const client = createClient({ url: URL, RESP: 3 }); // maps come as objects, not as lists
  client.on("error", (error) => console.error(error)); // without a listener it ends the process
  return client.connect();
}

// What node-redis calls a time-out of a command ends only its wait to be sent. This one ends the
// wait for the reply. The reply itself still comes, to nobody.
async function within(ms, reply) {
  const bell = new AbortController();
  const late = sleep(ms, undefined, { signal: bell.signal }).then(() => {
    throw new Error("timed out");
  });
  try {
    return await Promise.race([reply, late]);
  } finally {
    bell.abort();
    late.catch(() => {});
    reply.catch(() => {});
  }
}

// Tries until there is an answer. Resolves to the outcome and how many tries had none.
//
// Sending a try again is safe because the voucher is managed and the order id is the same: a try
// that was accepted is answered 0 again, and makes no second order.
async function buy(sale, voucher, user, orderId) {
  for (let unanswered = 0; ; unanswered++) {
    try {
      const reply = sale.sendCommand(["SECKILL.TRY", voucher, user, orderId]);
      return [await within(1000, reply), unanswered];
    } catch (error) {
      const isAnswer = error instanceof ErrorReply; // say NOVOUCHER
      if (isAnswer || unanswered === 9) throw error;
      await sleep(50 * (unanswered + 1));
    }
  }
}

async function sell(sale) {
  await sale.sendCommand(["SECKILL.CREATE", "7", "2", "HOLD", "60000"]);

  // For the show: the server answers no write for longer than the sale's time-out.
  await sale.sendCommand(["CLIENT", "PAUSE", "1500", "WRITE"]);
  let [outcome, unanswered] = await buy(sale, "7", "alice", ORDER_ID);
  console.log(`alice tries: ${OUTCOMES[outcome]}${unanswered ? ", after a time-out" : ""}`);

  [outcome] = await buy(sale, "7", "alice", ORDER_ID);
  console.log(`the same try again: ${OUTCOMES[outcome]}`);
  [outcome] = await buy(sale, "7", "alice", "1002");
  console.log(`another try of hers: ${OUTCOMES[outcome]}`);

  // With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
  // doesn't know the id, and asks SECKILL.STATUS.
  const [bobsOutcome, bobsOrder] = await sale.sendCommand(["SECKILL.TRY", "7", "bob", "*"]);
  console.log(`bob tries, the server makes the id: ${OUTCOMES[bobsOutcome]}`);
  [outcome] = await buy(sale, "7", "carol", "1003");
  console.log(`carol tries: ${OUTCOMES[outcome]}`);

  // A payment names its sale, so that a late one never pays an order of the next sale.
  const saleId = String((await sale.sendCommand(["SECKILL.INFO", "7"])).sale);
  const paid = await sale.sendCommand(
    ["SECKILL.CONFIRM", "7", "alice", ORDER_ID, "SALE", saleId]);
  console.log(`alice pays: ${["no such order", "confirmed", "paid before", "too late"][paid]}`);
  const cancelled = await sale.sendCommand(["SECKILL.CANCEL", "7", "bob", bobsOrder]);
  console.log(`bob cancels: ${["no such order", "released", "already released"][cancelled]}`);

  const order = await sale.sendCommand(["SECKILL.ORDER", "7", ORDER_ID]);
  console.log(`order ${ORDER_ID}: ${order.user}, ${order.units} unit, ${order.state}`);
  const info = await sale.sendCommand(["SECKILL.INFO", "7"]);
  const orders = await sale.xLen("stream.orders");
  console.log(
    `sale: ${info.left} left, ${info.held} held, ${info.sold} sold, ${orders} orders in the stream`,
  );
}

async function lock(locks) {
  const [first, second] = [randomUUID(), randomUUID()];
  const fence = await locks.sendCommand(["LOCK.ACQUIRE", "lock:report", first, "1500", "FENCE"]);
  console.log(`first holder of the lock: ${fence ? "has it, with a fencing token" : "refused"}`);

  // The first holder is stuck and doesn't release; the server hands the lock on when its lease
  // ends. A program that stores what was done under the lock keeps the greatest token
  // seen, and refuses a smaller one. (It is about the time in ms: a number that JavaScript holds
  // exactly.)
  const waitMs = 5000;
  const later = await within(
    waitMs + 5000,
    locks.sendCommand([
      "LOCK.ACQUIRE", "lock:report", second, "30000", "BLOCK", String(waitMs), "FENCE",
    ]),
  );
  const answer = later > fence ? "has it, with a greater one" : "refused";
  console.log(`second holder, after a wait in the queue: ${answer}`);

  for (const [name, token] of [["first", first], ["second", second]]) {
    const released = await locks.sendCommand(["LOCK.RELEASE", "lock:report", token]);
    console.log(`the ${name} holder releases: ${released ? "released" : "not theirs any more"}`);
  }
}

// Buys several articles, all or nothing: bought means that every element is 0. What could be had of
// a cart that was refused is answered 7.
//
// The same cart may be sent again after a time-out, as a try may.
async function cart(sale) {
  await sale.sendCommand(["SECKILL.CREATE", "shoe", "1", "HOLD", "60000"]);
  await sale.sendCommand(["SECKILL.CREATE", "sock", "9", "LIMIT", "2", "HOLD", "60000"]);
  for (const [what, user, orderId] of [
    ["alice's cart", "alice", "2001"],
    ["the same cart again", "alice", "2001"],
    ["bob's cart", "bob", "2002"],
  ]) {
    const parts = await sale.sendCommand(
      ["SECKILL.TRYALL", "sock", "2", "shoe", "1", user, orderId]);
    const bought = parts.every((part) => part === 0);
    const words = parts.map((part) => OUTCOMES[part]).join(" and ");
    console.log(`${what}: ${words}, ${bought ? "bought" : "nothing bought"}`);
  }
}

// A client that waits for a lock has a connection of its own: whatever is sent on it after
// LOCK.ACQUIRE .. BLOCK waits too.
const sale = await connect();
const locks = await connect();
try {
  await sell(sale);
  await lock(locks);
  // An outcome is a number, a mistake is an error.
  const mistake = await sale
    .sendCommand(["SECKILL.TRY", "99", "alice", "1004"])
    .catch((error) => error);
  console.log(`no such voucher: ${mistake.message.split(" ")[0]}`);
  await cart(sale);
} finally {
  sale.destroy();
  locks.destroy();
}
