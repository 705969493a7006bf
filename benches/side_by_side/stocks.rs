//! SECKILL.DEDUCT compared with the usual script of a bare stock and, if the server has it, INCREX
//! with a lower bound. All take one unit at a time from one key.

use serde::Serialize;

use crate::Result;
use crate::contender::{Contender, those_of};
use crate::figures::{Figure, in_rounds};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::{Load, PIPELINE};

/// INCREX replies the new value and what was added, so a client recognizes a refusal by 0 as the
/// second number. It treats a missing key as an empty stock.
const CONTENDERS: &[Contender] =
    &[Contender::StockScript, Contender::Increx, Contender::Deduct, Contender::Get];
const STOCK: &str = "stock:phone";
/// The units left at the end, so that all replies have the same length.
const LEFT: usize = 1_000_000;
const DIFFERENT: usize = 5_000;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deduction {
    Taken,
    Refused,
}

#[derive(Serialize)]
pub struct Stock {
    pub deduction: Deduction,
    pub costs: Vec<Figure>,
}

impl Deduction {
    pub fn label(self) -> &'static str {
        match self {
            Self::Taken => "a unit taken",
            Self::Refused => "nothing left",
        }
    }

    /// The reply to one command that finds this stock.
    fn reply(self, contender: Contender, stock: usize) -> String {
        match (contender, self) {
            (Contender::Increx, Self::Taken) => format!("*2\r\n:{}\r\n:-1\r\n", stock - 1),
            (Contender::Increx, Self::Refused) => format!("*2\r\n:{stock}\r\n:0\r\n"),
            (Contender::Get, _) => format!("${}\r\n{stock}\r\n", stock.to_string().len()),
            _ => format!(":{stock}\r\n"),
        }
    }
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Stock>> {
    let mut stand = lab.stand(false)?;
    let contenders = those_of(&mut stand, CONTENDERS)?;
    let taken = costs(&mut stand, size, Deduction::Taken, &contenders)?;
    let refused = costs(&mut stand, size, Deduction::Refused, &contenders)?;
    Ok(vec![
        Stock { deduction: Deduction::Taken, costs: taken },
        Stock { deduction: Deduction::Refused, costs: refused },
    ])
}

/// Each load is sent twice from the same stock; only the second time is measured.
fn costs(
    stand: &mut Stand,
    size: Size,
    deduction: Deduction,
    contenders: &[Contender],
) -> Result<Vec<Figure>> {
    let (stock, commands, passes) = match deduction {
        Deduction::Taken => (LEFT + size.accepted_each, size.accepted_each, 1),
        Deduction::Refused => (0, DIFFERENT, size.losing_each / DIFFERENT),
    };
    let loads: Vec<Load> =
        contenders.iter().map(|&who| load(stand, who, deduction, stock, commands)).collect();
    in_rounds(size.rounds, contenders, |place| {
        let () = stand.run(&["SET", STOCK, &stock.to_string()])?;
        stand.send(&loads[place])?;
        let () = stand.run(&["SET", STOCK, &stock.to_string()])?;
        let micros = stand.measure(&loads[place], passes)?;
        let left: usize = stand.run(&["GET", STOCK])?;
        let wanted = stock - taken(contenders[place], deduction, commands);
        if left == wanted { Ok(micros) } else { Err(format!("{left} left, not {wanted}").into()) }
    })
}

fn taken(contender: Contender, deduction: Deduction, commands: usize) -> usize {
    let takes = deduction == Deduction::Taken && contender != Contender::Get;
    if takes { commands } else { 0 }
}

fn load(
    stand: &Stand,
    contender: Contender,
    deduction: Deduction,
    stock: usize,
    commands: usize,
) -> Load {
    let key = STOCK.as_bytes();
    let script = stand.scripts.deduct.as_bytes();
    let words: &[&[u8]] = match contender {
        Contender::StockScript => &[b"EVALSHA", script, b"1", key, b"1"],
        Contender::Increx => &[b"INCREX", key, b"BYINT", b"-1", b"LBOUND", b"0"],
        Contender::Deduct => &[b"SECKILL.DEDUCT", key, b"1"],
        _ => &[b"GET", key],
    };
    // Each reply contains the units left, so no other connection may send in between.
    let mut load = Load::in_order(PIPELINE);
    for number in 0..commands {
        let found = stock - taken(contender, deduction, number);
        load.push_answered(words, deduction.reply(contender, found).as_bytes());
    }
    load
}
