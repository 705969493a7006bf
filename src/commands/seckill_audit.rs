//! `SECKILL.AUDIT voucher [CURSOR cursor]`: reads the whole book and says whether it is sound, in
//! short steps or, if it is small, all of them at once.

use super::{Answering, Command, VOUCHER_READ};
use crate::args::arguments;
use crate::error::CommandError;
use crate::keyspace::book_steps::Audited;
use crate::keyspace::opening::Opening;
use crate::keyspace::stock;
use crate::memory::Memory;
use crate::server::{ArgSpec, CommandSpec, Ctx, Reply, handler};
use crate::typed::{Cursor, Voucher};
use domain::audit::{AuditReport, Figures, Progress};
use domain::sale::Stock;
use std::time::{Duration, Instant};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.audit",
    handler: handler::<Answering<Audit>>(),
    flags: c"readonly",
    summary: c"Adds up the book of a managed voucher and compares it with its other keys",
    complexity: c"O(N) where N is the number of orders, at most 1,500; O(1) per step with CURSOR",
    since: c"0.1.0",
    args: Given::SPECS,
};

arguments! {
    /// What is to be audited, from where on.
    Given<'a> {
        voucher: Voucher<'a> = VOUCHER_READ,
        [cursor: Cursor<'a> = CURSOR]
    }
}

const CURSOR: ArgSpec = ArgSpec::text(c"cursor").after(c"CURSOR");

/// A step ends after it has read this many names and values, or after this time.
const STEP_LEN: usize = 200;
const STEP_TIME: Duration = Duration::from_micros(400);

/// But it scans each of the five keys once, however long that takes: a small book is read in one
/// step by a server that the system keeps waiting, too.
const STEP_SCANS_MIN: usize = 5;

/// A sale of more orders, users, holds, places in the queue or buyers is audited in steps only: all
/// steps of so many take less than 10 ms.
const AT_ONCE_MAX: i64 = 1_500;

struct Audit;

impl Command for Audit {
    type Given<'a> = Given<'a>;

    fn run<'a>(ctx: Ctx<'a>, memory: &'a Memory, given: Given<'a>) -> Result<Reply, CommandError> {
        let opening = Opening::new(ctx, &memory.vouchers, given.voucher)?;
        let (keys, cursor) = (&opening.keys, given.cursor.map(|cursor| cursor.0.bytes()));
        let rules = keys.rules_in(ctx)?.ok_or(CommandError::NotManaged)?;
        let keys = keys.managed()?;
        let left = match stock::read(ctx, keys.sale.stock)? {
            Stock::Missing => None,
            Stock::Left(left) => Some(left),
        };
        let audited = Audited { ctx, keys };
        let figures = audited.figures(rules.total, left)?;
        let mut progress = match cursor {
            Some(cursor) => Progress::at(cursor, &figures).ok_or(CommandError::Cursor)?,
            None if audited.lens().into_iter().any(|len| len > AT_ONCE_MAX) => {
                return Err(CommandError::TooManyAtOnce { max: AT_ONCE_MAX });
            }
            None => Progress::begin(&figures),
        };
        let begun = Instant::now();
        let (mut len, mut scans) = (0usize, 0usize);
        let is_enough =
            |len, scans| len >= STEP_LEN || scans >= STEP_SCANS_MIN && begun.elapsed() >= STEP_TIME;
        while !progress.is_done() && (cursor.is_none() || !is_enough(len, scans)) {
            len = len.saturating_add(progress.step(&audited)?);
            scans = scans.saturating_add(1);
        }
        let report = progress.report(&figures);
        Ok(match cursor {
            None => Reply::Map(fields(&figures, &report, None)),
            Some(_) => {
                let fields = fields(&figures, &report, Some(report.is_changed));
                Reply::Array(vec![Reply::Bytes(progress.cursor()), Reply::Map(fields)])
            }
        })
    }
}

fn fields(
    figures: &Figures,
    report: &AuditReport,
    changed: Option<bool>,
) -> Vec<(&'static str, Reply)> {
    let differences = report.differences.iter().map(|line| Reply::text(line)).collect();
    let mut fields = vec![
        ("total", Reply::Integer(figures.total)),
        ("left", Reply::integer_or_null(figures.left)),
        ("held", Reply::Integer(report.held)),
        ("sold", Reply::Integer(report.sold)),
        ("orders", Reply::Integer(report.orders)),
        ("buyers", Reply::Integer(report.buyers)),
        ("waiting", Reply::Integer(report.waiting)),
    ];
    fields.extend(changed.map(|changed| ("changed", Reply::Integer(changed.into()))));
    fields.push(("differences", Reply::Array(differences)));
    fields
}
