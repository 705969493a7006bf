//! The options of every command: the server, its streams, the database, what to log.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{ArgAction, Args};
use domain::hash_tag::{Tagged, tagged};
use domain::key_names::{Naming, ORDER_STREAM};
use seckill_tools::WORKERS_GROUP;
use seckill_tools::server::{ServerOptions, VARIABLES, first_line};

use super::{Streams, text};

/// The database where none is named.
const DATABASE: &str = "sqlite:seckill.db";
const OURS: &str = "
  SECKILL_DATABASE           the database, as --database
  SECKILL_DATABASE_PASSWORD  its password, if the URL has none";

#[derive(Args, Clone, Debug)]
pub struct Site {
    #[command(flatten)]
    pub server: ServerOptions,

    /// The stream of orders; those of releases and of confirmed orders belong to it
    #[arg(long, value_name = "NAME", default_value = ORDER_STREAM)]
    pub stream: String,

    /// Read no stream of confirmed orders: the server keeps none
    #[arg(long)]
    pub no_confirmed: bool,

    /// The consumer group of all these streams; created if it is missing
    #[arg(long, default_value = WORKERS_GROUP)]
    pub group: String,

    /// The database: `sqlite:FILE`, `postgres://user:password@host/name` or `mysql://..`; the
    /// password can also be in SECKILL_DATABASE_PASSWORD
    #[arg(
        long,
        value_name = "URL",
        env = "SECKILL_DATABASE",
        hide_env = true,
        default_value = DATABASE
    )]
    pub database: String,

    /// A file whose first line is the password of the database
    #[arg(long, value_name = "FILE")]
    pub database_password_file: Option<PathBuf>,

    /// Prefix of the names of the worker's tables
    #[arg(long, value_name = "PREFIX", default_value = "seckill_", value_parser = table_prefix)]
    pub table_prefix: String,

    /// Log one JSON object per line
    #[arg(long)]
    pub log_json: bool,

    /// Log more
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    /// Log only what needs attention
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl Site {
    /// Refuses what clap can't check, before connecting to anything.
    pub fn check(&self, tag: Option<&str>) -> Result<()> {
        ensure!(!self.stream.is_empty(), "a stream must have a name");
        let braces = tag.is_some() && self.stream.contains('{');
        ensure!(!braces, "with --tag, the stream's name must not have braces");
        self.server.place().map(|_| ())
    }

    /// No other database is named than the one that is assumed.
    pub fn is_database_assumed(&self) -> bool {
        self.database == DATABASE
    }

    /// The name of a stream that belongs to the stream of orders. A tag stays at its end.
    fn beside(&self, name: fn(Naming<'static>, &[u8]) -> Vec<u8>) -> String {
        let (base, tag) = match self.stream.find(":{") {
            Some(at) => self.stream.split_at(at),
            None => (self.stream.as_str(), ""),
        };
        text(name(Naming::Plain(b""), base.as_bytes())) + tag
    }

    /// The name of the stream of orders has a tag.
    pub fn is_tagged(&self) -> bool {
        self.stream.contains(":{")
    }

    /// The streams of a hash tag, or those without.
    pub fn streams_of(&self, tag: Option<&str>) -> Streams {
        let naming = tag.map_or(Naming::Plain(b""), |tag| Naming::Wrapped(tag.as_bytes()));
        let name = |stream: &str| text(naming.stream(stream.as_bytes()));
        let beside = |of| name(&self.beside(of));
        let confirmed = (!self.no_confirmed).then(|| beside(Naming::confirmed_stream));
        let released = beside(Naming::released_stream);
        Streams { orders: name(&self.stream), released, confirmed }
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
}

/// The end of a command's help.
pub fn help(codes_and_examples: &str) -> String {
    format!("{codes_and_examples}{VARIABLES}{OURS}")
}

/// The tag of a stream of orders; none for any other key.
pub fn tag_of_stream(key: &[u8], stream: &[u8]) -> Option<String> {
    let tag = key.strip_prefix(stream)?.strip_prefix(b":{")?.strip_suffix(b"}")?;
    let is_tag = tagged(tag) == Ok(Tagged::Wrapped);
    is_tag.then(|| String::from_utf8(tag.to_vec()).ok()).flatten()
}

pub fn tag(text: &str) -> std::result::Result<String, &'static str> {
    let is_tag = tagged(text.as_bytes()) == Ok(Tagged::Wrapped);
    is_tag.then(|| text.to_owned()).ok_or("this is not a valid hash tag")
}

/// A prefix with which the name of a table needs no quotes.
pub fn table_prefix(text: &str) -> std::result::Result<String, String> {
    let is_word =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    if begins && text.len() <= 32 && text.chars().all(is_word) {
        return Ok(text.to_owned());
    }
    Err("must be 1 to 32 lowercase letters, digits and _, not starting with a digit".to_owned())
}
