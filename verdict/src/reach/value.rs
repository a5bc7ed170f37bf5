//! Values of registers and stack slots.

use super::reachability::ContextOffset;
use super::scalar::Scalar;

/// A value of a register or a stack slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number; or an unknown pointer to memory other than the stack.
    Scalar(Scalar),
    /// A pointer into a stack frame, at an offset from the frame's end.
    Stack { frame: u8, offset: i32 },
    /// A pointer into a stack frame, at an unknown offset.
    StackRange { frame: u8 },
    /// A pointer into unchanging data: the index of the [load](super::program::Program::loads), and the
    /// offset.
    Frozen { load: u32, offset: u64 },
    /// The address of a function, given by its first instruction.
    Function(u32),
    /// A pointer to the context of the program.
    Context { offset: ContextOffset },
    /// A pointer that may be null, returned by the call of the helper. `is_tracked` as in `Pointer`.
    OrNull {
        call: u32,
        is_tracked: bool,
        /// Whether the verifier may know that the pointer is not null (kernel: `can_elide_value_nullness`,
        /// since Linux 6.14).
        may_be_elided: bool,
    },
    /// A map.
    Map { is_array: bool },
    /// A pointer that is not null, to memory other than the stack.
    Pointer {
        /// Whether the verifier of Linux 5.10 decides comparisons of the pointer with null.
        is_tracked: bool,
    },
    /// A number that depends on the kernel, and is not computed yet: an index of the path's [deferred
    /// numbers](super::kernel_numbers::KernelNumbers). Values where paths meet are computed.
    Deferred(u32),
    /// Any value, also a pointer into any stack frame.
    Any,
}

impl ContextOffset {
    /// Returns the offset after a constant is added. `None` stands for a constant that does not fit, or a
    /// number that is not known.
    pub(super) fn add(self, distance: Option<i32>) -> Self {
        match (self, distance) {
            (Self::Constant(offset), Some(distance)) => {
                offset.checked_add(distance).map_or(Self::Unknown, Self::Constant)
            }
            (Self::Variable, Some(_)) => Self::Variable,
            _ => Self::Unknown,
        }
    }
}

impl Value {
    /// A number that the analysis does not know, or a pointer to memory other than the stack.
    ///
    /// Registers that the program has not written, or does not read any more, have this value.
    pub(super) const UNKNOWN: Self = Self::Scalar(Scalar::UNKNOWN);

    /// The context that a program receives.
    pub(super) const CONTEXT: Self = Self::Context { offset: ContextOffset::Constant(0) };

    /// Returns the number; `None` for pointers.
    pub(super) const fn as_scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns whether the value is a pointer for certain.
    pub(super) const fn is_pointer(self) -> bool {
        !matches!(self, Self::Scalar(_) | Self::Deferred(_) | Self::Any)
    }

    /// Returns whether every state with the other value is a state with this value.
    pub(super) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Scalar(scalar), Self::Scalar(other)) => scalar.covers(other),
            (Self::Context { offset: ContextOffset::Unknown }, Self::Context { .. }) => true,
            _ => self == other || self == Self::Any,
        }
    }

    /// Returns whether all that is possible with the other value for certain is possible with this value for
    /// certain.
    pub(super) fn allows(self, other: Self) -> bool {
        match (self, other) {
            (Self::Scalar(scalar), Self::Scalar(other)) => scalar.possible.contains_all(other.possible),
            _ => self == other || other == Self::Any,
        }
    }

    /// Returns a value that stands for both values.
    pub(super) fn join(self, other: Self, keeps_range: bool) -> Self {
        match (self, other) {
            (Self::Scalar(scalar), Self::Scalar(other)) => Self::Scalar(scalar.join(other, keeps_range)),
            _ if self == other => self,
            (Self::Context { .. }, Self::Context { .. }) => Self::Context { offset: ContextOffset::Unknown },
            _ if self.is_opaque() && other.is_opaque() => Self::UNKNOWN,
            _ => Self::Any,
        }
    }

    /// Returns whether an access through the value cannot reach the stack or unchanging data, and the value
    /// is no function.
    pub(super) const fn is_opaque(self) -> bool {
        matches!(
            self,
            Self::Scalar(_)
                | Self::Deferred(_)
                | Self::Context { .. }
                | Self::OrNull { .. }
                | Self::Map { .. }
                | Self::Pointer { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_pointers_are_joined_without_the_stack_if_none_leads_there() {
        let pointer = Value::Pointer { is_tracked: true };
        let null = Value::Scalar(Scalar::constant(0));
        let stack = Value::Stack { frame: 0, offset: -8 };
        assert_eq!(pointer.join(null, true), Value::UNKNOWN);
        assert_eq!(pointer.join(stack, true), Value::Any);
        assert_eq!(stack.join(stack, true), stack);
        assert!(Value::Any.covers(stack) && !stack.covers(Value::Any));
        assert!(stack.allows(Value::Any) && !Value::Any.allows(stack));
    }
}
