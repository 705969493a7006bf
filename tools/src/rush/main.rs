//! `seckill-rush`: a flash sale from the buyers' side. Opens a sale on any server, sends tries
//! from many connections at once, and then proves from the server's own keys what was sold.
//!
//! `options` what can be asked for, `plan` who tries when, `fate` who pays, `names` where the
//! module keeps its facts, `sale` and `managed` open and read a voucher, `load` sends the tries and
//! `progress` shows them, `proof` and `managed_proof` compare, `report` prints.
//!
//! Exit code: 0 proved, 1 the outcome differs, 2 the rush could not be carried out.

mod fate;
mod load;
mod managed;
mod managed_proof;
mod names;
mod options;
mod plan;
mod progress;
mod proof;
mod report;
mod sale;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Parser;
use redis::aio::MultiplexedConnection;

use load::Rush;
use names::Names;
use options::{Method, Options};
use plan::Plan;
use report::{Found, ManagedReport, Report};
use sale::State;

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
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
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("seckill-rush: {}", explained(error));
    ExitCode::from(2)
}

/// The error and its causes in one line. Some errors repeat their cause in their own text.
fn explained(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

async fn rush(options: &Options) -> Result<Report> {
    options.check()?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().to_string();
    let users = options.users();
    let plan = Plan::new(started, options.tries, users, options.duplicates, options.seed());
    let plan = Arc::new(plan.with_retries(options.managed.retries, options.seed()));
    let client = redis::Client::open(options.url.as_str()).context("--url")?;
    let mut connection = load::connect(&client).await?;

    let server = sale::Server::ask(&mut connection).await?;
    let names = match options.method() {
        Method::Command => {
            sale::need_module(&mut connection).await?;
            Names::of_module(&mut connection, &options.voucher, server.cluster).await?
        }
        Method::Script => Names::of_script(&options.voucher),
    };
    let before = sale::open(&mut connection, &names, options).await?;
    let book_before = match options.managed.managed {
        true => managed::book_len(&mut connection, &names).await?,
        false => 0,
    };

    let cpu_before = sale::cpu_seconds(&mut connection).await?;
    let rush = load::send(&client, options, &plan).await?;
    let cpu_s = sale::cpu_seconds(&mut connection).await? - cpu_before;

    let found = if options.managed.managed {
        prove_managed(&mut connection, &names, options, &plan, &rush, &before, book_before).await
    } else {
        prove(&mut connection, &names, options, &plan, &rush, &before).await
    };
    let found = found.context("reading the voucher after the rush")?;
    Ok(Report::new(options, &server, &plan, &rush, cpu_s, found))
}

/// Compares the keys of an unmanaged voucher with the answers.
async fn prove(
    connection: &mut MultiplexedConnection,
    names: &Names,
    options: &Options,
    plan: &Plan,
    rush: &Rush,
    before: &State,
) -> Result<Found> {
    let after = State::read(connection, names).await?;
    let stream = names.stream.as_ref();
    let orders = sale::orders_since(connection, names, stream, &before.last_entry).await?;
    let checks = proof::checks(&proof::Facts {
        plan,
        fresh: !options.keep,
        sent: rush.sent,
        answers: &rush.answers,
        before,
        after: &after,
        orders: orders.as_deref(),
    });
    Ok(Found { stock_left: after.stock, checks, managed: None })
}

/// The same for a managed voucher, once the holds of those who didn't pay have expired.
async fn prove_managed(
    connection: &mut MultiplexedConnection,
    names: &Names,
    options: &Options,
    plan: &Plan,
    rush: &Rush,
    before: &State,
    book_before: usize,
) -> Result<Found> {
    let waited = managed::wait_for_holds(connection, &names.voucher, options.json).await?;
    let standing = managed::Standing::ask(connection, &names.voucher).await?;
    let ledger = managed::Ledger::read(connection, names).await?;
    let (stream, released) = (names.stream.as_ref(), names.released.as_ref());
    let orders = sale::orders_since(connection, names, stream, &before.last_entry).await?;
    let released = sale::orders_since(connection, names, released, &before.last_released).await?;
    let checks = managed_proof::checks(&managed_proof::Facts {
        options,
        plan,
        sent: rush.sent,
        answers: &rush.answers,
        limit: standing.limit,
        book_before,
        ledger: &ledger,
        waited,
        orders: orders.as_deref(),
        released: released.as_deref(),
    });
    let managed = ManagedReport::new(&standing, &ledger, plan, &rush.answers);
    Ok(Found { stock_left: ledger.stock, checks, managed: Some(managed) })
}
