//! `seckill-shards` and `seckill-rush` as processes. The only file here that starts them.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A program that runs, killed when dropped.
pub struct Program(Option<Child>);

impl Program {
    /// Starts `seckill-shards`; it ends itself at this moment of its work, if at any.
    pub fn shards(url: &str, words: &str, die_at: Option<u32>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seckill-shards"));
        if let Some(moment) = die_at {
            command.env("SECKILL_SHARDS_DIE_AT", moment.to_string());
        }
        Self::start(command, url, words)
    }

    pub fn rush(url: &str, words: &str) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_seckill-rush")), url, words)
    }

    fn start(mut command: Command, url: &str, words: &str) -> Self {
        command.args(words.split(' ')).arg("--url").arg(url).current_dir(Path::new("/"));
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

    /// Waits for its end, which must be a good one, and gives what it printed.
    pub fn printed(self) -> String {
        let output = self.output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), &output.stderr);
        assert!(output.status.success(), "{out}\n{}", String::from_utf8_lossy(err));
        out.into_owned()
    }

    fn signal(&self, signal: Signal) {
        let id = self.0.as_ref().map(Child::id).and_then(|id| i32::try_from(id).ok());
        let pid = id.and_then(Pid::from_raw).expect("a pid");
        // It may have ended by itself just now.
        let _ = kill_process(pid, signal);
    }

    /// Stops it in its tracks.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Errors mean that it is dead already, which is all that is wanted here.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
