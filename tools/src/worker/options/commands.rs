//! The commands of an operator, and their options.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use domain::entry_id::EntryId;
use seckill_tools::command_line::number;

use super::site::{self, Site};
use super::{FieldOptions, ShopOptions};

const CHECK: &str = "\
Exit code:
  0  CONSISTENT
  1  DIFFERENT
  2  they could not be compared, with a line that says why
  3  INCOMPLETE: nothing differs, but not all could be looked at

Examples:
  seckill-worker check --voucher phone --database mysql://shop@db.example/shop
  seckill-worker check --voucher phone --refs payments.csv --ask
";
const RESOLVE: &str = "\
Exit code:
  0  resolved
  1  not resolved, with a line that says why
  2  wrong arguments

Examples:
  seckill-worker resolve 1001 --voucher phone --keep
  seckill-worker resolve --payment wx-77 --refund
  seckill-worker resolve --voucher phone --shard 2
";
const DEAD_LETTER: &str = "\
Exit code:
  0  it is a dead letter
  1  nothing was done, with a line that says why
  2  wrong arguments

Examples:
  seckill-worker dead-letter 1795259348145-0
  seckill-worker dead-letter 1795259348145-0 --keep-units --reason \"stored manually\" --yes
";

#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Asks, then moves an entry that can't be written to the dead letters and releases its units
    #[command(after_help = site::help(DEAD_LETTER))]
    DeadLetter(Box<DeadLetter>),
    /// Answers a question of `check`: about an order, or a payment
    #[command(after_help = site::help(RESOLVE))]
    Resolve(Box<Resolve>),
    /// Compares what the server and the database have of a voucher, of all shards of a sale, or of
    /// all vouchers, and prints a question for each difference
    #[command(after_help = site::help(CHECK))]
    Check(Box<Check>),
}

#[derive(Args, Clone, Debug)]
pub struct Check {
    /// The voucher, or the name of a sale over shards [default: all vouchers of the streams]
    #[arg(long)]
    pub voucher: Option<String>,

    /// Units that were on sale at the beginning, to compare the units left as well; only for an
    /// unmanaged voucher
    #[arg(long, value_name = "UNITS", requires = "voucher",
        value_parser = number(0..=i64::MAX))]
    pub stock: Option<i64>,

    /// The payment provider's list as CSV, whose first line names a column ref, and maybe the
    /// columns units and refunded
    #[arg(long, value_name = "FILE")]
    pub refs: Option<PathBuf>,

    /// With --refs: references of this shop begin with this; others are only counted
    #[arg(long, value_name = "TEXT", requires = "refs")]
    pub refs_prefix: Option<String>,

    /// Write what the server's book has and the database lacks, where nothing contradicts
    #[arg(long)]
    pub repair: bool,

    /// Walk through the questions, and do what is answered
    #[arg(long, conflicts_with = "json")]
    pub ask: bool,

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

fn entry_id(text: &str) -> Result<EntryId, String> {
    let id = EntryId::parse(text.as_bytes());
    id.ok_or_else(|| "must be the id of a stream entry, such as 1526919030474-55".to_owned())
}

#[derive(Args, Clone, Debug)]
pub struct DeadLetter {
    /// The id of the entry, from the worker's log or XPENDING
    #[arg(value_parser = entry_id)]
    pub entry: EntryId,

    /// Don't release the units: the order was written by other means, or they are sold elsewhere
    #[arg(long)]
    pub keep_units: bool,

    /// The reason in the dead letter
    #[arg(long, value_name = "TEXT", default_value = "given up by an operator")]
    pub reason: String,

    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,

    #[command(flatten)]
    pub fields: FieldOptions,

    #[command(flatten)]
    pub site: Site,
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(
    ["order", "payment", "shard", "re_pair"]))]
#[command(group = clap::ArgGroup::new("way").args(
    ["release", "refund", "refunded", "units", "beyond", "accept"]))]
pub struct Resolve {
    /// The id of the order
    pub order: Option<String>,

    /// The order's voucher, if orders of several vouchers have this id
    #[arg(long, conflicts_with = "re_pair")]
    pub voucher: Option<String>,

    /// The order's sale, if orders of several sales have this id
    #[arg(long, conflicts_with = "re_pair")]
    pub sale: Option<String>,

    /// The order's user, if orders of several users have this id
    #[arg(long, conflicts_with = "re_pair")]
    pub user: Option<String>,

    /// The customer keeps the order, with as many units as possible, or at most UNITS. With
    /// --refunded: with UNITS, and all other units were refunded
    #[arg(long, value_name = "UNITS", num_args = 0..=1, requires = "order",
        conflicts_with_all = ["release", "refund", "units", "beyond", "accept"],
        value_parser = number(1..=i64::MAX))]
    pub keep: Option<Option<i64>>,

    /// The customer does not keep the order: the payment is to be refunded
    #[arg(long, requires = "order")]
    pub release: bool,

    /// The money went back already. With an order: the customer does not keep the order, and all
    /// units of the payment that are on no line of refunds were refunded. With --payment: this
    /// payment was refunded
    #[arg(long)]
    pub refunded: bool,

    /// The order is as the database has it; for unmanaged vouchers
    #[arg(long, requires = "order")]
    pub accept: bool,

    /// The reference of a payment. With an order and no other answer: the payment is for this
    /// order, and for no other order
    #[arg(long, value_name = "REF")]
    pub payment: Option<String>,

    /// The payment is to be refunded: no order is paid with it
    #[arg(long, requires = "payment", conflicts_with = "order")]
    pub refund: bool,

    /// The payment was for so many units, as the provider says; 0 of a part of a cart that it was
    /// not for
    #[arg(long, value_name = "UNITS", requires = "payment",
        value_parser = number(0..=i64::MAX))]
    pub units: Option<i64>,

    /// The provider refunded so many units more than were due, and that is right
    #[arg(long, value_name = "UNITS", requires = "payment", conflicts_with = "order",
        value_parser = number(1..=i64::MAX))]
    pub beyond: Option<i64>,

    /// A lost shard of the sale --voucher that is off sale: the shard's rows stay in the database,
    /// and its held orders end
    #[arg(long, value_name = "SHARD", requires = "voucher", value_parser = number(0..=u32::MAX),
        conflicts_with_all = ["way", "payment", "order", "keep", "sale", "user"])]
    pub shard: Option<u32>,

    /// Read --stream of this server from now on, though it is not paired with the database
    #[arg(long, conflicts_with_all = ["way", "payment", "order", "keep", "shard"])]
    pub re_pair: bool,

    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,

    #[command(flatten)]
    pub shop: ShopOptions,

    #[command(flatten)]
    pub site: Site,
}

impl Resolve {
    /// Refuses what clap can't check.
    pub fn check(&self) -> Result<()> {
        let has_way = self.keep.is_some()
            || self.release
            || self.refund
            || self.refunded
            || self.accept
            || self.units.is_some()
            || self.beyond.is_some();
        let is_owner = self.order.is_some() && self.payment.is_some();
        let keeps_some = !self.refunded || self.keep != Some(None);
        ensure!(keeps_some, "--refunded and --keep need a number of units that are kept");
        ensure!(
            has_way || is_owner || self.shard.is_some() || self.re_pair,
            "resolve needs an answer: --keep, --release or --refunded for an order; --refund, \
             --refunded, --units or --beyond for a payment; --shard for a lost shard"
        );
        self.site.check(None)
    }
}
