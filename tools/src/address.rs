//! The one way in which a program prints an address: a URL of a server or of a database.

use crate::sanitize::sanitize;

/// An address in its parts. Without what can't be distinguished from a password.
struct Parts<'u> {
    /// With what ends it, or nothing.
    scheme: &'u str,
    /// And perhaps the password.
    user: &'u str,
    place: &'u str,
    query: &'u str,
    fragment: &'u str,
}

impl<'u> Parts<'u> {
    fn of(url: &'u str) -> Self {
        let is_scheme = |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'+');
        let (scheme, rest) = match url.find("://") {
            Some(end) if is_scheme(&url[..end]) => url.split_at(end + 3),
            _ => ("", url),
        };
        let (place, more) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        // The `?` may be in the password.
        let is_odd = more.contains('@');
        let (user, place) = match place.rsplit_once('@') {
            // A path has no user before it.
            _ if place.starts_with('/') => ("", place),
            _ if is_odd => ("", ".."),
            Some(both) => both,
            None => ("", place),
        };
        if is_odd || scheme.is_empty() {
            return Self { scheme, user: "", place, query: "", fragment: "" };
        }
        let (query, fragment) = more.split_once('#').unwrap_or((more, ""));
        Self { scheme, user, place, query, fragment }
    }
}

/// The address without anything that may be a password: without the user, the query and the
/// fragment. What can't be distinguished from a password is left out, too.
pub fn shown(url: &str) -> String {
    let Parts { scheme, place, .. } = Parts::of(url);
    scheme.to_owned() + &sanitize(place)
}

/// What a query says that is no password, of servers and databases.
const SETTINGS: [&str; 22] = [
    "application_name", "charset", "collation", "db", "dbname", "host", "hostaddr", "mode",
    "options", "port", "protocol", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode",
    "sslcert", "sslkey", "sslmode", "sslrootcert", "timezone", "user",
];

/// The address as it is typed in a command: as [`shown`], with the user and with what the query is
/// known to say, but without a password. Where these can't be distinguished, as [`shown`].
pub fn typed(url: &str) -> String {
    let Parts { scheme, user, place, query, fragment } = Parts::of(url);
    let settings = query.strip_prefix('?').unwrap_or_default().split('&');
    let settings: Vec<&str> = settings.filter(|it| SETTINGS.contains(&before(it, '='))).collect();
    let user = before(user, ':');
    let at = if user.is_empty() { "" } else { "@" };
    let mark = if settings.is_empty() { "" } else { "?" };
    let text = sanitize(&[user, at, place, mark, &settings.join("&")].concat());
    let fragment = if fragment == "insecure" { "#insecure" } else { "" };
    [scheme, &text, fragment].concat()
}

fn before(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{shown, typed};

    #[test]
    fn no_password_is_shown_wherever_it_is() {
        for (url, want) in [
            ("redis://127.0.0.1:6379/", "redis://127.0.0.1:6379/"),
            ("redis://eyes:s3cret@example:6379/0", "redis://example:6379/0"),
            ("redis://:s3c@ret/@example/0?protocol=3", "redis://example/0"),
            ("redis://eyes:s3?cret@example/0", "redis://.."),
            ("redis://eyes:s3#cret@example/0", "redis://.."),
            ("redis://example/?a=s3@cret", "redis://.."),
            ("redis+unix:///run/r@1.sock?user=eyes&pass=s3cret", "redis+unix:///run/r@1.sock"),
            ("redis+unix:///run/r.sock?pass=s3@cret", "redis+unix:///run/r.sock"),
            ("unix:///run/r.sock?pass=s3cret#s3cret", "unix:///run/r.sock"),
            ("rediss://eyes:s3cret@example:1/#insecure", "rediss://example:1/"),
            ("redis+sentinel://:s3cret@a:1,b/shop/2", "redis+sentinel://a:1,b/shop/2"),
            ("postgres://shop@db/shop?password=s3cret", "postgres://db/shop"),
            ("sqlite:orders.db?key=s3cret", "sqlite:orders.db"),
            ("eyes:s3cret@example", "example"),
            ("eyes:s3cret://@example", "example"),
            ("redis://a\u{202e}b\n/", r"redis://a\u{202e}b\n/"),
        ] {
            assert_eq!(shown(url), want, "{url}");
            assert!(!typed(url).contains("s3"), "{url}: {}", typed(url));
        }
    }

    #[test]
    fn what_is_typed_has_all_but_the_password() {
        for (url, want) in [
            ("redis://127.0.0.1:6379/", "redis://127.0.0.1:6379/"),
            ("redis://eyes:s3cret@example:6379/0", "redis://eyes@example:6379/0"),
            ("redis://:s3c@ret/@example/0?protocol=3", "redis://example/0?protocol=3"),
            ("rediss://eyes:s3cret@example:1/#insecure", "rediss://eyes@example:1/#insecure"),
            (
                "redis+unix:///run/r.sock?db=2&user=eyes&pass=s3cret",
                "redis+unix:///run/r.sock?db=2&user=eyes",
            ),
            ("redis+sentinel://eyes:s3cret@a:1,b/shop/2", "redis+sentinel://eyes@a:1,b/shop/2"),
            (
                "postgres://shop:s3cret@db/shop?sslmode=require&password=s3cret&host=/run/pg",
                "postgres://shop@db/shop?sslmode=require&host=/run/pg",
            ),
            (
                "mysql://root@localhost/shop?socket=/run/my",
                "mysql://root@localhost/shop?socket=/run/my",
            ),
            ("sqlite:orders.db?mode=rwc&key=s3cret", "sqlite:orders.db"),
        ] {
            assert_eq!(typed(url), want, "{url}");
        }
    }
}
