//! Scripts in the strings of other languages: the bytes that a program sends, and files that exist.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::doctor::{doctor, run};

const UNLOCK: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then\n    return redis.call('del', \
    KEYS[1])\nend\nreturn 0 -- \"mine\"\n";

const BLOCK: &str = "
        if redis.call('get', KEYS[1]) == ARGV[1] then
            return redis.call('del', KEYS[1])   \n        end
        return 0 -- \"mine\"
        ";

/// The sha1s and verdicts of the scripts that are found in these files.
fn found(dir: &Path, options: &[&str]) -> Vec<(String, String, String)> {
    let output = run(doctor().args(["--json", "--from-java"]).args(options).arg(dir));
    let said = String::from_utf8(output.stdout).expect("text");
    let text = |said: &Value, name: &str| said[name].as_str().expect("a text").to_owned();
    let said = said.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    said.map(|said| (text(&said, "file"), text(&said, "sha1"), text(&said, "verdict"))).collect()
}

#[test]
fn every_language_sends_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a folder");
    let block = BLOCK.replace("   \n", "\n");
    let escaped = UNLOCK.replace('"', "\\\"").replace('\n', "\\n");
    let halves = escaped.split_at(20);
    for (name, text) in [
        ("a.lua", UNLOCK.to_owned()),
        // The space before a line's end goes, and the indentation of all lines.
        ("B.java", format!("class B {{ String s = \"\"\"{BLOCK}\"\"\"; char c = '\"'; }}")),
        ("C.java", format!("class C {{ String s = \"{}\" +\n  \"{}\"; }}", halves.0, halves.1)),
        ("d.kt", format!("val s = \"\"\"{block}\"\"\".trimIndent() + \"\\n\"")),
    ] {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    let found = found(dir.path(), &[]);
    assert_eq!(found.len(), 4, "{found:#?}");
    let plain = found.iter().find(|(file, ..)| file == "a.lua").expect("the script");
    for (file, sha1, verdict) in &found {
        assert_eq!((sha1, verdict.as_str()), (&plain.1, "replaceable"), "{file}");
    }
}

#[test]
fn values_that_are_known_at_run_time_are_said() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("a.kt", "val s = \"redis.call('del', '$key')\""),
        ("g.java", "class G { String s = \"redis.call('del', '\" + key + \"')\"; }"),
        ("h.java", "class H { String s = \"redis.call('del', '\\u0041')\"; }"),
        ("f.java", "class F { String s = \"redis.call('del', '%s')\".formatted(key); }"),
        // Lines of a script, each a text of its own.
        (
            "i.java",
            "class I { { b.append(\"if go then \"); b.append(\"redis.call('del', 'k') \"); } }",
        ),
        ("j.java", "class J { String s = join(\"if go then \", \"redis.call('del', 'k') \"); }"),
    ] {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    let output = run(doctor().args(["--json", "--from-java"]).arg(dir.path()));
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(said.matches("joins values").count(), 6, "{said}");
}

#[test]
fn sessions_and_questions_name_files_that_exist() {
    let dir = tempfile::tempdir().expect("a folder");
    let code = dir.path().join("the shop");
    fs::create_dir(&code).expect("a folder");
    fs::create_dir(dir.path().join("copies")).expect("a folder");
    let sells = "local s = tonumber(redis.call('get', KEYS[1])) if s > 0 then \
        redis.call('decrby', KEYS[1], ARGV[1]) return 1 end return 0";
    let java = format!(
        "class A {{ String sells = \"{sells}\";\n String notes = \"redis.call('SET', KEYS[1], \
         ARGV[1]) redis.call('RPUSH', KEYS[2], ARGV[2])\"; }}"
    );
    fs::write(code.join("Sell.java"), java).expect("a class");
    fs::write(code.join("sells.lua"), sells).expect("a script");
    let doctor = || {
        let mut doctor = doctor();
        doctor.env("TMPDIR", dir.path().join("copies")).current_dir(dir.path());
        doctor
    };
    let output = run(doctor().args(["--from-java", "the shop"]));
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("$(cat 'the shop/sells.lua')"), "{said}");
    // A shell reads the files: each is the script that was examined.
    let copies = said.lines().filter_map(|line| line.split("$(cat ").nth(1)?.split(')').next());
    for file in copies {
        let cat = format!("cat {file}");
        let text = std::process::Command::new("sh")
            .args(["-c", &cat])
            .current_dir(dir.path())
            .output()
            .expect("a shell");
        assert_eq!(String::from_utf8(text.stdout).expect("text"), sells, "{file}");
    }
    let ask = said.lines().find(|line| line.contains("seckill-doctor --call")).expect("a question");
    let file = ask.rsplit(' ').next().expect("a path");
    assert!(fs::read_to_string(file).expect("the copy").contains("RPUSH"), "{ask}");
    // A call is for the script that it fits.
    let call = "EVALSHA {sha} 2 {voucher} q {user} {user}";
    let json = |args: &[&str]| {
        let output = run(doctor().args(["--json", "--from-java"]).args(args));
        String::from_utf8(output.stdout).expect("text")
    };
    let one = json(&["--call", call, "the shop/Sell.java"]);
    assert!(one.lines().count() == 1 && one.contains("Sell.java:2"), "{one}");
    let none =
        run(doctor().args(["--from-java", "--call", "EVALSHA {sha} 5 a b c d e", "the shop"]));
    assert_eq!(none.status.code(), Some(2));
}
