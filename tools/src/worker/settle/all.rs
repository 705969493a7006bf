//! Settles all orders of a sale that a loss has left.

use anyhow::{Result, ensure};
use seckill_tools::sanitize::sanitize;

use super::Settler;
use crate::tend::{lacking, time_ms};

pub async fn settle(settler: &mut Settler<'_>) -> Result<()> {
    let wanted = settler.wanted;
    let [voucher, sale] = [&wanted.voucher, &wanted.sale].map(|of| of.as_deref().unwrap_or(""));
    let mut source = settler.source(voucher).await?;
    let mark = settler.marks(&mut source).await?;
    let rows = if wanted.held {
        let now_ms = time_ms(&mut source).await?;
        let held = settler.store.overdue(now_ms, Some((voucher, sale))).await?;
        lacking(&mut source, held).await?
    } else {
        let mut rows = settler.store.disputed(Some(voucher)).await?;
        rows.retain(|row| row.key.sale == sale);
        rows
    };
    println!(
        "{}, mark {}: {} {} of voucher {}, sale {}",
        wanted.site.server.without_password(),
        sanitize(&mark),
        rows.len(),
        if wanted.held { "held rows that the server lacks" } else { "disputed rows" },
        sanitize(voucher),
        sanitize(sale)
    );
    ensure!(
        u64::try_from(rows.len()).ok() == wanted.expect,
        "--expect {}: there are {}, so nothing was settled",
        wanted.expect.unwrap_or_default(),
        rows.len()
    );
    let mut failed = 0;
    for row in &rows {
        if let Err(error) = settler.settle(row).await {
            failed += 1;
            println!("{}: {}", sanitize(&row.key.order), sanitize(&format!("{error:#}")));
        }
    }
    ensure!(failed == 0, "{failed} of {} were not settled", rows.len());
    Ok(())
}
