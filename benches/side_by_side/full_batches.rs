//! How long one SECKILL.MTRY with the maximum of tries, all of them accepted, occupies the main
//! thread.

use domain::overlay::TRIES_MAX;
use serde::Serialize;

use crate::Result;
use crate::contender::Contender;
use crate::figures::{Figure, in_rounds};
use crate::managed::sale::{FIRST_ORDER, FIRST_USER, Kind, Sale};
use crate::options::Size;
use crate::stand::{Lab, Stand};
use crate::target::Target;
use crate::wire::Load;

const VOUCHER: usize = 8;
const KINDS: [(Kind, &str, &str); 3] = [
    (Kind::Unmanaged, "unmanaged", "SECKILL.MTRY of 1,024, unmanaged, accepted, in ms, at most"),
    (Kind::Sold, "managed", "SECKILL.MTRY of 1,024, managed, accepted, in ms, at most"),
    (Kind::Held, "managed, HOLD", "SECKILL.MTRY of 1,024, managed, HOLD, in ms, at most"),
];

#[derive(Serialize)]
pub struct FullBatch {
    pub sale: &'static str,
    pub aof: bool,
    pub tries: usize,
    /// Time on the main thread per command.
    pub milliseconds: Figure,
    #[serde(skip)]
    target: &'static str,
}

pub fn measure(lab: &Lab, size: Size) -> Result<Vec<FullBatch>> {
    let mut rows = Vec::new();
    for (kind, sale, target) in KINDS {
        for aof in [false, true] {
            let milliseconds = one(&mut lab.stand(aof)?, size, kind)?;
            rows.push(FullBatch { sale, aof, tries: TRIES_MAX, milliseconds, target });
        }
    }
    Ok(rows)
}

pub fn targets(rows: &[FullBatch]) -> Vec<Target> {
    let rows = rows.iter().filter(|row| !row.aof);
    rows.filter_map(|row| Target::at_most(row.target, 2.0, Some(row.milliseconds.cost))).collect()
}

fn one(stand: &mut Stand, size: Size, kind: Kind) -> Result<Figure> {
    let sale = Sale { voucher: VOUCHER, kind };
    let commands = (size.accepted_each / TRIES_MAX).max(1);
    let load = load(commands);
    let units = commands * TRIES_MAX;
    let figures = in_rounds(size.rounds, &[Contender::Mtry], |_| {
        sale.open(stand, units)?;
        let micros = stand.measure(&load, 1)?;
        match kind {
            Kind::Unmanaged => {
                let left: usize = stand.run(&["GET", &format!("seckill:stock:{VOUCHER}")])?;
                if left > 0 {
                    return Err(format!("{left} of {units} units left").into());
                }
            }
            Kind::Sold => sale.prove(stand, 0, 0, units)?,
            Kind::Held => sale.prove(stand, 0, units, 0)?,
        }
        Ok(micros / 1e3)
    })?;
    figures.into_iter().next().ok_or_else(|| "no turn".into())
}

fn load(commands: usize) -> Load {
    let reply = format!("*{TRIES_MAX}\r\n{}", ":0\r\n".repeat(TRIES_MAX));
    let mut load = Load::new(1, reply.as_bytes());
    for command in 0..commands {
        let mut words = vec!["SECKILL.MTRY".to_owned(), VOUCHER.to_string()];
        for n in command * TRIES_MAX..(command + 1) * TRIES_MAX {
            words.extend([FIRST_USER + n, FIRST_ORDER + n].map(|id| id.to_string()));
        }
        load.push(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
    }
    load
}
