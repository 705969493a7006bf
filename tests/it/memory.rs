//! What the module remembers between commands, and which events end it: a test for each cell of
//! the table in ARCHITECTURE.md. Codes are those of the list below; `=` means that the event can't
//! make the memory wrong.
//!
//! | event | names | unmanaged | none due | whole | arrivals | holds | scan | lines |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | a key appears | = | K1 | K1 O25 | K1 M3 | A1 | K1 | N1 | K1 O9 |
//! | a sorted set changes | = | = | K2 O25 | = | = | K2 O8 | N1 | = |
//! | a key goes | = | K3 | K3 O25 | K3 M1 | A1 A2 | K3 O6 O7 | N1 | K3 O10 |
//! | a key expires | = | K4 | K4 | K4 | = | K4 O7 | N1 | K4 O11 |
//! | a key is evicted | = | K5 | K5 | K5 | = | K5 | N1 | O12 |
//! | FLUSHDB, FLUSHALL | = | D1 | D1 | D1 | A2 | D1 | N1 | D1 O10 |
//! | SWAPDB | = | D2 | D2 | = | A2 | D2 | F1 N1 | D2 F2 O10 |
//! | loading, one way or another | = | D3 D4 | D3 D4 | D3 | = | D3 D4 D5 O15 | N1 | D3 D4 |
//! | promoted | = | R1 D4 | R1 D4 | = | A2 | R1 R2 R3 | N1 N3 R3 | R1 |
//! | demoted | = | R1 | R1 | = | = | R1 | N3 | R1 |
//! | a naming setting changes | S1 S2 O19 | S1 | S1 | = | = | S3 S4 F4 | N1 N2 | S6 |
//! | another setting changes | S5 | S5 | S5 | = | = | S5 F4 | N1 | S5 |
//! | a slot leaves key by key | = | M1 M4 M6 | M1 M4 | M1 M2 M3 M4 M6 | = | M1 M5 O21 | N5 | O22 |
//! | a slot leaves whole | = | W3 | W3 | W3 | = | W1 W3 | = | W2 W3 |
//! | a move of a slot is broken off | = | = | = | = | = | W4 W5 | = | = |
//! | a slot arrives | = | M1 M4 W3 | M1 M4 W3 | M1 M3 M4 W3 | = | M1 W3 O21 | N5 | W3 |
//! | the clock is set back | = | C1 | C1 C2 | = | = | C1 C3 | = | C4 C5 |
//! | a load is undone | L2 | L2 | L2 | L2 | = | L2 | L2 | = |
//!
//! A try in a cluster that needs no `EXISTS` is in `cluster`. The scan uses no clock, and a
//! cluster has one database and no REPLICAOF.
//!
//! | code | test |
//! | --- | --- |
//! | K1 | `keys::a_key_that_appears_is_seen_by_the_very_next_try` |
//! | K2 | `keys::a_deadline_that_changes_is_seen_by_the_very_next_try` |
//! | K3 | `keys::a_key_that_goes_is_missed_by_the_very_next_try` |
//! | K4 | `keys::a_key_that_expires_is_missed_by_the_very_next_try` |
//! | K5 | `keys::a_key_that_is_evicted_is_missed_by_the_very_next_try` |
//! | D1 | `databases::a_flush_ends_all_that_was_known` |
//! | D2 | `databases::databases_that_change_places_take_what_is_known_along` |
//! | D3 | `databases::data_that_is_loaded_ends_all_that_was_known` |
//! | D4 | `databases::data_of_a_primary_ends_all_that_was_known` |
//! | D5 | `databases::data_that_is_loaded_beside_the_old_ends_what_was_known_of_the_old` |
//! | R1 | `roles::what_happens_between_a_demotion_and_a_promotion_is_seen` |
//! | R2 | `roles::a_promoted_replica_knows_the_holds_already` |
//! | R3 | `roles::a_replica_that_looked_for_holds_expires_them_when_promoted` |
//! | S1 | `settings::other_names_end_what_was_known_of_the_keys_before` |
//! | S2 | `settings::names_of_pools_end_with_the_setting` |
//! | S3 | `settings::holds_of_another_naming_are_looked_at_again` |
//! | S4 | `settings::a_hold_that_is_pending_expires_under_the_new_names` |
//! | S5 | `settings::any_other_setting_ends_nothing` |
//! | S6 | `settings::a_client_in_queue_gets_its_fencing_token_under_the_new_names` |
//! | M1 | `moves::a_slot_that_moves_key_by_key_is_seen_as_it_is` |
//! | M2 | `moves::a_move_that_is_broken_off_is_seen_as_it_is` |
//! | M3 | `moves::a_slot_that_is_lost_with_its_keys_is_forgotten` |
//! | M4 | `moves::random_moves_are_seen_as_they_are` |
//! | M5 | `moves::holds_of_a_slot_that_was_lost_are_not_tried_for_ever` |
//! | M6 | `moves::rules_that_are_made_at_the_target_are_not_passed_over_at_the_source` |
//! | W1 | `slots::holds_of_a_slot_that_left_whole_are_forgotten` |
//! | W2 | `slots::a_client_that_waits_for_a_lock_whose_slot_leaves_whole_is_answered_at_once` |
//! | W3 | `slots::a_slot_that_comes_back_whole_is_seen_as_it_is` |
//! | W4 | `slots::a_hold_expires_at_the_source_until_its_slot_is_handed_over` |
//! | W5 | `slots::a_hold_that_moves_at_the_second_attempt_expires_once` |
//! | C1 | `clock::nothing_that_was_known_by_the_old_clock_is_stale` |
//! | C2 | `clock::a_losing_try_does_not_trust_what_it_knew_by_the_old_clock` |
//! | C3 | `clock::holds_expire_in_time_by_the_new_clock` |
//! | C4 | `clock::lines_go_on_by_the_new_clock` |
//! | C5 | `clock::a_wait_does_not_outlast_its_bound_when_the_clock_is_set` |
//! | L2 | `loads::a_load_that_is_refused_at_its_end_leaves_nothing_behind` |
//! | A1 | `arriving::no_command_changes_a_sale_before_it_is_whole` |
//! | A2 | `arriving::a_sale_that_lacks_a_key_is_remembered_with_its_database` |
//! | N1 | `scan::nothing_that_happens_during_the_scan_hides_a_hold` |
//! | N2 | `scan::a_scan_under_other_names_overlooks_nothing` |
//! | N3 | `scan::a_scan_that_a_demotion_meets_goes_on` |
//! | N5 | `scan::holds_that_move_away_during_the_scan_expire_once` |
//! | F1 | `reported::databases_that_are_swapped_during_the_scan_lose_no_hold` |
//! | F2 | `reported::a_grant_that_is_lost_in_another_database_waits_where_it_was_asked_for` |
//! | F4 | `config::every_config_can_be_set_and_set_back` |
//! | O6 | `arriving::a_key_that_comes_is_not_waited_for_longer` |
//! | O7 | `survival::holds_whose_key_was_lost_still_end` |
//! | O8 | `holds_fixed::holds_that_others_wrote_are_lifted` |
//! | O9 | `locks_turns::what_comes_in_the_place_of_a_lock_is_the_lock` |
//! | O10 | `locks_wake::whatever_frees_a_lock_serves_the_next` |
//! | O11 | `locks_wake::the_end_of_a_lease_needs_no_search_for_expired_keys` |
//! | O12 | `locks_wake::eviction_serves_the_next` |
//! | O15 | `survival::holds_survive_a_reload_in_place` |
//! | O19 | `config_names::names_take_effect_at_once` |
//! | O21 | `managed_cluster::a_hold_that_falls_due_on_the_move_comes_back_once` |
//! | O22 | `locks_server::a_lock_that_moves_to_another_node_is_granted_by_neither` |
//! | O25 | `waiting::a_line_that_appears_is_seen_by_the_very_next_try` |

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

use std::fs;
use std::path::Path;

use crate::harness::{Server, module};
use redis::Value;

/// How often a command was called, including calls by the module.
pub fn calls(server: &Server, command: &str) -> i64 {
    let Some(stats) = server.info(&format!("cmdstat_{command}")) else { return 0 };
    let calls = stats.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.expect("calls come first").parse().expect("a number")
}

/// Loads the module into a running server.
pub fn load(server: &Server, args: &str) -> Value {
    server.run(&format!("MODULE LOAD {} {args}", module().display()))
}

/// Every cell of the table names tests, and these exist.
#[test]
fn the_table_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let rows = |head: &str| -> Vec<Vec<&str>> {
        let lines = include_str!("memory.rs").lines().skip_while(move |line| !line.contains(head));
        let rows = lines.take_while(|line| line.starts_with("//! |")).skip(2);
        rows.map(|row| {
            row["//! |".len()..].trim_end_matches('|').split('|').map(str::trim).collect()
        })
        .collect()
    };
    let codes = rows("| code | test |");
    for code in &codes {
        let (file, test) = code[1].trim_matches('`').split_once("::").expect("file::test");
        let here = folder.join("memory").join(file).with_extension("rs");
        let there = folder.join(file).with_extension("rs");
        let text = fs::read_to_string(here).or_else(|_| fs::read_to_string(there));
        let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("fn {test}()")), "{file} has no {test}");
    }
    let events = rows("| event | names |");
    let cells: Vec<&str> = events.iter().flat_map(|row| row[1..].iter().copied()).collect();
    assert_eq!(cells.len(), 18 * 8);
    for cell in &cells {
        let is_known = |word: &str| codes.iter().any(|code| code[0] == word);
        assert!(*cell == "=" || cell.split(' ').all(is_known), "{cell:?}");
    }
    for code in &codes {
        let is_used = cells.iter().any(|cell| cell.split(' ').any(|word| word == code[0]));
        assert!(is_used, "{} is in no cell", code[0]);
    }
}
