//! The candidates for what a script was seen to do.

use domain::fields::ORDER_FIELDS;

use super::{Ask, Candidate, Outcome};
use crate::call::Slot;
use crate::conf::defaults;
use crate::learn::{Lock, LockDeed, Orders, Return, Sale};
use crate::template::Template;

/// Every order in which a script may ask what the module asks, each with its answer to a missing
/// stock, and whether a stock of -1 is unlimited.
const WAYS: [(&[Ask], &str, bool); 11] = [
    (&[], "error", false),
    (&[], "sold-out", false),
    (&[Ask::Bought], "error", false),
    (&[Ask::Bought], "sold-out", false),
    (&[Ask::Missing], "error", false),
    (&[Ask::Bought, Ask::Missing], "error", false),
    (&[Ask::Missing, Ask::Bought], "error", false),
    (&[], "error", true),
    (&[], "sold-out", true),
    (&[Ask::Empty], "error", false),
    (&[Ask::Bought, Ask::Empty], "sold-out", false),
];

/// The word for the units, if there is not always one.
fn units(units: Result<Slot, i64>) -> Option<Template> {
    match units {
        Ok(units) => Some(Template::place(units)),
        Err(1) => None,
        Err(count) => Some(Template::constant_of(&count.to_string())),
    }
}

pub fn of_sale(sale: &Sale) -> Vec<Candidate> {
    let units = units(sale.units);
    let (extras, keys) = (sale.extras.clone(), sale.keys().cloned().collect());
    let Some((buyers, user)) = &sale.buyers else {
        let one = Candidate {
            name: "SECKILL.DEDUCT",
            words: std::iter::once(sale.stock.clone()).chain(units.clone()).collect(),
            units,
            outcome: Outcome::StockBefore,
            extras,
            keys,
            ..Candidate::default()
        };
        let other = Candidate { asks: vec![Ask::Empty], ..one.clone() };
        return if sale.units.is_ok() { vec![one, other] } else { vec![one] };
    };
    let usual = Candidate {
        name: "SECKILL.TRYKEYS",
        buyers: Some((buyers.clone(), *user)),
        units,
        extras,
        keys,
        ..Candidate::default()
    };
    let mut all = Vec::new();
    for (asks, missing, unlimited) in WAYS {
        if asks.contains(&Ask::Empty) && sale.units.is_err() {
            continue;
        }
        let by_names = by_names(sale, &usual, missing).filter(|_| asks.is_empty());
        for mut one in by_names.into_iter().chain(by_keys(sale, &usual, missing)) {
            if unlimited {
                one.settings.push(("seckill.unlimited-stock", "yes".to_owned()));
            }
            one.asks = asks.to_vec();
            all.push(one);
        }
    }
    all
}

/// SECKILL.TRY, which makes the names of keys from prefixes and the voucher.
fn by_names(sale: &Sale, usual: &Candidate, missing: &str) -> Option<Candidate> {
    let (buyers, user) = sale.buyers.as_ref()?;
    let (stock_prefix, voucher) = sale.stock.prefixed()?;
    let (buyers_prefix, other) = buyers.prefixed()?;
    let utf8 = |text: &[u8]| String::from_utf8(text.to_vec()).ok();
    let (stream, fields, order) = match &sale.orders {
        Some(Orders { stream, names, values }) if values[1].only() == Some(voucher) => {
            (utf8(stream.constant()?)?, names.join(" "), values[2].clone())
        }
        Some(_) => return None,
        None => (String::new(), ORDER_FIELDS.to_owned(), Template::constant_of("0")),
    };
    let mut settings = vec![
        ("seckill.stock-prefix", utf8(stock_prefix)?),
        ("seckill.buyers-prefix", utf8(buyers_prefix)?),
        ("seckill.order-stream", stream),
        ("seckill.order-fields", fields),
        ("seckill.missing-stock", missing.to_owned()),
    ];
    settings.retain(|(name, value)| !defaults().contains(&(*name, value.as_str())));
    let mut words = vec![Template::place(voucher), Template::place(*user), order];
    words.extend(with_units(usual));
    let one = Candidate { name: "SECKILL.TRY", words, settings, ..usual.clone() };
    (voucher == other).then_some(one)
}

/// SECKILL.TRYKEYS, which is told everything.
fn by_keys(sale: &Sale, usual: &Candidate, missing: &str) -> Option<Candidate> {
    let (stock, (buyers, user)) = (&sale.stock, sale.buyers.as_ref()?);
    let (stream, voucher, order) = match &sale.orders {
        Some(orders) => (&orders.stream, &orders.values[1], orders.values[2].clone()),
        None => (stock, stock, Template::constant_of("0")),
    };
    let mut words = [stock, buyers, stream, voucher].map(Template::clone).to_vec();
    words.extend([Template::place(*user), order]);
    words.extend(with_units(usual));
    let constants = match &sale.orders {
        None => vec!["NOSTREAM"],
        Some(orders) => {
            let names = orders.names.iter().map(String::as_str);
            std::iter::once("FIELDS").chain(names).collect()
        }
    };
    let constants = constants.into_iter().chain(["MISSING", missing]);
    words.extend(constants.map(Template::constant_of));
    Some(Candidate { words, ..usual.clone() })
}

fn with_units(usual: &Candidate) -> Vec<Template> {
    let units = usual.units.iter().cloned();
    units.flat_map(|units| [Template::constant_of("UNITS"), units]).collect()
}

/// A lock as the commands treat it, then with another answer for a lock that is not there.
pub fn of_lock(lock: &Lock) -> Vec<Candidate> {
    let (name, lease) = match (lock.deed, &lock.lease) {
        (LockDeed::Release, _) => ("LOCK.RELEASE", None),
        (LockDeed::Renew, Some(lease)) => ("LOCK.RENEW", Some(lease)),
        (LockDeed::Acquire, Some(lease)) => ("LOCK.ACQUIRE", Some(lease)),
        (_, None) => return Vec::new(),
    };
    let words = [&lock.lock, &lock.token].into_iter().chain(lease.map(|(lease, _)| lease));
    let one = Candidate {
        name,
        words: words.cloned().collect(),
        seconds: lease.is_some_and(|(_, in_seconds)| *in_seconds).then_some(2),
        extras: lock.extras.clone(),
        keys: std::iter::once(&lock.lock).chain(&lock.extra_keys).cloned().collect(),
        ..Candidate::default()
    };
    vec![one.clone(), Candidate { asks: vec![Ask::Missing], ..one }]
}

pub fn of_return(stock: &Return) -> Candidate {
    let units = units(stock.units);
    Candidate {
        name: "SECKILL.RETURN",
        words: std::iter::once(stock.stock.clone()).chain(units.clone()).collect(),
        units,
        outcome: Outcome::StockAfter,
        keys: vec![stock.stock.clone()],
        ..Candidate::default()
    }
}
