//! `seckill-shards` and `seckill-rush` as processes. Only this file here starts them.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::gallows::Gallows;
use crate::harness::wait_for;

/// A running program, killed when dropped.
pub struct Program(Option<Child>);

impl Program {
    /// Starts `seckill-shards`, which is killed at this moment, if one is given: see `gallows`.
    pub fn shards(url: &str, words: &str, die_at: Option<u32>) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_seckill-shards"));
        let Some(moment) = die_at else { return Self::start(command, url, words) };
        let (gallows, url) = Gallows::before(url, moment);
        let program = Self::start(command, &url, words);
        gallows.wait_for(program.pid());
        program
    }

    pub fn rush(url: &str, words: &str) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_seckill-rush")), url, words)
    }

    fn start(mut command: Command, url: &str, words: &str) -> Self {
        command.args(words.split(' ')).arg("--redis").arg(url).current_dir(Path::new("/"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().expect("run the program")))
    }

    pub fn is_running(&mut self) -> bool {
        self.0.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Waits for its end.
    pub fn output(mut self) -> Output {
        let child = self.0.take().expect("it was started");
        child.wait_with_output().expect("its output")
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

    fn signal(&self, signal: Signal) {
        // It may have ended on its own just now.
        let _ = kill_process(self.pid(), signal);
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.id()).expect("a pid")
    }

    fn id(&self) -> i32 {
        let id = self.0.as_ref().map(Child::id).and_then(|id| i32::try_from(id).ok());
        id.expect("it was started")
    }

    /// Does the program handle a signal? If the system does not show that, assume it does.
    fn handles(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let handled = status.ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            u64::from_str_radix(line.trim(), 16).ok()
        });
        handled.is_none_or(|signals| signals >> (signal.as_raw() - 1) & 1 == 1)
    }

    /// Stops the process until it is thawed.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends Ctrl-C once the program handles it: before that, the system would kill the program.
    pub fn interrupt(&self) {
        self.ask_to_end(Signal::INT);
    }

    /// Sends SIGTERM once the program handles it.
    pub fn terminate(&self) {
        self.ask_to_end(Signal::TERM);
    }

    fn ask_to_end(&self, signal: Signal) {
        let ready = wait_for("a program to handle it", || self.handles(signal).then_some(()));
        ready.unwrap_or_else(|late| panic!("{late}"));
        self.signal(signal);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // An error means that the program is dead already, which is enough here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
