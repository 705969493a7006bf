//! What the module remembers between commands, and what may end it.

mod clock;
mod cluster;
mod databases;
mod keys;
mod loads;
mod moves;
mod moving;
mod primed;
mod reported;
mod roles;
mod scan;
mod settings;
mod slots;

use crate::harness::{Server, module, text};
use redis::Value;

/// How often a command was called, by the module too.
pub fn calls(server: &Server, command: &str) -> i64 {
    let Some(stats) = server.info(&format!("cmdstat_{command}")) else { return 0 };
    let calls = stats.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.expect("calls come first").parse().expect("a number")
}

/// Loads the module into a running server.
pub fn load(server: &Server, args: &str) -> Value {
    server.run(&format!("MODULE LOAD {} {args}", module().display()))
}

/// Does the server know this subcommand? Prints what is left out where it does not.
pub fn knows(server: &Server, probe: &str) -> bool {
    let reply = server.run(probe);
    let is_known = !matches!(reply, Value::ServerError(_));
    if !is_known {
        println!("left out: this server has no {probe}: {}", text(&reply));
    }
    is_known
}
