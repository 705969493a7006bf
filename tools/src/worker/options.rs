//! The command line.

mod commands;
mod site;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Parser, ValueEnum};
pub use commands::{Check, Command, DeadLetter, Resolve};
use domain::fields::parse_order_fields;
use seckill_tools::command_line::number;
use seckill_tools::duration::duration;
pub use site::{Site, tag_of_stream};

const EXAMPLES: &str = "\
Exit code:
  0  ended normally
  1  could not go on, with a line that says why
  2  wrong arguments
  3  ended while orders that can't be written are pending
  4  ended while orders have conflicts that nobody has resolved
  5  ended with --once while rows and server may differ

Examples:
  seckill-worker --database mysql://shop@db.example/shop --database-password-file db-password
  seckill-worker --once --json
";

/// Writes the orders of a flash sale into a database.
///
/// Reads the streams of orders, of releases and of confirmed orders as a consumer of a group,
/// writes their entries in transactions of many orders, and acknowledges what is committed. Any
/// number of workers can run at once. Ctrl-C or SIGTERM ends it after the current batch.
#[derive(Parser, Clone, Debug)]
#[command(name = "seckill-worker", version, after_help = site::help(EXAMPLES))]
pub struct Options {
    #[command(flatten)]
    pub site: Site,

    #[command(flatten)]
    pub fields: FieldOptions,

    /// A hash tag whose streams to read, `stream.orders:{TAG}`; can be repeated [default: all hash
    /// tags of the server's order streams, if its keys have hash tags]
    #[arg(long, value_name = "TAG", value_parser = site::tag)]
    pub tag: Vec<String>,

    /// The consumer name, which no two workers may share [default: a unique name]
    #[arg(long, value_name = "NAME")]
    pub consumer: Option<String>,

    #[command(flatten)]
    pub shop: ShopOptions,

    /// Neither create nor change tables: end with an error if they are not as required
    #[arg(long)]
    pub no_migrate: bool,

    /// Entries per read and per transaction, at most
    #[arg(long, value_name = "N", default_value_t = 512,
        value_parser = number(1..=10_000u32))]
    pub batch: u32,

    /// Take over entries that another worker has left pending for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub claim_after: Duration,

    /// Retry an entry that the database refuses after this long, then after twice as long, ..
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub retry: Duration,

    /// When one of the --statements changes no row: park the orders of its voucher alone, or stop
    /// the reading of all orders
    #[arg(long, value_name = "park|stop", default_value = "park")]
    pub on_zero_rows: OnZeroRows,

    /// Write an order only once this many replicas have it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number(0..=u32::MAX))]
    pub replicas: u32,

    /// Trim entries that all groups have acknowledged and that are this old, such as 48h
    /// [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub trim_after: Option<Duration>,

    /// Serve /metrics for Prometheus and /healthz at this address; a port alone is of 127.0.0.1
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = seckill_tools::http::address)]
    pub metrics: Option<SocketAddr>,

    /// End when nothing is left to do, and print what was done
    #[arg(long)]
    pub once: bool,

    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What stops when a statement of the shop changes no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnZeroRows {
    Park,
    Stop,
}

/// The names of an order's fields in the entries: of user, voucher and order id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFields([String; 3]);

impl Default for OrderFields {
    fn default() -> Self {
        Self(["userId", "voucherId", "id"].map(str::to_owned))
    }
}

impl OrderFields {
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let names = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = parse_order_fields(names.as_bytes())?;
        Ok(Self(words.map(|word| self::text(word.to_vec()))))
    }

    pub fn all(&self) -> [&str; 3] {
        self.0.each_ref().map(String::as_str)
    }
}

/// The streams of one hash tag, or those without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    pub orders: String,
    pub released: String,
    pub confirmed: Option<String>,
}

/// How the fields of entries are named.
#[derive(Args, Clone, Debug)]
pub struct FieldOptions {
    /// Names of an entry's fields: user, voucher, order id; can be repeated if entries differ
    /// [default: those of the server's settings]
    #[arg(long, value_name = "NAMES", value_parser = OrderFields::parse)]
    pub order_fields: Vec<OrderFields>,

    /// Don't ask for the server's settings, for streams that are not filled by SECKILL.TRY
    #[arg(long)]
    pub unchecked: bool,
}

#[derive(Args, Clone, Debug)]
pub struct ShopOptions {
    /// A TOML file with SQL of the shop, run with each change of an order's state
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,
}

impl ShopOptions {
    pub fn statements(&self) -> Option<&Path> {
        self.statements.as_deref()
    }
}

impl Options {
    /// Where the command works, and the shop's statements that it runs.
    pub fn site(&self) -> (&Site, Option<&Path>) {
        match &self.command {
            None => (&self.site, self.shop.statements()),
            Some(Command::DeadLetter(wanted)) => (&wanted.site, None),
            Some(Command::Resolve(wanted)) => (&wanted.site, wanted.shop.statements()),
            Some(Command::Check(wanted)) => (&wanted.site, wanted.shop.statements()),
        }
    }

    /// Refuses what clap can't check, before connecting to anything.
    pub fn check(&self) -> Result<()> {
        match &self.command {
            None => self.site.check(self.first_tag()),
            Some(Command::Resolve(wanted)) => wanted.check(),
            Some(Command::DeadLetter(_) | Command::Check(_)) => self.site().0.check(None),
        }
    }

    pub fn first_tag(&self) -> Option<&str> {
        self.tag.first().map(String::as_str)
    }

    /// The streams that the command line names, each once; None if they are to be found on the
    /// server.
    pub fn named_streams(&self) -> Option<Vec<Streams>> {
        if self.tag.is_empty() {
            let is_whole = self.fields.unchecked || self.site.is_tagged();
            return is_whole.then(|| vec![self.site.streams_of(None)]);
        }
        let mut tags = self.tag.clone();
        tags.sort();
        tags.dedup();
        Some(tags.iter().map(|tag| self.site.streams_of(Some(tag))).collect())
    }

    /// The consumer's name: as given, or a unique one.
    pub fn consumer(&self) -> String {
        let unique = || {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            let host = match host.trim() {
                "" => "worker",
                host => host,
            };
            format!("{host}-{}-{:08x}", std::process::id(), fastrand::u32(..))
        };
        self.consumer.clone().unwrap_or_else(unique)
    }

    /// The time between two trims.
    pub fn trim_every(&self) -> Option<Duration> {
        let bounds = (Duration::from_millis(10), Duration::from_secs(60));
        self.trim_after.map(|after| (after / 10).clamp(bounds.0, bounds.1))
    }
}

/// A name as text.
pub fn text(name: Vec<u8>) -> String {
    String::from_utf8_lossy(&name).into_owned()
}

#[cfg(test)]
mod tests;
