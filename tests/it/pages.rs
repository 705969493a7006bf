//! Statements of pages that no session shows: bytes per command, TLS, a restore.

use std::process::Command;

use crate::aof::Argv;
use crate::harness::{Port, Server};
use crate::observe::integer;
use kit::pages::page;

const TRIES: usize = 100;

/// The first block of this kind below a heading.
fn block<'a>(page: &'a str, heading: &str, kind: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let (_, rest) = rest.split_once(&format!("\n```{kind}\n")).expect("the block");
    rest.split_once("```").expect("its end").0
}

/// The number in the row of a table that starts with this text.
fn figure(page: &str, row: &str) -> usize {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {row} |")));
    let cell = row.and_then(|rest| rest.split('|').next()).expect("the row");
    cell.trim().parse().expect("a number")
}

/// The number of bytes of commands in the append-only file.
fn bytes(commands: &[Argv]) -> usize {
    let head = |number: usize| number.to_string().len() + 3;
    let arg = |arg: &Vec<u8>| head(arg.len()) + arg.len() + 2;
    let command = |argv: &Argv| head(argv.len()) + argv.iter().map(arg).sum::<usize>();
    commands.iter().map(command).sum()
}

/// Sends the command for users of ten bytes and order ids of 18.
fn each(server: &Server, command: &str, wanted: i64) {
    for number in 0..TRIES {
        let (user, order) = (format!("user{number:06}"), format!("1795344856{number:08}"));
        assert_eq!(integer(&server.call(&[command, "7", &user, &order])), wanted);
    }
}

#[test]
fn sizing_tells_the_bytes_of_an_order() {
    let page = page("docs/sizing.md");
    let compare = |row: &str, commands: &[Argv]| {
        let (shown, found) = (figure(&page, row), bytes(commands) / TRIES);
        assert!(shown.abs_diff(found) <= 2, "{row}: {shown} on the page, {found} in the file");
    };
    for (row, open) in [
        ("accepted, unmanaged", "SET seckill:stock:7 100"),
        ("accepted, managed, sold at once", "SECKILL.CREATE 7 100"),
        ("accepted, managed, held", "SECKILL.CREATE 7 100 HOLD 900000"),
    ] {
        let server = Server::with().aof().start();
        server.run(open);
        compare(row, &server.aof_of(|| each(&server, "SECKILL.TRY", 0)));
        if row.ends_with("held") {
            compare("confirmed", &server.aof_of(|| each(&server, "SECKILL.CONFIRM", 1)));
        }
    }
}

#[test]
fn sizing_tells_the_bytes_of_a_try() {
    let server = Server::start();
    server.run("SET seckill:stock:7 0");
    let asked = "*2\r\n$4\r\nINFO\r\n$10\r\neverything\r\n".len();
    let before = server.info_number("total_net_input_bytes");
    each(&server, "SECKILL.TRY", 1);
    let sent = server.info_number("total_net_input_bytes") - before;
    let sent = usize::try_from(sent).expect("bytes were sent") - asked;
    let wanted = format!("has {} bytes and its reply {},", sent / TRIES, ":1\r\n".len());
    assert!(page("docs/sizing.md").contains(&wanted), "{wanted}");
}

/// The certificates and the lines of redis.conf as shown on the page.
#[test]
fn tls_works_as_its_page_says() {
    let page = page("docs/tls.md");
    let dir = tempfile::tempdir().expect("a folder");
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("LEFT OUT: there is no openssl");
        return;
    }
    let script = block(&page, "Certificates for a test", "sh");
    let made = Command::new("bash").args(["-ec", script]).current_dir(dir.path()).output();
    let made = made.expect("run bash");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let port = Port::free();
    let mut builder = Server::with();
    for line in block(&page, "The server", "text").lines() {
        let line = line.replace("/etc/redis/tls", &dir.path().display().to_string());
        if line == "tls-port 6379" {
            builder = builder.config(format!("tls-port {}", port.number));
        } else if line.starts_with("tls-") {
            builder = builder.config(line);
        }
    }
    let server = match builder.try_start() {
        Ok(server) => server,
        // Some builds have no TLS.
        Err(log) if ["Bad directive", "finding TLS support"].iter().any(|it| log.contains(it)) => {
            return eprintln!("LEFT OUT: this server has no TLS");
        }
        Err(log) => panic!("{log}"),
    };
    server.run("SET seckill:stock:7 1");
    let number = port.number.to_string();
    let cli = |options: &str| {
        let options = ["-h 127.0.0.1 -p", &number, options, "SECKILL.TRY 7 alice 1001"].join(" ");
        let mut program = Command::new("redis-cli");
        program.args(options.split(' ')).current_dir(dir.path());
        let output = program.output().expect("run redis-cli");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_ne!(cli("--tls --cacert ca.crt"), "0", "no certificate was asked for");
    assert_ne!(cli("--tls --cert client.crt --key client.key"), "0", "any authority is trusted");
    let line = page.lines().find(|line| line.starts_with("redis-cli --tls")).expect("the line");
    let options = line.trim_start_matches("redis-cli ").replace(" -h localhost", "");
    assert_eq!(cli(&options), "0");
}

/// docs/backup.md: a hold becomes due after the backup was made, and an order is placed after it.
#[test]
fn a_restored_sale_is_sound_and_knows_no_later_order() {
    let server = Server::start();
    server.check(
        "
        > SECKILL.CREATE 7 5 HOLD 1000 => OK
        > SECKILL.TRY 7 alice 1001 => 0
        > SECKILL.CREATE 8 5 => OK
        > SECKILL.TRY 8 bob 2001 => 0
        > SAVE => OK
        > SECKILL.TRY 8 carol 2002 => 0
        ",
    );
    server.wait_for_state("7", "1001", "expired");
    let restored = Server::with().data_of(&server).start();
    restored.wait_for_state("7", "1001", "expired");
    restored.assert_book("7", [5, 0, 0]);
    restored.assert_book("8", [4, 0, 1]);
    restored.check(
        "
        > SECKILL.ORDER 8 2002 => (nil)
        > SECKILL.TRY 8 carol 2003 => 0
        > SECKILL.RESTOCK 8 -1 => 2
        ",
    );
    for voucher in ["7", "8"] {
        assert_eq!(restored.differences(voucher), Vec::<String>::new());
    }
}
