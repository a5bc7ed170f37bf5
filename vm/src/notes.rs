//! The lines on the guest's third serial port: the state of the guest, apart from the output of commands.

/// The prefix of every note.
const PREFIX: &str = "@@";

/// A note of the first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// The first process runs. The value is the kernel's release.
    Started(String),
    /// A command could not be prepared or started.
    Failed(String),
    /// A command ended with this exit code, or with 128 plus the number of the signal that ended it.
    Exited(i32),
}

impl Note {
    /// Parses a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, value) = line.trim().strip_prefix(PREFIX)?.split_once(' ')?;
        match word {
            "started" => Some(Self::Started(value.to_owned())),
            "failed" => Some(Self::Failed(value.to_owned())),
            "exited" => value.parse().ok().map(Self::Exited),
            _ => None,
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Started(release) => write!(f, "{PREFIX}started {release}"),
            Self::Failed(reason) => write!(f, "{PREFIX}failed {}", reason.replace('\n', " ")),
            Self::Exited(code) => write!(f, "{PREFIX}exited {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_parsed_as_they_are_printed() {
        for note in [Note::Started("6.1.0".into()), Note::Failed("a: b".into()), Note::Exited(139)] {
            assert_eq!(Note::parse(&note.to_string()), Some(note));
        }
        assert_eq!(Note::parse("exited 1"), None);
        assert_eq!(Note::parse("@@exited x"), None);
    }
}
