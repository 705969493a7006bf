//! One frame, as `--once` prints it.

use std::sync::atomic::{AtomicBool, Ordering};

use std::fs;
use std::process::Command;

use crate::harness::{Server, text as reply_text, wait_for};
use crate::program::{as_user, frame, frame_at, run, run_all, text, url};
use kit::pages::page;

/// The words of the line that starts with this name, without the frame's border.
fn words(frame: &str, name: &str) -> Vec<String> {
    let line = frame.lines().find(|line| {
        let inner = line.trim_start_matches('\u{2502}');
        inner.split_whitespace().next() == Some(name)
    });
    let line = line.unwrap_or_else(|| panic!("no line of {name} in\n{frame}"));
    let inner = line.trim_matches('\u{2502}');
    let words = inner.split_whitespace().map(str::to_owned);
    // Bars are not words.
    words.filter(|word| word.is_ascii()).collect()
}

/// The total of a counter, in whichever panel it is.
fn counted(frame: &str, name: &str) -> u64 {
    let panels = frame.lines().flat_map(|line| line.split('\u{2502}'));
    let panel = panels.map(str::trim).find(|panel| panel.starts_with(name));
    let panel = panel.unwrap_or_else(|| panic!("no {name} in\n{frame}"));
    let last = panel.split_whitespace().next_back().unwrap_or_default();
    last.replace(',', "").parse().unwrap_or_else(|_| panic!("{name} in\n{frame}"))
}

#[test]
fn figures_are_those_of_the_sale() {
    let server = Server::start();
    run_all(
        &server,
        &[
            "SECKILL.CREATE phone 20 LIMIT 2 HOLD 900000",
            "SET seckill:stock:tea 2",
            "XGROUP CREATE stream.orders g1 0 MKSTREAM",
        ],
    );
    for number in 0..7 {
        let (user, id) = (format!("u{number}"), format!("o{number}"));
        server.call(&["SECKILL.TRY", "phone", &user, &id, "UNITS", "2"]);
        server.call(&["SECKILL.TRY", "tea", &user, &format!("t{number}")]);
    }
    run_all(
        &server,
        &[
            "SECKILL.CONFIRM phone u0 o0",
            "SECKILL.CANCEL phone u1 o1",
            "SECKILL.TRY phone u2 o9",
            "XREADGROUP GROUP g1 c1 COUNT 4 STREAMS stream.orders >",
            "LOCK.ACQUIRE lock:1 me 60000",
            "LOCK.ACQUIRE lock:1 you 60000",
        ],
    );
    // The count of open holds follows a moment later.
    let holds = || (server.info_number("seckill_holds_open") == 5).then_some(());
    wait_for("five holds", holds).unwrap_or_else(|late| panic!("{late}"));
    let frame = frame(&server, &[]);
    // left, held, sold, total, buyers, state: 20 less 6 orders of 2, one of them confirmed.
    assert_eq!(words(&frame, "phone"), ["phone", "8", "10", "2", "20", "6", "open"]);
    assert_eq!(words(&frame, "tea"), ["tea", "0", "-", "-", "-", "2", "soldout"]);
    for (name, want) in [
        ("accepted", 9),
        ("sold out", 5),
        ("at the limit", 1),
        ("holds open", 5),
        ("confirmed", 1),
        ("cancelled", 1),
        ("acquired", 1),
        ("refused", 1),
        ("in the queue", 0),
    ] {
        assert_eq!(counted(&frame, name), want, "{name} in\n{frame}");
    }
    // Nine orders: four were read by the group's one consumer, and are pending.
    let orders = words(&frame, "stream.orders");
    assert_eq!(orders, ["stream.orders", "9", "g1", "5", "4", "1"], "{frame}");
    let released = words(&frame, "stream.orders.released");
    assert_eq!(released, ["stream.orders.released", "1", "no", "group"], "{frame}");
    let version = reply_text(&server.call(&["INFO", "server"]));
    let shown = frame.lines().next().unwrap_or_default();
    let version = version.lines().find_map(|line| line.strip_prefix("redis_version:"));
    assert!(shown.contains("Valkey") || shown.contains(version.expect("a version").trim()));
}

#[test]
fn orders_in_queue_are_shown() {
    let server = Server::start();
    run_all(&server, &["SECKILL.CREATE phone 1 HOLD 60000", "SECKILL.TRY phone ann o1"]);
    run_all(&server, &["SECKILL.TRY phone ben o2 WAITLIST", "SECKILL.TRY phone cat o3 WAITLIST"]);
    run_all(&server, &["SECKILL.CANCEL phone ann o1"]);
    let frame = frame(&server, &[]);
    // left, held, sold, total, buyers, waiting, state
    assert_eq!(words(&frame, "phone"), ["phone", "0", "1", "0", "1", "1", "1", "soldout"]);
    assert_eq!(counted(&frame, "promoted"), 1, "{frame}");
}

#[test]
fn rates_are_told_between_two_readings() {
    let server = Server::start();
    run_all(&server, &["SET seckill:stock:7 0"]);
    std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let mut client = server.client();
        scope.spawn(move || {
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                client.call(&["SECKILL.TRY", "7", "alice", "a1"]);
            }
        });
        let frame = frame(&server, &["--readings", "3", "--interval", "300ms"]);
        drop(stop);
        let line = frame.lines().find(|line| line.contains("sold out ")).expect("a line");
        let mut numbers = line
            .split_whitespace()
            .filter_map(|word| word.replace(',', "").trim_matches('\u{2502}').parse::<f64>().ok());
        let (rate, all) = (numbers.next().expect("a rate"), numbers.next().expect("a count"));
        assert!(rate > 0.0 && all > 0.0, "{frame}");
        // The rate of the last third of a second can't exceed the total.
        assert!(rate <= all / 0.3 + 1.0, "{frame}");
        assert!(frame.contains(" Tries per second "), "{frame}");
    });
}

#[test]
fn configured_names_are_found() {
    let server = Server::with()
        .config("seckill.stock-prefix \"s[1]*:\"")
        .config("seckill.order-stream shop.orders")
        .config("seckill.hash-tags yes")
        .start();
    run_all(&server, &["SET s[1]*:{7} 3", "SET s1:{8} 3", "SECKILL.CREATE {a}:9 4"]);
    run_all(&server, &["SECKILL.TRY 7 alice o1", "SECKILL.TRY {a}:9 bob o2"]);
    let frame = frame(&server, &[]);
    assert_eq!(words(&frame, "7"), ["7", "2", "-", "-", "-", "1", "open"]);
    assert_eq!(words(&frame, "{a}:9"), ["{a}:9", "3", "0", "1", "4", "1", "open"]);
    assert_eq!(words(&frame, "shop.orders:{7}")[1], "1");
    assert_eq!(words(&frame, "shop.orders:{a}")[1], "1");
    assert!(!frame.contains(" {8} "), "{frame}");
}

#[test]
fn names_are_found_without_rights_to_configurations() {
    let server = Server::with().config("seckill.stock-prefix s:").start();
    run_all(
        &server,
        &[
            "SET s:7 3",
            "SECKILL.TRY 7 alice o1",
            "ACL SETUSER eyes on >word ~* +info +scan +seckill.info +xlen +xinfo",
            "ACL SETUSER blind on >word ~* +info +xlen +xinfo",
            "CONFIG SET seckill.buyers-prefix 7",
        ],
    );
    let eyes = as_user(&server, "eyes:word@");
    let frame = frame_at(&eyes, &[]);
    assert_eq!(words(&frame, "7")[..2], ["7", "2"]);
    assert!(!frame.contains("NOPERM"), "{frame}");
    let blind = frame_at(&as_user(&server, "blind:word@"), &["--vouchers", "7"]);
    assert_eq!(words(&blind, "7"), ["7", "-", "-", "-", "-", "-", "NOPERM"]);
    assert_eq!(words(&blind, "stream.orders")[1], "1");
    let found = frame_at(&eyes, &["--stock-prefix", "t:"]);
    assert!(found.contains("none: no stock key was found"), "{found}");
}

#[test]
fn the_rights_of_the_page_are_enough() {
    let server = Server::start();
    run_all(&server, &["SET seckill:stock:7 3", "SECKILL.TRY 7 alice o1"]);
    let page = page("docs/SECURITY.md");
    let rule = page.lines().find(|line| line.starts_with("ACL SETUSER seckill-top "));
    run_all(&server, &[rule.expect("a rule")]);
    let frame = frame_at(&as_user(&server, "seckill-top:change-me-9@"), &[]);
    assert_eq!(words(&frame, "7"), ["7", "2", "-", "-", "-", "1", "open"]);
    assert_eq!(words(&frame, "stream.orders")[1], "1");
    assert!(!frame.contains("NOPERM"), "{frame}");
}

/// As the systemd unit passes it; without one, and with the unit's empty default, by the variable.
#[test]
fn a_password_can_be_a_credential_of_systemd() {
    let server = Server::start();
    run_all(&server, &["ACL SETUSER eyes on >secret ~* +@all"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("redis-password");
    let socket = as_user(&server, "");
    let url = format!("{socket}?user=eyes");
    let ends_well = |variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seckill-top"));
        command.args(["--redis", &url, "--once", "--readings", "1"]);
        command.env("CREDENTIALS_DIRECTORY", folder.path());
        command.env("SECKILL_REDIS_PASSWORD", variable);
        let output = command.output().expect("run seckill-top");
        let shown = text(&[output.stdout, output.stderr].concat());
        assert!(!shown.contains("secret"), "{shown}");
        output.status.success()
    };
    assert!(ends_well("secret") && !ends_well("wrong"));
    fs::write(&file, "\n").expect("a file");
    assert!(ends_well("secret") && !ends_well("wrong"));
    fs::write(&file, "secret\n").expect("a file");
    assert!(ends_well("wrong"));
    fs::write(&file, "wrong\n").expect("a file");
    assert!(!ends_well("secret"));
}

#[test]
fn without_the_module_the_keys_are_read() {
    let server = Server::with().without_module().start();
    run_all(
        &server,
        &[
            "SET seckill:stock:7 3",
            "SADD seckill:order:7 alice bob",
            "SET seckill:stock:8 many",
            "XADD stream.orders * userId alice voucherId 7 id 1",
        ],
    );
    let frame = frame(&server, &[]);
    assert_eq!(words(&frame, "7"), ["7", "3", "-", "-", "-", "2", "open"]);
    assert_eq!(words(&frame, "8"), ["8", "-", "-", "-", "-", "-", "ERR"]);
    assert_eq!(words(&frame, "stream.orders")[1], "1");
    assert!(frame.contains("INFO seckill is empty: the module is not loaded"), "{frame}");
}

#[test]
fn vouchers_and_streams_can_be_named_and_bounded() {
    let server = Server::start();
    for number in 10..30 {
        run_all(&server, &[&format!("SET seckill:stock:v{number} 1")]);
    }
    run_all(&server, &["XADD other * a b"]);
    let frame = frame(&server, &["--vouchers-max", "15"]);
    assert!(frame.contains("v24") && !frame.contains("v25"), "{frame}");
    assert!(frame.contains("and 5 more, see --vouchers-max"), "{frame}");
    let named = crate::program::frame(&server, &["--vouchers", "v29,no", "--streams", "other"]);
    assert_eq!(words(&named, "v29")[1], "1");
    assert_eq!(words(&named, "no").last().map(String::as_str), Some("NOVOUCHER"));
    assert!(named.contains("no voucher no: there is no key seckill:stock:no"), "{named}");
    assert_eq!(words(&named, "other")[1], "1");
    assert!(!named.contains("v10"), "{named}");
}

#[test]
fn of_too_many_vouchers_those_that_sell_are_watched() {
    let server = Server::start();
    for number in 10..30 {
        run_all(&server, &[&format!("SET seckill:stock:v{number} 1000000")]);
    }
    let is_over = AtomicBool::new(false);
    let frame = std::thread::scope(|scope| {
        scope.spawn(|| {
            for user in 0.. {
                let user = user.to_string();
                server.call(&["SECKILL.TRY", "v28", &user, &user]);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let several = ["--vouchers-max", "3", "--readings", "3", "--interval", "200ms"];
        let frame = frame(&server, &several);
        is_over.store(true, Ordering::Relaxed);
        frame
    });
    assert!(frame.contains("v28") && frame.contains("v11") && !frame.contains("v12"), "{frame}");
    assert!(frame.contains("and 17 more, see --vouchers-max"), "{frame}");
}

#[test]
fn what_can_not_be_done_is_told() {
    let server = Server::start();
    let missing = format!("redis+unix://{}", server.dir().join("nobody").display());
    for (options, code, words) in [
        (vec!["--redis", missing.as_str(), "--once"], 1, "no connection to "),
        (vec!["--redis", "http://x", "--once"], 2, "--redis must look like redis://127.0.0.1"),
        (vec!["--redis", "127.0.0.1:6379", "--once"], 2, "--redis must look like redis://127"),
        (vec!["--redis", &url(&server), "--insecure", "--once"], 2, "rediss://"),
        (vec!["--redis", &url(&server)], 1, "no terminal to draw in"),
    ] {
        let output = run(&options);
        assert_eq!(output.status.code(), Some(code), "{options:?}");
        let told = text(&output.stderr);
        assert!(told.starts_with("seckill-top: ") && told.contains(words), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    let all_refused = as_user(&server, "default:wrong@");
    run_all(&server, &["CONFIG SET requirepass right"]);
    let output = run(&["--redis", &all_refused, "--once"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("refused by the server at ") && told.contains("wrong name or password"),
        "{told}"
    );
    assert!(told.contains("--redis-password-file"), "{told}");
    let silent = run(&["--redis", &url(&server), "--once"]);
    let told = text(&silent.stderr);
    assert!(told.contains("NOAUTH") && told.contains("--redis-password-file"), "{told}");
}
