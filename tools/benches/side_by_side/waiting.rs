//! Lines of orders that wait: what it costs to join and to be promoted as they grow.

use std::collections::VecDeque;

use crate::Result;
use crate::managed::{FIRST_USER, Kind, Sale};
use crate::options::Size;
use crate::stand::Stand;
use crate::table::{Table, costs, thousands};
use crate::tries::{FIRST_ORDER, TRY};
use crate::wire::{Load, PIPELINE};

const TITLE: &str = "Server CPU per order of a waiting list, in microseconds";
const SERVED: &str = "promoted, as a held order is cancelled";
const JOINED: &str = "joined";

const SALE: Sale = Sale { voucher: 8, kind: Kind::Held };
/// Orders per turn, which must be fewer than are in the queue.
const EACH: usize = 500;

pub fn measure(size: &Size) -> Result<Vec<Table>> {
    let contenders = [JOINED, SERVED];
    let mut table = Table::new(TITLE, "orders in the queue", &[]);
    table.note = "The cancellation by which an order is promoted is included.".to_owned();
    for &length in size.orders_sold {
        let mut line = Line::new(length)?;
        let costs = costs(size.rounds, &contenders, |place| line.turn(contenders[place]))?;
        SALE.prove(&mut line.stand, [0, EACH, 0])?;
        table.push(thousands(length), costs);
    }
    Ok(vec![table])
}

/// A sale whose units are all held, and a line, which has the same length before each turn.
struct Line {
    stand: Stand,
    held: VecDeque<usize>,
    waiting: VecDeque<usize>,
    /// The number of the next order.
    next: usize,
}

impl Line {
    fn new(length: usize) -> Result<Self> {
        let mut stand = Stand::new(false)?;
        let most = (length + EACH).to_string();
        let () = stand.run(&["CONFIG", "SET", "seckill.waitlist-max", &most])?;
        SALE.open(&mut stand, EACH)?;
        SALE.sell(&mut stand, EACH)?;
        let (held, waiting) = ((0..EACH).collect(), VecDeque::new());
        let mut line = Self { stand, held, waiting, next: EACH };
        line.join(length)?;
        Ok(line)
    }

    /// The microseconds of server CPU per order.
    fn turn(&mut self, what: &str) -> Result<f64> {
        if what == JOINED {
            let micros = self.join(EACH)?;
            let leaving = self.waiting.drain(..EACH).collect();
            self.cancel(leaving)?;
            return Ok(micros / EACH as f64);
        }
        let gone = self.held.drain(..).collect();
        self.held = self.waiting.drain(..EACH).collect();
        let micros = self.cancel(gone)?;
        self.join(EACH)?;
        Ok(micros / EACH as f64)
    }

    fn join(&mut self, orders: usize) -> Result<f64> {
        let joining = self.next..self.next + orders;
        self.next += orders;
        self.waiting.extend(joining.clone());
        self.send(TRY, joining, &["WAITLIST"], ":6\r\n")
    }

    fn cancel(&mut self, orders: Vec<usize>) -> Result<f64> {
        self.send("SECKILL.CANCEL", orders, &[], ":1\r\n")
    }

    /// By one connection, so that the line is in the order of the numbers.
    fn send(
        &mut self,
        command: &str,
        orders: impl IntoIterator<Item = usize>,
        more: &[&str],
        reply: &str,
    ) -> Result<f64> {
        let mut load = Load::in_order(PIPELINE);
        for n in orders {
            let ids = [SALE.voucher, FIRST_USER + n, FIRST_ORDER + n].map(|id| id.to_string());
            let ids = ids.each_ref().map(String::as_str);
            load.push(&[&[command][..], &ids, more].concat(), reply);
        }
        self.stand.measure(&load, 1)
    }
}
