//! The module on real servers, seen from outside: what its commands answer, write and leave alone.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `try`, `trykeys` | each command's contract, row by row |
//! | `arguments`, `spoiled` | refusals: wrong arguments, and keys that other clients spoiled |
//! | `mtry` | batches of tries |
//! | `carts`, `carts_written` | several articles in one order; what is written of it |
//! | `limits` | a lower limit per try |
//! | `mtry_differential` | random batches compared with the same tries in sequence |
//! | `deduct` | bare stocks: SECKILL.DEDUCT and SECKILL.RETURN |
//! | `prizes` | drawing prize codes and putting them back |
//! | `nextid`, `nextid_slots` | generated ids, and other generators on their keys |
//! | `nextid_pace` | no client can use up the ids of a day |
//! | `locks_acquire`, `locks_wake` | acquiring, renewing, and waiting in the queue |
//! | `locks_bounds` | how many clients may wait |
//! | `locks_turns` | locks handed over in time by an idle server; two waiters with one token |
//! | `locks_session`, `locks_session_server` | locks that a closed connection releases |
//! | `locks_server` | pauses, failovers, clusters |
//! | `managed`, `managed_odd` | managed vouchers: who buys; rules; odd keys |
//! | `managed_refused` | replicas that take writes; evictable sales |
//! | `shops` | a shop of each shape moves from its script to payments, and back |
//! | `adopt` | a stock that was SET becomes a managed voucher |
//! | `holds`, `holds_fixed` | confirm, cancel, extend, expiry; spoiled keys |
//! | `dropped` | vouchers dropped while orders are held; how entries name a voucher |
//! | `sale_ids` | late requests for an earlier sale; files of the previous version |
//! | `payments` | references of payments |
//! | `waiting`, `waiting_odd` | waiting lists; full streams and edited keys while orders wait |
//! | `reject` | rejected entries and their dead letters |
//! | `reject_cluster` | rejections in a cluster |
//! | `survival` | crashes, failovers, lost and restored keys |
//! | `arriving` | sales whose keys come one by one |
//! | `retries` | repeated answers, and WAIT after them |
//! | `status` | replies that describe managed sales |
//! | `audit_steps` | a book read in steps while it changes |
//! | `effects`, `managed_effects` | what each command writes for replicas, with its events |
//! | `replayed` | histories that replicas, files and copies repeat without the module |
//! | `context` | transactions, scripts, replicas, memory limits, blocked readers |
//! | `cuts` | files that end too early, at every byte |
//! | `events` | keyspace events and client-side caching |
//! | `leaks` | memory is released |
//! | `loading` | MODULE LOAD and UNLOAD |
//! | `config`, `config_names`, `cluster`, `managed_cluster` | names and modes, hash tags, slots |
//! | `cluster_databases` | several databases in a cluster |
//! | `slots_move` | commands while their slot moves |
//! | `memory` | what the module remembers between commands, and each event that may end it |
//! | `docs_tables`, `docs_syntax` | tables and syntax in the pages, from the server's answers |
//! | `metadata`, `docs` | COMMAND INFO, DOCS, GETKEYS, INFO, redis.conf, pages |
//! | `server_settings` | io-threads, import-mode, renamed commands, redirected clients |
//! | `shipped`, `rewritten` | redis.conf, compose.yaml, scripts; and after CONFIG REWRITE |
//! | `pages` | statements of pages that no session shows: sizes, TLS, a restore |
//! | `users` | what the users of SECURITY.md can do |
//! | `security` | every command by name, category and key; SECURITY.md |
//! | `differential` | random histories against the reference scripts |
//! | `measured_scripts` | the scripts with which the benchmark compares commands |
//! | `scripts`, `scripts_seen`, `scripts_busy` | scripts that commands replace; under load |
//! | `foreign_stock` | stocks of managed vouchers that other clients write |
//! | `functions` | the library of functions against the module |
//! | `own_names` | streams with equal names, and locks named like keys of a sale |
//! | `bounds` | how long arguments of clients may be |
//! | `hostile`, `concurrency` | random bytes; many clients at once |
//!
//! Each test starts its own server. `Server::silent` and `Server::refused` check that a command
//! leaves no trace, which is half of this module's promise: prefer them to comparing replies.

use kit::{
    aof, commands, declared, faketime, harness, locks_queue, observe, slots, transcript,
    whole_slots, written,
};

mod adopt;
mod arguments;
mod arriving;
mod audit_steps;
mod bounds;
mod carts;
mod carts_written;
mod cluster;
mod cluster_databases;
mod concurrency;
mod config;
mod config_names;
mod context;
mod cuts;
mod deduct;
mod differential;
mod docs;
mod docs_syntax;
mod docs_tables;
mod dropped;
mod effects;
mod events;
mod foreign_stock;
mod functions;
mod holds;
mod holds_fixed;
mod hostile;
mod leaks;
mod limits;
mod loading;
mod locks_acquire;
mod locks_bounds;
mod locks_places;
mod locks_server;
mod locks_session;
mod locks_session_server;
mod locks_turns;
mod locks_wake;
mod managed;
mod managed_cluster;
mod managed_effects;
mod managed_odd;
mod managed_refused;
mod measured_scripts;
mod memory;
mod metadata;
mod mtry;
mod mtry_differential;
mod nextid;
mod nextid_pace;
mod nextid_slots;
mod outside;
mod own_names;
mod pages;
mod payments;
mod prizes;
mod reject;
mod reject_cluster;
mod replayed;
mod retries;
mod rewritten;
mod sale_ids;
mod scripts;
mod scripts_busy;
mod scripts_primary;
mod scripts_seen;
mod security;
mod server_settings;
mod shipped;
mod shops;
mod slots_move;
mod spoiled;
mod status;
mod survival;
mod r#try;
mod trykeys;
mod users;
mod users_load;
mod waiting;
mod waiting_odd;
mod words;
