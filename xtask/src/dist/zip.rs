//! Archives in the format zip (PKWARE's APPNOTE), without extensions.

use std::io::Write as _;

use super::files::Files;
use super::release::Date;
use crate::system::{Failure, Outcome};

/// The version that is needed to unpack: 2.0, deflate.
const VERSION: u16 = 20;

/// The system of the permissions: Unix.
const UNIX: u16 = 3 << 8;

/// The method: deflate.
const DEFLATE: u16 = 8;

/// The type of a regular file, beside its permissions.
const REGULAR_FILE: u32 = 0o100_000;

/// Returns an archive of files.
pub fn zip(files: &Files, time: u64) -> Outcome<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    let mut count = 0_u16;
    for (path, file) in files.iter() {
        let packed = deflate(&file.data)?;
        let mut sum = flate2::Crc::new();
        sum.update(&file.data);
        let common = Fields::default()
            .u16(VERSION)
            .u16(0)
            .u16(DEFLATE)
            .u32(dos_time(time)?)
            .u32(sum.sum())
            .u32(size(packed.len())?)
            .u32(size(file.data.len())?)
            .u16(u16::try_from(path.len()).map_err(too_large)?)
            .u16(0)
            .0;
        let entry = Fields::default().bytes(b"PK\x01\x02").u16(UNIX | VERSION).bytes(&common);
        // Comment, disk, internal and external attributes, place.
        let entry = entry.u16(0).u16(0).u16(0).u32((REGULAR_FILE | file.permissions()) << 16);
        directory.extend(entry.u32(size(archive.len())?).bytes(path.as_bytes()).0);
        let local = Fields::default().bytes(b"PK\x03\x04").bytes(&common).bytes(path.as_bytes());
        archive.extend(local.bytes(&packed).0);
        count += 1;
    }
    let end = Fields::default().bytes(b"PK\x05\x06").u16(0).u16(0).u16(count).u16(count);
    let end = end.u32(size(directory.len())?).u32(size(archive.len())?).u16(0).0;
    Ok([archive, directory, end].concat())
}

fn deflate(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let done = packed.write_all(bytes).and_then(|()| packed.finish());
    done.map_err(|error| format!("deflate: {error}").into())
}

/// Returns a time in the format of MS-DOS: the time of the day in the low half, the date in the high half.
fn dos_time(time: u64) -> Outcome<u32> {
    let Date { year, month, day, seconds } = Date::of(time);
    let years = year.checked_sub(1980).ok_or("a time before 1980, expected a later one")?;
    let date = (years << 9) | (month << 5) | day;
    let time = ((seconds / 3600) << 11) | ((seconds / 60 % 60) << 5) | (seconds % 60 / 2);
    u32::try_from((date << 16) | time).map_err(too_large)
}

fn size(bytes: usize) -> Outcome<u32> {
    u32::try_from(bytes).map_err(too_large)
}

fn too_large(error: std::num::TryFromIntError) -> Failure {
    Failure::Failed(format!("zip: {error}"))
}

/// Fields in little-endian byte order.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }
}
