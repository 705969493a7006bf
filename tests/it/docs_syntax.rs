//! The syntax at the top of a command's page, from the arguments that COMMAND DOCS shows.

use crate::declared::{Argument, Declared};
use crate::harness::Server;

/// An argument as the syntax at the top of a page writes it.
fn written(argument: &Argument) -> String {
    let parts = || argument.parts.iter().map(written).collect::<Vec<_>>();
    let value = match &*argument.kind {
        "oneof" => parts().join("|"),
        "block" => parts().join(" "),
        "pure-token" => String::new(),
        _ => argument.name.clone(),
    };
    let words = argument.behind_token(&value);
    let words = if argument.is_multiple { format!("{words} [{words} ...]") } else { words };
    if argument.is_optional { format!("[{words}]") } else { words }
}

/// A syntax without the names of what follows a token: pages name the unit there.
fn shape(syntax: &str) -> String {
    let mut after_token = false;
    let words = syntax.split_whitespace().map(|word| {
        let name = word.trim_matches(['[', ']']);
        let is_value = after_token && !name.contains('|');
        let last = name.split('|').next_back().unwrap_or_default();
        after_token = last.bytes().all(|letter| letter.is_ascii_uppercase());
        if is_value { word.replace(name, "n") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_begin_with_the_syntax() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for Declared { name, arguments, .. } in Declared::all(&server) {
        let arguments = arguments.iter().map(written);
        let wanted = arguments.fold(name.to_uppercase(), |line, words| format!("{line} {words}"));
        let page = kit::pages::page(format!("docs/commands/{name}.md"));
        let line = page.lines().nth(2).and_then(|line| line.strip_prefix('`')?.strip_suffix('`'));
        let line = line.map(shape).unwrap_or_default();
        wrong.extend((line != shape(&wanted)).then(|| format!("{line}\n{}", shape(&wanted))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
