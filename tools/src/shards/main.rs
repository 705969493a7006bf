//! `seckill-shards`: a hot voucher on many shards. Opens the sale, shows it, and moves units from
//! shards where they lie idle to those that are sold out.
//!
//! `options` the command line, `opening` makes shards and opens a lost one again, `dropping`
//! deletes them, `mover` moves units in steps that can be repeated, `levels` decides which,
//! `leveling` goes on with that through outages. `sale` finds the sale, and `sharded_sale` of the
//! library reads how it stands. `functions` has the library that changes a shard in one
//! step; its parts in Lua are beside it.
//!
//! Exit code: 0 done, 1 the shards disagree, 2 it could not be carried out.

mod dropping;
mod functions;
mod leveling;
mod levels;
mod mover;
mod opening;
mod options;
mod sale;

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use seckill_tools::command_line::{options_anywhere, refused};
use seckill_tools::connection::Target;
use seckill_tools::sharding::check_sale;

use leveling::Leveling;
use mover::Mover;
use options::{Action, Options};
use sale::{find, is_silent};

fn main() -> ExitCode {
    let options: Options = options_anywhere();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refused("seckill-shards", &error.into()),
    };
    match runtime.block_on(run(&options)) {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
        Err(error) => refused("seckill-shards", &error),
    }
}

/// False when the shards disagree.
async fn run(options: &Options) -> Result<bool> {
    let voucher = options.voucher()?;
    let place = options.server.place()?;
    let Some(voucher) = voucher else {
        let mut link = Target::find(place).await?.connect().await?;
        println!("loaded {}", functions::load(&mut link).await?);
        return Ok(true);
    };
    check_sale(voucher)?;
    if let Action::Level(level) = &options.action {
        return Leveling::new(place, voucher, level).run().await;
    }
    let link = Target::find(place).await?.connect().await?;
    if let Action::Open(open) = &options.action {
        let opened = opening::open(link.clone(), voucher, open).await?;
        println!("opened {opened} of {} shards", open.shards);
    }
    let sale = find(link, voucher).await?;
    if !matches!(options.action, Action::Drop { .. }) {
        sale.check_not_dropping()?;
    }
    match &options.action {
        Action::Load | Action::Open(_) | Action::Level(_) => {}
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
                sale.shard(shard)?;
            }
            ensure!(from != to, "--from and --to are the same shard");
            if !is_silent(&sale.look().await?.differences()) {
                return Ok(false);
            }
            let mut mover = Mover::new(&sale, *replicas);
            mover.finish_all().await?;
            let moved = mover.go(*from, *to, *units).await?;
            println!("moved {moved} units");
        }
        Action::Finish { replicas } => {
            if !is_silent(&sale.look().await?.lost_shards()) {
                return Ok(false);
            }
            let finished = Mover::new(&sale, *replicas).finish_all().await?;
            println!("finished {finished} moves");
            return Ok(is_silent(&sale.look().await?.differences()));
        }
        Action::Reopen { shard, units } => {
            opening::reopen(&sale, *shard, *units).await?;
            println!("opened shard {shard} again with {units} units");
        }
        Action::Drop { shard: Some(shard), .. } => {
            dropping::drop_remains(&sale, *shard).await?;
            println!("dropped what was left of shard {shard}");
        }
        Action::Drop { force, shard: None } => {
            if !sale.is_dropping && !sale.on_the_way().await?.is_empty() {
                bail!("units are on their way between shards: run finish first");
            }
            println!("dropped {} shards", dropping::drop_all(&sale, *force).await?);
        }
    }
    Ok(true)
}
