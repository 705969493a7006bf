//! The fields in the entries of the streams.

/// Default of `seckill.order-fields`: user, voucher and order id.
pub const ORDER_FIELDS: &str = "userId voucherId id";

/// Units of an order, if more than one.
pub const UNITS: &[u8] = b"units";
/// Unix milliseconds until which an order is held.
pub const DEADLINE: &[u8] = b"deadline";
/// Why an order was released.
pub const REASON: &[u8] = b"reason";
/// The state that an order of a managed voucher was in when it was released: held or sold.
pub const WAS: &[u8] = b"was";
/// The sale that an order of a managed voucher belongs to.
pub const SALE: &[u8] = b"sale";
/// The reference of a confirmed order's payment, as given with the confirmation.
pub const REFERENCE: &[u8] = b"ref";
/// What a payment is to its order: the first, or one to be refunded.
pub const PAYMENT: &[u8] = b"payment";
/// Units that an order keeps of which the others were released.
pub const KEPT: &[u8] = b"kept";
/// Milliseconds that an order waited in the queue for its units.
pub const WAITED: &[u8] = b"waited";
/// How many units a payment is for, if its confirmation said that.
pub const PAID: &[u8] = b"paid";
/// The released units have left the sale: 1.
pub const NO_RESTOCK: &[u8] = b"norestock";
/// The released units were refunded elsewhere: 1.
pub const REFUNDED: &[u8] = b"refunded";
/// The id of the entry by whose rejection an order was released.
pub const ENTRY: &[u8] = b"entry";

/// The number of articles of the cart that an order was made with, if there are several. Programs
/// that read orders one by one ignore it.
pub const CART: &[u8] = b"cart";

/// The fields whose names can't be configured.
pub const OWN_FIELDS: [&[u8]; 14] = [
    UNITS, DEADLINE, REASON, WAS, SALE, REFERENCE, PAYMENT, KEPT, WAITED, CART, PAID, NO_RESTOCK,
    REFUNDED, ENTRY,
];

/// The prefix of the fields that a dead letter has in addition to those of its entry.
pub const DEAD_LETTER_PREFIX: &[u8] = b"dlq";

/// The fields of the entry of a draw.
pub const DRAW_FIELDS: [&[u8]; 3] = [b"userId", b"poolId", b"code"];

/// The longest name of a field for user, voucher or order id.
pub const ORDER_FIELD_LEN_MAX: usize = 1024;

/// Reads the configured names of the fields for user, voucher and order id, or returns what is
/// wrong with them.
pub fn parse_order_fields(text: &[u8]) -> Result<[&[u8]; 3], &'static str> {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let [user, voucher, id] = *words.as_slice() else {
        return Err("must be three words separated by single spaces");
    };
    let words = [user, voucher, id];
    if words.iter().any(|word| word.is_empty()) {
        return Err("must be three words separated by single spaces");
    }
    check_order_fields(words).map(|()| words)
}

/// Refuses names of the fields for user, voucher and order id with which an entry could not be read
/// as an order.
pub fn check_order_fields(words: [&[u8]; 3]) -> Result<(), &'static str> {
    let [user, voucher, id] = words;
    if words.iter().any(|word| word.is_empty()) {
        return Err("must be three words that are not empty");
    }
    if words.iter().any(|word| word.len() > ORDER_FIELD_LEN_MAX) {
        return Err("must be three words of at most 1024 bytes");
    }
    if user == voucher || voucher == id || user == id {
        return Err("must be three different words");
    }
    if words.iter().any(|word| OWN_FIELDS.contains(word)) {
        return Err(
            "must not use units, deadline, reason, was, sale, ref, payment, kept, waited, cart, \
             paid, norestock, refunded or entry",
        );
    }
    if words.iter().any(|word| word.starts_with(DEAD_LETTER_PREFIX)) {
        return Err("must not begin with dlq, as the fields of dead letters do");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ORDER_FIELD_LEN_MAX, check_order_fields, parse_order_fields};

    #[test]
    fn order_fields_are_three_different_words() {
        assert_eq!(parse_order_fields(b"u v i"), Ok([&b"u"[..], b"v", b"i"]));
        assert!(parse_order_fields(b"u v \xff").is_ok());
        for text in [
            &b""[..],
            b"a",
            b"a b",
            b"a b c d",
            b"a  b",
            b" a b",
            b"a b ",
            b"a b a",
            b"a a b",
            b"a b b",
            b"units b c",
            b"a deadline c",
            b"a b dlqId",
        ] {
            assert!(parse_order_fields(text).is_err(), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn names_given_one_by_one_may_hold_any_bytes() {
        let longest = [b'x'; ORDER_FIELD_LEN_MAX];
        assert_eq!(check_order_fields([b"a b", b"\0", &longest]), Ok(()));
        let too_long = [b'x'; ORDER_FIELD_LEN_MAX + 1];
        assert!(parse_order_fields(&[&too_long[..], b"b", b"c"].join(&b' ')).is_err());
        for words in [
            [&b"a"[..], b"", b"c"],
            [b"a", b"b", b"b"],
            [b"a", b"b", b"a"],
            [b"a", b"a", b"c"],
            [b"a", b"reason", b"c"],
            [b"a", b"b", b"was"],
            [b"a", b"sale", b"c"],
            [b"ref", b"b", b"c"],
            [b"a", b"payment", b"c"],
            [b"a", b"b", b"kept"],
            [b"waited", b"b", b"c"],
            [b"a", b"cart", b"c"],
            [b"a", b"paid", b"c"],
            [b"norestock", b"b", b"c"],
            [b"a", b"b", b"refunded"],
            [b"a", b"entry", b"c"],
            [b"a", b"b", b"dlq"],
            [&too_long, b"b", b"c"],
        ] {
            assert!(check_order_fields(words).is_err());
        }
    }
}
