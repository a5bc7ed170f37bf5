//! Texts with a signature of their own: `InRelease`.

/// A text with a signature of its own (RFC 9580, 7: cleartext signatures), taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClearSigned {
    /// The text that is signed.
    pub(crate) content: String,
    /// The signature, as a detached one.
    pub(crate) signature: String,
}

const BEGIN_MESSAGE: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const BEGIN_SIGNATURE: &str = "-----BEGIN PGP SIGNATURE-----";

impl ClearSigned {
    /// Takes a signed text apart. Returns `None` if the text has no signature.
    ///
    /// Lines lose the space at their end and the marks before `-`, which the signature does not cover. The
    /// last line has no line feed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.split_once('\n')?;
        if head.trim_end() != BEGIN_MESSAGE {
            return None;
        }
        // Headers such as `Hash: SHA256` end with an empty line.
        let (_headers, rest) = rest.split_once("\n\n")?;
        let (content, signature) = rest.split_once(BEGIN_SIGNATURE)?;
        let lines = content.strip_suffix('\n')?.split('\n');
        let lines: Vec<_> = lines.map(|line| line.strip_prefix("- ").unwrap_or(line).trim_end()).collect();
        Some(Self { content: lines.join("\n"), signature: format!("{BEGIN_SIGNATURE}{signature}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_signed_text_is_what_the_signature_covers() {
        let text = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nSuite: x \n- -dash\n\nend\n\
                    -----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n";
        let signed = ClearSigned::parse(text).unwrap();
        assert_eq!(signed.content, "Suite: x\n-dash\n\nend");
        assert!(signed.signature.starts_with(BEGIN_SIGNATURE) && signed.signature.contains("abc"));
        assert_eq!(ClearSigned::parse("Suite: x\n"), None);
        assert_eq!(ClearSigned::parse(&text.replace(BEGIN_SIGNATURE, "x")), None);
    }
}
