// A flash sale and a lock by ioredis. Runs on a new server that has the module.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

const URL = process.env.REDIS_URL ?? "redis://127.0.0.1:6379/";
const OUTCOMES = ["accepted", "sold out", "at the limit", "not started", "ended", "released"];
// An id is a string. As a number this one, 2^53 + 1, would silently become another.
const ORDER_ID = "9007199254740993";

// ioredis knows its own table of commands, and no redis["seckill.try"]: send others by call().
// After a reconnection it sends again what had no reply, any command; not so with these options.
const OPTIONS = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 };

// Tries until there is an answer. Resolves to the outcome and how many tries had none.
//
// Sending a try again is safe because the voucher is managed and the order id is the same: a try
// that was accepted is answered 0 again, and makes no second order. ioredis keeps the connection
// on which a reply is overdue and drops that reply when it comes, so a try that timed out may well
// be carried out after all.
async function buy(sale, voucher, user, orderId) {
  for (let unanswered = 0; ; unanswered++) {
    try {
      return [await sale.call("SECKILL.TRY", voucher, user, orderId), unanswered];
    } catch (error) {
      const isAnswer = error.name === "ReplyError"; // say NOVOUCHER
      if (isAnswer || unanswered === 9) throw error;
      await sleep(50 * (unanswered + 1));
    }
  }
}

// What is a map in RESP3 is names and values in turn in RESP2, which ioredis speaks.
function pairs(reply) {
  const map = {};
  for (let i = 0; i < reply.length; i += 2) map[reply[i]] = reply[i + 1];
  return map;
}

async function sell(sale) {
  await sale.call("SECKILL.CREATE", "7", 2, "HOLD", 60_000);

  // For the show: the server answers no write for longer than the sale's time-out.
  await sale.call("CLIENT", "PAUSE", 1500, "WRITE");
  let [outcome, unanswered] = await buy(sale, "7", "alice", ORDER_ID);
  console.log(`alice tries: ${OUTCOMES[outcome]}${unanswered ? ", after a time-out" : ""}`);

  [outcome] = await buy(sale, "7", "alice", ORDER_ID);
  console.log(`the same try again: ${OUTCOMES[outcome]}`);
  [outcome] = await buy(sale, "7", "alice", "1002");
  console.log(`another try of hers: ${OUTCOMES[outcome]}`);

  // With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
  // doesn't know the id, and asks SECKILL.STATUS.
  const [bobsOutcome, bobsOrder] = await sale.call("SECKILL.TRY", "7", "bob", "*");
  console.log(`bob tries, the server makes the id: ${OUTCOMES[bobsOutcome]}`);
  [outcome] = await buy(sale, "7", "carol", "1003");
  console.log(`carol tries: ${OUTCOMES[outcome]}`);

  // A payment names its sale, so that a late one never pays an order of the next sale.
  const saleId = pairs(await sale.call("SECKILL.INFO", "7")).sale;
  const paid = await sale.call("SECKILL.CONFIRM", "7", "alice", ORDER_ID, "SALE", saleId);
  console.log(`alice pays: ${["no such order", "confirmed", "paid before", "too late"][paid]}`);
  const cancelled = await sale.call("SECKILL.CANCEL", "7", "bob", bobsOrder);
  console.log(`bob cancels: ${["no such order", "released", "already released"][cancelled]}`);

  const order = pairs(await sale.call("SECKILL.ORDER", "7", ORDER_ID));
  console.log(`order ${ORDER_ID}: ${order.user}, ${order.units} unit, ${order.state}`);
  const info = pairs(await sale.call("SECKILL.INFO", "7"));
  const orders = await sale.xlen("stream.orders");
  console.log(
    `sale: ${info.left} left, ${info.held} held, ${info.sold} sold, ${orders} orders in the stream`,
  );
}

async function lock(locks) {
  const [first, second] = [randomUUID(), randomUUID()];
  const fence = await locks.call("LOCK.ACQUIRE", "lock:report", first, 1500, "FENCE");
  console.log(`first holder of the lock: ${fence ? "has it, with a fencing token" : "refused"}`);

  // The first holder is stuck and doesn't release; the server hands the lock on when its lease
  // ends. A program that stores what was done under the lock keeps the greatest token
  // seen, and refuses a smaller one. (It is about the time in ms: a number that JavaScript holds
  // exactly.)
  const waitMs = 5000;
  const later = await locks.call(
    "LOCK.ACQUIRE", "lock:report", second, 30_000, "BLOCK", waitMs, "FENCE",
  );
  const answer = later > fence ? "has it, with a greater one" : "refused";
  console.log(`second holder, after a wait in the queue: ${answer}`);

  for (const [name, token] of [["first", first], ["second", second]]) {
    const released = await locks.call("LOCK.RELEASE", "lock:report", token);
    console.log(`the ${name} holder releases: ${released ? "released" : "not theirs any more"}`);
  }
}

// A buyer wants an answer soon. A client that waits for a lock has a connection of its own,
// since whatever is sent on it after LOCK.ACQUIRE .. BLOCK waits too, and a time-out longer than
// the wait.
const sale = new Redis(URL, { ...OPTIONS, commandTimeout: 1000 });
const locks = new Redis(URL, { ...OPTIONS, commandTimeout: 10_000 });
try {
  await sell(sale);
  await lock(locks);
  // An outcome is a number, a mistake is an error.
  const mistake = await sale.call("SECKILL.TRY", "99", "alice", "1004").catch((error) => error);
  console.log(`no such voucher: ${mistake.message.split(" ")[0]}`);
} finally {
  sale.disconnect();
  locks.disconnect();
}
