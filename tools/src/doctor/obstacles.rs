//! Why no command can replace a script that sells.

use crate::cure::{bare_call, trykeys};
use crate::managed::Managed;
use crate::sale::{Place, Sale};
use crate::world::Kind;

/// Why no command can replace the script; empty if one may.
pub fn of(sale: &Sale, managed: &Managed<'_>) -> Vec<String> {
    let name = |slot| sale.name(slot);
    let mut obstacles = Vec::new();
    if sale.stock.kind != Kind::Text {
        obstacles.push(format!(
            "It keeps the stock in a field of a hash ({}). The module keeps it in a string: the \
             data would have to be converted, and until then the script stays.",
            sale.stock.shown(&name)
        ));
    }
    if sale.effects.taken.len() > 1 {
        obstacles.push(
            "It takes units from several keys in one call. A command takes from one voucher."
                .to_owned(),
        );
    }
    let buyers = sale.buyers();
    for place in sale.marks.iter().filter(|place| Some(*place) != buyers) {
        // A key that the caller passes whole may belong to a user or a request, or be a counter.
        if place.kind == Kind::Text && place.key.slot().is_some() {
            continue;
        }
        let mut text = format!("It keeps marks in {}, ", place.shown(&name));
        text += &managed.of_mark(place).unwrap_or_else(|| {
            "by user or by try, which no command writes. A managed voucher (SECKILL.CREATE) has a \
             LIMIT per user, and answers a repeated order id as at first."
                .to_owned()
        });
        obstacles.push(text);
    }
    obstacles.extend(managed.of_window());
    let checks = checks(sale);
    if !checks.is_empty() {
        let shown: Vec<_> = checks.iter().map(|place| place.shown(&name)).collect();
        let mut text = format!(
            "It also looks at {}: a line without that check would sell where your script refuses.",
            shown.join(" and ")
        );
        if checks.iter().any(|place| sale.marks.contains(place)) {
            text += " If it counts what a user buys, a managed voucher does that, too: \
                SECKILL.CREATE voucher stock LIMIT n.";
        }
        if !sale.guards.is_empty() {
            text += " If these are the begin and end of the sale, a managed voucher has them: \
                SECKILL.CREATE voucher stock BEGIN unix-ms END unix-ms.";
        }
        if sale.stock.kind == Kind::Text {
            let call = match sale.buyers() {
                Some(_) => trykeys(sale, false),
                None => bare_call(sale),
            };
            text += &format!(
                " Or keep the checks in Lua, and put {} where the sale is made.",
                call.lua()
            );
        }
        obstacles.push(text);
    }
    obstacles
}

/// What the script reads besides the stock, the buyers and the keys that it writes itself.
fn checks(sale: &Sale) -> Vec<&Place> {
    let buyers = sale.buyers().map(|place| &place.key);
    let is_check = |place: &&Place| {
        let of_sale = place.key == sale.stock.key || Some(&place.key) == buyers;
        let own = place.kind == Kind::Text && place.key.slot().is_some();
        let writes = sale.extras.iter().any(|call| call.get(1) == Some(&place.key));
        let marks = sale.marks.contains(place);
        !of_sale && if marks { own } else { !writes }
            || sale.guards.iter().any(|(guard, _)| guard == *place)
    };
    sale.looks.iter().filter(is_check).collect()
}
