//! The words for what could not be looked at, each with what to do.

use super::{Doubt, Verdict};

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "PROVED",
            Self::NothingSold => "NOTHING SOLD",
            Self::Different => "DIFFERENT",
            Self::Unproved => "UNPROVED",
        }
    }
}

impl Doubt {
    /// What is not known, in a few words.
    pub fn what(&self) -> String {
        match self {
            Self::Mark(_) => "the mark of the server".to_owned(),
            Self::NoBook { sale, .. } if sale.is_empty() => "a voucher that is gone".to_owned(),
            Self::NoBook { sale, .. } => format!("no book of sale {sale}"),
            Self::Unread { entries, .. } => format!("{entries} unread or pending entries"),
            Self::Lost { .. } => "lost entries".to_owned(),
            Self::Healed { order, .. } => format!("the dispute of {order}"),
            Self::Unknown { reference, .. } => format!("payment {reference}"),
            Self::Untold { reference, .. } => format!("the units of payment {reference}"),
            Self::Elsewhere { orders, .. } => format!("{orders} orders of another consumer"),
            Self::Changing { .. } => "a sale that is changing".to_owned(),
            Self::WithoutStatements { .. } => "the shop's own tables".to_owned(),
        }
    }

    /// The line about it, with what to do.
    pub fn line(&self) -> String {
        match self {
            Self::Mark(text) => text.clone(),
            Self::NoBook { voucher, sale, orders } => format!(
                "{orders} rows of voucher {voucher}, sale {sale}: the server has no book of this \
                 sale, it was dropped or lost; before SECKILL.DROP run check --close, or name \
                 the sale that is on by --sale"
            ),
            Self::Unread { voucher, entries } => format!(
                "{entries} entries of voucher {voucher} are not read or not acknowledged: run the \
                 worker, then check again"
            ),
            Self::Lost { stream, entry, cause } => format!(
                "entries of {stream} were lost, {cause} from {entry}: what was in them is not \
                 known"
            ),
            Self::Healed { voucher, order } => format!(
                "order {order} of voucher {voucher} is disputed, and the server agrees again: \
                 check --repair ends that"
            ),
            Self::Unknown { voucher, reference, order } => format!(
                "payment {reference} names order {order} of voucher {voucher}, which the server \
                 does not have: repeat SECKILL.CONFIRM if the order is there now, else \
                 seckill-worker settle --voucher {voucher} --payment {reference} --refund"
            ),
            Self::Untold { voucher, sale, order, reference, units } => format!(
                "payment {reference} of order {order} of voucher {voucher} was for {units} units \
                 or more, the entry that tells is gone: seckill-worker settle {order} --voucher \
                 {voucher} --sale {sale}, with --paid and the units that the provider has"
            ),
            Self::Elsewhere { voucher, orders } => format!(
                "{orders} orders of voucher {voucher} were stored by another consumer before the \
                 worker's first start: compare them with the shop's tables; check --repair \
                 --repair-acknowledged writes them once more"
            ),
            Self::Changing { voucher } => format!(
                "units of voucher {voucher} were sold or released while its orders were read: \
                 check again"
            ),
            Self::WithoutStatements { voucher, sale } => format!(
                "rows of voucher {voucher}, sale {sale}, were written without --statements: the \
                 shop's own tables lack them"
            ),
        }
    }
}
