//! Names of keys, and names that settings may not give them.

use super::*;

#[test]
fn a_voucher_has_one_name_in_entries() {
    for (voucher, with_tags) in [("7", "7"), ("{7}", "7"), ("{shop3}:7", "{shop3}:7"), ("{}", "{}")]
    {
        assert_eq!(entry_name(voucher.as_bytes(), true), with_tags.as_bytes(), "{voucher}");
        assert_eq!(entry_name(voucher.as_bytes(), false), voucher.as_bytes());
        // For releases by expiry, the voucher is derived from the name of the holds key.
        let Ok(naming) = Naming::of(voucher.as_bytes(), true) else { continue };
        for prefix in TIMED_PREFIXES {
            let of_key = voucher_of_timed(&naming.key(prefix), true);
            assert_eq!(of_key.as_deref(), Some(with_tags.as_bytes()), "{voucher}");
        }
    }
}

#[test]
fn names_follow_the_hash_tag() {
    let names = |owner: &[u8], tags| {
        let naming = Naming::of(owner, tags).unwrap();
        [naming.key(b"k:"), naming.stream(b"s"), naming.released_stream(b"s")]
            .map(|name| String::from_utf8(name).unwrap())
    };
    assert_eq!(names(b"7", false), ["k:7", "s", "s.released"]);
    assert_eq!(names(b"7", true), ["k:{7}", "s:{7}", "s.released:{7}"]);
    assert_eq!(names(b"{a}:7", true), ["k:{a}:7", "s:{a}", "s.released:{a}"]);
    assert_eq!(Naming::of(b"a}b", true), Err(StrayBraces));
    assert_eq!(Naming::of(b"a}b", false), Ok(Naming::Plain(b"a}b")));
}

#[test]
fn the_owner_of_a_key_is_found_by_its_name() {
    for (key, tags, want) in [
        ("k:7", false, Some("7")),
        ("k:{7}", false, Some("{7}")),
        ("k:{7}", true, Some("7")),
        ("k:{a}:7", true, Some("{a}:7")),
        ("k:7", true, None),
        ("k:{{x}}", true, Some("{{x}}")),
        ("k:{}a}", true, None),
        ("x:7", false, None),
    ] {
        let found = owner_of(key.as_bytes(), b"k:", tags);
        assert_eq!(found.as_deref(), want.map(str::as_bytes), "{key} {tags}");
    }
}

#[test]
fn streams_of_confirmed_orders_are_known_by_their_names() {
    for owner in [&b"7"[..], b"{a}:7", b"{a{b}", b"\xff"] {
        for tags in [false, true] {
            let naming = Naming::of(owner, tags).unwrap();
            assert!(is_confirmed_name(&naming.confirmed_stream(b"s")));
            assert!(is_confirmed_name(&naming.confirmed_stream(b"")));
            let others = [naming.stream(b"s"), naming.released_stream(b"s")];
            assert!(!others.iter().any(|name| is_confirmed_name(name)));
        }
    }
    assert_eq!(Naming::Plain(b"7").confirmed_stream(b"s"), b"s.confirmed");
    assert_eq!(Naming::Wrapped(b"7").confirmed_stream(b"s"), b"s.confirmed:{7}");
    for other in [&b""[..], b"confirmed", b"s.confirmed.dlq", b"s.confirmed:7", b"s.confirmed:{7"] {
        assert!(!is_confirmed_name(other));
    }
}

#[test]
fn one_name_is_of_one_kind_of_keys() {
    let alike = Err("must not be the prefix of stock keys and of buyers keys alike");
    let other = Err("must not make names that other keys of this module have");
    for (stock, buyers, stream, plain, with_tags) in [
        (STOCK_PREFIX, BUYERS_PREFIX, ORDER_STREAM, Ok(()), Ok(())),
        ("", "b:", "", Ok(()), Ok(())),
        (":", "b:", "", Ok(()), Ok(())),
        ("s:", "s:", "o", alike, alike),
        ("", "", "", alike, alike),
        ("seckill:book:", "b:", "o", other, other),
        ("s:", "seckill:voucher:x:", "o", other, other),
        ("icr:", "b:", "o", other, other),
        ("s:", "seckill:", "seckill:orders", Ok(()), Ok(())),
        ("s:", "b:", "seckill:units:o", other, other),
        ("s:", "b:", "seckill:units", Ok(()), other),
        ("s:", "b:", "s", Ok(()), other),
        ("s:", "b:", "b", Ok(()), other),
        ("o.stock:", "b:", "o", other, other),
    ] {
        for streams in [[stream, ""], ["", stream]] {
            let check = |hash_tags| {
                let prefixes = [stock, buyers].map(str::as_bytes);
                check_kinds(prefixes, streams.map(str::as_bytes), hash_tags)
            };
            assert_eq!([check(false), check(true)], [plain, with_tags], "{stock} {stream}");
        }
    }
}

#[test]
fn streams_are_told_apart() {
    for (orders, draws) in [
        ("stream.orders", "stream.draws"),
        ("", ""),
        ("o", ""),
        ("", "d"),
        (".released.", "dlq"),
        ("o.confirmed:7", "d.dlq:x}"),
    ] {
        assert_eq!(check_streams(orders.as_bytes(), draws.as_bytes()), Ok(()), "{orders}");
    }
    for derived in ["o.dlq", ".released", "o.confirmed", "o.released.dlq", "o.confirmed:{7}"] {
        assert!(check_streams(derived.as_bytes(), b"d").is_err(), "{derived}");
        assert!(check_streams(b"o", derived.as_bytes()).is_err(), "{derived}");
    }
    assert!(check_streams(b"o", b"o").is_err());
}

#[test]
fn own_keys_are_known_by_their_names() {
    let is_own = |key: &str| is_own_name(key.as_bytes(), [b"s:", b""], [b"o", b""]);
    let own = "s: s:7 seckill:voucher:7 seckill:book:{7} seckill:units: \
        seckill:hold:7 seckill:extra:7 seckill:wait:7 seckill:payments:7 \
        seckill:outside:7 seckill:last:7 seckill:codes:7 seckill:winners:7 \
        seckill:shard:{7} icr:order:2026:11:22 o o.dlq o:{7} o.released:{7}";
    for own in own.split_whitespace() {
        assert!(is_own(own), "{own}");
    }
    for other in ["", "s", "lock:7", "seckill:lock:7", "seckill:stock:7", "orders", "o:7", "ic"] {
        assert!(!is_own(other), "{other}");
    }
}

#[test]
fn a_lock_and_its_fence_key_are_no_keys_of_sales() {
    let check = |key: &str, tags| {
        check_lock_name(key.as_bytes(), tags, [b"s:", b"b:{x}:f"], [b"o:{7}", b""])
    };
    for (key, plain, with_tags) in [
        ("lock", Ok(()), Ok(())),
        ("", Ok(()), Ok(())),
        ("a}b", Ok(()), Ok(())),
        ("lock:fence", Err(BadLockName::Fence), Err(BadLockName::Fence)),
        ("s:7", Err(BadLockName::Own), Err(BadLockName::Own)),
        // The fence key is `s:fence`; with hash tags, `{s}:fence`.
        ("s", Err(BadLockName::Own), Ok(())),
        ("seckill:hold", Err(BadLockName::Own), Ok(())),
        ("b:{x}", Err(BadLockName::Own), Err(BadLockName::Own)),
    ] {
        assert_eq!((check(key, false), check(key, true)), (plain, with_tags), "{key}");
    }
}

#[test]
fn companions_are_in_the_slot_of_their_key() {
    let fence = |key: &[u8], tags| companion(key, FENCE_SUFFIX, tags);
    assert_eq!(fence(b"job", false).unwrap(), b"job:fence");
    assert_eq!(fence(b"job", true).unwrap(), b"{job}:fence");
    assert_eq!(fence(b"{a}job", true).unwrap(), b"{a}job:fence");
    assert_eq!(fence(b"a}", true), Err(StrayBraces));
}
