//! `seckill-rush`: a flash sale from the buyers' side. Opens a sale on any server, sends tries
//! from many connections at once, and then proves from the server's own keys what was sold.
//!
//! `options` what can be asked for, `plan` who tries when, `names` where the module keeps its
//! facts, `sale` opens and reads a voucher, `load` sends the tries and `progress`
//! shows them, `proof` compares, `report` prints.
//!
//! Exit code: 0 proved, 1 the outcome differs, 2 the rush could not be carried out.

mod load;
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
use options::{Method, Options};
use plan::Plan;
use report::Report;

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
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().to_string();
    let users = options.users();
    let plan = Plan::new(started, options.tries, users, options.duplicates, options.seed());
    let plan = Arc::new(plan);
    let client = redis::Client::open(options.url.as_str()).context("--url")?;
    let mut connection = load::connect(&client).await?;

    let server = sale::Server::ask(&mut connection).await?;
    let names = match options.method() {
        Method::Command => {
            sale::need_module(&mut connection).await?;
            names::Names::of_module(&mut connection, &options.voucher, server.cluster).await?
        }
        Method::Script => names::Names::of_script(&options.voucher),
    };
    let before = sale::open(&mut connection, &names, options).await?;

    let cpu_before = sale::cpu_seconds(&mut connection).await?;
    let rush = load::send(&client, options, &plan).await?;
    let cpu_s = sale::cpu_seconds(&mut connection).await? - cpu_before;

    let after = sale::State::read(&mut connection, &names)
        .await
        .context("reading the voucher after the rush")?;
    let orders = sale::orders_since(&mut connection, &names, &before.last_entry).await?;
    let checks = proof::checks(&proof::Facts {
        plan: &plan,
        fresh: !options.keep,
        sent: rush.sent,
        answers: &rush.answers,
        before: &before,
        after: &after,
        orders: orders.as_deref(),
    });
    Ok(Report::new(options, &server, &plan, &rush, cpu_s, &after, checks))
}
