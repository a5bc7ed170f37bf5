//! The headers of rpm packages: tags with values, an index and a store (RPM's "Package format V4").

use crate::system::{Failure, Outcome};

/// The magic number and version of a header, and four reserved bytes.
const MAGIC: [u8; 8] = [0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];

/// The size of an entry of the index.
const ENTRY_BYTES: usize = 16;

/// A value of a header.
#[derive(Debug, Clone)]
pub enum Value {
    U16(Vec<u16>),
    U32(Vec<u32>),
    Bytes(Vec<u8>),
    Text(String),
    Texts(Vec<String>),
    /// A text that may be translated.
    Translated(String),
}

impl Value {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Returns the number of the type.
    fn number(&self) -> u32 {
        match self {
            Self::U16(_) => 3,
            Self::U32(_) => 4,
            Self::Text(_) => 6,
            Self::Bytes(_) => 7,
            Self::Texts(_) => 8,
            Self::Translated(_) => 9,
        }
    }

    fn alignment(&self) -> usize {
        match self {
            Self::U16(_) => 2,
            Self::U32(_) => 4,
            _ => 1,
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::U16(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Text(_) | Self::Translated(_) => 1,
            Self::Texts(texts) => texts.len(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let terminated = |text: &String| [text.as_bytes(), b"\0"].concat();
        match self {
            Self::U16(values) => values.iter().flat_map(|value| value.to_be_bytes()).collect(),
            Self::U32(values) => values.iter().flat_map(|value| value.to_be_bytes()).collect(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Text(text) | Self::Translated(text) => terminated(text),
            Self::Texts(texts) => texts.iter().flat_map(terminated).collect(),
        }
    }
}

/// Returns a header with these tags, in ascending order. The tag `region` covers all of them, as digests and
/// signatures need it.
pub fn header(region: u32, tags: &[(u32, Value)]) -> Outcome<Vec<u8>> {
    let count = tags.len() + 1;
    let mut index = Vec::new();
    let mut store: Vec<u8> = Vec::new();
    for (tag, value) in tags {
        store.resize(store.len().next_multiple_of(value.alignment()), 0);
        index.extend(entry(*tag, value.number(), number(store.len())?, number(value.count())?));
        store.extend(value.bytes());
    }
    let binary = Value::Bytes(Vec::new()).number();
    let entry_bytes = number(ENTRY_BYTES)?;
    let first = entry(region, binary, number(store.len())?, entry_bytes);
    // The last entry of the store looks like one of the index, with the distance back to the index's begin.
    let distance = number(count * ENTRY_BYTES)?.wrapping_neg();
    store.extend(entry(region, binary, distance, entry_bytes));
    let lengths = [number(count)?.to_be_bytes(), number(store.len())?.to_be_bytes()].concat();
    Ok([MAGIC.as_slice(), &lengths, &first, &index, &store].concat())
}

fn entry(tag: u32, kind: u32, place: u32, count: u32) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    for (field, value) in entry.chunks_exact_mut(4).zip([tag, kind, place, count]) {
        field.copy_from_slice(&value.to_be_bytes());
    }
    entry
}

/// Returns a length as the format has it.
pub fn number(length: usize) -> Outcome<u32> {
    u32::try_from(length).map_err(|error| Failure::Failed(format!("rpm: {error}")))
}
