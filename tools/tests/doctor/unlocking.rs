//! Scripts that release locks: the findings, and the replacements.

use crate::doctor::{examine, examine_with};

const ONE_LINE: &str = "return redis.call('LOCK.RELEASE', KEYS[1], ARGV[1])";

#[test]
fn the_usual_script_is_replaced_by_one_line() {
    let examined = examine("unlock");
    examined.is_drop_in();
    assert_eq!(examined.replacement(), ONE_LINE);
    assert_eq!(examined.weak(), Vec::<String>::new());
    assert_eq!(examined.json["command"], "LOCK.RELEASE lock token");
    let note = examined.json["cures"][0]["notes"][0].as_str().expect("a note");
    assert!(
        note.contains("DELEX lock IFEQ token") && note.contains("DELIFEQ lock token"),
        "{note}"
    );
}

#[test]
fn a_renewal_is_replaced_by_one_line() {
    let examined = examine("renew_lock");
    examined.is_drop_in();
    let line = "return redis.call('LOCK.RENEW', KEYS[1], ARGV[1], ARGV[2])";
    assert_eq!(examined.replacement(), line);
    assert_eq!(examined.json["command"], "LOCK.RENEW lock token lease-ms");
}

#[test]
fn deleting_what_is_anothers_is_found() {
    // Only `--kind` shows that this is a lock.
    let examined = examine("unlock_blind");
    assert_eq!((examined.json["verdict"].as_str(), examined.exit), (Some("helper"), 0));
    let examined = examine_with("unlock_blind", &["--kind", "unlock"]);
    examined.is_broken(&["no-token"]);
    let examined = examine("unlock_any_token");
    examined.is_broken(&["deletes-others"]);
    assert_eq!(examined.replacement(), ONE_LINE);
    assert!(examined.scenarios("differs").contains(&"a lock of another".to_owned()));
}

#[test]
fn a_lock_that_is_never_released_is_found() {
    let examined = examine("unlock_never");
    examined.is_broken(&["never-releases"]);
    assert_eq!(examined.replacement(), ONE_LINE);
}

#[test]
fn swapped_keys_and_arguments_are_kept_and_told() {
    let examined = examine("unlock_swapped");
    examined.is_drop_in();
    assert_eq!(examined.weak(), ["swapped"]);
    assert_eq!(examined.replacement(), "return redis.call('LOCK.RELEASE', ARGV[1], KEYS[1])");
}

#[test]
fn a_reply_of_nothing_is_kept() {
    let examined = examine("unlock_nil");
    examined.is_drop_in();
    assert_eq!(
        examined.replacement(),
        "if redis.call('LOCK.RELEASE', KEYS[1], ARGV[1]) == 1 then return 1 end return false"
    );
}

#[test]
fn a_script_that_says_nothing_stays_silent() {
    let examined = examine("unlock_silent");
    examined.is_drop_in();
    assert_eq!(examined.replacement(), "redis.call('LOCK.RELEASE', KEYS[1], ARGV[1]) return false");
}
