//! `SECKILL.AUDIT voucher [CURSOR cursor]`: reads the whole book and says whether it is sound, at
//! once or in short steps.

use super::{Answering, Command, READS_VOUCHER};
use crate::args::Args;
use crate::error::CommandError;
use crate::keyspace::voucher_keys::{ManagedKeys, VoucherKeys};
use crate::keyspace::{book, book_steps, buyers, stock};
use crate::memory::Memory;
use crate::reply::Reply;
use crate::server::{ArgKind, ArgSpec, CommandSpec, Ctx, handler};
use domain::audit::steps::{Progress, Stage};
use domain::audit::{Books, Report, audit};
use domain::sale::Stock;
use std::time::{Duration, Instant};

pub(super) const SPEC: CommandSpec = CommandSpec {
    name: c"seckill.audit",
    handler: handler::<Answering<Audit>>(),
    flags: c"readonly",
    categories: c"read seckill",
    arity: -2,
    summary: c"Adds up the book of a managed voucher and compares it with its other keys",
    complexity: c"O(N) where N is the number of orders and buyers; O(1) per step with CURSOR",
    since: c"0.2.0",
    keys: READS_VOUCHER,
    args: &[
        ArgSpec { name: c"voucher", kind: ArgKind::Key(0) },
        ArgSpec { name: c"cursor", kind: ArgKind::OptionalString(c"CURSOR") },
    ],
};

/// A step ends after it has read this many names and values, or after this time.
const STEP_LEN: usize = 200;
const STEP_TIME: Duration = Duration::from_micros(400);

/// But it scans each of the four keys once, however long that takes: a small book is read in one
/// step by a server that the system keeps waiting, too.
const STEP_SCANS_MIN: usize = 4;

/// The cursor with which an audit in steps begins, and which its last step returns.
const START: &[u8] = b"0";

struct Audit;

impl Command for Audit {
    fn run(ctx: Ctx<'_>, memory: &Memory, mut args: Args<'_>) -> Result<Reply, CommandError> {
        let voucher = args.next()?;
        let cursor = if args.take_word("CURSOR") { Some(args.next_cursor()?) } else { None };
        args.finish()?;
        let keys = VoucherKeys::of(&memory.vouchers, voucher)?;
        keys.check_here(ctx)?;
        let rules = keys.rules_in(&memory.vouchers, ctx)?.ok_or(CommandError::NotManaged)?;
        let managed = keys.managed()?;
        let left = match stock::read(ctx, managed.sale.stock)? {
            Stock::Missing => None,
            Stock::Left(left) => Some(left),
        };
        match cursor {
            None => at_once(ctx, managed, rules.total, left),
            Some(cursor) => step(ctx, managed, rules.total, left, cursor),
        }
    }
}

fn at_once(
    ctx: Ctx<'_>,
    managed: ManagedKeys<'_>,
    total: i64,
    left: Option<i64>,
) -> Result<Reply, CommandError> {
    let report = audit(&Books {
        total,
        left,
        orders: book::all_fields(ctx, managed.book)?,
        holdings: book::all_fields(ctx, managed.units)?,
        holds: book::all_holds(ctx, managed)?,
        extra: book::extra(ctx, managed)?,
        buyers: buyers::all(ctx, managed.sale.buyers)?,
    });
    Ok(Reply::Map(fields(total, left, &report)))
}

/// Goes on from the cursor for a while.
fn step(
    ctx: Ctx<'_>,
    managed: ManagedKeys<'_>,
    total: i64,
    left: Option<i64>,
    cursor: &[u8],
) -> Result<Reply, CommandError> {
    let begun = Instant::now();
    let figures = book_steps::figures(ctx, managed, total, left)?;
    let mut progress = if cursor == START {
        Progress::begin(figures)
    } else {
        Progress::parse(cursor).ok_or(CommandError::Cursor)?
    };
    let (mut len, mut scans) = (0usize, 0usize);
    while progress.stage() != Stage::Done
        && len < STEP_LEN
        && (scans < STEP_SCANS_MIN || begun.elapsed() < STEP_TIME)
    {
        len = len.saturating_add(book_steps::step(ctx, managed, &mut progress)?);
        scans = scans.saturating_add(1);
    }
    let mut fields = fields(total, left, &progress.report(&figures));
    let is_changed = progress.is_changed(&figures);
    fields.insert(fields.len().saturating_sub(1), ("changed", Reply::Integer(is_changed.into())));
    Ok(Reply::Array(vec![Reply::Bytes(progress.cursor()), Reply::Map(fields)]))
}

fn fields(total: i64, left: Option<i64>, report: &Report) -> Vec<(&'static str, Reply)> {
    let differences = report.differences.iter().map(|line| Reply::text(line)).collect();
    vec![
        ("total", Reply::Integer(total)),
        ("left", Reply::integer_or_null(left)),
        ("held", Reply::Integer(report.held)),
        ("sold", Reply::Integer(report.sold)),
        ("orders", Reply::Integer(report.orders)),
        ("buyers", Reply::Integer(report.buyers)),
        ("differences", Reply::Array(differences)),
    ]
}
