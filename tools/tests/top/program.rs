//! `seckill-top` as a process: for one frame, or in its own terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use redis::{ConnectionAddr, Value};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::{Server, wait_for};

/// The server's URL for `--redis`.
pub fn url(server: &Server) -> String {
    as_user(server, "")
}

/// The URL with the name and password of a user, `name:password@`.
pub fn as_user(server: &Server, user: &str) -> String {
    match server.address().addr() {
        ConnectionAddr::Unix(path) => match user.trim_end_matches('@').split_once(':') {
            Some((name, word)) => {
                format!("redis+unix://{}?user={name}&pass={word}", path.display())
            }
            None => format!("redis+unix://{}", path.display()),
        },
        other => format!("redis://{user}{other}/"),
    }
}

/// Sends commands, none of which may be refused.
pub fn run_all(server: &Server, commands: &[&str]) {
    for command in commands {
        let reply = server.run(command);
        assert!(!matches!(reply, Value::ServerError(_)), "{command}: {reply:?}");
    }
}

/// Runs seckill-top with these options to its end.
pub fn run(options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seckill-top"));
    command.args(options).stdin(Stdio::null()).output().expect("run seckill-top")
}

/// The frame of a server, wide and long enough for everything.
pub fn frame(server: &Server, options: &[&str]) -> String {
    frame_at(&url(server), options)
}

pub fn frame_at(url: &str, options: &[&str]) -> String {
    let mut all = vec!["--redis", url, "--once", "--size", "120x48"];
    if !options.contains(&"--readings") {
        all.extend(["--readings", "1"]);
    }
    all.extend(options);
    let output = run(&all);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub const COLUMNS: u16 = 110;
pub const ROWS: u16 = 32;

/// A running seckill-top that draws in its own terminal, killed when dropped.
pub struct Dashboard {
    child: Child,
    keyboard: File,
    drawn: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Dashboard {
    pub fn start(options: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let size = Winsize { ws_col: COLUMNS, ws_row: ROWS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let path = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
        let open = || File::options().read(true).write(true).open(&path).expect("its other end");
        // In a session of its own, so that it does not draw in the tests' terminal.
        let child = Command::new("setsid")
            .arg(env!("CARGO_BIN_EXE_seckill-top"))
            .args(options)
            .env("TERM", "xterm-256color")
            .stdin(open())
            .stdout(open())
            .stderr(open())
            .spawn()
            .expect("run seckill-top");
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().expect("the terminal again");
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&drawn);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose other end is closed ends with an error.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend(&bytes[..count]);
            }
        });
        Self { child, keyboard, drawn, reader }
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("press a key");
    }

    /// Everything that it has written.
    pub fn written(&self) -> String {
        text(&self.drawn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the screen has a line with these words.
    pub fn wait_for_line(&mut self, words: &str) {
        let seen = wait_for(words, || {
            let ended = self.child.try_wait().expect("ask for its end");
            assert!(ended.is_none(), "it has ended: {ended:?}\n{}", self.written());
            screen(&self.written()).iter().any(|line| line.contains(words)).then_some(())
        });
        seen.unwrap_or_else(|late| panic!("{late}\n{}", screen(&self.written()).join("\n")));
    }

    /// Waits for its exit, and until everything that it has written was read.
    pub fn ended(&mut self) -> ExitStatus {
        let status = wait_for("its end", || {
            let ended = self.child.try_wait().ok().flatten();
            ended.filter(|_| self.reader.is_finished())
        });
        status.unwrap_or_else(|late| panic!("{late}\n{}", screen(&self.written()).join("\n")))
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        // An error means that the program is dead already, which is enough here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The contents of a terminal after these bytes: it only interprets moves and text.
fn screen(written: &str) -> Vec<String> {
    let (columns, rows) = (usize::from(COLUMNS), usize::from(ROWS));
    let mut cells = vec![vec![' '; columns]; rows];
    let (mut row, mut column) = (0, 0);
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            let Some('[') = letters.next() else { continue };
            let mut numbers = String::new();
            let end = letters.find(|letter| {
                numbers.push(*letter);
                letter.is_ascii_alphabetic()
            });
            if end == Some('H') {
                let mut places =
                    numbers.trim_end_matches('H').split(';').map(|part| part.parse().unwrap_or(1));
                row = places.next().unwrap_or(1_usize).saturating_sub(1);
                column = places.next().unwrap_or(1_usize).saturating_sub(1);
            }
        } else if !letter.is_control() {
            if let Some(cell) = cells.get_mut(row).and_then(|line| line.get_mut(column)) {
                *cell = letter;
            }
            column += 1;
        }
    }
    cells.into_iter().map(|line| line.into_iter().collect()).collect()
}
