//! Why no command can replace a script that sells, and which managed voucher comes near.

use domain::sale::Outcome;

use crate::cure::{ACCEPTED, BOUGHT, SOLD_OUT, bare_call, trykeys};
use crate::finding::{Accepted, Codes};
use crate::reply::Reply;
use crate::sale::{Place, Sale};
use crate::world::Kind;

const NOT_STARTED: i64 = Outcome::NotStarted.code();
const ENDED: i64 = Outcome::Ended.code();

/// Why no command can replace the script; empty if one may.
pub fn of(sale: &Sale, codes: &Codes, limit: &Option<String>) -> Vec<String> {
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
        let of_user = place.slots().any(|slot| Some(slot) == sale.user);
        text += &match limit.as_ref().filter(|_| of_user && place.kind != Kind::Set) {
            Some(limit) => format!(
                "and sells a user at most {}. A managed voucher keeps that itself: {}.",
                if limit == "n" { "what an argument says" } else { limit },
                managed(sale, codes, &format!("LIMIT {limit}"))
            ),
            None => "by user or by try, which no command writes. A managed voucher \
                     (SECKILL.CREATE) has a LIMIT per user, and answers a repeated order id as at \
                     first."
                .to_owned(),
        };
        obstacles.push(text);
    }
    obstacles.extend(window(sale, codes));
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

/// The managed voucher that does the same, and what tries of it answer.
fn managed(sale: &Sale, codes: &Codes, rules: &str) -> String {
    let answers = [(&codes.sold_out, SOLD_OUT), (&codes.bought, BOUGHT)];
    let mut own = answers.iter().filter_map(|(own, code)| Some((own.as_ref()?, *code)));
    let is_same = codes.accepted == Accepted::Code(Reply::Int(ACCEPTED))
        && own.all(|(own, code)| *own == Reply::Int(code));
    let units = if sale.units.is_some() { " [UNITS n]" } else { "" };
    format!(
        "SECKILL.CREATE voucher stock {rules}, then SECKILL.TRY voucher user orderid{units} \
         answers 0 accepted, 1 sold out, 2 at the limit{}",
        if is_same { ", as your script does" } else { "" }
    )
}

/// For a script that gets the begin and the end of the sale as arguments.
fn window(sale: &Sale, codes: &Codes) -> Option<String> {
    let (begin, end) = (sale.window.begin.as_ref(), sale.window.end.as_ref());
    let all = [(begin, "from", "BEGIN", NOT_STARTED), (end, "until", "END", ENDED)];
    let all = all.into_iter().filter_map(|(side, when, rule, code)| {
        let (slot, reply) = side?;
        Some((slot, reply, when, rule, code))
    });
    let (mut sells, mut rules, mut is_same) = (Vec::new(), Vec::new(), true);
    for (slot, reply, when, rule, code) in all {
        sells.push(format!("{when} {slot} (else it replies {reply})"));
        rules.push(format!("{rule} unix-ms"));
        is_same &= *reply == Reply::Int(code);
    }
    let same = if is_same { ", the very replies of your script" } else { "" };
    (!sells.is_empty()).then(|| {
        format!(
            "It sells {}, by the server's time. A managed voucher has these itself: {}, and 3 \
             before the begin, 4 after the end{same}.",
            sells.join(" and "),
            managed(sale, codes, &rules.join(" "))
        )
    })
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
