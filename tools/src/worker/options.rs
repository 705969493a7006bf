//! The command line.

mod commands;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{ArgAction, Parser, ValueEnum};
pub use commands::{Check, Command, DeadLetter, Settle};
use domain::fields::parse_order_fields;
use domain::hash_tag::{Tagged, tagged};
use domain::key_names::{Naming, ORDER_STREAM};
use seckill_tools::duration::duration;
use seckill_tools::server::{ServerOptions, VARIABLES, first_line};

const EXIT_CODES: &str = "\
Exit code:
  0  ended normally; check: the books agree
  1  could not go on, with a line that says why; check: they differ
  2  wrong arguments; check: they could not be compared
  3  ended while orders that can't be written are pending; check: not all could be looked at
  4  ended while the server contradicts rows

Examples:
  seckill-worker --database mysql://shop@db.example/shop --database-password-file db-password
  seckill-worker check --voucher phone --database mysql://shop@db.example/shop
";
const OURS: &str = "
  SECKILL_DATABASE           the database, as --database
  SECKILL_DATABASE_PASSWORD  its password, if the URL has none";

/// Writes the orders of a flash sale into a database.
///
/// Reads the streams of orders, of releases and of confirmed orders as a consumer of a group,
/// writes their entries in transactions of many orders, and acknowledges what is committed. Any
/// number of workers can run at once. Ctrl-C or SIGTERM ends it after the current batch.
#[derive(Parser, Clone, Debug)]
#[command(name = "seckill-worker", version, after_help = format!("{EXIT_CODES}{VARIABLES}{OURS}"))]
pub struct Options {
    #[command(flatten)]
    pub server: ServerOptions,

    /// A hash tag whose streams to read, `stream.orders:{TAG}`; can be repeated [default: all hash
    /// tags of the server's order streams, if its keys have hash tags]
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,

    /// The stream of orders
    #[arg(long, value_name = "NAME", default_value = ORDER_STREAM)]
    pub stream: String,

    /// The stream of releases [default: the one that belongs to --stream]
    #[arg(long, value_name = "NAME")]
    pub released: Option<String>,

    /// The stream of confirmed orders; "" reads none [default: the one that belongs to --stream]
    #[arg(long, value_name = "NAME")]
    pub confirmed: Option<String>,

    /// Names of an entry's fields: user, voucher, order id; can be repeated if entries differ
    /// [default: those of the server's settings]
    #[arg(long, value_name = "NAMES", value_parser = OrderFields::parse)]
    pub order_fields: Vec<OrderFields>,

    /// The consumer group of all these streams; created if it is missing
    #[arg(long, default_value = "seckill-worker")]
    pub group: String,

    /// The consumer name, which no two workers may share [default: a unique name]
    #[arg(long, value_name = "NAME")]
    pub consumer: Option<String>,

    /// The database: `sqlite:FILE`, `postgres://user:password@host/name` or `mysql://..`; the
    /// password can also be in SECKILL_DATABASE_PASSWORD
    #[arg(
        long,
        value_name = "URL",
        env = "SECKILL_DATABASE",
        hide_env = true,
        default_value = "sqlite:seckill.db"
    )]
    pub database: String,

    /// A file whose first line is the password of the database
    #[arg(long, value_name = "FILE")]
    pub database_password_file: Option<PathBuf>,

    /// Prefix of the names of the worker's tables
    #[arg(long, value_name = "PREFIX", default_value = "seckill_", value_parser = table_prefix)]
    pub table_prefix: String,

    /// A TOML file with SQL of the shop, run with each change of an order's state
    #[arg(long, value_name = "FILE")]
    pub statements: Option<PathBuf>,

    /// Neither create nor change tables: end with an error if they are not as required
    #[arg(long)]
    pub no_migrate: bool,

    /// Entries per read and per transaction, at most
    #[arg(long, value_name = "N", default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,

    /// Take over entries that another worker has left pending for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub claim_after: Duration,

    /// Retry an entry that the database refuses after this long, then after twice as long, ..
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub retry: Duration,

    /// What stops when one of the --statements changes no row: the orders of its voucher alone, or
    /// the reading of all orders
    #[arg(long, value_name = "aside|stop", default_value = "aside")]
    pub on_no_row: OnNoRow,

    /// Write an order only once this many replicas have it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub replicas: u32,

    /// Reject a *held* order that the database has refused for this long, such as 30m, while it
    /// accepted others; a sold order is only rejected by an operator [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "unchecked")]
    pub reject_after: Option<Duration>,

    /// Don't ask for the server's settings, for streams that are not filled by SECKILL.TRY
    #[arg(long)]
    pub unchecked: bool,

    /// Trim entries that all groups have acknowledged and that are this old, such as 48h
    /// [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub trim_after: Option<Duration>,

    /// Serve /metrics for Prometheus and /healthz at this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,

    /// End when nothing is left to do, and print what was done
    #[arg(long)]
    pub once: bool,

    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,

    /// Log one JSON object per line
    #[arg(long)]
    pub log_json: bool,

    /// Log more
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Log only what needs attention
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What stops when a statement of the shop changes no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnNoRow {
    Aside,
    Stop,
}

/// The names of an order's fields in the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFields {
    user: String,
    voucher: String,
    id: String,
}

impl Default for OrderFields {
    fn default() -> Self {
        let [user, voucher, id] = ["userId", "voucherId", "id"].map(str::to_owned);
        Self { user, voucher, id }
    }
}

impl OrderFields {
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let names = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = parse_order_fields(names.as_bytes())?;
        let [user, voucher, id] = words.map(|word| self::text(word.to_vec()));
        Ok(Self { user, voucher, id })
    }

    /// Those of user, voucher and order id.
    pub fn all(&self) -> [&str; 3] {
        [&self.user, &self.voucher, &self.id]
    }
}

/// The streams of one hash tag, or those without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    pub orders: String,
    pub released: String,
    pub confirmed: Option<String>,
}

impl Options {
    /// Refuses what clap can't check, before connecting to anything.
    pub fn check(&self) -> Result<()> {
        if let Some(Command::Settle(settle)) = &self.command {
            let has_way = settle.keep || settle.release || settle.order.is_none();
            ensure!(has_way || settle.is_list(), "settle needs --keep or --release");
        }
        let names = [&self.stream, &self.released(), &self.confirmed()];
        let differ = names[0] != names[1] && names[1] != names[2] && names[0] != names[2];
        ensure!(differ, "--stream, --released and --confirmed must be different streams");
        ensure!(names[..2].iter().all(|name| !name.is_empty()), "a stream must have a name");
        for tag in &self.tag {
            let is_tag = tagged(tag.as_bytes()) == Ok(Tagged::Wrapped);
            ensure!(is_tag, "--tag {tag} is not a valid hash tag");
            let braces = names.iter().any(|name| name.contains('{'));
            ensure!(!braces, "with --tag, the streams' names must not have braces");
        }
        self.server.place().map(|_| ())
    }

    /// The stream of releases, before a tag.
    pub fn released(&self) -> String {
        self.released.clone().unwrap_or_else(|| self.beside(Naming::released_stream))
    }

    /// The stream of confirmed orders, before a tag; empty: none.
    pub fn confirmed(&self) -> String {
        self.confirmed.clone().unwrap_or_else(|| self.beside(Naming::confirmed_stream))
    }

    /// The name of a stream that belongs to the stream of orders. A tag stays at its end.
    fn beside(&self, name: fn(Naming<'static>, &[u8]) -> Vec<u8>) -> String {
        let (base, tag) = match self.stream.find(":{") {
            Some(at) => self.stream.split_at(at),
            None => (self.stream.as_str(), ""),
        };
        text(name(Naming::Plain(b""), base.as_bytes())) + tag
    }

    /// The streams of a hash tag, or those without.
    pub fn streams_of(&self, tag: Option<&str>) -> Streams {
        let naming = tag.map_or(Naming::Plain(b""), |tag| Naming::Wrapped(tag.as_bytes()));
        let name = |stream: &String| text(naming.stream(stream.as_bytes()));
        let confirmed = Some(&self.confirmed()).filter(|name| !name.is_empty()).map(name);
        Streams { orders: name(&self.stream), released: name(&self.released()), confirmed }
    }

    /// The streams that the command line names, each once; None if they are to be found on the
    /// server.
    pub fn named_streams(&self) -> Option<Vec<Streams>> {
        if self.tag.is_empty() {
            let is_whole = self.unchecked || self.stream.contains(":{");
            return is_whole.then(|| vec![self.streams_of(None)]);
        }
        let mut tags = self.tag.clone();
        tags.sort();
        tags.dedup();
        Some(tags.iter().map(|tag| self.streams_of(Some(tag))).collect())
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

    /// The password of the database if its URL has none.
    pub fn database_password(&self) -> Result<Option<String>> {
        let Some(path) = &self.database_password_file else {
            let password = std::env::var("SECKILL_DATABASE_PASSWORD").ok();
            return Ok(password.filter(|password| !password.is_empty()));
        };
        let password = first_line(path);
        password.with_context(|| format!("--database-password-file {}", path.display())).map(Some)
    }

    /// The time between two trims.
    pub fn trim_every(&self) -> Option<Duration> {
        let bounds = (Duration::from_millis(10), Duration::from_secs(60));
        self.trim_after.map(|after| (after / 10).clamp(bounds.0, bounds.1))
    }
}

/// A prefix with which the name of a table needs no quotes.
fn table_prefix(text: &str) -> std::result::Result<String, String> {
    let is_word =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    if begins && text.len() <= 32 && text.chars().all(is_word) {
        return Ok(text.to_owned());
    }
    Err("must be 1 to 32 lowercase letters, digits and _, not starting with a digit".to_owned())
}

/// A name as text.
pub fn text(name: Vec<u8>) -> String {
    String::from_utf8_lossy(&name).into_owned()
}

#[cfg(test)]
mod tests;
