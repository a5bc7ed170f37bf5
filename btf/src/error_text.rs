//! `Debug` of errors, which `fn main() -> Result<(), Box<dyn Error>>` prints.

use alloc::string::ToString as _;
use core::{error::Error, fmt};

/// Implements `Debug` of error types as the message and its causes, each on a line of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_message {
    ($($error:ty),+ $(,)?) => {$(
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::error_text::write(f, self)
            }
        }
    )+};
}

/// Writes an error's message and its causes. A cause that the message quotes is not written again.
#[doc(hidden)]
pub fn write(f: &mut fmt::Formatter<'_>, error: &dyn Error) -> fmt::Result {
    let mut written = error.to_string();
    f.write_str(&written)?;
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !written.contains(&text) {
            write!(f, "\n  caused by: {text}")?;
            written.push_str(&text);
        }
        next = cause.source();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use thiserror::Error;

    #[derive(Error)]
    enum Outer {
        #[error("agent.bpf.o: cannot be read")]
        WithCause(#[source] Inner),
        #[error("agent.bpf.o: {0}")]
        WithText(#[source] Inner),
    }

    #[derive(Error)]
    #[error("the file is empty")]
    struct Inner;

    debug_as_message!(Outer, Inner);

    /// The derived `Debug` of an error of a load had 6 kB on one line.
    #[test]
    fn debug_is_the_message_with_its_causes() {
        let text = "agent.bpf.o: cannot be read\n  caused by: the file is empty";
        assert_eq!(format!("{:?}", Outer::WithCause(Inner)), text);
        assert_eq!(format!("{:?}", Outer::WithText(Inner)), "agent.bpf.o: the file is empty");
    }
}
