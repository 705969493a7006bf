//! Scripts that sell: the findings, and the replacements.

use crate::doctor::examine;
use crate::harness::{Server, text};

const ONE_LINE: &str = "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])";

#[test]
fn the_usual_script_is_replaced_by_one_line() {
    let examined = examine("seckill");
    examined.is_drop_in();
    assert_eq!(examined.replacement(), ONE_LINE);
    // The first replacement needs no change of the application, and neither needs a setting.
    let sha1 = "1270d986261ad610e198602e28eff07929f07f55";
    let native = format!("{sha1} SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]");
    assert_eq!(examined.cures(), [(native, 0), (ONE_LINE.to_owned(), 0)]);
    assert_eq!(examined.json["command"], "SECKILL.TRY voucher user orderid");
    let weak = ["missing-stock", "partial-write", "undeclared-keys", "cluster-partial-write"];
    assert_eq!(examined.weak(), weak);
    assert_eq!(examined.scenarios("refused"), ["the stream's key is a string"]);
    let line = examined.json["cluster"]["line"].as_str().expect("a line");
    assert!(
        line.starts_with("return redis.call('SECKILL.TRY', KEYS[1], ARGV[2], ARGV[3])"),
        "{line}"
    );
}

#[test]
fn a_script_without_a_stream_needs_no_setting_or_one() {
    let examined = examine("no_stream");
    examined.is_drop_in();
    assert_eq!(examined.settings(), ["order-stream "]);
    let replacement = "return redis.call('SECKILL.TRYKEYS', 'seckill:stock:' .. ARGV[1], \
        'seckill:order:' .. ARGV[1], 'seckill:stock:' .. ARGV[1], ARGV[1], ARGV[2], '0', \
        'NOSTREAM')";
    assert_eq!(examined.replacement(), replacement);
    let [(native, one), (_, none)] = &examined.cures()[..] else { panic!("{:#}", examined.json) };
    assert_eq!((*none, *one), (0, 1));
    assert!(native.ends_with(" SECKILL.TRY ARGV[1] ARGV[2] 0"), "{native}");
}

#[test]
fn other_names_and_another_order_of_arguments_are_settings() {
    let examined = examine("other_names");
    examined.is_drop_in();
    let mut settings = examined.settings();
    settings.sort();
    assert_eq!(
        settings,
        [
            "buyers-prefix shop:sold:",
            "missing-stock sold-out",
            "order-fields buyer item order",
            "order-stream shop.orders",
            "stock-prefix shop:left:",
        ]
    );
    let native = examined.cures().remove(0).0;
    assert!(native.ends_with(" SECKILL.TRY ARGV[3] ARGV[1] ARGV[2]"), "{native}");
    // The second choice says what it makes impossible.
    let note = examined.json["cures"][1]["notes"][0].as_str().expect("a note");
    assert!(note.contains("no managed voucher") && note.contains("seckill-worker"), "{note}");
    // A replacement without a setting of the server, with the script's own names.
    assert_eq!(
        examined.replacement(),
        "return redis.call('SECKILL.TRYKEYS', 'shop:left:' .. ARGV[3], 'shop:sold:' .. ARGV[3], \
         'shop.orders', ARGV[3], ARGV[1], ARGV[2], 'FIELDS', 'buyer', 'item', 'order', 'MISSING', \
         'sold-out')"
    );
}

#[test]
fn keys_that_the_caller_names_are_tried_by_trykeys() {
    let examined = examine("keys");
    examined.is_drop_in();
    let replacement = examined.replacement();
    assert!(replacement.contains("'SECKILL.TRYKEYS', KEYS[1], KEYS[2], KEYS[1]"), "{replacement}");
    // It returns other numbers, and buyers get their own outcome when all units are sold.
    assert!(replacement.contains("{[0] = 1, [1] = 0, [2] = -1}"), "{replacement}");
    assert!(replacement.contains("'SISMEMBER'"), "{replacement}");
    // In a cluster, the caller decides where its keys are.
    assert_eq!(examined.weak(), Vec::<String>::new());
    assert!(examined.json["cluster"]["line"].is_string(), "{:#}", examined.json);
}

#[test]
fn the_replacement_of_a_keys_script_does_as_told_on_another_server() {
    let examined = examine("keys");
    let server = Server::start();
    for setting in examined.settings() {
        let (name, value) = setting.split_once(' ').expect("a name and a value");
        server.call(&["CONFIG", "SET", &format!("seckill.{name}"), value]);
    }
    server.call(&["SET", "phone:left", "2"]);
    let mut said = Vec::new();
    for user in ["ann", "ann", "bob", "eve", "bob"] {
        let call = ["EVAL", examined.replacement(), "2", "phone:left", "phone:sold", user];
        said.push(text(&server.call(&call)));
    }
    assert_eq!(said, ["1", "-1", "1", "0", "-1"]);
    assert_eq!(text(&server.call(&["GET", "phone:left"])), "0");
    assert_eq!(text(&server.call(&["SCARD", "phone:sold"])), "2");
    assert_eq!(text(&server.call(&["DBSIZE"])), "2");
}

#[test]
fn what_else_a_script_writes_is_kept() {
    let examined = examine("middle");
    examined.is_drop_in();
    let replacement = examined.replacement();
    for part in [
        "'sale:' .. ARGV[1] .. ':left', 'sale:' .. ARGV[1] .. ':users'",
        "'NOSTREAM'",
        "redis.call('XADD', 'sale:' .. ARGV[1] .. ':log', '*', 'user', ARGV[2], 'id', ARGV[3]",
        "redis.call('PUBLISH', 'sales', ARGV[1])",
        "[0] = 'OK', [1] = 'SOLD OUT', [2] = 'AGAIN'",
    ] {
        assert!(replacement.contains(part), "{part} in {replacement}");
    }
}

#[test]
fn booleans_are_translated() {
    let examined = examine("booleans");
    examined.is_drop_in();
    let replacement = examined.replacement();
    assert!(replacement.contains("[0] = 1, [1] = false, [2] = false"), "{replacement}");
}

#[test]
fn units_left_and_other_numbers_are_replied() {
    let examined = examine("left");
    examined.is_drop_in();
    let replacement = examined.replacement();
    for part in
        ["NOVOUCHER", "return -3", "tonumber(redis.call('GET', 'seckill:stock:' .. ARGV[1]))"]
    {
        assert!(replacement.contains(part), "{part} in {replacement}");
    }
}

#[test]
fn a_stock_without_limit_is_a_setting() {
    let examined = examine("unlimited");
    examined.is_drop_in();
    assert_eq!(examined.settings(), ["unlimited-stock yes"]);
    assert_eq!(examined.replacement(), ONE_LINE);
}

#[test]
fn overselling_is_found_and_cured() {
    let examined = examine("oversells");
    examined.is_broken(&["oversells-for-ever", "sells-without-stock"]);
    assert_eq!(examined.replacement(), ONE_LINE);
    let differs = examined.scenarios("differs");
    assert!(differs.contains(&"sold out".to_owned()), "{differs:?}");
    assert!(differs.contains(&"300 random calls".to_owned()), "{differs:?}");
    assert!(examined.scenarios("same").contains(&"a user buys".to_owned()));
}

#[test]
fn overselling_by_one_is_told_apart() {
    examine("oversells_by_one").is_broken(&["oversells"]);
}

#[test]
fn a_sale_that_fails_at_its_end_is_found() {
    let examined = examine("deducts_then_fails");
    examined.is_broken(&["deducts-then-fails"]);
    let finding = examined.json["findings"][0]["text"].as_str().expect("a text");
    assert!(finding.contains("The unit is gone"), "{finding}");
    assert!(finding.contains("can't try again"), "{finding}");
}

#[test]
fn selling_to_nobody_is_found() {
    let examined = examine("always_bought");
    examined.is_broken(&["always-duplicate"]);
    let examined = examine("one_key");
    examined.is_broken(&["one-key"]);
    assert_eq!(examined.json["replacement"], serde_json::Value::Null);
}

#[test]
fn forgotten_buyers_and_a_lost_time_to_live_are_found() {
    let examined = examine("forgets_buyers");
    examined.is_broken(&["forgets-buyers", "loses-expiry"]);
}

#[test]
fn other_types_of_keys_are_no_drop_in() {
    let examined = examine("hash");
    assert_eq!((examined.json["verdict"].as_str(), examined.exit), (Some("differs"), 1));
    let [_, _, tried] = &examined.obstacles()[..] else { panic!("{:#}", examined.json) };
    assert!(tried.contains("in 80 calls they sold the same and answered alike"), "{tried}");
}

#[test]
fn units_and_errors_for_outcomes_are_kept() {
    let examined = examine("units");
    examined.is_drop_in();
    let replacement = examined.replacement();
    for part in ["'UNITS', ARGV[1]", "{err = 'SOLDOUT none left'}", "'EXPIRE', KEYS[2], '86400'"] {
        assert!(replacement.contains(part), "{part} in {replacement}");
    }
    assert!(examined.findings("broken").is_empty());
}

#[test]
fn buyers_by_user_and_orders_by_user_are_found() {
    let examined = examine("buyers_of_user");
    examined.is_broken(&["buyers-of-user"]);
    // The buyers are kept under the voucher, as intended.
    assert!(examined.replacement().contains("'seckill:order:' .. ARGV[1]"), "{:#}", examined.json);
    assert!(examined.scenarios("differs").contains(&"a user, two vouchers".to_owned()));
    let examined = examine("order_is_user");
    examined.is_drop_in();
    assert!(examined.weak().contains(&"order-id-is-user".to_owned()), "{:#}", examined.json);
}

#[test]
fn a_stock_that_is_only_compared_with_is_not_broken() {
    let examined = examine("counts_buyers");
    assert_eq!((examined.json["verdict"].as_str(), examined.exit), (Some("helper"), 0));
    assert_eq!(examined.broken(), Vec::<String>::new());
}

#[test]
fn a_stream_that_the_caller_names_is_one_of_the_keys() {
    let examined = examine("keys_stream");
    examined.is_drop_in();
    assert_eq!(
        examined.replacement(),
        "return redis.call('SECKILL.TRYKEYS', KEYS[1], KEYS[2], KEYS[3], ARGV[3], ARGV[2], \
         ARGV[1], 'FIELDS', 'userId', 'voucherId', 'orderId')"
    );
    let native = examined.cures()[0].clone();
    assert!(native.0.ends_with("ARGV[1] FIELDS userId voucherId orderId"), "{native:?}");
    assert_eq!(native.1, 0);
    let cluster = &examined.json["cluster"];
    assert!(cluster["script"].as_str().is_some_and(|text| text.contains("CROSSSLOT")), "{cluster}");
    assert!(cluster["line"].is_string(), "{cluster}");
}
