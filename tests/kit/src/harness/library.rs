//! The library of functions instead of the module: the same tests, spelled as FCALL.
//!
//! With SECKILL_FUNCTIONS=packaging/functions/seckill.lua servers start without the module and load
//! that file; a client that sends a command of the module sends the matching function instead.
//! `scripts/functions` runs the tests that apply.

use std::ffi::OsString;
use std::sync::OnceLock;

use redis::Value;

use super::Client;

fn path() -> Option<&'static OsString> {
    static PATH: OnceLock<Option<OsString>> = OnceLock::new();
    PATH.get_or_init(|| std::env::var_os("SECKILL_FUNCTIONS")).as_ref()
}

/// Are functions tested instead of the module?
pub(super) fn is_wanted() -> bool {
    path().is_some()
}

/// Loads the library into a server that would have had the module, if functions are tested.
pub(super) fn load(client: &mut Client, without_module: bool) {
    let Some(path) = path().filter(|_| !without_module) else { return };
    // The path is relative to the folder of the tested package: cargo starts the tests there.
    let code = std::fs::read(path).expect("SECKILL_FUNCTIONS names a file");
    let loaded = client.call(&[b"FUNCTION".as_slice(), b"LOAD", b"REPLACE", &code]);
    // A replica gets the functions from its primary.
    let is_replica = matches!(&loaded, Value::ServerError(error) if error.code() == "READONLY");
    assert!(is_replica || loaded == Value::BulkString(b"seckill".to_vec()), "{loaded:?}");
}

/// What is sent for a command: the command, or its function if functions are tested.
pub(super) fn as_sent<A: AsRef<[u8]>>(args: &[A]) -> Vec<Vec<u8>> {
    if is_wanted() {
        return spelled(args);
    }
    args.iter().map(|arg| arg.as_ref().to_vec()).collect()
}

/// A command of the module as its function; any other command as it is.
pub fn spelled<A: AsRef<[u8]>>(args: &[A]) -> Vec<Vec<u8>> {
    let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_ref().to_vec()).collect();
    let Some((name, rest)) = args.split_first() else { return args };
    let call = match name.to_ascii_uppercase().as_slice() {
        b"SECKILL.TRY" => of_voucher(rest, "seckill_try", b"stream.orders"),
        b"SECKILL.MTRY" => of_voucher(rest, "seckill_mtry", b"stream.orders"),
        b"SECKILL.CANCEL" => of_voucher(rest, "seckill_cancel", b"stream.orders.released"),
        b"SECKILL.TRYKEYS" => trykeys(rest),
        b"SECKILL.TRYALL" => Some(fcall("seckill_tryall", &[], rest)),
        b"LOCK.ACQUIRE" => of_lock(rest, "lock_acquire"),
        b"LOCK.RENEW" => of_lock(rest, "lock_renew"),
        b"LOCK.INFO" => of_lock(rest, "lock_info"),
        b"LOCK.RELEASE" => rest
            .split_first()
            .map(|(lock, token)| fcall("lock_release", std::slice::from_ref(lock), token)),
        _ => None,
    };
    call.unwrap_or(args)
}

fn fcall(function: &str, keys: &[Vec<u8>], args: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let head = ["FCALL", function, &keys.len().to_string()].map(|word| word.as_bytes().to_vec());
    [&head, keys, args].concat()
}

fn of_voucher(args: &[Vec<u8>], function: &str, stream: &[u8]) -> Option<Vec<Vec<u8>>> {
    let voucher = args.first()?.as_slice();
    let keys = [
        [b"seckill:stock:", voucher].concat(),
        [b"seckill:order:", voucher].concat(),
        stream.to_vec(),
    ];
    Some(fcall(function, &keys, args))
}

fn trykeys(args: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let (keys, args) = args.split_at_checked(3)?;
    let is_without = |arg: &Vec<u8>| arg.eq_ignore_ascii_case(b"NOSTREAM");
    match args.iter().skip(3).position(is_without) {
        None => Some(fcall("seckill_try", keys, args)),
        Some(place) => {
            let mut args = args.to_vec();
            args.remove(3 + place);
            Some(fcall("seckill_try", keys.get(..2)?, &args))
        }
    }
}

fn of_lock(args: &[Vec<u8>], function: &str) -> Option<Vec<Vec<u8>>> {
    let (lock, args) = args.split_first()?;
    Some(fcall(function, &[lock.clone(), [lock, b":fence".as_slice()].concat()], args))
}
