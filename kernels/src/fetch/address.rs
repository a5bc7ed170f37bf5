//! Addresses of mirrors: `http:`, `https:` and `file:`.

use core_relo::Escaped;
use std::{fmt, path::PathBuf, str::FromStr};
use thiserror::Error;

/// The address of a mirror, or of a file on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    text: String,
}

/// The way to reach an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    File(PathBuf),
}

/// The error of a text that is no address.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("`{}` is no address of a mirror, expected http://..., https://... or file:///...", Escaped(text))]
#[non_exhaustive]
pub struct AddressError {
    /// The text.
    pub text: String,
}

core_relo::debug_as_message!(AddressError);

impl Address {
    /// Returns the address of a file below this one.
    pub(crate) fn join(&self, path: &str) -> Self {
        Self { text: format!("{}/{path}", self.text) }
    }

    /// Returns the address with an end added to its last part: `http://host/debian` with `-security`.
    pub(crate) fn with_ending(&self, ending: &str) -> Self {
        Self { text: format!("{}{ending}", self.text) }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the last part of the path.
    pub(crate) fn last_part(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or(&self.text)
    }

    pub(crate) fn scheme(&self) -> Scheme {
        if self.text.starts_with("https://") {
            return Scheme::Https;
        }
        match self.text.strip_prefix("file:") {
            Some(path) => Scheme::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path))),
            None => Scheme::Http,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let trimmed = text.trim_end_matches('/');
        let is_web = ["http://", "https://"]
            .iter()
            .any(|scheme| trimmed.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        let is_file = ["file:///", "file:/"].iter().any(|scheme| text.starts_with(scheme));
        let is_plain = !trimmed.chars().any(|c| c.is_whitespace() || c.is_control());
        match is_plain && (is_web || is_file) {
            true => Ok(Self { text: trimmed.to_owned() }),
            false => Err(AddressError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Escaped(&without_password(&self.text)))
    }
}

/// Returns an address without the user and the password in it.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match path {
        Some(path) => format!("{scheme}://{host}/{path}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_known_scheme() {
        for (text, scheme) in [
            ("http://mirror.example/debian/", Scheme::Http),
            ("https://mirror.example/debian", Scheme::Https),
            ("file:///srv/debian", Scheme::File("/srv/debian".into())),
            ("file:/srv/debian", Scheme::File("/srv/debian".into())),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().scheme(), scheme);
        }
        for text in ["", "debian", "ftp://mirror.example", "http://", "http://a b/c", "file:relative"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn messages_have_no_passwords() {
        let address: Address = "https://user:secret@mirror.example/debian".parse().unwrap();
        assert_eq!(address.to_string(), "https://mirror.example/debian");
        assert_eq!(address.join("dists/x").to_string(), "https://mirror.example/debian/dists/x");
    }
}
