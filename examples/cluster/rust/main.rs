//! probe PORT default|once WORD...: one command by redis-rs' cluster client.
use redis::cluster::ClusterClientBuilder;
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let builder = ClusterClientBuilder::new([format!("redis://127.0.0.1:{}", words[0])])
        .response_timeout(Duration::from_millis(300));
    let builder = if words[1] == "once" { builder.retries(0) } else { builder };
    let client = builder.build().expect("a cluster");
    let mut connection = client.get_connection().expect("its nodes");
    let mut command = redis::cmd(&words[2]);
    for word in &words[3..] {
        command.arg(word);
    }
    match command.query::<redis::Value>(&mut connection) {
        Ok(reply) => println!("reply {reply:?}"),
        Err(error) => println!("error {error}"),
    }
    let stay = std::env::var("STAY").ok().and_then(|stay| stay.parse().ok()).unwrap_or(0.0);
    std::thread::sleep(Duration::from_secs_f64(stay));
}
