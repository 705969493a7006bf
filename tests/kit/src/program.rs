//! Programs under test, with their output in files of their own; killed when dropped.

use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;

use crate::harness::{tool, wait_for};

/// A running program.
pub struct Program {
    child: Child,
    dir: TempDir,
}

impl Program {
    pub fn start(command: &mut Command) -> Self {
        let dir = tempfile::Builder::new().prefix("seckill-").tempdir().expect("a directory");
        let file = |name| File::create(dir.path().join(name)).expect("a file for its output");
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("err"));
        let child = command.spawn().unwrap_or_else(|error| panic!("run {command:?}: {error}"));
        Self { child, dir }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output until now.
    pub fn printed(&self) -> String {
        self.read("out")
    }

    /// Its standard error until now.
    pub fn log(&self) -> String {
        self.read("err")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.dir.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, which must come soon.
    pub fn ended(&mut self) -> ExitStatus {
        let status = wait_for("a program's end", || self.child.try_wait().ok().flatten());
        status.unwrap_or_else(|late| panic!("{late}\n{}", self.log()))
    }

    /// Waits for its end, however long it works.
    pub fn output(mut self) -> Output {
        let status = self.child.wait().expect("its end");
        Output { status, stdout: self.printed().into(), stderr: self.log().into() }
    }

    /// Sends a signal, such as TERM. The program may have ended just now.
    pub fn signal(&self, name: &str) {
        tool(&["sh", "-c", &format!("kill -{name} {}", self.id())]);
    }

    /// Asks it to end, and waits for that.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// Stops the process, as on a machine that hangs, until it is thawed.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    pub fn thaw(&self) {
        self.signal("CONT");
    }

    pub fn kill9(&mut self) {
        self.child.kill().expect("kill the program");
        self.child.wait().expect("reap the program");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that the program is dead already, which is enough here.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("what a program said:\n{}", self.log());
        }
    }
}
