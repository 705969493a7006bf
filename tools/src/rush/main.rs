//! `seckill-rush`: a flash sale from the buyers' side. Opens a sale on any server, sends tries
//! from many connections at once, and then proves from the server's own keys what was sold.
//!
//! `options` what can be asked for, `spread` over which shards, `plan` who tries when, `batch` in
//! which commands, `decisions` who pays, `sale` and `managed` open and read a voucher, `load` sends
//! the tries, `pace` says when, `payments` pays for those who get units from the queue, and waits
//! for holds, `answers` counts, `progress` shows how far it is, `proof` and
//! `managed_proof` compare, `report` prints.
//!
//! Exit code: 0 proved, 1 the outcome differs, 2 the rush could not be carried out.

mod answers;
mod batch;
mod decisions;
mod load;
mod managed;
mod managed_proof;
mod options;
mod pace;
mod payments;
mod plan;
mod progress;
mod proof;
mod report;
mod sale;
mod spread;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Parser;
use seckill_tools::command_line::refused;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::server_info::{fields, product};
use seckill_tools::voucher_keys::VoucherKeys;

use load::Rush;
use managed_proof::Managed;
use options::{Method, Options};
use payments::Line;
use plan::Plan;
use proof::Facts;
use report::{Found, ManagedReport, Report};
use sale::{ORDERS, RELEASED, State};
use spread::Spread;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refused("seckill-rush", &error.into()),
    };
    match runtime.block_on(rush(&options)) {
        Ok(report) => {
            if options.json {
                println!("{}", report.json());
            } else {
                print!("{}", report.text());
            }
            ExitCode::from(u8::from(!report.proved))
        }
        Err(error) => refused("seckill-rush", &error),
    }
}

async fn rush(options: &Options) -> Result<Report> {
    options.check()?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().to_string();
    let users = options.users();
    let plan = Plan::new(started, options.tries, users, options.duplicates, options.seed());
    let plan = Arc::new(plan.with_retries(options.managed.retries, options.seed()));
    let target = Target::find(options.server.place()?).await?;
    let mut link = target.connect().await?;

    let info = link.info("server").await.context("INFO server")?;
    let (product, version) = product(&fields(info.first().map_or("", String::as_str)));
    let server = format!("{product} {version}");
    let mut spread = Spread::of(options);
    let shards = match options.method() {
        Method::Command => {
            sale::need_module(&mut link, options.try_command()).await?;
            VoucherKeys::of_module(&mut link, &spread.vouchers()).await?
        }
        Method::Script => vec![VoucherKeys::of_script(&options.voucher)?],
    };
    let before = sale::open(&mut link, &shards, &spread, options).await?;
    let book_before = match options.managed.managed {
        true => managed::book_len(&mut link, &shards).await?,
        false => 0,
    };

    let line = Line::start(&target, options, &plan, &shards, &before).await?;
    let cpu_before = sale::cpu_seconds(&mut link).await?;
    let Rush { answers, sent, elapsed } = load::send(&target, options, &plan).await?;
    let cpu_s = sale::cpu_seconds(&mut link).await? - cpu_before;

    let on_the_way = spread.wait_for_moves(&mut link).await?;
    let (fresh, orders) = (!options.keep, None);
    let mut facts = Facts { plan, fresh, sent, answers, spread, on_the_way, orders };
    let sale = Before { shards, states: before, books: book_before };
    let found = if options.managed.managed {
        prove_managed(&mut link, options, &mut facts, line, &sale).await
    } else {
        prove(&mut link, &mut facts, &sale).await
    };
    let found = found.context("reading the voucher after the rush")?;
    Ok(Report::new(options, server, &facts, elapsed, cpu_s, found))
}

/// What was there before the first try.
struct Before {
    shards: Vec<VoucherKeys>,
    /// Each of the shards.
    states: Vec<State>,
    /// Orders in their books.
    books: usize,
}

/// Compares the keys of an unmanaged voucher with the answers.
async fn prove(link: &mut Connection, facts: &mut Facts, sale: &Before) -> Result<Found> {
    let after = State::sum(&State::read_all(link, &sale.shards).await?);
    facts.orders = sale::orders_since(link, &sale.shards, &sale.states, ORDERS).await?;
    let checks = proof::checks(facts, &State::sum(&sale.states), &after);
    Ok(Found { stock_left: after.stock, checks, managed: None })
}

/// The same for a managed voucher, once the holds of those who didn't pay have expired.
async fn prove_managed(
    link: &mut Connection,
    options: &Options,
    facts: &mut Facts,
    line: Option<Line>,
    sale: &Before,
) -> Result<Found> {
    let vouchers = facts.spread.vouchers();
    let waited = payments::wait_for_holds(link, &vouchers, options.json).await?;
    if let Some(line) = line {
        facts.answers.add_payments(line.stop().await?);
    }
    let standing = managed::Standing::ask(link, &vouchers).await?;
    let ledger = managed::Ledger::read(link, &sale.shards).await?;
    facts.orders = sale::orders_since(link, &sale.shards, &sale.states, ORDERS).await?;
    let released = sale::orders_since(link, &sale.shards, &sale.states, RELEASED).await?;
    let (limit, book_before) = (standing.limit, sale.books);
    let managed = Managed { options, limit, book_before, ledger, waited, released };
    let checks = managed_proof::checks(facts, &managed);
    let ledger = managed.ledger;
    let report = ManagedReport::new(&standing, &ledger, &facts.plan, &facts.answers);
    Ok(Found { stock_left: ledger.stock, checks, managed: Some(report) })
}
