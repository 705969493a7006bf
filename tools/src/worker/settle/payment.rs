//! A payment of which nobody knows the order: a person refunds it.

use anyhow::{Context, Result, bail, ensure};
use domain::judge::SHARED;
use redis::cmd;
use seckill_tools::sanitize::sanitize;
use seckill_tools::voucher_keys::VoucherKeys;

use super::Settler;
use super::on_server::refused;
use crate::batch::{Row, Sole};
use crate::book::Asker;
use crate::check::{Paid, digest, payments};
use crate::order_events::{Event, Kind, OrderKey};
use crate::source::Source;
use crate::store::{Care, Told, Use};

/// Turns the record from unknown to late on the server, then writes the line.
pub async fn refund(settler: &mut Settler<'_>, reference: &str) -> Result<()> {
    let voucher = settler.wanted.voucher.clone().unwrap_or_default();
    let mut source = settler.source(&voucher).await?;
    settler.marks(&mut source).await?;
    let keys = VoucherKeys::of_module(&mut settler.link, std::slice::from_ref(&voucher)).await?;
    let paid = payments(&mut settler.link, keys.first().context("no keys")?).await?;
    let paid = paid.into_iter().find(|paid| paid.reference == reference);
    let told = sanitize(reference);
    let uses = settler.store.uses(&[reference]).await?;
    if let Some((key, was)) = settler.store.claimed(&voucher, reference).await? {
        return of_another(settler, &mut source, (key, &was), reference, &uses).await;
    }
    let Some(paid) = paid else {
        bail!("nothing was settled: payment {told} is not on record for this voucher");
    };
    // The line of a command that was repeated.
    let is_own =
        |one: &Use| one.key.sale == paid.sale && paid.names(&one.key) && one.line == "late";
    if let Some(one) = uses.iter().find(|one| !is_own(one)) {
        let [order, voucher, sale] =
            [&one.key.order, &one.key.voucher, &one.key.sale].map(|text| sanitize(text));
        if settler.wanted.keep {
            let key = OrderKey { voucher: paid.voucher, sale: paid.sale, order: paid.order };
            let named = sanitize(&key.order);
            write(settler, &mut source, SHARED, key, paid.user.unwrap_or_default(), reference)
                .await?;
            println!(
                "payment {told} stays that of order {order} of voucher {voucher}, sale {sale}: it \
                 is not order {named}'s"
            );
            return Ok(());
        }
        bail!(
            "nothing was settled: in the rows, payment {told} is that of order {order} of voucher \
             {voucher}, sale {sale}: money counts once"
        );
    }
    ensure!(settler.wanted.refund, "nothing was settled: payment {told} is no order's in the rows");
    let Paid { sale, order, user, .. } = paid;
    let Some(user) = user else {
        bail!("nothing was settled: the record of payment {told} has no user: it is an old one");
    };
    let mut confirm = cmd("SECKILL.CONFIRM");
    confirm.arg(&voucher).arg(&user).arg(&order).arg("REF").arg(reference);
    confirm.arg("SALE").arg(&sale).arg("REFUND");
    let answer = confirm.query_async::<i64>(source.connection()).await;
    let answer = answer.map_err(|error| refused("SECKILL.CONFIRM", &error))?;
    if answer != 3 {
        bail!(
            "nothing was settled: SECKILL.CONFIRM was answered {answer}: payment {told} is not \
             unknown any more"
        );
    }
    let key = OrderKey { voucher, sale, order };
    let order = sanitize(&key.order);
    write(settler, &mut source, "late", key, user, reference).await?;
    println!("refund payment {told}, which named order {order}");
    Ok(())
}

/// A late or second payment that was another order's in the rows when it was read. The server's
/// record of it may be gone.
async fn of_another(
    settler: &Settler<'_>,
    source: &mut Source,
    (key, was): (OrderKey, &str),
    reference: &str,
    uses: &[Use],
) -> Result<()> {
    let (told, order, user) = (sanitize(reference), sanitize(&key.order), String::new());
    let other = uses.iter().find(|one| one.key != key).map(|one| sanitize(&one.key.order));
    match other {
        Some(other) if settler.wanted.keep => {
            write(settler, source, SHARED, key, user, reference).await?;
            println!("payment {told} stays that of order {other}: it is not order {order}'s");
        }
        None if settler.wanted.refund => {
            write(settler, source, was, key, user, reference).await?;
            println!("refund payment {told}, which named order {order}");
        }
        Some(other) => bail!(
            "nothing was settled: in the rows, payment {told} is that of order {other}: money \
             counts once"
        ),
        None => bail!("nothing was settled: payment {told} is no order's in the rows: --refund"),
    }
    Ok(())
}

/// The payment of an order is that of another one too, or alone.
pub async fn share(settler: &Settler<'_>, row: &Row, other: &str) -> Result<()> {
    let order = sanitize(&row.key.order);
    let is_live = row.known.state.is_live();
    ensure!(
        is_live || settler.wanted.release,
        "nothing was settled: the order is over in the rows: --release"
    );
    settler.write(row, row.clone(), Some(SHARED)).await?;
    let is = if is_live { "is kept" } else { "is released, and nothing is refunded" };
    println!("order {order} {is}: its payment is that of {}", sanitize(other));
    Ok(())
}

/// A person knows from the provider how many units a payment was for.
pub async fn tell(settler: &Settler<'_>, row: &Row, units: i64) -> Result<()> {
    let (order, reference) = (sanitize(&row.key.order), row.known.reference.as_deref());
    let reference = sanitize(reference.unwrap_or_default());
    match settler.store.tell_paid(row, units).await? {
        Told::Written(0) => println!("order {order}: nothing of payment {reference} is refunded"),
        Told::Written(due) => println!("refund payment {reference} of {due} units"),
        Told::Less(counted) => bail!(
            "nothing was settled: {counted} units of payment {reference} are kept or on lines of \
             the refunds"
        ),
        Told::Known => bail!(
            "nothing was settled: of order {order} it is known how many units were paid, or it is \
             not paid"
        ),
    }
    Ok(())
}

/// Writes a line that gives a whole payment back, once.
pub async fn write(
    settler: &Settler<'_>,
    source: &mut Source,
    word: &str,
    key: OrderKey,
    user: String,
    reference: &str,
) -> Result<()> {
    let id = domain::entry_id::EntryId { ms: 0, seq: digest(reference) };
    let (reference, kind) = (Some(reference.to_owned()), Kind::Payment(word.to_owned()));
    let event = Event { reference, ..Event::made(id, key, user, 1, kind) };
    let mut asker = Asker::of_rows(source);
    let written = settler.store.apply(&[(event, Sole::No)], Care::Full, &mut asker).await;
    written?;
    Ok(())
}
