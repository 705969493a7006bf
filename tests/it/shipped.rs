//! Files that are shipped with the module: redis.conf, compose.yaml, kubernetes.yaml and scripts,
//! as far as they can be tested without containers.

use crate::harness::{Server, left_out, module, text, wait_for, write_program};
use crate::observe::words;
use crate::security::users_of;
use kit::pages::page;
use redis::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The settings that limit what clients can use up.
const BOUNDS: [&str; 6] = [
    "proto-max-bulk-len", "maxmemory", "maxmemory-policy", "maxmemory-clients",
    "hash-max-listpack-entries", "enable-module-command",
];

#[test]
fn redis_conf_bounds_what_clients_can_use() {
    for (file, comment) in [("redis.conf", ""), ("packaging/seckill.conf", "#")] {
        let conf = page(file);
        let lines: Vec<&str> = conf.lines().collect();
        for name in BOUNDS {
            let wanted = format!("{comment}{name} ");
            let at = lines.iter().position(|line| line.starts_with(&wanted));
            let at = at.unwrap_or_else(|| panic!("{file} has no {name}"));
            assert!(lines[at - 1].starts_with("# "), "{file} does not say why {name}");
        }
        let has = |line: &str| lines.contains(&format!("{comment}{line}").as_str());
        assert!(has("maxmemory-policy noeviction") && has("enable-module-command no"), "{file}");
    }
}

/// The words of the server's `command` in compose.yaml.
fn composed() -> Vec<String> {
    let compose = page("packaging/compose.yaml");
    let server = compose.split("\n  server:\n").nth(1).expect("a server");
    let command = server.split("    command:\n").nth(1).expect("a command");
    let lines = command.lines().map(str::trim);
    let lines = lines.take_while(|line| line.starts_with("- ") || line.starts_with('#'));
    let words = lines.filter_map(|line| line.strip_prefix("- "));
    words.map(|word| word.trim_matches('"').to_owned()).collect()
}

/// The users that the server of compose.yaml gets, each with its own password: its file of users.
fn users_of_compose(folder: &Path) -> Vec<String> {
    // In the place of the image's own: says what it is started with.
    let entrypoint = folder.join("docker-entrypoint.sh");
    write_program(&entrypoint, "#!/bin/sh\necho \"$@\"\nenv\n");
    let mut start = Command::new(root().join("packaging/seckill-users"));
    start.arg("seckill.conf").env("TMPDIR", folder).current_dir(folder);
    start.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path")));
    for variable in page("packaging/compose.env").lines().filter_map(|line| line.strip_suffix('='))
    {
        start.env(variable, format!("{variable}'s # own"));
    }
    let started =
        start.env("REDISCLI_AUTH", "SECKILL_WATCHER_PASSWORD's # own").output().expect("it");
    let said = String::from_utf8_lossy(&started.stdout);
    let users = folder.join("users.acl");
    assert!(said.starts_with(&format!("seckill.conf --aclfile {}\n", users.display())), "{said}");
    assert!(!said.contains("# own"), "{said}");
    assert_eq!(fs::metadata(&users).expect("a file").permissions().mode() & 0o777, 0o600);
    fs::read_to_string(users).expect("users").lines().map(str::to_owned).collect()
}

#[test]
fn the_server_of_compose_does_not_load_half_of_a_try() {
    let folder = tempfile::tempdir().expect("a folder");
    let aof = folder.path().join("appendonlydir");
    fs::create_dir(&aof).expect("a folder");
    let manifest = "file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\n";
    fs::write(aof.join("appendonly.aof.manifest"), manifest).expect("a manifest");
    let whole = "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n";
    let half = format!("{whole}*1\r\n$5\r\nMULTI\r\n{whole}");
    fs::write(aof.join("a.1.incr.aof"), half).expect("a file");
    users_of_compose(folder.path());
    assert_eq!(fs::read_to_string(aof.join("a.1.incr.aof")).expect("the file"), whole);
}

#[test]
fn the_server_of_compose_has_users_and_bounds() {
    let command = composed();
    assert_eq!(command[0], "/etc/redis/redis.conf");
    assert!(!page("packaging/compose.yaml").contains(">$"), "a password among words");
    // Each option, which starts with two dashes, is a line of redis.conf.
    let mut lines: Vec<Vec<String>> = Vec::new();
    for word in &command[1..] {
        match word.strip_prefix("--") {
            Some(name) => lines.push(vec![name.to_owned()]),
            None => lines.last_mut().expect("an option").push(word.clone()),
        }
    }
    for name in BOUNDS {
        assert!(lines.iter().any(|line| line[0] == name), "no {name}");
    }
    let quote = |line: &Vec<String>| line.iter().map(|word| format!("\"{word}\"")).collect();
    let quoted = lines.iter().map(quote).map(|words: Vec<String>| words.join(" "));
    let folder = tempfile::tempdir().expect("a folder");
    let users = users_of_compose(folder.path());
    assert_eq!(users[0], "user default off");
    // The harness connects as the default user, and needs more rights.
    let lines = quoted.chain(users.into_iter().skip(1));
    let server = lines.fold(Server::with(), |builder, line| builder.config(line)).start();
    let path = module().to_str().expect("a path");
    let refused = text(&server.call(&["MODULE", "LOAD", path]));
    assert!(refused.contains("MODULE command not allowed"), "{refused}");
    server.check("> CONFIG GET maxmemory\n1) maxmemory\n2) 536870912");
    let may =
        |user: &str, command: &str| server.say(&format!("ACL DRYRUN {user} {command}")) == "OK";
    assert_eq!(words(server.run("ACL USERS")).len(), 5);
    for (user, command, allowed) in [
        ("admin", "FLUSHALL", true),
        ("shop", "SECKILL.TRY sale:1 ann o1", true),
        ("shop", "SECKILL.TRY other ann o1", false),
        ("shop", "SECKILL.CANCEL sale:1 ann o1", false),
        ("shop", "GET seckill:stock:sale:1", false),
        ("worker", "XREADGROUP GROUP g c STREAMS stream.orders >", true),
        ("worker", "SECKILL.REJECT stream.orders g 1-1", true),
        ("worker", "SECKILL.TRY sale:1 ann o1", false),
        ("worker", "SET a b", false),
        ("watcher", "SECKILL.INFO sale:1", true),
        ("watcher", "GET seckill:stock:sale:1", false),
        ("watcher", "CONFIG SET maxmemory 0", false),
    ] {
        assert_eq!(may(user, command), allowed, "{user}: {command}");
    }
    // Those of compose.yaml are the users of SECURITY.md, under other names.
    users_of(&server, "## Users of the programs");
    let rights = |user: &str| {
        let Value::Array(fields) = server.call(&["ACL", "GETUSER", user]) else { panic!("{user}") };
        let pairs = fields.chunks(2).filter(|pair| text(&pair[0]) != "passwords");
        let pairs = pairs.map(|pair| format!("{pair:?}"));
        pairs.collect::<Vec<_>>()
    };
    assert_eq!(rights("worker"), rights("seckill-worker"));
    assert_eq!(rights("watcher"), rights("seckill-top"));
    for user in ["admin", "shop", "worker", "watcher"] {
        let password = format!("SECKILL_{}_PASSWORD's # own", user.to_uppercase());
        assert_eq!(server.client().call(&["AUTH", user, &password]), Value::Okay, "{user}");
        let wrong = server.client().call(&["AUTH", user, "wrong"]);
        assert!(matches!(wrong, Value::ServerError(_)), "{user}");
    }
    let env = page("packaging/compose.env");
    for variable in page("packaging/compose.yaml")
        .split("${")
        .skip(1)
        .filter_map(|rest| rest.split(['}', ':']).next())
    {
        assert!(variable == "SERVER" || env.contains(&format!("{variable}=\n")), "{variable}");
    }
}

/// What a unit sets, in its order.
fn unit(name: &str) -> Vec<(String, String)> {
    let text = page(format!("packaging/{name}.service"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let settings = lines.filter_map(|line| line.split_once('='));
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn units_have_bounds_and_take_passwords_as_credentials() {
    let compose = page("packaging/compose.yaml");
    for (name, service) in [("seckill-worker", "worker"), ("seckill-metrics", "metrics")] {
        let unit = unit(name);
        let values = |wanted: &str| -> Vec<&str> {
            let set = unit.iter().filter(|(name, _)| name == wanted);
            set.map(|(_, value)| value.as_str()).collect()
        };
        let composed = compose.split(&format!("\n  {service}:\n")).nth(1).expect("a service");
        let memory = composed.lines().find_map(|line| line.trim().strip_prefix("mem_limit: "));
        assert_eq!(values("MemoryMax"), [memory.expect("a limit").to_uppercase()], "{name}");
        assert_eq!(values("TasksMax"), ["256"], "{name}");
        let load = format!("redis-password:/etc/seckill/{service}-redis-password");
        assert_eq!(values("LoadCredential"), [load], "{name}");
        assert_eq!(values("SetCredential"), ["redis-password:\\n"], "{name}");
        // Other users can't read the memory of the process, nor the file of the password.
        assert_eq!([values("DynamicUser"), values("UMask")], [["yes"], ["0077"]], "{name}");
        // systemd accepts every line, but for the program, which is not installed here.
        let dir = tempfile::tempdir().expect("a folder");
        let copy = dir.path().join(format!("{name}.service"));
        let text = page(format!("packaging/{name}.service"));
        let program = values("ExecStart")[0].split(' ').next().expect("a program");
        fs::write(&copy, text.replace(program, "/bin/true")).expect("a copy");
        let verify =
            Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output();
        match verify {
            Err(error) => left_out(&format!("systemd's check of its units: {error}")),
            Ok(output) => {
                let told = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && !told.contains(name), "{told}");
            }
        }
    }
}

/// The server's configuration in the manifest for Kubernetes, apart from paths, and what its probes
/// expect of it.
#[test]
fn the_server_of_kubernetes_starts_with_bounds() {
    let manifest = page("packaging/kubernetes.yaml");
    let (_, conf) = manifest.split_once("  redis.conf: |\n").expect("a configuration");
    let (conf, _) = conf.split_once("\n---\n").expect("its end");
    let lines = conf.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    for name in BOUNDS {
        assert!(lines.iter().any(|line| line.starts_with(&format!("{name} "))), "no {name}");
    }
    let paths = ["loadmodule ", "include ", "aclfile ", "dir "];
    let lines = lines.iter().filter(|line| !paths.iter().any(|path| line.starts_with(path)));
    let server = lines.fold(Server::with(), |builder, line| builder.config(*line)).start();
    assert!(server.say("INFO seckill").contains("\nseckill_"));
    server.check("> CONFIG GET maxmemory\n1) maxmemory\n2) 536870912\n> PING\nPONG");
}

#[test]
fn what_is_left_out_is_listed_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let notes = dir.path().join("notes");
    let left_out = |what: &[&str], notes: &Path| {
        let mut command = Command::new(root().join("scripts/left-out"));
        let output = command.args(what).env("SECKILL_LEFT_OUT", notes).output().expect("run it");
        assert!(output.status.success(), "{output:?}");
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"))
    };
    let list = |notes: &Path| left_out(&[], notes)[0].clone();
    assert_eq!(list(&notes), "left out on this machine: nothing\n");
    for what in ["b: no b\nhere", "a: no a", "b: no b\nhere"] {
        let said = left_out(&[what], &notes)[1].clone();
        assert_eq!(said, format!("LEFT OUT: {}\n", what.replace('\n', " ")));
    }
    assert_eq!(list(&notes), "left out on this machine:\n  a: no a\n  b: no b here\n");
    // Without a file for notes it is at least printed.
    assert_eq!(left_out(&["c"], Path::new("")), ["", "LEFT OUT: c\n"]);
}

/// A check that could not be made must not look like one that has passed.
#[test]
fn advisories_that_nobody_could_see_are_missed_loudly() {
    let dir = tempfile::tempdir().expect("a folder");
    let (bin, scripts) = (dir.path().join("bin"), dir.path().join("scripts"));
    for folder in [&bin, &scripts] {
        fs::create_dir(folder).expect("a folder");
    }
    for name in ["deny", "left-out", "lib"] {
        write_program(&scripts.join(name), &page(format!("scripts/{name}")));
    }
    for name in ["cargo", "cargo-deny"] {
        write_program(&bin.join(name), "#!/bin/sh\n");
    }
    let deny = bin.join("cargo-deny");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("PATH"));
    let run = |advisories: &str| {
        let mut command = Command::new(scripts.join("deny"));
        command.env("PATH", &path).env("ADVISORIES", advisories).env_remove("SECKILL_LEFT_OUT");
        let output = command.output().expect("run it");
        (output.status.success(), String::from_utf8(output.stderr).expect("text"))
    };
    for (tool, git) in [("exit 1;", "exit 0"), ("echo", "exit 1")] {
        write_program(
            &scripts.join("cargo-tool"),
            &format!("#!/bin/sh\n{tool} {}\n", deny.display()),
        );
        write_program(&bin.join("git"), &format!("#!/bin/sh\n{git}\n"));
        for advisories in ["", "must"] {
            let (is_content, told) = run(advisories);
            assert_eq!(is_content, advisories.is_empty(), "{told}");
            assert!(told.contains("#  NO ADVISORIES WERE CHECKED: "), "{told}");
            assert!(told.contains("LEFT OUT: ADVISORIES OF RUSTSEC, NOT CHECKED: "), "{told}");
        }
    }
    write_program(&bin.join("git"), "#!/bin/sh\n");
    assert_eq!(run("must"), (true, String::new()));
}

/// A folder of programs in which scripts/setup does not find one that it wants to install. Its
/// apt-get reports where it is and then, once, takes its time.
fn bin_without_redis_cli(dir: &Path) {
    let bin = dir.join("bin");
    fs::create_dir(&bin).expect("a folder");
    let needed = "bash sh env id tee chmod rm mv mktemp grep sed tail setsid sleep sort tr cargo \
                  cc make redis-server";
    for name in needed.split_whitespace() {
        let found = std::env::split_paths(&std::env::var_os("PATH").expect("PATH"))
            .map(|folder| folder.join(name))
            .find(|path| path.is_file());
        symlink(found.unwrap_or_else(|| panic!("no {name}")), bin.join(name)).expect("a link");
    }
    let here = dir.display();
    let apt = format!("[ ! -e {here}/apt ] || exit 1\necho $$ >{here}/apt\nexec sleep 60\n");
    write_program(&bin.join("apt-get"), &format!("#!/bin/sh\n{apt}"));
    write_program(&bin.join("sudo"), "#!/bin/sh\n[ \"$1\" != -n ] || shift\nexec \"$@\"\n");
}

/// Whatever ends the script: services may start as before, and it leaves no file.
#[test]
fn a_setup_that_is_killed_leaves_nothing_behind() {
    for signal in ["-KILL", "-TERM", "-INT", "-HUP"] {
        for before in [None, Some("#!/bin/sh\nexit 0\n")] {
            let dir = tempfile::tempdir().expect("a folder");
            bin_without_redis_cli(dir.path());
            let (policy, tmp) = (dir.path().join("policy"), dir.path().join("tmp"));
            fs::create_dir(&tmp).expect("a folder");
            if let Some(before) = before {
                write_program(&policy, before);
            }
            let mut setup = Command::new("scripts/setup")
                .current_dir(root())
                .env("PATH", dir.path().join("bin"))
                .env("POLICY_RC_D", &policy)
                .env("TMPDIR", &tmp)
                .env_remove("REDIS_SERVER")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("run scripts/setup");
            let started = wait_for("apt-get", || {
                let number = fs::read_to_string(dir.path().join("apt")).ok()?;
                (!number.trim().is_empty()).then(|| number.trim().to_owned())
            });
            let apt = started.unwrap_or_else(|late| panic!("{late}"));
            let forbids = fs::read_to_string(&policy).expect("a policy");
            assert!(forbids.contains("exit 101"), "{forbids}");
            let kill = |args: &[&str]| Command::new("kill").args(args).status().expect("kill");
            assert!(kill(&[signal, &setup.id().to_string()]).success());
            kill(&["-KILL", &apt]);
            setup.wait().expect("its end");
            let undone = wait_for("the end of what it left", || {
                let now = fs::read_to_string(&policy).ok();
                let is_empty = fs::read_dir(&tmp).expect("a folder").next().is_none();
                (now.as_deref() == before && is_empty).then_some(())
            });
            undone.unwrap_or_else(|late| panic!("{late}: {signal}"));
            assert!(!dir.path().join("policy.before-seckill").exists(), "{signal}");
        }
    }
}
