//! The commands of an operator, and their options.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};

use super::site::{self, Site};
use super::{FieldOptions, ShopOptions};

const CHECK: &str = "\
Exit code:
  0  the books agree
  1  they differ
  2  they could not be compared, with a line that says why
  3  nothing differs, but not all could be looked at

Examples:
  seckill-worker check --voucher phone --database mysql://shop@db.example/shop
  seckill-worker check --voucher phone --refs payments.csv --repair
";
const SETTLE: &str = "\
Exit code:
  0  settled
  1  not settled, with a line that says why
  2  wrong arguments

Examples:
  seckill-worker settle list
  seckill-worker settle 1001 --voucher phone --keep
";
const DEAD_LETTER: &str = "\
Exit code:
  0  it is a dead letter
  1  nothing was done, with a line that says why
  2  wrong arguments

Examples:
  seckill-worker dead-letter 1795259348145-0
  seckill-worker dead-letter 1795259348145-0 --keep-units --reason \"stored by hand\" --yes
";

#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Asks, then moves an entry that can't be written to the dead letters and releases its units
    #[command(after_help = site::help(DEAD_LETTER))]
    DeadLetter(Box<DeadLetter>),
    /// Settles orders whose row and whose server contradict each other, and payments of no order
    #[command(after_help = site::help(SETTLE))]
    Settle(Box<Settle>),
    /// Compares the orders of a voucher, or of all shards of a sale, with the rows, and prints the
    /// differences
    #[command(after_help = site::help(CHECK))]
    Check(Box<Check>),
}

#[derive(Args, Clone, Debug)]
pub struct Check {
    /// The voucher, or the name of a sale over shards
    #[arg(long)]
    pub voucher: String,

    /// Units that were on sale at the beginning, to compare the units left as well; only for an
    /// unmanaged voucher
    #[arg(long, value_name = "UNITS", value_parser = clap::value_parser!(i64).range(0..))]
    pub stock: Option<i64>,

    /// Only this sale, by its id
    #[arg(long, value_name = "SALE")]
    pub sale: Option<String>,

    /// A CSV file of the payment provider, to compare references: its first line names a column
    /// ref, and maybe a column order
    #[arg(long, value_name = "FILE")]
    pub refs: Option<PathBuf>,

    /// Write the missing rows, and mark those that contradict the server as disputed. Deletes
    /// nothing, and releases nothing that was sold
    #[arg(long)]
    pub repair: bool,

    /// With --repair: also write orders that another consumer of the group had acknowledged before
    /// the worker's first start
    #[arg(long, requires = "repair")]
    pub repair_acknowledged: bool,

    /// Keep the sums of a proved sale that is over, so that it stays proved after SECKILL.DROP
    #[arg(long)]
    pub close: bool,

    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub shop: ShopOptions,

    #[command(flatten)]
    pub fields: FieldOptions,

    #[command(flatten)]
    pub site: Site,
}

#[derive(Args, Clone, Debug)]
pub struct DeadLetter {
    /// The id of the entry, from the worker's log or XPENDING
    pub entry: String,

    /// Don't release the units: the order was written by other means, or they are sold elsewhere
    #[arg(long)]
    pub keep_units: bool,

    /// The reason in the dead letter
    #[arg(long, value_name = "TEXT", default_value = "given up by a person")]
    pub reason: String,

    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,

    /// The hash tag of the entry's stream, if the server's streams have tags
    #[arg(long, value_name = "TAG", value_parser = site::tag)]
    pub tag: Option<String>,

    #[command(flatten)]
    pub fields: FieldOptions,

    #[command(flatten)]
    pub site: Site,
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(
    ["order", "all", "payment", "adopt_server"]))]
#[command(group = clap::ArgGroup::new("way").args(["keep", "release", "refund", "paid"]))]
pub struct Settle {
    /// The id of the order; `list` shows all that are disputed
    pub order: Option<String>,

    /// Its voucher, if orders of several have this id
    #[arg(long, conflicts_with = "adopt_server")]
    pub voucher: Option<String>,

    /// Its sale, if orders of several sales have this id
    #[arg(long, conflicts_with_all = ["payment", "adopt_server"])]
    pub sale: Option<String>,

    /// The customer has the order: its units are taken off the sale, once. If its payment is also
    /// another order's, it was for both
    #[arg(long)]
    pub keep: bool,

    /// The customer does not have the order: it is cancelled on the server and in the rows, with
    /// the statements for that. A payment that is also another order's is not refunded
    #[arg(long)]
    pub release: bool,

    /// Its payment was for so many units, as the provider has it: what is not kept is refunded
    #[arg(long, value_name = "UNITS", requires = "order", conflicts_with = "all",
        value_parser = clap::value_parser!(i64).range(1..))]
    pub paid: Option<i64>,

    /// With --keep or --release: its payment was not refunded as a whole, and will not be, though a
    /// line says so
    #[arg(long, requires = "way", conflicts_with_all = ["refund", "paid"])]
    pub not_refunded: bool,

    /// All disputed orders of a sale
    #[arg(long, requires_all = ["way", "voucher", "sale", "expect"], conflicts_with = "refund")]
    pub all: bool,

    /// With --all --release: instead of these the held ones that the server has lost, which nobody
    /// can pay any more
    #[arg(long, requires_all = ["all", "release"])]
    pub held: bool,

    /// With --all: how many there are
    #[arg(long, value_name = "N", conflicts_with_all = ["order", "payment", "adopt_server"])]
    pub expect: Option<u64>,

    /// A payment of which nobody knows the order; with --keep, one that names another order than
    /// that which it has paid in the rows, and stays that one's
    #[arg(long, value_name = "REF", requires_all = ["way", "voucher"],
        conflicts_with_all = ["release", "paid"])]
    pub payment: Option<String>,

    /// With --payment: it is refunded
    #[arg(long, conflicts_with_all = ["order", "all", "adopt_server"])]
    pub refund: bool,

    /// Read the streams of this server from now on, though it has not the mark of the rows
    #[arg(long, conflicts_with = "way")]
    pub adopt_server: bool,

    /// With --adopt-server: the hash tag of the streams
    #[arg(long, value_name = "TAG", value_parser = site::tag,
        conflicts_with_all = ["order", "all", "payment"])]
    pub tag: Option<String>,

    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,

    #[command(flatten)]
    pub shop: ShopOptions,

    #[command(flatten)]
    pub site: Site,
}

impl Settle {
    /// Refuses what clap can't check.
    pub fn check(&self) -> Result<()> {
        let has_way = self.keep || self.release || self.paid.is_some();
        let has_way = has_way || self.order.is_none();
        ensure!(has_way || self.is_list(), "settle needs --keep or --release");
        self.site.check(self.tag.as_deref())
    }

    /// Shows the disputed rows, and settles none.
    pub fn is_list(&self) -> bool {
        self.order.as_deref() == Some("list") && !self.keep && !self.release
    }
}
