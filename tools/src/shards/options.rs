//! The command line.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

use seckill_tools::command_line::number;
use seckill_tools::duration::{duration, millis};
use seckill_tools::server::{ServerOptions, VARIABLES};
use seckill_tools::sharding::SHARDS_MAX;

const EXIT_CODES: &str = "\
Exit code:
  0  done
  1  the shards disagree, and nothing was moved
  2  it could not be carried out, with a line that says why

Examples:
  seckill-shards --voucher phone open --shards 16 --stock 100000
  seckill-shards --voucher phone level --until-sold-out
";

/// Opens, shows and levels a sale over shards.
///
/// A sale of the voucher 7 over 16 shards consists of the vouchers 7#0 to 7#15, each with a part of
/// the stock. A user belongs to the shard CRC16(user) modulo 16, and tries only there.
#[derive(Parser, Debug)]
#[command(name = "seckill-shards", version, after_help = format!("{EXIT_CODES}{VARIABLES}"))]
pub struct Options {
    #[command(flatten, next_help_heading = "The server")]
    pub server: ServerOptions,

    /// The voucher on sale; all but load need it
    #[arg(long)]
    voucher: Option<String>,

    #[command(subcommand)]
    pub action: Action,
}

#[derive(Subcommand, Debug)]
pub enum Action {
    /// Loads the functions of this program into the server, or into every primary of a cluster, as
    /// an administrator: needed once where the program's own user may not load functions
    Load,
    /// Opens the sale; run it again to continue an opening that was interrupted
    Open(Open),
    /// Shows every shard, and the units on their way between shards
    Show {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Moves units from one shard to another
    Move {
        #[arg(long)]
        from: u32,
        #[arg(long)]
        to: u32,
        #[arg(long, value_parser = number(1..=i64::MAX))]
        units: i64,
        /// Replicas that must acknowledge each step
        #[arg(long, default_value_t = 0)]
        replicas: u32,
    },
    /// Moves idle units to shards that are selling out, until Ctrl-C
    Level(Level),
    /// Finishes moves that were interrupted
    Finish {
        /// Replicas that must acknowledge each step
        #[arg(long, default_value_t = 0)]
        replicas: u32,
    },
    /// Puts unsold units of a lost shard on sale again, once its rows are ruled
    Reopen {
        /// The shard, from 0
        #[arg(long)]
        shard: u32,
        /// Its unsold units: at most what it had, less what the rows have of it
        #[arg(long, value_parser = number(0..=i64::MAX))]
        units: i64,
    },
    /// Deletes the shards and their journals, never a stream
    Drop {
        /// Only what is left of this shard, which has lost a key; its held orders are released
        #[arg(long, conflicts_with = "force")]
        shard: Option<u32>,
        /// Release held orders; without this option nothing is dropped while orders are held
        #[arg(long)]
        force: bool,
    },
}

#[derive(Args, Debug)]
pub struct Open {
    /// Number of shards, for the whole sale
    #[arg(long, default_value_t = 16,
        value_parser = number(1..=SHARDS_MAX))]
    pub shards: u32,

    /// Units on sale, over all shards; has to be given
    #[arg(long, value_parser = number(1..=i64::MAX))]
    stock: Option<i64>,

    /// Create managed vouchers (SECKILL.CREATE), with the rules of the options below
    #[arg(long)]
    pub managed: bool,

    /// Units per user at most
    #[arg(long, requires = "managed", value_parser = number(1..=i64::MAX))]
    pub limit: Option<i64>,

    /// Hold accepted orders for this long
    #[arg(long, value_name = "TIME", requires = "managed", value_parser = duration)]
    pub hold: Option<Duration>,

    /// Begin of the sale, unix time in ms
    #[arg(long, requires = "managed", value_parser = number(1..=i64::MAX))]
    pub begin: Option<i64>,

    /// End of the sale, unix time in ms
    #[arg(long, requires = "managed", value_parser = number(1..=i64::MAX))]
    pub end: Option<i64>,
}

#[derive(Args, Debug)]
pub struct Level {
    /// Time between two looks at the shards
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = duration)]
    pub every: Duration,

    /// Look once, move what is to be moved, and end
    #[arg(long)]
    pub once: bool,

    /// End when no shard has units left or held
    #[arg(long)]
    pub until_sold_out: bool,

    /// Replicas that must acknowledge each step
    #[arg(long, default_value_t = 0, value_parser = number(0..=u32::MAX))]
    pub replicas: u32,
}

impl Options {
    /// The voucher of the sale, None where none is needed; refuses at once all that is missing. An
    /// option that stands on either side of a command can't be one that clap requires.
    pub fn voucher(&self) -> Result<Option<&str>> {
        let (needs_voucher, needs_stock) = match &self.action {
            Action::Load => (false, false),
            Action::Open(open) => (true, open.stock.is_none()),
            _ => (true, false),
        };
        let mut missing = Vec::new();
        missing.extend((needs_voucher && self.voucher.is_none()).then_some("--voucher VOUCHER"));
        missing.extend(needs_stock.then_some("--stock UNITS"));
        ensure!(missing.is_empty(), "missing: {}", missing.join(" and "));
        Ok(self.voucher.as_deref().filter(|_| needs_voucher))
    }
}

impl Open {
    /// Refused by [`Options::voucher`] if it was not given.
    pub fn stock(&self) -> i64 {
        self.stock.unwrap_or(0)
    }

    /// The rules as arguments of SECKILL.CREATE; none for an unmanaged sale.
    pub fn rules(&self) -> Vec<String> {
        if !self.managed {
            return Vec::new();
        }
        let words = [
            ("LIMIT", Some(self.limit.unwrap_or(1))),
            ("HOLD", self.hold.map(|hold| millis(hold).cast_signed())),
            ("BEGIN", self.begin),
            ("END", self.end),
        ];
        let given = words.into_iter().filter_map(|(word, value)| Some((word, value?)));
        given.flat_map(|(word, value)| [word.to_owned(), value.to_string()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_of_managed_sales_only() {
        let open = |line: &str| {
            let options = Options::try_parse_from(line.split_whitespace()).ok()?;
            match options.action {
                Action::Open(open) => Some(open.rules().join(" ")),
                _ => None,
            }
        };
        assert_eq!(open("shards open --stock 9").as_deref(), Some(""));
        assert_eq!(open("shards open --stock 9 --managed").as_deref(), Some("LIMIT 1"));
        let held = open("shards open --stock 9 --managed --hold 5ms --limit 2");
        assert_eq!(held.as_deref(), Some("LIMIT 2 HOLD 5"));
        assert_eq!(open("shards open --stock 9 --hold 5ms"), None);
        assert_eq!(open("shards open --stock 9 --shards 0"), None);
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        for (line, said) in [
            ("shards open --shards 4", "missing: --voucher VOUCHER and --stock UNITS"),
            ("shards open --stock 4", "missing: --voucher VOUCHER"),
            ("shards --voucher 7 open", "missing: --stock UNITS"),
            ("shards show", "missing: --voucher VOUCHER"),
            ("shards --voucher 7 open --stock 4", ""),
            ("shards load", ""),
            ("shards --voucher 7 load", ""),
        ] {
            let options = Options::try_parse_from(line.split_whitespace()).unwrap();
            let refused = options.voucher().err().map(|error| error.to_string());
            assert_eq!(refused.unwrap_or_default(), said, "{line}");
            let is_load = line.ends_with("load");
            assert_eq!(options.voucher().is_ok_and(|it| it.is_none()), is_load, "{line}");
        }
    }
}
