//! `seckill-shards` and `seckill-rush` as processes. Only this file here starts them.

use std::process::{Command, Output};

use rustix::process::Pid;

use crate::gallows::Gallows;
use crate::harness::wait_for;

/// A running program, killed when dropped.
pub struct Program(kit::program::Program);

impl Program {
    /// Starts `seckill-shards`, which is killed at this moment, if one is given: see `gallows`.
    pub fn shards(url: &str, words: &str, die_at: Option<u32>) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_seckill-shards"));
        let Some(moment) = die_at else { return Self::start(command, url, words) };
        let (gallows, url) = Gallows::before(url, moment);
        let program = Self::start(command, &url, words);
        gallows.wait_for(Pid::from_raw(program.0.id().cast_signed()).expect("a pid"));
        program
    }

    pub fn rush(url: &str, words: &str) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_seckill-rush")), url, words)
    }

    fn start(mut command: Command, url: &str, words: &str) -> Self {
        command.args(words.split(' ')).arg("--redis").arg(url).current_dir("/");
        Self(kit::program::Program::start(&mut command))
    }

    pub fn is_running(&mut self) -> bool {
        self.0.is_running()
    }

    /// Waits for its end.
    pub fn output(self) -> Output {
        self.0.output()
    }

    /// Waits for its end, which must be a success, and returns its output.
    pub fn printed(self) -> String {
        let output = self.output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), &output.stderr);
        assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(err));
        out.into_owned()
    }

    /// Waits for its end, which must be an error, and returns what it says.
    pub fn refused(self) -> String {
        let output = self.output();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    pub fn freeze(&self) {
        self.0.freeze();
    }

    pub fn thaw(&self) {
        self.0.thaw();
    }

    /// Sends INT, as Ctrl-C does, or TERM, once the program handles it: before that, the system
    /// would kill the program.
    pub fn ask_to_end(&self, signal: &str) {
        let number = if signal == "INT" { 2 } else { 15 };
        let ready = wait_for("a program to handle it", || self.handles(number).then_some(()));
        ready.unwrap_or_else(|late| panic!("{late}"));
        self.0.signal(signal);
    }

    /// Does the program handle a signal? If the system does not show that, assume it does.
    fn handles(&self, signal: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()));
        let handled = status.ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        });
        handled.is_none_or(|signals| signals >> (signal - 1) & 1 == 1)
    }
}
