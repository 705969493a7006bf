//! The commands that sell to a user.

use domain::fields::ORDER_FIELDS;
use domain::key_names::{BUYERS_PREFIX, ORDER_STREAM, STOCK_PREFIX};

use super::Command;
use crate::call::Slot;
use crate::learn::Sale;
use crate::template::Template;

/// SECKILL.TRY, which makes the names of keys from prefixes and the voucher.
pub(super) fn by_names(
    sale: &Sale,
    buyers: &Template,
    user: Slot,
    units: &Option<Template>,
    missing: &str,
) -> Option<Command> {
    let (stock_prefix, voucher) = sale.stock.prefixed()?;
    let (buyers_prefix, other) = buyers.prefixed()?;
    let utf8 = |text: &[u8]| String::from_utf8(text.to_vec()).ok();
    let mut settings = Vec::new();
    let mut set = |name, value: String, default: &str| {
        if value != default {
            settings.push((name, value));
        }
    };
    set("seckill.stock-prefix", utf8(stock_prefix)?, STOCK_PREFIX);
    set("seckill.buyers-prefix", utf8(buyers_prefix)?, BUYERS_PREFIX);
    let order = match &sale.orders {
        Some(orders) if orders.values[1].only() == Some(voucher) => {
            set("seckill.order-stream", utf8(orders.stream.constant()?)?, ORDER_STREAM);
            set("seckill.order-fields", orders.names.join(" "), ORDER_FIELDS);
            orders.values[2].clone()
        }
        Some(_) => return None,
        None => {
            set("seckill.order-stream", String::new(), ORDER_STREAM);
            Template::constant_of("0")
        }
    };
    set("seckill.missing-stock", missing.to_owned(), "error");
    let mut words = vec![Template::place(voucher), Template::place(user), order];
    if let Some(units) = units {
        words.extend([Template::constant_of("UNITS"), units.clone()]);
    }
    (voucher == other).then_some(Command { name: "SECKILL.TRY", words, settings })
}

/// SECKILL.TRYKEYS, which is told everything.
pub(super) fn by_keys(
    sale: &Sale,
    buyers: &Template,
    user: Slot,
    units: &Option<Template>,
    missing: &str,
) -> Command {
    let mut words = vec![sale.stock.clone(), buyers.clone()];
    match &sale.orders {
        Some(orders) => {
            words.extend([
                orders.stream.clone(),
                orders.values[1].clone(),
                Template::place(user),
                orders.values[2].clone(),
            ]);
        }
        None => words.extend([
            sale.stock.clone(),
            sale.stock.clone(),
            Template::place(user),
            Template::constant_of("0"),
        ]),
    }
    if let Some(units) = units {
        words.extend([Template::constant_of("UNITS"), units.clone()]);
    }
    match &sale.orders {
        None => words.push(Template::constant_of("NOSTREAM")),
        Some(orders) => {
            words.push(Template::constant_of("FIELDS"));
            words.extend(orders.names.iter().map(|name| Template::constant_of(name)));
        }
    }
    words.extend([Template::constant_of("MISSING"), Template::constant_of(missing)]);
    Command { name: "SECKILL.TRYKEYS", words, settings: Vec::new() }
}
