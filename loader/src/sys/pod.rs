//! Plain old data: types whose values are their bytes.
#![expect(unsafe_code, reason = "bytes become values and back")]

use core::{
    fmt,
    hash::{Hash, Hasher},
    mem::MaybeUninit,
    slice,
};
pub use core_relo_object::globals::{Element, MemberShape, Shape};

/// A type whose values are their bytes: keys and values of maps, records of ring buffers.
///
/// Integers, floats and arrays implement the trait. For structs, [`pod!`](crate::pod) implements it, and
/// fails to compile if the struct has padding.
///
/// # Safety
///
/// Any bytes are a valid value, and the value has no padding: each of its bytes is always initialised. It
/// holds no reference and nothing that changes behind a shared reference.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain old data",
    label = "`{Self}` does not implement `Pod`",
    note = "declare a struct with `core_relo_loader::pod! {{ struct … }}`, which checks that the struct has no padding",
    note = "integers, floats and arrays of plain old data are plain old data; `bool`, `char`, enums, references and tuples are not"
)]
pub unsafe trait Pod: Copy + Send + Sync + 'static {
    /// The type's structure, which is compared with the C types of variables, keys and values. A wrapper of a
    /// number has the shape of that number.
    const SHAPE: Shape = Shape::record(size_of::<Self>());

    /// Returns the value's bytes, in the machine's byte order.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: the trait promises that all bytes are initialised and that none changes while it is
        // borrowed.
        unsafe { slice::from_raw_parts(core::ptr::from_ref(self).cast(), size_of::<Self>()) }
    }

    /// Returns the value's bytes for writing. Any bytes are a value.
    fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the trait promises that any bytes are a value.
        unsafe { slice::from_raw_parts_mut(core::ptr::from_mut(self).cast(), size_of::<Self>()) }
    }

    /// Reads a value from the start of `bytes`, which need not be aligned. Returns `None` if there are too
    /// few bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..size_of::<Self>())?;
        // SAFETY: there are enough bytes, the read may be unaligned, and the trait promises that any bytes
        // are a value.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }

    /// Returns the value whose bytes are all 0.
    fn zeroed() -> Self {
        // SAFETY: the trait promises that any bytes are a value.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Returns the value whose bytes are all 0, in memory of the heap. A large value never lies on the stack.
    fn boxed_zeroed() -> Box<Self> {
        let mut value = Box::<Self>::new_uninit();
        // SAFETY: the pointer is valid for writes of one value.
        unsafe { value.as_mut_ptr().write_bytes(0, 1) };
        // SAFETY: all bytes are 0, and the trait promises that any bytes are a value.
        unsafe { value.assume_init() }
    }
}

macro_rules! plain {
    ($element:ident: $($ty:ty)*) => {$(
        // SAFETY: a number has no padding, and any bytes are a valid number.
        unsafe impl Pod for $ty {
            const SHAPE: Shape = Shape::scalar(Element::$element, size_of::<Self>());
        }
    )*};
}

plain!(Unsigned: u8 u16 u32 u64 u128 usize);
plain!(Signed: i8 i16 i32 i64 i128 isize);
plain!(Float: f32 f64);

// SAFETY: an array consists of its elements, without padding between them.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {
    const SHAPE: Shape = T::SHAPE.array();
}

/// A C `bool` in plain old data: one byte. 0 is false, and any other byte is true, as in C.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

// SAFETY: the type is one byte, and any byte is a value.
unsafe impl Pod for Bool {
    const SHAPE: Shape = Shape::scalar(Element::Bool, 1);
}

impl Bool {
    /// Creates the value 0 or 1.
    pub const fn new(value: bool) -> Self {
        Self(if value { 1 } else { 0 })
    }

    /// Returns the value.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

impl From<Bool> for bool {
    fn from(value: Bool) -> Self {
        value.get()
    }
}

impl PartialEq for Bool {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl Hash for Bool {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl PartialEq<bool> for Bool {
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}

/// The key of an LPM trie: the length of the prefix in bits, and the data, such as an address in network byte
/// order.
#[derive(Copy)]
#[repr(C, packed)]
pub struct LpmKey<K> {
    prefix_len: u32,
    data: K,
}

// SAFETY: a packed struct has no padding between its fields, and the fields are `Pod`, so they have none
// inside.
unsafe impl<K: Pod> Pod for LpmKey<K> {
    const SHAPE: Shape = Shape::with_members(size_of::<Self>(), Self::MEMBERS);
}

impl<K: Pod> LpmKey<K> {
    const MEMBERS: &[MemberShape] = &[
        MemberShape::new("prefix_len", 0, 4, u32::SHAPE),
        MemberShape::new("data", 4, size_of::<K>(), K::SHAPE),
    ];
}

impl<K: Copy> Clone for LpmKey<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Pod> LpmKey<K> {
    /// Creates a key from the first `prefix_len` bits of `data`.
    pub const fn new(prefix_len: u32, data: K) -> Self {
        Self { prefix_len, data }
    }

    /// Returns the length of the prefix in bits.
    pub const fn prefix_len(&self) -> u32 {
        self.prefix_len
    }

    /// Returns the data.
    pub const fn data(&self) -> K {
        self.data
    }
}

impl<K: Pod + fmt::Debug> fmt::Debug for LpmKey<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{}", self.data(), self.prefix_len())
    }
}

impl<K: Pod + PartialEq> PartialEq for LpmKey<K> {
    fn eq(&self, other: &Self) -> bool {
        self.prefix_len() == other.prefix_len() && self.data() == other.data()
    }
}

impl<K: Pod + Eq> Eq for LpmKey<K> {}

#[cfg(test)]
mod tests {
    use super::*;

    crate::pod! {
        #[derive(Debug, PartialEq, Eq)]
        struct Pair { a: u32, b: [u16; 2] }
    }

    #[test]
    fn a_bool_prints_as_a_bool_whatever_its_byte() {
        assert_eq!(format!("{} {:?} {}", Bool(2), Bool(1), Bool(0)), "true true false");
    }

    #[test]
    fn values_are_their_bytes() {
        let pair = Pair { a: 1, b: [2, 3] };
        let mut bytes = vec![9];
        bytes.extend_from_slice(pair.as_bytes());
        assert_eq!(Pair::from_bytes(&bytes[1..]), Some(pair), "unaligned");
        assert_eq!(Pair::from_bytes(&bytes[2..]), None, "too short");
        assert_eq!(u32::from_bytes(0x1234_5678u32.as_bytes()), Some(0x1234_5678));
        assert_eq!(Pair::zeroed().a, 0);
    }

    #[test]
    fn shapes_say_what_a_type_is() {
        assert_eq!(
            (<[[u16; 2]; 3]>::SHAPE.element, <[[u16; 2]; 3]>::SHAPE.element_size),
            (Element::Unsigned, 2)
        );
        assert!(<[u8; 4]>::SHAPE.is_bytes() && !u8::SHAPE.is_bytes() && !<[u16; 4]>::SHAPE.is_bytes());
        let members = Pair::SHAPE.members.unwrap();
        assert_eq!(
            members.iter().map(|m| (m.name, m.offset, m.size)).collect::<Vec<_>>(),
            [("a", 0, 4), ("b", 4, 4)]
        );
        assert_eq!(f32::SHAPE.element, Element::Float);
    }

    #[test]
    fn a_prefix_key_has_no_padding() {
        let key = LpmKey::new(24, [10u8, 0, 0, 0]);
        assert_eq!(key.as_bytes().len(), 8);
        assert_eq!(LpmKey::new(64, 1u64).as_bytes().len(), 12);
        assert_eq!(LpmKey::<[u8; 4]>::from_bytes(key.as_bytes()), Some(key));
        assert_eq!(format!("{key:?}"), "[10, 0, 0, 0]/24");
    }
}
