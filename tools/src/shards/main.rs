//! `seckill-shards`: a hot voucher on many shards. Opens the sale, shows it, and moves units from
//! shards where they lie idle to those that have run out.
//!
//! `options` the command line, `sale` opens and reads the shards, `mover` moves units in steps that
//! can be repeated, `levels` decides which, `simulate` tries that out without a server. The
//! scripts that change a shard in one step are beside them.
//!
//! Exit code: 0 done, 1 the shards disagree, 2 it could not be carried out.

#[path = "../common/link.rs"]
mod link;
#[path = "../rush/names.rs"]
#[allow(dead_code, reason = "seckill-rush uses the rest of it")]
mod names;
#[path = "../common/sharding.rs"]
mod sharding;

mod dropping;
mod levels;
mod mover;
mod options;
mod sale;
mod simulate;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Parser;

use mover::Mover;
use options::{Action, Level, Options};
use sale::{Sale, Standing};

fn main() -> ExitCode {
    let options = Options::parse();
    if let Action::Simulate(simulation) = &options.action {
        print!("{}", simulate::report(simulation));
        return ExitCode::SUCCESS;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    match runtime.block_on(run(&options)) {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("seckill-shards: {error:#}");
    ExitCode::from(2)
}

/// False when the shards disagree.
async fn run(options: &Options) -> Result<bool> {
    sharding::check_sale(&options.voucher)?;
    let place = link::Place::find(&options.url).await?;
    let link = place.connect().await?;
    if let Action::Open(open) = &options.action {
        let opened = Sale::open(link.clone(), &options.voucher, open).await?;
        println!("opened {opened} of {} shards", open.shards);
    }
    let sale = Sale::find(link, &options.voucher).await?;
    let is_drop = matches!(options.action, Action::Drop { .. });
    ensure!(is_drop || !sale.is_dropping(), "the sale is being dropped: run drop again");
    match &options.action {
        Action::Open(_) | Action::Simulate(_) => {}
        Action::Show { json } => {
            let standing = sale.look().await?;
            match json {
                true => println!("{}", standing.json()),
                false => print!("{}", standing.text()),
            }
            return Ok(standing.differences().is_empty());
        }
        Action::Move { from, to, units, replicas } => {
            for shard in [*from, *to] {
                ensure!(shard < sale.shards(), "there are {} shards, from 0", sale.shards());
            }
            ensure!(from != to, "--from and --to are one shard");
            if !sound(&sale.look().await?)? {
                return Ok(false);
            }
            let mut mover = Mover::new(&sale, *replicas);
            mover.finish_all().await?;
            let moved = mover.go(*from, *to, *units, 0).await?;
            println!("moved {moved} units");
        }
        Action::Level(level) => return self::level(&sale, level).await,
        Action::Finish { replicas } => {
            let finished = Mover::new(&sale, *replicas).finish_all().await?;
            println!("finished {finished} moves");
            return sound(&sale.look().await?);
        }
        Action::Drop { force } => {
            if !sale.is_dropping() && !sale.on_the_way().await?.is_empty() {
                bail!("units are on their way between shards: run finish first");
            }
            println!("dropped {} shards", sale.drop_all(*force).await?);
        }
    }
    Ok(true)
}

fn sound(standing: &Standing) -> Result<bool> {
    for difference in standing.differences() {
        eprintln!("seckill-shards: {difference}");
    }
    Ok(standing.differences().is_empty())
}

/// Finishes what was left, then moves idle units where they are missing, again and again.
async fn level(sale: &Sale, options: &Level) -> Result<bool> {
    let mut mover = Mover::new(sale, options.replicas);
    mover.finish_all().await?;
    let mut before: Option<Vec<i64>> = None;
    let mut ticks = tokio::time::interval(Duration::from_millis(options.every_ms));
    let mut moved = (0_u64, 0_i64);
    let stop = tokio::signal::ctrl_c();
    tokio::pin!(stop);
    for round in 0.. {
        tokio::select! {
            biased;
            _ = &mut stop => break,
            _ = ticks.tick() => {}
        }
        let standing = sale.look().await?;
        if !sound(&standing)? {
            return Ok(false);
        }
        let mut left = standing.left();
        // The first look has nothing to compare with: whatever lies there is idle.
        let steps = levels::moves(&left, before.as_ref().unwrap_or(&left), round);
        for step in steps {
            let units = mover.go(step.from, step.to, step.units, 0).await?;
            moved = (moved.0 + u64::from(units > 0), moved.1 + units);
            left[step.from as usize] -= units;
            left[step.to as usize] += units;
        }
        before = Some(left);
        if options.once || (options.until_sold_out && standing.is_sold_out()) {
            break;
        }
    }
    println!("moved {} units in {} moves", moved.1, moved.0);
    sound(&sale.look().await?)
}
