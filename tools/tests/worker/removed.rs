//! Consumers that are removed from their group since they were silent for long, and read at that
//! very moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use redis::Value;

use crate::databases::Database;
use crate::harness::{Client, Server};
use crate::shop::{GROUP, Shop};

/// Forwards connections to a server, and does something before it forwards bytes of a client.
pub fn proxy(port: u16, before: impl Fn(&[u8]) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let ours = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).expect("connect");
            let [mut from, mut to] = [&client, &server].map(|end| end.try_clone().expect("both"));
            let before = before.clone();
            thread::spawn(move || {
                let mut bytes = [0; 64 * 1024];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    before(&bytes[..count]);
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
            thread::spawn(move || std::io::copy(&mut &server, &mut &client));
        }
    });
    ours
}

#[test]
fn what_a_removed_consumer_reads_or_takes_over_is_delivered() {
    let shop =
        Shop::on(Server::with().port().start(), Database::sqlite(), &[""]).selling("phone 1000");
    let stream = "stream.orders";
    shop.run(&format!("XGROUP CREATE {stream} {GROUP} 0 MKSTREAM"));
    shop.run(&format!("XGROUP CREATECONSUMER {stream} {GROUP} sleeper"));
    let state = Arc::new(Mutex::new((shop.server.client(), 0, false)));
    let (awake, before) = (Arc::clone(&state), move |bytes: &[u8]| {
        let has = |word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
        let (client, orders, is_removed) = &mut *state.lock().expect("nobody panicked");
        let mut buy_and_read = |client: &mut Client, consumer: &str| {
            *orders += 1;
            let order = orders.to_string();
            assert_eq!(client.call(&["SECKILL.TRY", "phone", &order, &order]), Value::Int(0));
            let read = ["XREADGROUP", "GROUP", GROUP, consumer, "STREAMS", stream, ">"];
            client.call(&read);
        };
        if has("CONSUMERS") && !*is_removed {
            // An entry that another consumer has, from before the look at the sleeper.
            buy_and_read(client, "other");
        } else if has("DELCONSUMER") && !*is_removed && has("sleeper") {
            *is_removed = true;
            buy_and_read(client, "sleeper");
            client.call(&["XAUTOCLAIM", stream, GROUP, "sleeper", "0", "0"]);
        }
    });
    let ours = proxy(shop.server.port(), before);
    let options = ["--claim-after", "200ms"];
    let mut worker = shop.worker_at(&format!("redis://127.0.0.1:{ours}/"), &options);
    worker.wait("the sleeper to be removed", || awake.lock().expect("nobody panicked").2);
    worker.wait("a row of each order", || {
        shop.row_count() as i64 == shop.count(&format!("XLEN {stream}"))
    });
    shop.wait_until_drained(&mut worker);
    assert!(worker.terminate().success(), "{}", worker.log());
}
