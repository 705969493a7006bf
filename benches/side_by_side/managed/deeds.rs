//! Commands that change a managed sale: an accepted try, a confirmation, a cancellation, each
//! compared with a script that does the same work on the same keys.

use serde::Serialize;

use crate::Result;
use crate::contender::Contender;
use crate::figures::{Figure, in_rounds, ratio};
use crate::managed::sale::{Kind, Sale, Spelling};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::wire::Load;

pub const CONTENDERS: &[Contender] = &[Contender::ManagedScript, Contender::ManagedCommand];
const VOUCHER: usize = 8;
/// Sent before each turn, so that its caches and names are warm.
const WARM_UP: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    AcceptedAndHeld,
    AcceptedAndSold,
    Confirmed,
    /// With `seckill.confirmed-stream no`.
    ConfirmedUnlisted,
    Cancelled,
}

#[derive(Serialize)]
pub struct Deed {
    what: What,
    pub aof: bool,
    pub costs: Vec<Figure>,
    pub script_to_seckill: f64,
}

impl Deed {
    pub fn is_held_try(&self) -> bool {
        self.what == What::AcceptedAndHeld
    }

    pub fn is_confirmation(&self, is_listed: bool) -> bool {
        self.what == if is_listed { What::Confirmed } else { What::ConfirmedUnlisted }
    }

    pub fn name(&self) -> String {
        let what = match self.what {
            What::AcceptedAndHeld => "accepted, held",
            What::AcceptedAndSold => "accepted, sold",
            What::Confirmed => "confirmed",
            What::ConfirmedUnlisted => "confirmed, without the entry",
            What::Cancelled => "cancelled",
        };
        format!("{what}{}", if self.aof { ", AOF everysec" } else { "" })
    }
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<Deed>> {
    let mut deeds = Vec::new();
    for what in [
        What::AcceptedAndHeld,
        What::AcceptedAndSold,
        What::Confirmed,
        What::ConfirmedUnlisted,
        What::Cancelled,
    ] {
        for aof in [false, true] {
            let with = if aof { "with AOF everysec" } else { "without AOF" };
            eprintln!("managed, {}, {with} ...", what.word());
            deeds.push(one(lab, size, what, aof)?);
        }
    }
    Ok(deeds)
}

/// Every contender's turns use a separate sale, which is audited afterwards.
fn one(lab: &Lab, size: Size, what: What, aof: bool) -> Result<Deed> {
    let mut stand = lab.stand(aof)?;
    let is_listed = if what == What::ConfirmedUnlisted { "no" } else { "yes" };
    let () = stand.run(&["CONFIG", "SET", "seckill.confirmed-stream", is_listed])?;
    let orders = size.accepted_each;
    let loads: Vec<(Load, Load)> = CONTENDERS
        .iter()
        .map(|who| {
            let spelling = what.spelling(&stand, *who);
            let some = |range| spelling.load(VOUCHER, range, what.reply());
            (some(0..WARM_UP), some(0..orders))
        })
        .collect();
    let costs = in_rounds(size.rounds, CONTENDERS, |place| {
        let (warm_up, load) = &loads[place];
        what.prepare(&mut stand, WARM_UP)?;
        stand.send(warm_up)?;
        what.prepare(&mut stand, orders)?;
        let micros = stand.measure(load, 1)?;
        what.prove(&mut stand, orders)?;
        Ok(micros)
    })?;
    let ratio = ratio(&costs, Contender::ManagedScript, Contender::ManagedCommand)?;
    Ok(Deed { what, aof, costs, script_to_seckill: ratio })
}

impl What {
    fn word(self) -> &'static str {
        match self {
            Self::AcceptedAndHeld => "accepted and held",
            Self::AcceptedAndSold => "accepted and sold",
            Self::Confirmed => "confirmed",
            Self::ConfirmedUnlisted => "confirmed without the entry",
            Self::Cancelled => "cancelled",
        }
    }

    fn spelling(self, stand: &Stand, who: Contender) -> Spelling<'_> {
        let scripts = &stand.scripts;
        let (command, script) = match self {
            Self::AcceptedAndHeld | Self::AcceptedAndSold => ("SECKILL.TRY", &scripts.managed_buy),
            Self::Confirmed => ("SECKILL.CONFIRM", &scripts.managed_confirm),
            Self::ConfirmedUnlisted => ("SECKILL.CONFIRM", &scripts.managed_confirm_unlisted),
            Self::Cancelled => ("SECKILL.CANCEL", &scripts.managed_cancel),
        };
        match who {
            Contender::ManagedScript => Spelling::Script(script),
            _ => Spelling::Command(command),
        }
    }

    fn reply(self) -> &'static str {
        match self {
            Self::AcceptedAndHeld | Self::AcceptedAndSold => ":0\r\n",
            Self::Confirmed | Self::ConfirmedUnlisted | Self::Cancelled => ":1\r\n",
        }
    }

    fn sale(self) -> Sale {
        let kind = if self == Self::AcceptedAndSold { Kind::Sold } else { Kind::Held };
        Sale { voucher: VOUCHER, kind }
    }

    /// A sale of `orders` units; orders to confirm or cancel are held first.
    fn prepare(self, stand: &mut Stand, orders: usize) -> Result<()> {
        self.sale().open(stand, orders)?;
        if !matches!(self, Self::AcceptedAndHeld | Self::AcceptedAndSold) {
            self.sale().sell(stand, orders)?;
        }
        Ok(())
    }

    fn prove(self, stand: &mut Stand, orders: usize) -> Result<()> {
        let [left, held, sold] = match self {
            Self::AcceptedAndHeld => [0, orders, 0],
            Self::AcceptedAndSold | Self::Confirmed | Self::ConfirmedUnlisted => [0, 0, orders],
            Self::Cancelled => [orders, 0, 0],
        };
        let confirmed: usize = stand.run(&["XLEN", "stream.orders.confirmed"])?;
        if confirmed != if self == Self::Confirmed { orders } else { 0 } {
            return Err(format!("{confirmed} entries of confirmed orders").into());
        }
        self.sale().prove(stand, left, held, sold)
    }
}
