//! Rows that change without an entry: disputes that have healed, and held orders that the server
//! has lost, which nobody would ever confirm or release.

use std::collections::BTreeMap;

use domain::entry_id::EntryId;
use domain::projection::Book;
use redis::{RedisResult, cmd};
use seckill_tools::duration::millis;
use seckill_tools::sanitize::sanitize;
use tracing::{info, warn};

use crate::batch::{Answer, Row, Sole};
use crate::book::ask;
use crate::halt::Halt;
use crate::options::Options;
use crate::order_events::{Event, Kind, Which};
use crate::source::Source;
use crate::writing::Writer;

/// More lost orders of one sale than this wait for a person; nor more than a hundredth of its rows.
const LOST_MAX: u64 = 100;

/// Looks at rows that are disputed, and at held ones that should be over.
pub async fn tend(source: &mut Source, writer: &mut Writer, options: &Options) -> Result<(), Halt> {
    let about = "rows that are disputed";
    let Some(disputed) = writer.look(about, async |rows| rows.disputed(None).await).await? else {
        return Ok(());
    };
    let now_ms = time_ms(source).await?;
    let grace = i64::try_from(millis(options.claim_after)).unwrap_or(i64::MAX);
    let (about, before) = ("held rows that should be over", now_ms.saturating_sub(grace));
    let Some(overdue) = writer.look(about, async |rows| rows.overdue(before, None).await).await?
    else {
        return Ok(());
    };
    let is_its = |row: &Row| source.has_stream_of(&row.key.voucher);
    let disputed = disputed.iter().filter(|row| is_its(row));
    let mut events: Vec<_> = disputed.map(|row| event(row, now_ms, Kind::Look)).collect();
    let overdue = overdue.into_iter().filter(is_its).collect();
    events.extend(lost(source, writer, overdue, now_ms).await?);
    let batch = options.batch as usize;
    while !events.is_empty() {
        let some = events.drain(..events.len().min(batch)).collect();
        writer.write_made(source, some).await?;
    }
    Ok(())
}

/// The events that end the held orders which the server lacks. They end only if it has gone on
/// after them: an older copy of the server lacks them, too.
async fn lost(
    source: &mut Source,
    writer: &mut Writer,
    overdue: Vec<Row>,
    now_ms: i64,
) -> Result<Vec<(Event, Sole)>, Halt> {
    if overdue.is_empty() {
        return Ok(Vec::new());
    }
    let last = source.stream(Which::Orders).await?.map_or_else(EntryId::default, |its| its.last);
    let lacking = lacking(source, overdue).await?;
    let mut of_sales: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in &lacking {
        if row.seen.last_order().is_some_and(|its| its < last) {
            of_sales.entry((&row.key.voucher, &row.key.sale)).or_default().push(row);
        }
    }
    let mut events = Vec::new();
    for ((voucher, sale), rows) in of_sales {
        let about = "the number of rows of a sale";
        let Some(all) = writer.look(about, async |rows| rows.rows_in(voucher, sale).await).await?
        else {
            continue;
        };
        let (count, most) = (rows.len() as u64, (all / 100).clamp(1, LOST_MAX));
        let [voucher, sale] = [voucher, sale].map(sanitize);
        if count > most {
            warn!(
                "{count} held orders of voucher {voucher}, sale {sale}, are unknown to the server, \
                 of {all}: so many wait for a person: seckill-worker settle --all --held --release \
                 --voucher {voucher} --sale {sale} --expect {count}"
            );
            continue;
        }
        for row in rows {
            let order = sanitize(&row.key.order);
            info!(
                "held order {order} of voucher {voucher}, sale {sale}, is unknown to the server \
                 after its deadline: it expires in the rows, no payment is known"
            );
            events.push(event(row, now_ms, Kind::Lost));
        }
    }
    Ok(events)
}

/// Those held orders that the server lacks.
pub async fn lacking(source: &mut Source, mut held: Vec<Row>) -> RedisResult<Vec<Row>> {
    let answers = ask(source, held.iter().map(|row| &row.key)).await?;
    held.retain(|row| matches!(answers.get(&row.key), Some(Answer::Without(Book::Lacks))));
    Ok(held)
}

fn event(row: &Row, now_ms: i64, kind: Kind) -> (Event, Sole) {
    let id = EntryId { ms: now_ms.unsigned_abs(), seq: 0 };
    let (key, user) = (row.key.clone(), row.user.clone());
    (Event::made(id, key, user, row.known.units, kind), Sole::No)
}

/// The server's clock, Unix milliseconds.
pub async fn time_ms(source: &mut Source) -> RedisResult<i64> {
    let (seconds, micros): (i64, i64) = cmd("TIME").query_async(source.connection()).await?;
    Ok(seconds.saturating_mul(1_000).saturating_add(micros / 1_000))
}
