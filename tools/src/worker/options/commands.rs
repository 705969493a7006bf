//! The commands of an operator, and their options.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Asks, then moves an entry that can't be written to the dead letters and releases its units
    DeadLetter(DeadLetter),
    /// Settles orders whose row and whose server contradict each other, and payments of no order
    Settle(Settle),
    /// Compares the orders of a voucher, or of all shards of a sale, with the rows, and prints the
    /// differences
    Check(Check),
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
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(
    ["order", "all", "payment", "adopt_server"]))]
#[command(group = clap::ArgGroup::new("way").args(["keep", "release", "refund"]))]
pub struct Settle {
    /// The id of the order; `list` shows all that are disputed
    pub order: Option<String>,

    /// Its voucher, if orders of several have this id
    #[arg(long)]
    pub voucher: Option<String>,

    /// Its sale, if orders of several sales have this id
    #[arg(long)]
    pub sale: Option<String>,

    /// The customer has the order: its units are taken off the sale, once
    #[arg(long)]
    pub keep: bool,

    /// The customer does not have the order: it is cancelled on the server and in the rows, with
    /// the statements for that
    #[arg(long)]
    pub release: bool,

    /// With --keep: its payment was not refunded, and will not be, though a line says so
    #[arg(long, requires = "keep")]
    pub not_refunded: bool,

    /// All disputed orders of a sale
    #[arg(long, requires_all = ["way", "voucher", "sale", "expect"], conflicts_with = "refund")]
    pub all: bool,

    /// With --all: how many there are
    #[arg(long, value_name = "N", requires = "all")]
    pub expect: Option<u64>,

    /// A payment of which nobody knows the order
    #[arg(long, value_name = "REF", requires_all = ["refund", "voucher"])]
    pub payment: Option<String>,

    /// With --payment: it is refunded
    #[arg(long, requires = "payment")]
    pub refund: bool,

    /// Read the streams of this server from now on, though it has not the mark of the rows
    #[arg(long, conflicts_with = "way")]
    pub adopt_server: bool,

    /// Don't ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

impl Settle {
    /// Shows the disputed rows, and settles none.
    pub fn is_list(&self) -> bool {
        self.order.as_deref() == Some("list") && !self.keep && !self.release
    }
}
