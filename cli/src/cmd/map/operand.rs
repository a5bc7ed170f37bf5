//! The keys and values that the user types, as the bytes that the kernel takes.

use super::{
    element::MapElements,
    words::{ElementPart, parse_part},
};
use crate::{
    cmd::cgroup::open_directory,
    console::{Console, ExitStatus},
    error::BadInput,
    kernel_objects::select::{command, parse_selector, select_one},
    text::{line::Line, style},
};
use core_relo::{
    Endian,
    btf::{Kind as BtfKind, Type},
};
use core_relo_loader::{inventory::ObjectKind, maps::Flags, object::MapType};
use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::Path,
};

/// The bytes of a value, and the descriptor whose number they are.
///
/// The descriptor must stay open until the kernel has taken the value.
pub(super) struct ValueOperand {
    pub(super) bytes: Vec<u8>,
    descriptor: Option<OwnedFd>,
}

impl ValueOperand {
    /// Returns the bytes, unless they are the number of a descriptor, which means nothing after this command.
    pub(super) fn content(&self) -> Option<&[u8]> {
        self.descriptor.is_none().then_some(&*self.bytes)
    }
}

impl MapElements<'_> {
    /// Parses the words of a key. bpftool's word `key` may stand before them.
    pub(super) fn parse_key(&self, words: &[String]) -> Result<Vec<u8>, BadInput> {
        let words = without_label("key", words);
        let ty = self.key_type.as_ref().map(|ty| (&*ty.btf, ty.id));
        parse_part(ElementPart::Key, words, vec![0; self.shape.key_size()], ty).map_err(|what| {
            self.bad_input(&format!("key: {what}"), "`core-relo map dump --format json` prints its keys")
        })
    }

    /// Returns an error unless elements are written by their keys.
    pub(super) fn check_writable_by_key(&self) -> Result<(), BadInput> {
        if let Some((reason, help)) = unwritable_type(self.map_type()) {
            return Err(self.bad_input(reason, help));
        }
        if self.shape.key_size() == 0 {
            return Err(
                self.bad_input("has no keys", "`core-relo map push` and `core-relo map pop` change it")
            );
        }
        Ok(())
    }

    /// Parses the words of a value. bpftool's word `value` may stand before them. All CPUs of a per-CPU map
    /// get the value. Variables of a data section that the value leaves out stay as they are.
    pub(super) fn parse_value(&self, words: &[String]) -> Result<ValueOperand, BadInput> {
        let words = without_label("value", words);
        if let Some(kind) = self.value_kind() {
            return self.object_operand(kind, words);
        }
        if self.map_type() == Some(MapType::CgroupArray) {
            return self.cgroup_operand(words);
        }
        let ty = self.value_type.as_ref().map(|ty| (&*ty.btf, ty.id));
        let size = usize::try_from(self.info.value_size).map_err(|e| self.bad_input(&e.to_string(), ""))?;
        let start = self.data_section()?.unwrap_or_else(|| vec![0; size]);
        let mut bytes = parse_part(ElementPart::Value, words, start, ty).map_err(|what| {
            self.bad_input(&format!("value: {what}"), "`core-relo map dump --format json` prints its values")
        })?;
        if self.shape.is_per_cpu() {
            // The kernel takes one value for each possible CPU, and pads each to 8 bytes.
            bytes.resize(size.next_multiple_of(8), 0);
            bytes = bytes.repeat(self.cpus.len());
        }
        Ok(ValueOperand { bytes, descriptor: None })
    }

    /// Returns the bytes of a data section now; `None` for another map.
    fn data_section(&self) -> Result<Option<Vec<u8>>, BadInput> {
        let kind = self.value_type.as_ref().and_then(|ty| ty.btf.ty(ty.id)).map(Type::kind);
        if kind != Some(BtfKind::Datasec) {
            return Ok(None);
        }
        let mut bytes = vec![0; self.shape.value_size()];
        let index = vec![0; self.shape.key_size()];
        self.shape.lookup(&index, &mut bytes, 0).map_err(|e| self.unreadable(e))?;
        Ok(Some(bytes))
    }

    /// Opens a program or map that becomes a value.
    fn object_operand(&self, kind: ObjectKind, words: &[String]) -> Result<ValueOperand, BadInput> {
        let selector = parse_selector(kind, words).map_err(|what| {
            self.bad_input(
                &format!("value: {what}"),
                &format!("`core-relo {} list` lists them", command(kind)),
            )
        })?;
        let (_, fd) = select_one(kind, &selector)?;
        self.descriptor_operand(fd)
    }

    /// Opens the directory of a cgroup.
    fn cgroup_operand(&self, words: &[String]) -> Result<ValueOperand, BadInput> {
        let [path] = words else {
            return Err(self.bad_input("value: expected the directory of a cgroup", "below /sys/fs/cgroup"));
        };
        let path = Path::new(path);
        let dir = open_directory(path)
            .map_err(|e| BadInput::for_path(path, format_args!("cannot open it: {e}")))?;
        self.descriptor_operand(dir)
    }

    fn descriptor_operand(&self, fd: OwnedFd) -> Result<ValueOperand, BadInput> {
        let number = u32::try_from(fd.as_raw_fd()).map_err(|e| self.bad_input(&e.to_string(), ""))?;
        Ok(ValueOperand { bytes: Endian::native().u32_bytes(number).to_vec(), descriptor: Some(fd) })
    }

    /// Reports that the map has no element with a key. The exit status becomes 1.
    pub(super) fn report_missing(&self, console: &mut Console<'_>, key: &[u8]) -> io::Result<()> {
        let what = match key {
            [] => "is empty".to_owned(),
            key if self.is_array() => {
                let last = self.info.max_entries.saturating_sub(1);
                format!("no element [{}], or it is empty: it has [0] to [{last}]", self.key_text(key))
            }
            key => format!("no element [{}]", self.key_text(key).trim_start()),
        };
        self.report_unmet(console, &what)
    }

    /// Reports why a request about an element is not met. The exit status becomes 1.
    pub(super) fn report_unmet(&self, console: &mut Console<'_>, what: &str) -> io::Result<()> {
        console.raise_exit(ExitStatus::Incompatible);
        let line = Line::new().styled(style::ERROR, "core-relo");
        console.err.line(line.text(format_args!(": {}: {what}", self.name())))
    }

    /// Returns whether the keys are indices, and every element exists.
    pub(super) fn is_array(&self) -> bool {
        matches!(
            self.map_type(),
            Some(MapType::Array | MapType::PercpuArray | MapType::ProgArray | MapType::ArrayOfMaps)
        )
    }

    /// Returns whether the map is a queue or a stack.
    pub(super) fn is_queue(&self) -> bool {
        matches!(self.map_type(), Some(MapType::Queue | MapType::Stack))
    }
}

/// Returns why a value of a map type cannot be written from the command line, and what to do instead.
fn unwritable_type(map_type: Option<MapType>) -> Option<(&'static str, &'static str)> {
    Some(match map_type? {
        MapType::Ringbuf | MapType::UserRingbuf => {
            ("a ring buffer has no elements to write", "programs and its producer write records")
        }
        MapType::PerfEventArray => (
            "its values are descriptors of perf events, which end with this command",
            "the process that reads the events opens them",
        ),
        MapType::Sockmap | MapType::Sockhash | MapType::ReuseportSockarray | MapType::Xskmap => (
            "its values are descriptors of sockets, which end with this command",
            "the process that has the sockets adds them",
        ),
        MapType::SkStorage | MapType::TaskStorage | MapType::InodeStorage | MapType::CgrpStorage => (
            "local storage is written through a descriptor of its socket, task, inode or cgroup",
            "a program or a process with the descriptor writes it",
        ),
        MapType::Arena => {
            ("an arena is memory and has no elements", "a process that maps it can write to it")
        }
        _ => return None,
    })
}

/// Removes bpftool's word before an operand, unless it is the operand.
fn without_label<'w>(label: &str, words: &'w [String]) -> &'w [String] {
    match words {
        [first, rest @ ..] if first == label && !rest.is_empty() => rest,
        words => words,
    }
}

/// Removes bpftool's word for the flags of an update, the last one, if the words before it `are_complete`.
pub(super) fn split_flags(
    words: &[String],
    are_complete: impl FnOnce(&[String]) -> bool,
) -> (&[String], Option<Flags>) {
    let Some((last, rest)) = words.split_last() else { return (words, None) };
    let flags = match last.as_str() {
        "any" => Flags::ANY,
        "exist" => Flags::EXIST,
        "noexist" => Flags::NO_EXIST,
        _ => return (words, None),
    };
    if are_complete(rest) { (rest, Some(flags)) } else { (words, None) }
}

/// Returns whether words are a key and a value.
pub(super) fn are_key_and_value(words: &[String]) -> bool {
    split_key_and_value(words).is_ok_and(|(_, value)| !value.is_empty())
}

/// Returns whether words are a value, with bpftool's word `value` or without it.
pub(super) fn are_value(words: &[String]) -> bool {
    !matches!(words, []) && words != ["value"]
}

/// Divides words into those of a key and those of a value: `KEY VALUE`, or `[key] KEY... value VALUE...`.
pub(super) fn split_key_and_value(words: &[String]) -> Result<(&[String], &[String]), &'static str> {
    let rest = match words {
        [first, rest @ ..] if first == "key" && rest.len() > 1 => rest,
        words => words,
    };
    // The first word belongs to the key, even if it is `value`; maps without keys have no such word.
    let at = rest.iter().skip(1).position(|word| word == "value").and_then(|at| at.checked_add(1));
    if let Some((key, [_, value @ ..])) = at.and_then(|at| rest.split_at_checked(at)) {
        return Ok((key, value));
    }
    match rest {
        [_, _] => Ok(rest.split_at(1)),
        [] | [_] => Err("expected a key and a value"),
        _ => Err("several words: expected the word `value` between key and value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_divided_into_key_and_value() {
        let split = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            split_key_and_value(&words).map(|(key, value)| (key.join(" "), value.join(" ")))
        };
        let parts = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(split("1 2"), parts("1", "2"));
        assert_eq!(split("key 1 value 2"), parts("1", "2"));
        assert_eq!(split("1 value 2"), parts("1", "2"));
        assert_eq!(split("hex 01 02 value hex 03"), parts("hex 01 02", "hex 03"));
        assert_eq!(split("0 value pinned /p"), parts("0", "pinned /p"));
        // A key or value may be one of the words.
        assert_eq!(split("value 2"), parts("value", "2"));
        assert_eq!(split("key value value value"), parts("value", "value"));
        assert_eq!(split("key 2"), parts("key", "2"));
        for wrong in ["", "1", "hex 01 02"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_word_may_be_the_flags() {
        let split = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let (rest, flags) = split_flags(&words, are_key_and_value);
            (rest.join(" "), flags)
        };
        let split_push = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            let (rest, flags) = split_flags(&words, are_value);
            (rest.join(" "), flags)
        };
        assert_eq!(split_push("value 4 0 0 0 exist"), ("value 4 0 0 0".into(), Some(Flags::EXIST)));
        assert_eq!(split_push("4 any"), ("4".into(), Some(Flags::ANY)));
        for value in ["exist", "value exist", "4"] {
            assert_eq!(split_push(value), (value.into(), None));
        }
        assert_eq!(split("1 2 noexist"), ("1 2".into(), Some(Flags::NO_EXIST)));
        assert_eq!(split("key 1 0 value 2 0 exist"), ("key 1 0 value 2 0".into(), Some(Flags::EXIST)));
        assert_eq!(split("1 2 any"), ("1 2".into(), Some(Flags::ANY)));
        // The value may be one of the words, such as an enumerator.
        for value in ["1 exist", "key 1 value any", "1 2", "exist"] {
            assert_eq!(split(value), (value.into(), None));
        }
    }
}
