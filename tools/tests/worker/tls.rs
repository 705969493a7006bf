//! Encrypted connections, with an authority that the test makes: trusted or not, with a client
//! certificate, expired; and passwords that are on no command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::databases::{Database, Kind};
use crate::harness::{Port, Server};
use crate::shop::Shop;
use crate::worker::Worker;

/// The address of the tests' PostgreSQL, which no other server on this machine uses.
const POSTGRES: &str = "127.0.0.77";

/// A certificate authority that writes certificates into a folder.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

/// The files of a certificate and its key.
struct Identity {
    cert: String,
    key: String,
}

impl Authority {
    fn new(dir: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let file = dir.join(format!("{name}.pem"));
        fs::write(&file, params.self_signed(&key).expect("a certificate").pem()).expect("write");
        Self { issuer: Issuer::new(params, key), file }
    }

    fn file(&self) -> &str {
        self.file.to_str().expect("a path")
    }

    /// A certificate for a host, which ends as a year begins.
    fn sign(&self, name: &str, host: &str, end_year: i32) -> Identity {
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(end_year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate");
        let write = |ending: &str, text: String| {
            let path = self.file.with_file_name(format!("{name}.{ending}"));
            fs::write(&path, text).expect("write");
            path.display().to_string()
        };
        Identity { cert: write("cert", signed.pem()), key: write("key", key.serialize_pem()) }
    }
}

/// A shop whose server also listens for TLS on a port.
fn shop(authority: &Authority, server: &Identity, asks: bool) -> (Shop, String, Port) {
    let port = Port::free();
    let asks = if asks { "yes" } else { "no" };
    let redis = Server::with()
        .config(format!("tls-port {}", port.number))
        .config(format!("tls-cert-file {}", server.cert))
        .config(format!("tls-key-file {}", server.key))
        .config(format!("tls-ca-cert-file {}", authority.file()))
        .config(format!("tls-auth-clients {asks}"))
        .start();
    let shop = Shop::on(redis, Database::sqlite(), &[""]).selling("phone 100");
    shop.buy("phone", "ann", "o1");
    let url = format!("rediss://127.0.0.1:{}/", port.number);
    (shop, url, port)
}

/// Runs a worker once; returns its exit code and its log.
fn run(shop: &Shop, redis: &str, database: &str, options: &[&str]) -> (Option<i32>, String) {
    let args = [&["--redis", redis, "--database", database, "--once"], options].concat();
    let mut worker = Worker::start(&args, shop.server.dir());
    (worker.ended().code(), worker.log())
}

#[test]
fn the_server_must_be_trusted() {
    let dir = tempfile::tempdir().expect("a folder");
    let (ours, other) = (Authority::new(dir.path(), "ours"), Authority::new(dir.path(), "other"));
    let identity = ours.sign("server", "127.0.0.1", 2100);
    let (shop, url, _port) = shop(&ours, &identity, false);
    let database = shop.database.url.clone();
    for (options, wanted) in [
        (vec![], Some(1)),
        (vec!["--cacert", other.file()], Some(1)),
        (vec!["--cacert", identity.key.as_str()], Some(2)),
        (vec!["--cacert", "no-such-file"], Some(2)),
        (vec!["--cacert", ours.file(), "--insecure"], Some(2)),
        (vec!["--cacert", ours.file()], Some(0)),
        (vec!["--insecure"], Some(0)),
    ] {
        let (code, log) = run(&shop, &url, &database, &options);
        assert_eq!(code, wanted, "{options:?}: {log}");
        assert!(code == Some(0) || log.contains("certificate") || log.contains("cacert"), "{log}");
        if options.is_empty() {
            assert_eq!(shop.row_count(), 0);
        }
    }
    shop.check();
    assert_eq!(shop.row_count(), 1);
}

#[test]
fn a_certificate_must_be_of_the_host_and_not_expired() {
    let dir = tempfile::tempdir().expect("a folder");
    let ours = Authority::new(dir.path(), "ours");
    for (host, year, wanted) in
        [("127.0.0.1", 2021, "expired"), ("example.com", 2100, "not valid for name")]
    {
        let identity = ours.sign("server", host, year);
        let (shop, url, _port) = shop(&ours, &identity, false);
        let options = ["--cacert", ours.file()];
        let (code, log) = run(&shop, &url, &shop.database.url, &options);
        assert!(code == Some(1) && log.contains(wanted), "{code:?}, not {wanted}: {log}");
    }
}

#[test]
fn a_server_may_ask_for_a_certificate_of_the_client() {
    let dir = tempfile::tempdir().expect("a folder");
    let (ours, other) = (Authority::new(dir.path(), "ours"), Authority::new(dir.path(), "other"));
    let server = ours.sign("server", "127.0.0.1", 2100);
    let (shop, url, _port) = shop(&ours, &server, true);
    let database = shop.database.url.clone();
    let good = ours.sign("client", "client", 2100);
    let old = ours.sign("old", "client", 2021);
    let strange = other.sign("strange", "client", 2100);
    for (identity, wanted) in
        [(None, Some(1)), (Some(&old), Some(1)), (Some(&strange), Some(1)), (Some(&good), Some(0))]
    {
        let mut options = vec!["--cacert", ours.file()];
        if let Some(Identity { cert, key }) = identity {
            options.extend(["--cert", cert, "--key", key]);
        }
        let (code, log) = run(&shop, &url, &database, &options);
        assert_eq!(code, wanted, "{options:?}: {log}");
    }
    shop.check();
}

/// An option of the URL is obeyed, or refused with a sentence.
#[test]
fn a_database_is_reached_as_its_url_says() {
    let Some(database) = Database::alone(Kind::Postgres) else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let (ours, other) = (Authority::new(dir.path(), "ours"), Authority::new(dir.path(), "other"));
    let server = database.server.clone().expect("a database server");
    let listen = format!("listen_addresses={POSTGRES}");
    server.stop();
    server.start_again_with(&["-c", &listen]);
    let shop = Shop::open(database).selling("phone 100");
    shop.buy("phone", "ann", "o1");
    let redis = shop.worker_args()[1].clone();
    let name = shop.database.url.split(['/', '?']).nth(3).expect("a name").to_owned();
    let url = |rest: &str| format!("postgres://seckill@{POSTGRES}/{name}?{rest}");
    let (code, log) = run(&shop, &redis, &url("sslmode=require"), &[]);
    assert!(code == Some(1) && log.contains("does not support TLS"), "{code:?} {log}");

    let identity = ours.sign("server", POSTGRES, 2100);
    let files = [&identity.cert, &identity.key].map(|file| server.own_file(Path::new(file)));
    let [cert, key] = [("ssl_cert_file", &files[0]), ("ssl_key_file", &files[1])]
        .map(|(name, file)| format!("{name}={}", file.display()));
    server.stop();
    server.start_again_with(&["-c", &listen, "-c", "ssl=on", "-c", &cert, "-c", &key]);
    let [ours, other] =
        [ours, other].map(|it| format!("sslmode=verify-full&sslrootcert={}", it.file()));
    for (rest, wanted) in [
        (other.as_str(), Some(1)),
        ("sslmode=verify-full", Some(1)),
        ("sslmode=require", Some(0)),
        (ours.as_str(), Some(0)),
    ] {
        let (code, log) = run(&shop, &redis, &url(rest), &[]);
        assert_eq!(code, wanted, "{rest}: {log}");
    }
    shop.check();
    // A worker without --once does not wait for the certificate to change either.
    let args = ["--redis", &redis, "--database", &url(&other)];
    let mut worker = Worker::start(&args, shop.server.dir());
    assert_eq!(worker.ended().code(), Some(1), "{}", worker.log());
    assert!(worker.log().contains("certificate"), "{}", worker.log());
}

#[test]
fn passwords_are_on_no_command_line() {
    let server = Server::with().config("user worker on >secret ~* &* +@all").start();
    let shop = Shop::on(server, Database::sqlite(), &[""]).selling("phone 100");
    shop.buy("phone", "ann", "o1");
    let database = shop.database.url.clone();
    let redis = shop.worker_args()[1].clone() + "?user=worker";
    let file = shop.server.dir().join("password");
    let path = file.display().to_string();
    let options = ["--redis-password-file", path.as_str()];
    for (password, wanted) in [("wrong\n", Some(1)), ("", Some(2)), ("secret\n", Some(0))] {
        fs::write(&file, password).expect("write");
        let (code, log) = run(&shop, &redis, &database, &options);
        assert_eq!(code, wanted, "{password}: {log}");
        assert!(!log.contains("wrong") || log.contains("password"), "{log}");
    }
    let by_environment = |password: &str| {
        Command::new(env!("CARGO_BIN_EXE_seckill-worker"))
            .args(["--once", "--quiet"])
            .envs([("SECKILL_REDIS", &*redis), ("SECKILL_DATABASE", &*database)])
            .env("SECKILL_REDIS_PASSWORD", password)
            .status()
            .expect("run seckill-worker")
    };
    assert_eq!(by_environment("wrong").code(), Some(1));
    assert_eq!(by_environment("secret").code(), Some(0));
    assert_eq!(shop.row_count(), 1);
    shop.check();
}
