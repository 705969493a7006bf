//! Faults that are planted into the rules, each of which the model must find.

use crate::shop::Order;
use domain::conflicts::Conflicts;
use domain::resolve::Question;
use domain::rows::{Paid, Release, Report, Times};
use domain::server_state::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planted {
    Nothing,
    /// Lines are written although there is a conflict: line 20 taken away.
    LinesInConflict,
    /// No later release ends a ruling: the last clause of line 24 taken away.
    DeafRuling,
    /// A ruling stands whatever the join says: all of line 24 taken away.
    EternalRuling,
    /// What else a reference is used for is not looked at: line 12 taken away.
    NoOthers,
    /// An unmatched payment is no question: line 11 taken away.
    NoUnmatched,
    /// The last entry says what is sold.
    LastSold,
    /// Units that were refunded at a release are due once more.
    RefundedIsDue,
    /// A release covers one unit too many.
    OneTooMany,
    /// UNITS is not read.
    StatedIgnored,
    /// The release of a held order ends a sold one.
    HeldEndsSold,
    /// A confirmation is not read.
    ConfirmsNothing,
    /// Units outside are not looked at.
    NoOutside,
    /// Units outside are noted by order id, whoever has it.
    OutsideById,
    /// A row that says something else than the server is no question.
    NoDifference,
    /// A ruling gives no home to what is open.
    LeavesOpen,
    /// The provider's list is not compared.
    NoList,
    /// What an operator says of a payment's units is joined with what the server says of them.
    JoinsRuledUnits,
    /// The payment on record of an order with a ruling is not joined.
    RuledIsNotRepaired,
    /// A record of another order's payment is not looked at.
    OnlyItsRecords,
    /// A dropped sale that no check has found consistent is as good as one that was.
    DroppedIsWhole,
    /// Whether an order was held is what the rules say now.
    HeldByRules,
    /// The provider's units are not compared.
    UnitsNotListed,
    /// A ruling is made on what the server said before the steps.
    LooksOnce,
}

/// All of them, each with bounds in which it is found.
pub const PLANTED: [(Planted, &str); 23] = [
    (Planted::LinesInConflict, "one held u1 t1 stated c5 l1 p1"),
    (Planted::DeafRuling, "one once u1 t1 stated c4 l1 r1 p0"),
    (Planted::EternalRuling, "one held u1 t1 stated c4 l1 r1 p1"),
    (Planted::NoOthers, "two held u1 t2 stated c5 l1 p1"),
    (Planted::NoUnmatched, "one held u1 t1 stated c4 l1 p1"),
    (Planted::LastSold, "one held u2 t2 stated c5 l0 p1 keeps"),
    (Planted::RefundedIsDue, "one held u1 t1 stated c4 l0 p1 refunds"),
    (Planted::OneTooMany, "one held u2 t2 stated c4 l0 p1 keeps"),
    (Planted::StatedIgnored, "one held u2 t2 stated c4 l0 p1 keeps"),
    (Planted::HeldEndsSold, "one held u1 t1 stated c3 l0 p1"),
    (Planted::ConfirmsNothing, "one held u1 t1 stated c3 l0 p1"),
    (Planted::NoOutside, "one held u1 t1 stated c4 l1 r1 p1"),
    (Planted::OutsideById, "users held u1 t2 stated c4 l1 p1"),
    (Planted::NoDifference, "one held u1 t1 stated c5 l1 p1"),
    (Planted::LeavesOpen, "one held u1 t1 stated c4 l1 p1"),
    (Planted::NoList, "one held u1 t1 stated c4 l1 p1"),
    (Planted::JoinsRuledUnits, "one held u2 t2 stated c4 l0 p1 fewer wrong"),
    (Planted::RuledIsNotRepaired, "one held u1 t1 stated c3 l0 d1 r1 p1"),
    (Planted::OnlyItsRecords, "sales held u1 t1 stated c5 l0 d1 p1 drops named"),
    (Planted::DroppedIsWhole, "one held u2 t2 stated c5 l0 d1 p1 keeps drops"),
    (Planted::HeldByRules, "one held u2 t2 unstated c5 l0 d1 p1 keeps alters"),
    (Planted::UnitsNotListed, "one held u2 t2 stated c4 l1 p1 fewer wrong"),
    (Planted::LooksOnce, "one held u2 t2 stated c4 l0 r2 p1 keeps refunds"),
];

impl Planted {
    pub fn report(self, report: &Report<u8>) -> Report<u8> {
        match (self, *report) {
            (Self::RefundedIsDue, Report::Released(release)) => {
                Report::Released(Release { is_refunded: false, ..release })
            }
            (Self::OneTooMany, Report::Released(release))
                if release.was_sold && release.kept > 0 =>
            {
                let (units, kept) = (release.units + 1, release.kept - 1);
                Report::Released(Release { units, kept, ..release })
            }
            (Self::HeldEndsSold, Report::Released(release)) => {
                Report::Released(Release { was_sold: true, ..release })
            }
            (Self::StatedIgnored, Report::Confirmed { units, payment: Some(payment) }) => {
                let payment = Some(Paid { units: None, ..payment });
                Report::Confirmed { units, payment }
            }
            (Self::ConfirmsNothing, Report::Confirmed { units, .. }) => {
                Report::Accepted { units, is_held: true }
            }
            (_, report) => report,
        }
    }

    /// What is repaired.
    pub fn known(self, order: &Order) -> Order {
        let mut order = order.clone();
        if self == Self::HeldByRules {
            order.row.accepted = Times::Never;
        }
        order
    }

    /// What is written of a repair.
    pub fn repaired(self, before: &Order, mut order: Order) -> Option<Order> {
        let is_left = self == Self::RuledIsNotRepaired && before.ruling.is_some();
        if self == Self::HeldByRules && before.row.accepted != Times::Never {
            order.row.accepted = before.row.accepted;
        }
        Some(order).filter(|order| !is_left && order != before)
    }

    pub fn server(self, mut server: Server<u8>) -> Server<u8> {
        if self == Self::OnlyItsRecords {
            let records = server.records.iter().filter(|(_, record)| record.is_its);
            server.records = records.map(|(name, record)| (*name, *record)).collect();
        }
        server
    }

    pub fn row(self, order: &mut Order, report: &Report<u8>) {
        if let (Self::LastSold, Report::Released(release)) = (self, report)
            && release.was_sold
        {
            order.row.sold_to = Some(release.kept);
        }
        if self == Self::EternalRuling
            && let Some(ruling) = &mut order.ruling
        {
            ruling.conflicts = Conflicts::HARD;
            let basis = order.basis();
            order.ruling.iter_mut().for_each(|ruling| ruling.basis = basis.clone());
        }
    }

    /// Everything that is due by entries, whatever contradicts.
    pub fn lines(self, order: &mut Order) {
        for (_, payment) in order.payments.iter_mut() {
            let due = payment.due().without(&payment.gone());
            payment.lines = payment.lines.union(&due);
        }
    }

    pub fn question(self, asked: Question) -> Question {
        match self {
            Self::NoOutside => Question { is_outside: false, ..asked },
            Self::NoDifference => Question { differs: false, ..asked },
            _ => asked,
        }
    }
}
