//! The dashboard in a terminal.

use crate::harness::Server;
use crate::program::{Dashboard, url};

#[test]
fn it_draws_outlives_the_server_and_ends_on_a_key() {
    let mut server = Server::with().aof().start();
    server.call(&["SECKILL.CREATE", "phone", "50"]);
    let mut top = Dashboard::start(&["--redis", &url(&server), "--interval", "100ms"]);
    top.wait_for_line("phone");
    server.call(&["SECKILL.TRY", "phone", "alice", "a1"]);
    top.wait_for_line("      49       0       1     50       1  open");

    server.kill9();
    top.wait_for_line("trying again: ");
    server.start_again();
    top.wait_for_line("q quits");
    server.call(&["SECKILL.TRY", "phone", "bob", "b1"]);
    top.wait_for_line("      48       0       2     50       2  open");

    top.press("q");
    assert_eq!(top.ended().code(), Some(0));
    // The terminal is restored: the other screen, with a cursor.
    assert!(top.written().contains("\x1b[?1049l"));
}

#[test]
fn it_waits_for_a_server_and_scrolls() {
    let mut server = Server::with().aof().start();
    for number in 0..40 {
        server.call(&["SET", &format!("seckill:stock:v{number:02}"), "1"]);
        let group = format!("g{number:02}");
        server.call(&["XGROUP", "CREATE", "stream.orders", &group, "$", "MKSTREAM"]);
    }
    server.kill9();
    let mut top = Dashboard::start(&["--redis", &url(&server), "--interval", "100ms"]);
    top.wait_for_line("no connection to ");
    server.start_again();
    top.wait_for_line("v00");
    top.press("\x1b[F");
    top.wait_for_line("v39");
    top.press("\t\x1b[F");
    top.wait_for_line("g39");
    top.wait_for_line(" of 40 ");
    top.wait_for_line("v39");
    top.press("\x03");
    assert_eq!(top.ended().code(), Some(0));
}
