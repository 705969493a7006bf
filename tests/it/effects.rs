//! The effects of commands: plain commands that a server without the module repeats, with the
//! events of these.

use crate::commands::{Row, World, rows};
use crate::declared::Declared;
use crate::written::Pair;

/// What the table says of every command.
#[test]
fn every_command() {
    let pair = Pair::start();
    let declared = pair.unseen(Declared::all);
    let listed = |name: &str| rows().iter().any(|row| row.name().eq_ignore_ascii_case(name));
    let missing: Vec<_> = declared.iter().map(|it| &it.name).filter(|name| !listed(name)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    for Row { call, answer, writes, .. } in rows() {
        let world = pair.unseen(|server| {
            server.run("FLUSHALL");
            World::make(None, |command| server.run(command))
        });
        if !answer.starts_with("(error)") {
            pair.check(&world.named(&format!("> {call}\n{}", writes.join("\n"))));
        }
    }
}

// The next two are tests of the library of functions, too: scripts/functions.

#[test]
fn an_unmanaged_voucher() {
    Pair::start().check(
        r#"
        > SET seckill:stock:7 9 => ...
        > SECKILL.TRY 7 alice o1
        DECR seckill:stock:7
        SADD seckill:order:7 alice
        XADD stream.orders ID userId alice voucherId 7 id o1
        > SECKILL.TRY 7 bob o2 UNITS 3
        DECRBY seckill:stock:7 3
        SADD seckill:order:7 bob
        XADD stream.orders ID userId bob voucherId 7 id o2 units 3
        > SECKILL.TRY 7 bob o3
        > SECKILL.CANCEL 7 alice o1
        INCRBY seckill:stock:7 1
        SREM seckill:order:7 alice
        XADD stream.orders.released ID userId alice voucherId 7 id o1 reason cancelled
        > SECKILL.CANCEL 7 alice o1
        > SET "seckill:stock:\x00\xff" 1 EX 1000 => ...
        > SECKILL.TRY "\x00\xff" "a\r\nb" :
        DECR seckill:stock:\x00\xff
        SADD seckill:order:\x00\xff a\r\nb
        XADD stream.orders ID userId a\r\nb voucherId \x00\xff id :
        "#,
    );
}

#[test]
fn a_try_by_keys_and_a_lock() {
    Pair::start().check(
        "
        > SET stock 9 => ...
        > SECKILL.TRYKEYS stock buyers orders 7 alice o1
        DECR stock
        SADD buyers alice
        XADD orders ID userId alice voucherId 7 id o1
        > SECKILL.TRYKEYS stock buyers orders 7 bob o2 UNITS 2
        DECRBY stock 2
        SADD buyers bob
        XADD orders ID userId bob voucherId 7 id o2 units 2
        > SECKILL.TRYKEYS stock buyers stock 7 carol o3 NOSTREAM
        DECR stock
        SADD buyers carol
        > SET lock t PX 1000000 => ...
        > LOCK.RELEASE lock u
        > LOCK.RELEASE lock t => DEL lock
        > LOCK.RELEASE lock t
        ",
    );
}

#[test]
fn without_a_bound_or_a_stream() {
    Pair::start().check(
        "
        > CONFIG SET seckill.unlimited-stock yes seckill.order-stream '' seckill.draw-stream ''
        > SET seckill:stock:7 -1 => ...
        > SECKILL.TRY 7 alice o1 => SADD seckill:order:7 alice
        > SET seckill:stock:7 9 => ...
        > SECKILL.MTRY 7 eve o7 fay o8
        SADD seckill:order:7 eve fay
        DECRBY seckill:stock:7 2
        > RPUSH seckill:codes:7 a => ...
        > SECKILL.DRAW 7 carol
        LPOP seckill:codes:7
        HSET seckill:winners:7 carol a
        ",
    );
}

#[test]
fn generated_ids() {
    Pair::start().check(
        "
        > SECKILL.NEXTID order COUNT 2 => SET icr:order:...
        > SECKILL.NEXTID order COUNT 65536 => INCRBY icr:order:...
        > CONFIG SET seckill.hash-tags yes
        > SECKILL.NEXTID order => SET icr:order:{260251} ...
        > SECKILL.NEXTID order => SET icr:order:{260251} ...
        ",
    );
}

#[test]
fn locks_and_their_fences() {
    Pair::start().check(
        "
        > LOCK.ACQUIRE lock ann 100000 FENCE
        SET lock ann PXAT WHEN
        SET lock:fence WHEN ann PXAT WHEN
        > LOCK.RENEW lock ann 100000
        PEXPIREAT lock WHEN
        PEXPIREAT lock:fence WHEN
        > LOCK.RELEASE lock ann => DEL lock
        > LOCK.ACQUIRE lock bob 100000 FENCE
        SET lock bob PXAT WHEN
        SET lock:fence WHEN bob PXAT WHEN
        > HSET farm:fence wood 1 => ...
        > LOCK.ACQUIRE farm ann 100000 => SET farm ann PXAT WHEN
        > LOCK.RENEW farm ann 100000 => PEXPIREAT farm WHEN
        > SET shop:fence wood => ...
        > LOCK.ACQUIRE shop ann 100000 => SET shop ann PXAT WHEN
        > LOCK.ACQUIRE shop ann 100000 => PEXPIREAT shop WHEN
        ",
    );
}
