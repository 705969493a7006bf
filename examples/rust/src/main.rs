//! A flash sale and a lock by redis-rs. Runs on a new server that has the module.

use std::collections::HashMap;
use std::env;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{Client, Commands, Connection, ErrorKind, RedisResult, Value, cmd, from_redis_value};

/// An id is a string, here as in every language. This one is 2^53 + 1.
const ORDER_ID: &str = "9007199254740993";
const OUTCOMES: [&str; 6] =
    ["accepted", "sold out", "at the limit", "not started", "ended", "released"];

struct Sale {
    client: Client,
    connection: Connection,
}

fn connect(client: &Client, read_timeout: Duration) -> RedisResult<Connection> {
    let connection = client.get_connection()?;
    connection.set_read_timeout(Some(read_timeout))?; // there is none by default
    Ok(connection)
}

impl Sale {
    fn open(client: &Client) -> RedisResult<Self> {
        let connection = connect(client, Duration::from_secs(1))?;
        Ok(Self { client: client.clone(), connection })
    }

    /// Tries until there is an answer: the outcome, and how many tries had none.
    ///
    /// Sending a try again is safe because the voucher is managed and the order id is the same: a
    /// try that was accepted is answered 0 again, and makes no second order. redis-rs would drop
    /// a reply that comes too late; a connection that broke has to be opened again, and which of
    /// the two it was makes no difference here.
    fn buy(&mut self, voucher: &str, user: &str, order_id: &str) -> RedisResult<(usize, u32)> {
        let mut unanswered = 0;
        loop {
            let mut command = cmd("SECKILL.TRY");
            command.arg(voucher).arg(user).arg(order_id);
            match command.query(&mut self.connection) {
                Ok(outcome) => return Ok((outcome, unanswered)),
                Err(error) if error.is_io_error() && unanswered < 9 => {
                    unanswered += 1;
                    sleep(Duration::from_millis(50) * unanswered);
                    *self = Self::open(&self.client)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn ask<T: redis::FromRedisValue>(&mut self, name: &str, arguments: &[&str]) -> RedisResult<T> {
        cmd(name).arg(arguments).query(&mut self.connection)
    }
}

fn sell(sale: &mut Sale) -> RedisResult<()> {
    sale.ask::<()>("SECKILL.CREATE", &["7", "2", "HOLD", "60000"])?;

    // For the show: the server answers no write for longer than the sale's read time-out.
    sale.ask::<()>("CLIENT", &["PAUSE", "1500", "WRITE"])?;
    let (outcome, unanswered) = sale.buy("7", "alice", ORDER_ID)?;
    let late = if unanswered > 0 { ", after a time-out" } else { "" };
    println!("alice tries: {}{late}", OUTCOMES[outcome]);

    let (outcome, _) = sale.buy("7", "alice", ORDER_ID)?;
    println!("the same try again: {}", OUTCOMES[outcome]);
    let (outcome, _) = sale.buy("7", "alice", "1002")?;
    println!("another try of hers: {}", OUTCOMES[outcome]);

    // With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
    // doesn't know the id, and asks SECKILL.STATUS.
    let (outcome, bobs_order): (usize, Option<String>) =
        sale.ask("SECKILL.TRY", &["7", "bob", "*"])?;
    println!("bob tries, the server makes the id: {}", OUTCOMES[outcome]);
    let (outcome, _) = sale.buy("7", "carol", "1003")?;
    println!("carol tries: {}", OUTCOMES[outcome]);

    // A payment names its sale, so that a late one never pays an order of the next sale.
    // A map in RESP3, names and values in turn in RESP2: redis-rs takes both for a HashMap.
    let held: HashMap<String, Value> = sale.ask("SECKILL.ORDER", &["7", ORDER_ID])?;
    let sale_id = text(&held, "sale")?;
    let paid: usize = sale.ask("SECKILL.CONFIRM", &["7", "alice", ORDER_ID, "SALE", &sale_id])?;
    println!("alice pays: {}", ["no such order", "confirmed", "paid before", "too late"][paid]);
    let cancelled: usize =
        sale.ask("SECKILL.CANCEL", &["7", "bob", &bobs_order.unwrap_or_default()])?;
    let words = ["no such order", "released", "already released"];
    println!("bob cancels: {}", words[cancelled]);

    let order: HashMap<String, Value> = sale.ask("SECKILL.ORDER", &["7", ORDER_ID])?;
    let (user, state) = (text(&order, "user")?, text(&order, "state")?);
    println!("order {ORDER_ID}: {user}, {} unit, {state}", text(&order, "units")?);
    let info: HashMap<String, Value> = sale.ask("SECKILL.INFO", &["7"])?;
    let (left, held, sold) = (text(&info, "left")?, text(&info, "held")?, text(&info, "sold")?);
    let orders: u64 = sale.connection.xlen("stream.orders")?;
    println!("sale: {left} left, {held} held, {sold} sold, {orders} orders in the stream");
    Ok(())
}

fn text(map: &HashMap<String, Value>, name: &str) -> RedisResult<String> {
    Ok(from_redis_value(map.get(name).cloned().unwrap_or(Value::Nil))?)
}

/// A token that no other holder has. A service takes a random UUID.
fn token(holder: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{holder}-{}-{}", std::process::id(), now.as_nanos())
}

fn lock(locks: &mut Connection) -> RedisResult<()> {
    let (first, second) = (token("first"), token("second"));
    let mut acquire = cmd("LOCK.ACQUIRE");
    let fence: i64 = acquire.arg("lock:report").arg(&first).arg(1500).arg("FENCE").query(locks)?;
    let answer = if fence > 0 { "has it, with a fencing token" } else { "refused" };
    println!("first holder of the lock: {answer}");

    // The first holder is stuck and doesn't release; the server hands the lock on when its lease
    // ends. Whoever stores what was done under the lock keeps the greatest token seen, and refuses
    // a smaller one.
    let wait_ms = 5_000;
    let mut acquire = cmd("LOCK.ACQUIRE");
    acquire.arg("lock:report").arg(&second).arg(30_000).arg("BLOCK").arg(wait_ms).arg("FENCE");
    let later: i64 = acquire.query(locks)?;
    let answer = if later > fence { "has it, with a greater one" } else { "refused" };
    println!("second holder, after a wait in the queue: {answer}");

    for (holder, token) in [("first", &first), ("second", &second)] {
        let released: bool = cmd("LOCK.RELEASE").arg("lock:report").arg(token).query(locks)?;
        let answer = if released { "released" } else { "not theirs any more" };
        println!("the {holder} holder releases: {answer}");
    }
    Ok(())
}

fn main() -> RedisResult<()> {
    let url = env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379/".to_owned());
    let client = Client::open(url)?;
    // A buyer wants an answer soon. A client that waits for a lock expects none before the
    // wait is over: its read time-out must be longer than the wait.
    let mut sale = Sale::open(&client)?;
    let mut locks = connect(&client, Duration::from_secs(10))?;
    sell(&mut sale)?;
    lock(&mut locks)?;

    // An outcome is a number, a mistake is an error.
    if let Err(mistake) = sale.ask::<i64>("SECKILL.TRY", &["99", "alice", "1004"])
        && mistake.kind() == ErrorKind::Extension
    {
        println!("no such voucher: {}", mistake.code().unwrap_or("unknown"));
    }
    Ok(())
}
