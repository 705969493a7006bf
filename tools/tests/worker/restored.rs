//! What a check writes by itself, or asks, of payments that the server has: also of a database that
//! returns to a backup while the server goes on.

use redis::Value;

use crate::check::expect;
use crate::databases::Database;
use crate::resolve::CHECK;
use crate::shop::Shop;

/// Nothing is lost: orders are sold at once, cancelled as a whole or in part, and paid after that.
#[test]
fn a_payment_after_the_release_is_nothing_to_repair() {
    let shop = Shop::saved(Database::sqlite(), "LIMIT 5");
    shop.buy("7", "ann", "1");
    shop.run("SECKILL.CANCEL 7 ann 1");
    shop.pay("7 ann 1", "A UNITS 1", 4);
    assert_eq!(shop.run("SECKILL.TRY 7 ben 2 UNITS 2"), Value::Int(0));
    shop.run("SECKILL.CANCEL 7 ben 2 KEEP 1");
    shop.pay("7 ben 2", "B UNITS 2", 2);
    shop.drain(&[]);
    assert_eq!((shop.refunds("A"), shop.refunds("B")), (1, 1));
    expect(&shop, &CHECK, 0, &["CONSISTENT: 1 orders with 1 units"]);
}
