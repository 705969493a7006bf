//! `seckill-rush`: a flash sale from the buyers' side. Opens a sale on any server, sends tries
//! from many connections at once, and then proves from the server's own keys what was sold.
//!
//! `options` what can be asked for, `shards` what is sold, `plan` who tries when, `decisions` who
//! pays, `sale` and `managed` open and read a voucher, `load` sends the tries, `pace` says when,
//! `payments` pays for those who get units from the queue, and waits for holds, `answers` counts,
//! `proof` and `managed_proof` compare, `report` prints.
//!
//! Exit code: 0 consistent, 1 the outcome differs, 2 the rush could not be carried out.

mod answers;
mod decisions;
mod load;
mod managed;
mod managed_proof;
mod options;
mod pace;
mod payments;
mod plan;
mod proof;
mod report;
mod sale;
mod shards;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Parser;
use seckill_tools::command_line::refused;
use seckill_tools::connection::{Connection, Target};
use seckill_tools::server_info::named;
use seckill_tools::voucher_keys::VoucherKeys;

use load::Rush;
use managed::{Ledger, Standing};
use managed_proof::Managed;
use options::Options;
use payments::QueuePayments;
use plan::Plan;
use proof::Facts;
use report::Report;
use sale::{ORDERS, RELEASED, State};
use shards::{Moves, Shards};

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
            ExitCode::from(u8::from(!report.consistent))
        }
        Err(error) => refused("seckill-rush", &error),
    }
}

async fn rush(options: &Options) -> Result<Report> {
    options.check()?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().to_string();
    let users = options.users();
    let plan = Plan::new(started, options.tries, users, options.duplicates, options.seed);
    let plan = Arc::new(plan);
    let target = Target::find(options.server.place()?).await?;
    let mut link = target.connect().await?;

    let info = link.info("server").await.context("INFO server")?;
    let server = named(info.first().map_or("", String::as_str));
    let shards = Shards::find(&link, options).await?;
    let names = VoucherKeys::of_module(&mut link, &shards.0).await?;
    let before = sale::open(&mut link, &names, options).await?;

    let queue = QueuePayments::start(&target, options, &plan, &names, &before).await?;
    let cpu_before = sale::cpu_seconds(&mut link).await?;
    let rush = load::send(&target, options, &plan, &shards).await?;
    let cpu_s = sale::cpu_seconds(&mut link).await? - cpu_before;

    let Rush { answers, sent, elapsed } = rush;
    let (moves, orders, after) = (None, None, State::default());
    let mut facts = Facts { plan, sent, answers, shards, moves, before, after, orders };
    let read = read(&mut link, options, &names, queue, &mut facts).await;
    let managed = read.context("reading the voucher after the rush")?;
    Ok(Report::new(options, server, &facts, elapsed, cpu_s, managed.as_ref()))
}

/// Reads what the server has after the last answer; of a managed sale once the holds of those who
/// didn't pay have expired.
async fn read<'a>(
    link: &mut Connection,
    options: &'a Options,
    names: &[VoucherKeys],
    queue: Option<QueuePayments>,
    facts: &mut Facts,
) -> Result<Option<Managed<'a>>> {
    let is_managed = options.managed.managed;
    let waited = is_managed && payments::wait_for_holds(link, names, options.json).await?;
    if let Some(queue) = queue {
        facts.answers.add_payments(queue.stop().await?);
    }
    if options.shards {
        facts.moves = Some(Moves::wait_for(link, &options.voucher).await?);
    }
    let ledger = if is_managed { Some(Ledger::read(link, names).await?) } else { None };
    facts.after = State::sum(&State::read_all(link, names).await?);
    facts.orders = sale::orders_since(link, names, &facts.before, ORDERS).await?;
    let Some(ledger) = ledger else { return Ok(None) };
    let released = sale::orders_since(link, names, &facts.before, RELEASED).await?;
    let limit = Standing::ask(link, names).await?.limit;
    Ok(Some(Managed { options, limit, ledger, waited, released }))
}
