//! Integers, floating-point numbers and arrays.

use super::{check_id, check_no_elements, check_no_flag};
use crate::{
    ids::TypeId,
    kernel_check::{checker::Checker, name::NameError, records::Record, rule::BtfRule},
};

/// The bits of the encoding word of an INT that the kernel knows.
const INT_BITS: u32 = 0x0fff_ffff;
/// The bits of the largest integer.
const LARGEST_INT: u32 = 128;

impl<'d> Checker<'d> {
    /// Checks an INT (kernel: `btf_int_check_meta`). Its name may be any string.
    pub(super) fn check_int(&mut self, id: TypeId, record: Record<'d>) {
        let int = record.int();
        let bits = int.end();
        let size = record.third;
        let data = if int.0 & !INT_BITS != 0 {
            Err(BtfRule::IntData { found: int.0 })
        } else if bits > LARGEST_INT {
            Err(BtfRule::IntBits { found: bits })
        } else if bits.div_ceil(8) > size {
            Err(BtfRule::IntSize { bits, size })
        } else if !matches!(int.encoding(), 0 | 1 | 2 | 4) {
            Err(BtfRule::IntEncoding { found: int.encoding() })
        } else {
            Ok(())
        };
        self.report_first(id, record, [check_no_elements(record), check_no_flag(record), data]);
    }

    /// Checks a FLOAT (kernel: `btf_float_check_meta`). Its name may be any string.
    pub(super) fn check_float(&mut self, id: TypeId, record: Record<'d>) {
        let size = match record.third {
            2 | 4 | 8 | 12 | 16 => Ok(()),
            found => Err(BtfRule::FloatSize { found }),
        };
        self.report_first(id, record, [check_no_elements(record), check_no_flag(record), size]);
    }

    /// Checks an ARRAY (kernel: `btf_array_check_meta`).
    pub(super) fn check_array(&mut self, id: TypeId, record: Record<'d>) {
        let array = record.array();
        let name = match record.name_offset.0 {
            0 => Ok(()),
            _ => Err(BtfRule::Name(NameError::Unexpected)),
        };
        let size = match record.third {
            0 => Ok(()),
            found => Err(BtfRule::SizeNotZero { found }),
        };
        let element = check_id(array.element, false)
            .map_err(|reason| BtfRule::ArrayElement { found: array.element, reason });
        let index =
            check_id(array.index, false).map_err(|reason| BtfRule::ArrayIndex { found: array.index, reason });
        let results = [name, check_no_elements(record), check_no_flag(record), size, element, index];
        self.report_first(id, record, results);
    }
}
