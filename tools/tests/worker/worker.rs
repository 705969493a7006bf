//! `seckill-worker` as a process: started, killed, asked to end, asked for its summary.

use std::io::Write as _;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kit::program::Program;
use serde_json::Value;

use crate::harness::wait_for;

pub const WORKER: &str = env!("CARGO_BIN_EXE_seckill-worker");
pub const SHARDS: &str = env!("CARGO_BIN_EXE_seckill-shards");

/// Waits until something is true.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    wait_for(what, || is_true().then_some(())).unwrap_or_else(|late| panic!("{late}"));
}

/// Starts a command of the worker that asks something.
pub fn asking(args: impl Iterator<Item = String>, dir: &Path) -> Child {
    Command::new(WORKER)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run seckill-worker")
}

/// Runs a command of the worker to its end, with this input; its exit code and its output.
pub fn asked(args: impl Iterator<Item = String>, dir: &Path, input: &str) -> (Option<i32>, String) {
    let mut asked = asking(args, dir);
    // It may have ended without a question.
    let _ = asked.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = asked.wait_with_output().expect("its end");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("text"))
}

/// A running worker.
pub struct Worker(Program);

impl Deref for Worker {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}

impl DerefMut for Worker {
    fn deref_mut(&mut self) -> &mut Program {
        &mut self.0
    }
}

impl Worker {
    /// Starts the worker in a directory.
    pub fn start<A: AsRef<str>>(args: &[A], dir: &Path) -> Self {
        Self::spawn(Command::new(WORKER), args, dir)
    }

    /// Like `start`, with a limit of open files and sockets.
    pub fn start_with_files<A: AsRef<str>>(files: u32, args: &[A], dir: &Path) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\"")).arg(WORKER);
        Self::spawn(command, args, dir)
    }

    fn spawn<A: AsRef<str>>(mut command: Command, args: &[A], dir: &Path) -> Self {
        command.args(args.iter().map(AsRef::as_ref)).current_dir(dir).env_remove("RUST_LOG");
        Self(Program::start(&mut command))
    }

    /// Waits for a worker that ends on its own and must succeed; returns the JSON that it printed.
    pub fn summary(self) -> Value {
        self.summary_with(0)
    }

    /// Like `summary`, for a worker with this exit code.
    pub fn summary_with(mut self, code: i32) -> Value {
        let status = self.ended();
        assert_eq!(status.code(), Some(code), "{}", self.log());
        let out = self.printed();
        let last = out.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {out}\n{}", self.log()))
    }

    /// Asks it to end, and waits for its exit. In its first moments, before it prints anything, the
    /// signal would kill it.
    pub fn terminate(&mut self) -> ExitStatus {
        self.wait_until_started();
        self.0.terminate()
    }

    /// Waits until something is true.
    pub fn wait(&self, what: &str, mut is_true: impl FnMut() -> bool) {
        let reached = wait_for(what, || is_true().then_some(()));
        reached.unwrap_or_else(|late| panic!("{late}\n{}", self.log()));
    }

    /// Waits until it has logged a line with this text.
    pub fn wait_for_word(&self, word: &str) {
        self.wait(word, || self.log().contains(word));
    }

    /// Waits until it has logged something.
    fn wait_until_started(&mut self) {
        until("a word of the worker", || !self.log().is_empty() || !self.is_running());
    }

    /// Kills it at some moment: mostly soon after it has started some work, sometimes before it has
    /// started at all.
    pub fn kill9_somewhen(&mut self, random: &mut fastrand::Rng, is_at_work: impl Fn() -> bool) {
        let longest = if random.u32(0..4) > 0 {
            self.wait_until_started();
            // Only for a while: it may be done already.
            let end = Instant::now() + Duration::from_millis(200);
            while !is_at_work() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(1));
            }
            Duration::from_millis(10)
        } else {
            Duration::from_millis(40)
        };
        std::thread::sleep(longest.mul_f64(random.f64()));
        self.kill9();
    }
}
