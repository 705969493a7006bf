//! The one way in which a program prints an address: a URL of a server or of a database.

use crate::sanitize::sanitize;

/// The address without anything that may be a password: without the user, the query and the
/// fragment. What can't be distinguished from a password is left out, too.
pub fn shown(url: &str) -> String {
    let is_scheme = |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'+');
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (format!("{scheme}://"), rest),
        _ => (String::new(), url),
    };
    let (place, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let place = match place.rsplit_once('@') {
        // A path has no user before it.
        _ if place.starts_with('/') => place,
        // The `?` may be in the password.
        _ if query.contains('@') => "..",
        Some((_, place)) => place,
        None => place,
    };
    scheme + &sanitize(place)
}

#[cfg(test)]
mod tests {
    use super::shown;

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
        }
    }
}
