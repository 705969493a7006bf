//! What a resolve asks the server, and what it does there. Each command is safe to repeat.

use std::collections::BTreeSet;

use anyhow::{Context, Result, anyhow, bail};
use domain::integer;
use domain::key_names::{
    BOOK_PREFIX, OUTSIDE_PREFIX, PAYMENTS_PREFIX, RULES_PREFIX, outside_field,
};
use domain::resolve::ServerStep;
use domain::rows::Paid as PaidUnits;
use domain::rules::Rules;
use domain::server_state::Server;
use redis::{RedisError, RedisResult, Value, cmd, from_redis_value};
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::message;

use crate::check::{BookOrder, Books, read_paid};
use crate::order_events::OrderKey;
use crate::source::Source;

/// What the server says of one order.
pub async fn ask_server(
    source: &mut Source,
    key: &OrderKey,
    references: &BTreeSet<String>,
) -> Result<Server<String>> {
    let Ok(naming) = source.naming(key.voucher.as_bytes()) else {
        bail!("the braces in voucher {} are not a hash tag", sanitize(&key.voucher))
    };
    let mut info = cmd("SECKILL.INFO");
    let info = info.arg(&key.voucher).query_async(source.connection()).await;
    let info = match info {
        Ok(info) => Some(info),
        Err(error) if RedisError::code(&error) == Some("NOVOUCHER") => None,
        Err(error) => return Err(refused("SECKILL.INFO", &error)),
    };
    let outside = outside_field(key.user.as_bytes(), key.order.as_bytes());
    let payments = naming.key(PAYMENTS_PREFIX);
    let mut all = vec![
        cmd("GET").arg(naming.key(RULES_PREFIX)).clone(),
        cmd("HGET").arg(naming.key(BOOK_PREFIX)).arg(&key.order).clone(),
        cmd("HGET").arg(naming.key(OUTSIDE_PREFIX)).arg(&outside).clone(),
    ];
    let of = |reference: &String| cmd("HGET").arg(&payments).arg(reference).clone();
    all.extend(references.iter().map(of));
    let answered = source.connection().at_once(&all.iter().collect::<Vec<_>>()).await;
    let answered = answered.map_err(|error| refused("HGET", &error))?.into_iter();
    let answered = answered.map(from_redis_value::<Option<Vec<u8>>>);
    let mut answered = answered.collect::<Result<Vec<_>, _>>()?.into_iter();
    let rules = answered.next().flatten();
    let rules = rules.map(|rules| Rules::parse(&rules)).transpose();
    let rules = rules.map_err(|_| anyhow!("the rules of the voucher can't be read"))?;
    let mut books = Books { voucher: key.voucher.clone(), info, ..Books::default() };
    if let Some(entry) = answered.next().flatten() {
        let order = BookOrder::read(&entry).context("its entry in the book can't be read")?;
        books.orders.insert(key.order.clone(), order);
    }
    if let Some(units) = answered.next().flatten() {
        let units = integer::parse(&units).context("the units outside can't be read")?;
        books.outside.insert(outside, units);
    }
    for (reference, record) in references.iter().zip(answered) {
        if let Some(record) = record {
            let paid = read_paid(&record).context("the record of a payment can't be read")?;
            books.payments.insert(reference.clone(), paid);
        }
    }
    let mut server = books.server(key, references.iter().map(String::as_str));
    // Asked in one step, unlike the figures of the sale.
    server.is_over |= rules.is_none_or(|rules| rules.sale.get().to_string() != key.sale);
    Ok(server)
}

/// What became of a step on the server.
pub enum Done {
    Yes,
    /// Fewer units are left than it takes.
    TooFew,
}

pub async fn on_server(
    source: &mut Source,
    key: &OrderKey,
    step: &ServerStep<String>,
) -> Result<Done> {
    let OrderKey { voucher, sale, order, user } = key;
    let (name, wanted, command) = match step {
        ServerStep::Cancel { was_sold, kept, refunded, is_norestock, .. } => {
            let mut cancel = cmd("SECKILL.CANCEL");
            cancel.arg(voucher).arg(user).arg(order);
            cancel.arg("IF").arg(if *was_sold { "sold" } else { "held" });
            if *kept > 0 {
                cancel.arg("KEEP").arg(kept);
            }
            if *is_norestock {
                cancel.arg("NORESTOCK");
            }
            if let Some(reference) = refunded {
                cancel.arg("REFUNDED").arg("REF").arg(reference);
            }
            ("SECKILL.CANCEL", &[1][..], cancel.arg("SALE").arg(sale).clone())
        }
        ServerStep::Confirm { payment } => {
            let mut confirm = cmd("SECKILL.CONFIRM");
            confirm.arg(voucher).arg(user).arg(order);
            if let Some(PaidUnits { reference, units }) = payment {
                confirm.arg("REF").arg(reference);
                if let Some(units) = units {
                    confirm.arg("UNITS").arg(units);
                }
            }
            ("SECKILL.CONFIRM", &[1, 2][..], confirm.arg("SALE").arg(sale).clone())
        }
        ServerStep::Return { units } => ("SECKILL.RESTOCK", &[][..], restock(key, *units)),
        ServerStep::Take { units } => {
            let take = restock(key, units.saturating_neg());
            let took: RedisResult<Value> = take.query_async(source.connection()).await;
            return match took {
                Ok(_) => Ok(Done::Yes),
                Err(error) if error.code() == Some("STOCK") => Ok(Done::TooFew),
                Err(error) => Err(refused("SECKILL.RESTOCK", &error)),
            };
        }
    };
    let answered: RedisResult<i64> = command.query_async(source.connection()).await;
    match answered {
        Ok(answer) if wanted.is_empty() || wanted.contains(&answer) => Ok(Done::Yes),
        Ok(answer) => bail!(
            "the server has changed ({name} was answered {answer}): run the worker, and look again"
        ),
        Err(error) => Err(refused(name, &error)),
    }
}

fn restock(key: &OrderKey, units: i64) -> redis::Cmd {
    let OrderKey { voucher, sale, order, user } = key;
    let mut restock = cmd("SECKILL.RESTOCK");
    restock.arg(voucher).arg(units).arg("FOR").arg(user).arg(order).arg("SALE").arg(sale);
    restock
}

pub fn refused(command: &str, error: &RedisError) -> anyhow::Error {
    match error.code() {
        Some("NOPERM") => anyhow!(
            "the server refuses {command} to this user: give by --redis one who may call it"
        ),
        _ => anyhow!("{command}: {}", sanitize(&message(error))),
    }
}
