//! Guests: other kernels, booted in QEMU, in which this executable loads objects.

pub(crate) mod boot_image;
pub(crate) mod boot_slots;
pub(crate) mod limits;
pub(crate) mod load;
