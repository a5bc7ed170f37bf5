//! The values and the stack of a run.

use super::decisions::Inputs;
use core_relo::Endian;

/// The bytes of a frame.
const FRAME: i64 = 512;

/// The value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// No value: the verifier refuses to read it.
    Unset,
    Number(u64),
    /// A pointer to the stack of a frame, at an offset from the frame's end.
    Stack {
        frame: usize,
        offset: i64,
    },
    Context,
    Map,
    MapValue,
    /// A pointer to the unchanging data.
    Data(u64),
    /// A pointer to memory that the caller of a global function provides.
    Argument,
    Function(u32),
}

impl Word {
    pub(super) const fn as_number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number that the processor sees.
    pub(super) fn bits(self) -> Option<u64> {
        let base = 0xffff_8880_0000_0000_u64;
        Some(match self {
            Self::Unset => return None,
            Self::Number(number) => number,
            Self::Stack { frame, offset } => {
                let frame = u64::try_from(frame).ok()?;
                base.wrapping_add((frame + 1) << 16).wrapping_add(offset.cast_unsigned())
            }
            Self::Context => base + 0x80_0000,
            Self::Map => base + 0x90_0000,
            Self::MapValue => base + 0xa0_0000,
            Self::Argument => base + 0xb0_0000,
            Self::Data(offset) => base.wrapping_add(0xc0_0000).wrapping_add(offset),
            Self::Function(start) => base + 0xd0_0000 + u64::from(start),
        })
    }
}

/// A byte of the stack. A byte of a pointer also has the pointer, and its number in the pointer.
#[derive(Clone, Copy, Debug)]
struct Byte {
    value: u8,
    is_input: bool,
    pointer: Option<(Word, i64)>,
}

/// The stack of a function.
#[derive(Debug)]
pub(super) struct Frame {
    bytes: Vec<Byte>,
}

impl Frame {
    /// Creates a stack with random content.
    pub(super) fn new(inputs: &mut Inputs) -> Self {
        let random = inputs.random();
        let value = |number: u32| u8::try_from(random.rotate_left(number) & 0xff).unwrap_or(0);
        let byte = |number| Byte { value: value(number), is_input: true, pointer: None };
        Self { bytes: (0..512).map(byte).collect() }
    }

    fn part(&mut self, offset: i64, bytes: i64) -> Option<&mut [Byte]> {
        let start = usize::try_from(offset.checked_add(FRAME)?).ok()?;
        let end = usize::try_from(offset.checked_add(FRAME)?.checked_add(bytes)?).ok()?;
        self.bytes.get_mut(start..end)
    }

    /// Reads a value, and whether it depends on inputs. Returns `None` outside of the stack.
    pub(super) fn load(&mut self, endian: Endian, offset: i64, bytes: i64) -> Option<(Word, bool)> {
        let part = self.part(offset, bytes)?;
        let is_input = part.iter().any(|byte| byte.is_input || byte.pointer.is_some());
        let first = part.first()?.pointer.map(|(pointer, _)| pointer);
        let is_same = |(number, byte): (i64, &Byte)| byte.pointer == first.map(|pointer| (pointer, number));
        if let Some(pointer) = first
            && bytes == 8
            && offset % 8 == 0
            && (0..).zip(part.iter()).all(is_same)
        {
            return Some((pointer, false));
        }
        let add = |number: u64, byte: &Byte| (number << 8) | u64::from(byte.value);
        let number = match endian {
            Endian::Little => part.iter().rev().fold(0, add),
            Endian::Big => part.iter().fold(0, add),
        };
        Some((Word::Number(number), is_input))
    }

    /// Writes a value. Returns `None` if the verifier refuses the store.
    pub(super) fn store(
        &mut self,
        endian: Endian,
        offset: i64,
        bytes: i64,
        word: Word,
        is_input: bool,
    ) -> Option<()> {
        let pointer = (!matches!(word, Word::Number(_))).then_some(word);
        if pointer.is_some() && (bytes != 8 || offset % 8 != 0) {
            return None;
        }
        let bits = word.bits()?;
        let part = self.part(offset, bytes)?;
        for (number, byte) in (0..).zip(part) {
            let shift = match endian {
                Endian::Little => number,
                Endian::Big => bytes - 1 - number,
            };
            let value = (bits >> (8 * shift)) & 0xff;
            let pointer = pointer.map(|pointer| (pointer, number));
            *byte = Byte { value: u8::try_from(value).ok()?, is_input, pointer };
        }
        Some(())
    }

    /// Fills a part of the stack with inputs. Returns `None` outside of the stack.
    pub(super) fn fill(&mut self, offset: i64, bytes: i64, inputs: &mut Inputs) -> Option<()> {
        for byte in self.part(offset, bytes)? {
            let value = u8::try_from(inputs.number() & 0xff).ok()?;
            *byte = Byte { value, is_input: true, pointer: None };
        }
        Some(())
    }
}
