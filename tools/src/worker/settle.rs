//! `seckill-worker settle ORDER --keep|--release`: a person decides about an order whose row and
//! whose server contradict each other.

use anyhow::{Result, bail};
use domain::book::{Reason, State};
use seckill_tools::sanitize::sanitize;

use crate::batch::Row;
use crate::options::{Options, Settle};
use crate::store::{Fault, NEEDS_STATEMENTS, Store};

/// The server's side is left alone: its stock and its book are what they are.
pub async fn settle(options: &Options, wanted: &Settle) -> Result<()> {
    let store = Store::to_look_at(options)?;
    let change = |row: &Row| {
        let mut row = Row { is_settled: true, ..row.clone() };
        if wanted.release && row.known.state.is_live() {
            row.known.state = State::Released(Reason::Cancelled);
        }
        row
    };
    let settled = store.settle(&wanted.order, wanted.voucher.as_deref(), change).await;
    store.close().await;
    let order = sanitize(&wanted.order);
    match settled {
        Ok(Ok(row)) => {
            let [user, voucher, said] =
                [&row.user, &row.key.voucher, &row.disputed].map(|text| sanitize(text));
            let became = if wanted.release { "is released" } else { "stays" };
            let state = row.known.state.word();
            println!(
                "order {order} of {user} for voucher {voucher}: the row, {state}, {became}; the \
                 server says: {said}"
            );
            Ok(())
        }
        Ok(Err(rows)) if rows.is_empty() => bail!("no disputed row has the order id {order}"),
        Ok(Err(rows)) => {
            let vouchers: Vec<_> = rows.iter().map(|row| sanitize(&row.key.voucher)).collect();
            bail!(
                "several disputed rows have this order id: name one by --voucher, of {}",
                vouchers.join(" ")
            )
        }
        Err(Fault::Failed(text)) if text == NEEDS_STATEMENTS => bail!("{text}"),
        Err(fault) => bail!("--database: {}", sanitize(&fault.text())),
    }
}
