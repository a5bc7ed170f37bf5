//! The macro [`pod!`](crate::pod) and its checks of a struct's layout, which run in the compiler.

use super::pod::Pod;

/// Declares structs that are [`Pod`](crate::Pod): `repr(C)`, with fields that are `Pod`, without padding.
///
/// A struct and its fields take attributes, such as derives and documentation. `Clone` and `Copy` are derived
/// already. A struct with padding does not compile. The error names the field and the gap: make the padding a
/// field.
///
/// The macro writes an `unsafe impl`. A crate that forbids `unsafe_code` (rather than denying it) cannot use
/// the macro.
///
/// ```
/// core_relo_loader::pod! {
///     /// A record of the BPF program.
///     #[derive(Debug, PartialEq, Eq)]
///     pub struct Event {
///         pub pid: u32,
///         #[doc(hidden)]
///         pub pad: u32,
///         pub started: u64,
///         pub comm: [u8; 16],
///     }
/// }
/// use core_relo_loader::Pod;
/// assert_eq!(Event::from_bytes(&[0; 32]), Some(Event::zeroed()));
/// ```
///
/// This one fails with "`Event` has 4 bytes of padding before the field `started`: add the field
/// `pad: [u8; 4]` there":
///
/// ```compile_fail
/// core_relo_loader::pod! {
///     pub struct Event { pub pid: u32, pub started: u64 }
/// }
/// ```
///
/// This one fails with "`Event` has 3 bytes of padding at its end: add the field `pad: [u8; 3]` there":
///
/// ```compile_fail
/// core_relo_loader::pod! {
///     pub struct Event { pub pid: u32, pub state: u8 }
/// }
/// ```
///
/// Fields cannot be left out by `cfg`, because the check of the layout counts all:
///
/// ```compile_fail
/// core_relo_loader::pod! {
///     pub struct Event { pub pid: u32, #[cfg(any())] pub none: u32, pub started: u64 }
/// }
/// ```
///
/// Every field has to be [`Pod`](crate::Pod):
///
/// ```compile_fail
/// core_relo_loader::pod! {
///     pub struct Event { pub pid: u32, pub is_root: bool, pub pad: [u8; 3] }
/// }
/// ```
#[macro_export]
macro_rules! pod {
    ($($(#[$attr:meta])* $vis:vis struct $name:ident {
        $($(#[$field_attr:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
    })*) => {$(
        $(#[$attr])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        $vis struct $name { $($(#[$field_attr])* $field_vis $field: $ty,)* }

        const _: () = {
            let end = 0;
            $(
                let end = $crate::pod_macro::check_field::<$ty>(
                    ::core::stringify!($name),
                    ::core::stringify!($field),
                    end,
                    ::core::mem::offset_of!($name, $field),
                );
            )*
            $crate::pod_macro::check_end(::core::stringify!($name), end, ::core::mem::size_of::<$name>());
        };

        #[expect(unsafe_code, reason = "the layout is checked above")]
        // SAFETY: `repr(C)`, each field is `Pod`, and the checks above leave no room for padding.
        unsafe impl $crate::Pod for $name {
            const SHAPE: $crate::Shape = $crate::Shape::with_members(::core::mem::size_of::<$name>(), &[$(
                $crate::MemberShape::new(
                    ::core::stringify!($field),
                    ::core::mem::offset_of!($name, $field),
                    ::core::mem::size_of::<$ty>(),
                    <$ty as $crate::Pod>::SHAPE,
                ),
            )*]);
        }
    )*};
}

pub(crate) use pod;

/// Returns the end of a field of type `T`. Fails the build if the field does not begin where the fields
/// before it end.
#[expect(
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler: a panic or an overflow is an error of the build"
)]
pub const fn check_field<T: Pod>(name: &str, field: &str, end: usize, offset: usize) -> usize {
    if offset != end {
        let gap = offset - end;
        let message = Message::new().padding(name, gap).text(" before the field `").text(field).text("`");
        panic!("{}", message.with_remedy(gap).as_str());
    }
    offset + size_of::<T>()
}

/// Fails the build if a struct does not end with its last field.
#[expect(
    clippy::panic,
    clippy::arithmetic_side_effects,
    reason = "runs in the compiler: a panic or an overflow is an error of the build"
)]
pub const fn check_end(name: &str, end: usize, size: usize) {
    if size != end {
        let gap = size - end;
        panic!("{}", Message::new().padding(name, gap).text(" at its end").with_remedy(gap).as_str());
    }
}

/// Bytes of the longest message. What does not fit is left out as a whole, so that the message stays UTF-8.
const MESSAGE_BYTES: usize = 512;

/// A message that is put together in the compiler, where nothing can be formatted.
struct Message {
    bytes: [u8; MESSAGE_BYTES],
    len: usize,
}

impl Message {
    const fn new() -> Self {
        Self { bytes: [0; MESSAGE_BYTES], len: 0 }
    }

    const fn padding(self, name: &str, gap: usize) -> Self {
        let bytes = if gap == 1 { " byte of padding" } else { " bytes of padding" };
        self.text("`").text(name).text("` has ").number(gap).text(bytes)
    }

    const fn with_remedy(self, gap: usize) -> Self {
        self.text(": add the field `pad: [u8; ").number(gap).text("]` there")
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "`const`, and the text was found to fit"
    )]
    const fn text(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        if text.len() > MESSAGE_BYTES - self.len {
            return self;
        }
        let mut at = 0;
        while at < text.len() {
            self.bytes[self.len] = text[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    #[expect(clippy::indexing_slicing, reason = "the index is a digit")]
    const fn number(self, number: usize) -> Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let shorter = if number < 10 { self } else { self.number(number / 10) };
        shorter.text(DIGITS[number % 10])
    }

    const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "the struct has padding",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::pod! {
        /// Attributes of the struct and of its fields are kept.
        #[derive(Debug, PartialEq, Eq)]
        struct Event {
            /// The process.
            #[doc(alias = "tgid")]
            pid: u32,
            comm: [u8; 4],
            started: u64,
        }

        struct Empty {}

        #[derive(Default)]
        #[repr(packed)]
        struct Packed { flag: u8, value: u64 }
    }

    fn message(check: impl FnOnce() + core::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(check).expect_err("the layout is refused");
        panic.downcast_ref::<String>().expect("the message is formatted").clone()
    }

    #[test]
    fn structs_without_padding_are_pod() {
        let event = Event { pid: 7, comm: *b"init", started: 1 };
        assert_eq!(Event::from_bytes(event.as_bytes()), Some(event));
        assert_eq!((Empty {}.as_bytes().len(), Packed { flag: 1, value: 2 }.as_bytes().len()), (0, 9));
    }

    #[test]
    fn padding_is_named_with_its_remedy() {
        assert_eq!(check_field::<u64>("Event", "started", 8, 8), 16);
        assert_eq!(
            message(|| assert_eq!(check_field::<u64>("Event", "started", 4, 8), 16)),
            "`Event` has 4 bytes of padding before the field `started`: add the field `pad: [u8; 4]` there"
        );
        assert_eq!(
            message(|| check_end("Event", 1023, 1024)),
            "`Event` has 1 byte of padding at its end: add the field `pad: [u8; 1]` there"
        );
        assert_eq!(
            message(|| check_end("Größe", 0, 1280)),
            "`Größe` has 1280 bytes of padding at its end: add the field `pad: [u8; 1280]` there"
        );
        let long = "x".repeat(600);
        assert_eq!(
            message(move || check_end(&long, 0, 2)),
            "`` has 2 bytes of padding at its end: add the field `pad: [u8; 2]` there"
        );
    }
}
