//! Queues of orders that wait: what it costs to join and to be promoted as they grow.

use std::ops::Range;

use crate::Result;
use crate::managed::{Kind, Sale};
use crate::options::Options;
use crate::stand::Stand;
use crate::table::{Table, costs, thousands};
use crate::tries::TRY;
use crate::wire::{Load, PIPELINE};

const PROMOTED: &str = "promoted, as a held order is cancelled";
const JOINED: &str = "joined";

const SALE: Sale = Sale { voucher: 8, kind: Kind::Held };
/// Orders per turn, which must be fewer than are in the queue.
const EACH: usize = 500;

pub fn measure(options: &Options) -> Result<Vec<Table>> {
    let contenders = [JOINED, PROMOTED];
    let mut table = Table::new(
        "Server CPU per order of a waiting list, in microseconds",
        "orders in the queue",
        &[],
    );
    table.note = "The cancellation by which an order is promoted is included.".to_owned();
    for &length in options.orders_sold() {
        let mut queue = Queue::new(length)?;
        let costs = costs(options.rounds(), &contenders, |place| queue.turn(contenders[place]))?;
        SALE.prove(&mut queue.stand, [0, EACH, 0])?;
        table.push(thousands(length), costs);
    }
    Ok(vec![table])
}

/// A sale whose units are all held, and a queue, which has the same length before each turn. Both
/// are orders by their numbers.
struct Queue {
    stand: Stand,
    held: Range<usize>,
    waiting: Range<usize>,
}

impl Queue {
    fn new(length: usize) -> Result<Self> {
        let mut stand = Stand::new(false)?;
        let most = (length + EACH).to_string();
        let () = stand.run(&["CONFIG", "SET", "seckill.waitlist-max", &most])?;
        SALE.open(&mut stand, EACH)?;
        SALE.sell(&mut stand, EACH)?;
        let mut queue = Self { stand, held: 0..EACH, waiting: EACH..EACH };
        queue.join(length)?;
        Ok(queue)
    }

    /// The microseconds of server CPU per order.
    fn turn(&mut self, what: &str) -> Result<f64> {
        let first = self.waiting.start..self.waiting.start + EACH;
        self.waiting.start = first.end;
        let micros = if what == JOINED {
            let micros = self.join(EACH)?;
            self.cancel(first)?;
            micros
        } else {
            let gone = std::mem::replace(&mut self.held, first);
            let micros = self.cancel(gone)?;
            self.join(EACH)?;
            micros
        };
        Ok(micros / EACH as f64)
    }

    fn join(&mut self, orders: usize) -> Result<f64> {
        let joining = self.waiting.end..self.waiting.end + orders;
        self.waiting.end = joining.end;
        self.send(TRY, joining, &["WAITLIST"], ":6\r\n")
    }

    fn cancel(&mut self, orders: Range<usize>) -> Result<f64> {
        self.send("SECKILL.CANCEL", orders, &[], ":1\r\n")
    }

    /// By one connection, so that the queue is in the order of the numbers.
    fn send(
        &mut self,
        name: &str,
        orders: Range<usize>,
        more: &[&str],
        reply: &str,
    ) -> Result<f64> {
        let mut load = Load::in_order(PIPELINE);
        let more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        orders.for_each(|n| SALE.push(&mut load, &[name.to_owned()], n, &more, reply));
        self.stand.measure(&load, 1)
    }
}
