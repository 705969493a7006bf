//! `seckill-worker` as a process: started, killed, asked to end, asked for its summary.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::wait_for;

/// Waits until something is true.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    wait_for(what, || is_true().then_some(())).unwrap_or_else(|late| panic!("{late}"));
}

/// Runs a command of the worker to its end, with this input; its exit code and its output.
pub fn asked(args: impl Iterator<Item = String>, dir: &Path, input: &str) -> (Option<i32>, String) {
    let mut asked = Command::new(env!("CARGO_BIN_EXE_seckill-worker"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run seckill-worker");
    // It may have ended without a question.
    let _ = asked.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = asked.wait_with_output().expect("its end");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("text"))
}

/// A running worker, killed when dropped.
pub struct Worker {
    child: Child,
    /// Its output files, without the extension `.out` or `.err`.
    log: PathBuf,
}

impl Worker {
    /// Starts the worker, with its output in two files of a directory.
    pub fn start<A: AsRef<str>>(args: &[A], dir: &Path, name: &str) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_seckill-worker")), args, dir, name)
    }

    /// Like `start`, with a limit of open files and sockets.
    pub fn start_with_files<A: AsRef<str>>(files: u32, args: &[A], dir: &Path, name: &str) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""));
        command.arg(env!("CARGO_BIN_EXE_seckill-worker"));
        Self::spawn(command, args, dir, name)
    }

    fn spawn<A: AsRef<str>>(mut command: Command, args: &[A], dir: &Path, name: &str) -> Self {
        let log = dir.join(name);
        let file = |extension| File::create(log.with_extension(extension)).expect("a log");
        let child = command
            .args(args.iter().map(AsRef::as_ref))
            .current_dir(dir)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .expect("run seckill-worker");
        Self { child, log }
    }

    /// Waits for a worker that ends on its own and must succeed; returns the JSON that it printed.
    pub fn summary(self) -> Value {
        self.summary_with(0)
    }

    /// Like `summary`, for a worker with this exit code.
    pub fn summary_with(mut self, code: i32) -> Value {
        let status = self.ended();
        assert_eq!(status.code(), Some(code), "{}", self.log());
        let out = fs::read_to_string(self.log.with_extension("out")).expect("its output");
        let last = out.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {out}\n{}", self.log()))
    }

    pub fn ended(&mut self) -> ExitStatus {
        let status = wait_for("the worker's end", || self.child.try_wait().ok().flatten());
        status.unwrap_or_else(|late| panic!("{late}\n{}", self.log()))
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to end, and waits for its exit. In its first moments, before it prints anything, the
    /// signal would kill it.
    pub fn terminate(&mut self) -> ExitStatus {
        self.wait_until_started();
        self.terminate_now()
    }

    /// Like `terminate`, for a worker that has started.
    pub fn terminate_now(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended()
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
        let started = wait_for("a word of the worker", || {
            (!self.log().is_empty() || !self.is_running()).then_some(())
        });
        started.unwrap_or_else(|late| panic!("{late}"));
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("signal the worker");
    }

    /// Stops the process, as on a machine that hangs.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    pub fn kill9(&mut self) {
        self.child.kill().expect("kill the worker");
        self.child.wait().expect("reap the worker");
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

    /// Its standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log.with_extension("err")).unwrap_or_else(|_| "(no log)".into())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // An error means that the worker is dead already, which is enough here.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("what {} said:\n{}", self.log.display(), self.log());
        }
    }
}
