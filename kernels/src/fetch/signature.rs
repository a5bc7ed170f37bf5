//! Signatures of indexes, verified by the programs that apt uses: `gpgv` (GnuPG) or `sqv` (Sequoia).

use super::{
    address::Address,
    error::{FetchError, MirrorDefect},
};
use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A program that verifies signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verifier {
    Gpgv,
    Sqv,
}

impl Verifier {
    /// Returns the program that is installed.
    pub(crate) fn find() -> Option<Self> {
        let paths = std::env::var_os("PATH")?;
        let is_installed = |name: &str| std::env::split_paths(&paths).any(|dir| dir.join(name).is_file());
        match (is_installed("gpgv"), is_installed("sqv")) {
            (true, _) => Some(Self::Gpgv),
            (false, true) => Some(Self::Sqv),
            (false, false) => None,
        }
    }

    /// Returns the name of the program.
    const fn name(self) -> &'static str {
        match self {
            Self::Gpgv => "gpgv",
            Self::Sqv => "sqv",
        }
    }
}

/// The files of a signed index.
#[derive(Clone, Debug)]
pub(crate) struct SignedIndex {
    /// The index without its signature.
    pub(crate) content: PathBuf,
    /// The detached signature.
    pub(crate) signature: PathBuf,
}

/// Verifies a detached signature with the keys in a keyring. One good signature suffices, because a keyring
/// may lack the newest key.
pub(crate) fn verify(
    verifier: Verifier,
    keyring: &Path,
    index: &SignedIndex,
    address: &Address,
) -> Result<(), FetchError> {
    let mut command = Command::new(verifier.name());
    command.arg("--keyring").arg(keyring);
    if verifier == Verifier::Gpgv {
        command.args(["--status-fd", "1"]);
    }
    command.arg(&index.signature).arg(&index.content);
    let output = run(&mut command).map_err(|error| FetchError::Unverified {
        address: address.clone(),
        reason: format!("{}: {error}", verifier.name()),
    })?;
    let status = String::from_utf8_lossy(&output.stdout);
    let is_good = match verifier {
        Verifier::Gpgv => has_good_signature(&status),
        Verifier::Sqv => output.status.success(),
    };
    if is_good {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut lines = errors.lines().filter(|line| !line.trim().is_empty());
    let message = lines.next_back().unwrap_or("no good signature").to_owned();
    Err(FetchError::mirror(address, MirrorDefect::Signature { message }))
}

fn run(command: &mut Command) -> io::Result<Output> {
    command.env("LC_ALL", "C").stdin(Stdio::null()).output()
}

/// Returns whether the status lines of `gpgv` have a good signature and no bad one (GnuPG, `doc/DETAILS`).
fn has_good_signature(status: &str) -> bool {
    let has = |word: &str| status.lines().any(|line| line.split_whitespace().nth(1) == Some(word));
    has("VALIDSIG") && has("GOODSIG") && !has("BADSIG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_good_signature_and_no_bad_one_is_needed() {
        let good = "[GNUPG:] GOODSIG 0123 Debian\n[GNUPG:] VALIDSIG 0123 2026-07-11\n";
        assert!(has_good_signature(good));
        assert!(has_good_signature(&format!("[GNUPG:] NO_PUBKEY 4567\n{good}")));
        assert!(!has_good_signature(&format!("{good}[GNUPG:] BADSIG 0123 Debian\n")));
        assert!(!has_good_signature("[GNUPG:] EXPKEYSIG 0123 Debian\n[GNUPG:] VALIDSIG 0123\n"));
        assert!(!has_good_signature("[GNUPG:] NO_PUBKEY 4567\n"));
        assert!(!has_good_signature(""));
    }
}
