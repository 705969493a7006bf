//! The command line.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Parser};

use seckill_tools::command_line::number;
use seckill_tools::duration::duration;
use seckill_tools::server::{ServerOptions, VARIABLES};
use seckill_tools::sharding::check_sale;

const EXIT_CODES: &str = "\
Exit code:
  0  consistent
  1  the outcome differs from the answers
  2  it could not be carried out, with a line that says why

Examples:
  seckill-rush --voucher phone --stock 1000 --tries 100000
  seckill-rush --managed --hold 1s --cancel-share 0.1 --waitlist
";

/// Sends the tries of a flash sale to a server and proves the outcome.
///
/// Opens a sale of STOCK units of VOUCHER, sends TRIES tries over CONNECTIONS connections at
/// once, waits for every answer, and then compares the server's keys with the answers.
/// Ctrl-C stops sending; the outcome up to then is still compared.
#[derive(Parser, Debug)]
#[command(name = "seckill-rush", version, after_help = format!("{EXIT_CODES}{VARIABLES}"))]
pub struct Options {
    #[command(flatten, next_help_heading = "The server")]
    pub server: ServerOptions,

    /// The voucher on sale
    #[arg(long, default_value = "rush")]
    pub voucher: String,

    /// Units on sale
    #[arg(long, default_value_t = 1_000, value_parser = number(1..=i64::MAX))]
    pub stock: i64,

    /// Tries to send
    #[arg(long, default_value_t = 100_000, value_parser = number(1..=u32::MAX))]
    pub tries: u32,

    /// At most this many users; once all have tried, every try repeats a user [default: no limit]
    #[arg(long, value_parser = number(1..=u32::MAX))]
    pub users: Option<u32>,

    /// Share of the tries, 0 to 1, that are made by a user who has already tried
    #[arg(long, default_value_t = 0.1, value_parser = share)]
    pub duplicates: f64,

    /// Connections that send at once
    #[arg(long, default_value_t = 50, value_parser = number(1..=10_000u32))]
    pub connections: u32,

    /// Commands that a connection sends before it waits for their answers
    #[arg(long, default_value_t = 16, value_parser = number(1..=10_000u32))]
    pub pipeline: u32,

    /// Send this many tries per second without waiting for answers; latencies count from when a
    /// try was due [default: send the next tries when the answers have arrived]
    #[arg(long, value_name = "TRIES",
        value_parser = number(1..=10_000_000u32))]
    pub rate: Option<u32>,

    /// Seed; the same seed repeats the users and their order [default: a new one for each run]
    #[arg(long, default_value_t = fastrand::u64(1..1_000_000_000), hide_default_value = true,
        value_parser = number(0..=u64::MAX))]
    pub seed: u64,

    /// Continue the sale of an existing voucher, with the stock that it has
    #[arg(long)]
    pub keep: bool,

    /// Also use a server whose order stream has entries, which may be in production
    #[arg(long)]
    pub beside_others: bool,

    /// The voucher is spread over shards, the vouchers VOUCHER#0, VOUCHER#1 and so on, which
    /// seckill-shards has opened; a user tries at the shard CRC16(user) modulo their number
    #[arg(long)]
    pub shards: bool,

    #[command(flatten, next_help_heading = "Managed sales")]
    pub managed: ManagedOptions,

    /// Print the result as JSON, without progress
    #[arg(long)]
    pub json: bool,
}

/// A sale with rules: SECKILL.CREATE opens it, and orders may be held until their users pay.
#[derive(Args, Debug)]
pub struct ManagedOptions {
    /// Open a managed sale (SECKILL.CREATE), and prove its outcome by SECKILL.AUDIT as well
    #[arg(long)]
    pub managed: bool,

    /// Hold accepted orders for this long; orders that are not paid by then expire
    #[arg(long, value_name = "TIME", requires = "managed", value_parser = duration)]
    pub hold: Option<Duration>,

    /// Begin the sale this long after it is opened [default: at once]
    #[arg(long, value_name = "TIME", requires = "managed", value_parser = duration)]
    pub begin_in: Option<Duration>,

    /// End the sale this long after it is opened [default: never]
    #[arg(long, value_name = "TIME", requires = "managed", value_parser = duration)]
    pub end_in: Option<Duration>,

    /// Share of the accepted orders, 0 to 1, that are paid at once (SECKILL.CONFIRM)
    #[arg(long, default_value_t = 0.8, value_name = "SHARE", requires = "hold",
        value_parser = share)]
    pub pay_share: f64,

    /// Share of the accepted orders that are cancelled at once (SECKILL.CANCEL); the run waits
    /// until held orders that were neither paid nor cancelled expire
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", requires = "managed",
        value_parser = share)]
    pub cancel_share: f64,

    /// Let tries that would be sold out wait in the queue (WAITLIST); orders that are promoted from
    /// it are paid and cancelled by the same shares
    #[arg(long, requires = "hold", conflicts_with_all = ["shards", "keep"])]
    pub waitlist: bool,
}

impl Options {
    /// Refuses what clap can't check.
    pub fn check(&self) -> Result<()> {
        let ManagedOptions { hold, pay_share, cancel_share, .. } = self.managed;
        ensure!(
            hold.is_none() || pay_share + cancel_share <= 1.0,
            "--pay-share {pay_share} and --cancel-share {cancel_share} make more than 1"
        );
        if self.shards { check_sale(&self.voucher) } else { Ok(()) }
    }

    /// Whether the sale was opened before, and goes on.
    pub fn goes_on(&self) -> bool {
        self.keep || self.shards
    }

    pub fn users(&self) -> u32 {
        self.users.unwrap_or(self.tries)
    }
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("must be a number from 0 to 1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> std::result::Result<Options, clap::Error> {
        Options::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_declarations_are_sound() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }

    #[test]
    fn shares_are_from_zero_to_one() {
        assert_eq!(parse("rush --duplicates 0.25").unwrap().duplicates, 0.25);
        for wrong in ["-0.1", "1.01", "NaN", "ten"] {
            assert!(parse(&format!("rush --duplicates={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_managed_sales_have_needs_a_managed_sale() {
        for alone in ["--hold 5ms", "--end-in 1s", "--cancel-share 1"] {
            assert!(parse(&format!("rush {alone}")).is_err(), "{alone}");
            assert!(parse(&format!("rush --managed {alone}")).is_ok(), "{alone}");
        }
        assert!(parse("rush --managed --pay-share 1").is_err());
        assert!(parse("rush --managed --hold 5ms --pay-share 1").is_ok());
        assert!(parse("rush --managed --waitlist").is_err());
        assert!(parse("rush --managed --hold 5ms --waitlist").is_ok());
        assert!(parse("rush --managed --hold 5ms --waitlist --keep").is_err());
        let shares = parse("rush --managed --hold 5ms --cancel-share 0.5").unwrap();
        assert!(shares.check().is_err(), "0.8 are paid by default");
        let shares = parse("rush --managed --hold 5ms --pay-share 0.5 --cancel-share 0.5");
        assert!(shares.unwrap().check().is_ok());
    }

    #[test]
    fn users_are_as_many_as_tries_unless_limited() {
        assert_eq!(parse("rush --tries 9").unwrap().users(), 9);
        assert_eq!(parse("rush --tries 9 --users 4").unwrap().users(), 4);
    }
}
