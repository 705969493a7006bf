//! The module on real servers, seen from outside: what its commands answer, write and leave alone.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `harness` | starts and ends servers; the only file that does |
//! | `faketime` | servers whose clock is set while they run |
//! | `ports` | the harness itself: ports, and whose server answers |
//! | `transcript` | sessions as redis-cli shows them, run and compared |
//! | `observe`, `aof` | what others see: keys, events, WATCH, invalidations, the append-only file |
//! | `try`, `refusals`, `trykeys`, `lock` | each command's contract, row by row |
//! | `mtry`, `mtry_effects` | batches of tries, and what they write |
//! | `mtry_differential` | random batches against the same tries one after the other |
//! | `deduct` | bare stocks: SECKILL.DEDUCT and SECKILL.RESTORE |
//! | `prizes`, `prizes_context` | drawing prize codes and putting them back |
//! | `prizes_effects` | what draws write, random histories of them, random bytes |
//! | `nextid`, `nextid_slots` | generated ids, and who else counts on their keys |
//! | `nextid_pace` | nobody uses up the ids of a day |
//! | `whole_slots` | moves slots whole, on servers that can |
//! | `other_writers` | nothing remembered between tries hides what others did |
//! | `repeats` | repeat buyers, and what others do to the buyers meanwhile |
//! | `locks_line`, `locks_acquire`, `locks_wake` | acquiring, renewing, and waiting in line |
//! | `locks_bounds` | how many clients may wait |
//! | `locks_turns` | handed over in time by a server at rest; two with one token |
//! | `locks_session`, `locks_session_server` | locks that a closed connection releases |
//! | `locks_server`, `locks_histories` | pauses, failovers, clusters; many clients and a model |
//! | `managed`, `managed_odd`, `managed_terms` | managed vouchers: who buys; odd keys; rules |
//! | `managed_refused` | moments in seconds, replicas that take writes; evictable sales |
//! | `adopt` | a stock that was SET becomes a managed voucher |
//! | `holds`, `holds_mended` | confirm, cancel, expiry; spoiled keys |
//! | `dropped` | vouchers dropped while orders are held; how entries name a voucher |
//! | `extend` | more time for a held order |
//! | `sale_ids` | what is late from an earlier sale of a voucher; files of the version before |
//! | `payments` | references of payments |
//! | `confirmed`, `confirmed_rejected` | the stream of confirmed orders; its entries rejected |
//! | `reject`, `reject_odd` | rejected entries and their dead letters; odd entries and keys |
//! | `reject_effects`, `reject_cluster` | the same, as their namesakes |
//! | `survival`, `rules_appear` | crashes, failovers, keys that go and come; rules that appear |
//! | `retries` | answers that are given again, and WAIT behind them |
//! | `status` | what managed sales say of themselves |
//! | `audit_steps` | a book read in steps while it changes |
//! | `managed_effects`, `managed_history`, `managed_hostile` | as their namesakes, when managed |
//! | `effects` | what is written for replicas and files, and read without the module |
//! | `context` | transactions, scripts, replicas, memory limits, blocked readers, databases |
//! | `cuts` | files that end too early, at every byte |
//! | `events` | keyspace events and client-side caching |
//! | `leaks` | memory comes back |
//! | `loading` | MODULE LOAD and UNLOAD |
//! | `config`, `config_names`, `cluster`, `managed_cluster` | names and modes, hash tags, slots |
//! | `memory` | what the module remembers between commands, and each event that may end it |
//! | `docs_tables` | tables of the documentation, written from what the server says |
//! | `metadata`, `acl`, `docs` | COMMAND INFO, DOCS, GETKEYS, INFO, ACL, redis.conf, pages |
//! | `shipped` | redis.conf, compose.yaml, scripts |
//! | `pages` | what pages say that no session shows: sizes, TLS, a restore |
//! | `users` | what the users of SECURITY.md can do |
//! | `security` | every command by name, category and key; SECURITY.md |
//! | `differential` | random histories against the reference scripts |
//! | `measured_scripts` | the scripts that the benchmark measures commands against |
//! | `scripts`, `scripts_seen`, `scripts_busy` | scripts that commands answer; others' view; load |
//! | `library`, `functions` | the library of functions in place of the module, and beside it |
//! | `own_names` | streams that would be one, and locks that are keys of a sale |
//! | `bounds` | how long what clients send may be |
//! | `hostile`, `concurrency` | random bytes; many clients at once |
//!
//! A test takes a server of its own. `Server::silent` and `Server::refused` check that a command
//! leaves no trace, which is half of this module's promise: prefer them to comparing replies.

mod acl;
mod adopt;
mod aof;
mod audit_steps;
mod bounds;
mod cluster;
mod concurrency;
mod config;
mod config_names;
mod confirmed;
mod confirmed_rejected;
mod context;
mod cuts;
mod deduct;
mod differential;
mod docs;
mod docs_tables;
mod dropped;
mod effects;
mod events;
mod extend;
mod faketime;
mod functions;
mod harness;
mod holds;
mod holds_mended;
mod hostile;
mod leaks;
mod loading;
mod lock;
mod locks_acquire;
mod locks_bounds;
mod locks_histories;
mod locks_line;
mod locks_server;
mod locks_session;
mod locks_session_server;
mod locks_turns;
mod locks_wake;
mod managed;
mod managed_cluster;
mod managed_effects;
mod managed_history;
mod managed_hostile;
mod managed_odd;
mod managed_refused;
mod managed_terms;
mod measured_scripts;
mod memory;
mod metadata;
mod mtry;
mod mtry_differential;
mod mtry_effects;
mod nextid;
mod nextid_pace;
mod nextid_slots;
mod observe;
mod other_writers;
mod own_names;
mod pages;
mod payments;
mod ports;
mod prizes;
mod prizes_context;
mod prizes_effects;
mod refusals;
mod reject;
mod reject_cluster;
mod reject_effects;
mod reject_odd;
mod repeats;
mod retries;
mod rules_appear;
mod sale_ids;
mod sales;
mod scripts;
mod scripts_busy;
mod scripts_seen;
mod security;
mod shipped;
mod status;
mod survival;
mod transcript;
mod r#try;
mod trykeys;
mod users;
mod whole_slots;
