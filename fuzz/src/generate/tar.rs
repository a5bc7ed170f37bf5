//! Generator of tar archives: members of all types, wrong sizes and checksums, several layers of compression.

use super::{below, corrupt, endian, one_in, types::types};
use arbitrary::{Arbitrary, Result, Unstructured};
use core_relo::btf::Builder;
use std::io::Write as _;

/// Types of members: file, link, symbolic link, directory, contiguous, GNU sparse, long name, long link, pax,
/// global pax.
const MEMBER_TYPES: [u8; 12] = [b'0', 0, b'1', b'2', b'5', b'7', b'S', b'L', b'K', b'x', b'g', b'V'];

const NAMES: [&str; 8] =
    ["5.10/vmlinux.btf", "a.btf", "./b", "../../etc/passwd", "/abs", "README.md", "vmlinuz", "m.ko.xz"];

const PAX: [&str; 8] =
    ["path", "size", "linkpath", "GNU.sparse.major", "GNU.sparse.realsize", "GNU.sparse.map", "comment", ""];

const BLOCK: usize = 512;

/// Generates an archive.
pub fn archive(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut tar = Vec::new();
    for _ in 0..below(u, 8)? {
        member(u, &mut tar)?;
    }
    tar.resize(tar.len() + 2 * BLOCK, 0);
    if one_in(u, 8)? {
        let end = below(u, tar.len())?;
        tar.truncate(end);
    }
    compressed(u, tar)
}

fn member(u: &mut Unstructured<'_>, tar: &mut Vec<u8>) -> Result<()> {
    let kind = *u.choose(&MEMBER_TYPES)?;
    let content = match kind {
        b'x' | b'g' => pax(u)?,
        b'L' | b'K' => vec![b'n'; *u.choose(&[10usize, 300, 5_000, 70_000])?],
        _ => content(u)?,
    };
    let mut header = [0u8; BLOCK];
    let name = u.choose(&NAMES)?.as_bytes();
    header[..name.len()].copy_from_slice(name);
    let size = match u8::arbitrary(u)? % 16 {
        15 => u64::arbitrary(u)?,
        14 => content.len() as u64 + 1,
        13 => 0,
        _ => content.len() as u64,
    };
    put_number(u, &mut header[124..136], size)?;
    header[156] = kind;
    header[257..265].copy_from_slice(*u.choose(&[b"ustar\x0000", b"ustar  \0", b"\0\0\0\0\0\0\0\0"])?);
    let mut extensions = Vec::new();
    if kind == b'S' {
        sparse(u, &mut header, &mut extensions)?;
    }
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = if one_in(u, 64)? { sum + 1 } else { sum };
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar.extend(header);
    tar.extend(extensions);
    tar.extend(&content);
    tar.resize(tar.len().next_multiple_of(BLOCK), 0);
    Ok(())
}

/// Writes a number in octal or base 256, or random bytes.
fn put_number(u: &mut Unstructured<'_>, field: &mut [u8], number: u64) -> Result<()> {
    if one_in(u, 64)? {
        return u.fill_buffer(field);
    }
    if number >= 1 << 33 || one_in(u, 16)? {
        let from = field.len() - 8;
        field.fill(0);
        field[from..].copy_from_slice(&number.to_be_bytes());
        field[0] = 0x80;
    } else {
        let text = format!("{number:0width$o}\0", width = field.len() - 1);
        field.copy_from_slice(text.as_bytes());
    }
    Ok(())
}

/// Writes the map of a sparse member into the header and into the following blocks.
fn sparse(u: &mut Unstructured<'_>, header: &mut [u8], extensions: &mut Vec<u8>) -> Result<()> {
    for slot in 0..below(u, 5)? {
        put_chunk(u, &mut header[386 + slot * 24..][..24])?;
    }
    let size = *u.choose(&[0u64, 1 << 10, 1 << 20, 1 << 40, u64::MAX >> 1])?;
    put_number(u, &mut header[483..495], size)?;
    let blocks = below(u, 4)?;
    header[482] = u8::from(blocks > 0);
    for number in 1..=blocks {
        let mut block = [0u8; BLOCK];
        for slot in 0..below(u, 22)? {
            put_chunk(u, &mut block[slot * 24..][..24])?;
        }
        block[504] = u8::from(number < blocks || one_in(u, 16)?);
        extensions.extend(block);
    }
    Ok(())
}

fn put_chunk(u: &mut Unstructured<'_>, chunk: &mut [u8]) -> Result<()> {
    let (at, len) = chunk.split_at_mut(12);
    let offset = *u.choose(&[0u64, 512, 1 << 16, 1 << 32, 1 << 62])?;
    put_number(u, at, offset)?;
    let bytes = *u.choose(&[0u64, 1, 512, 1 << 16, 1 << 40])?;
    put_number(u, len, bytes)
}

fn pax(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut records = Vec::new();
    for _ in 0..below(u, 5)? {
        let key = u.choose(&PAX)?;
        let value = match u8::arbitrary(u)? % 4 {
            0 => u.choose(&NAMES)?.to_string(),
            1 => u64::arbitrary(u)?.to_string(),
            2 => "0".to_owned(),
            _ => "x".repeat(*u.choose(&[0, 200, 70_000])?),
        };
        let rest = format!(" {key}={value}\n");
        let digits = (rest.len() + 2).to_string().len();
        let len = if one_in(u, 16)? { usize::from(u8::arbitrary(u)?) } else { rest.len() + digits };
        records.extend(format!("{len}{rest}").into_bytes());
    }
    Ok(records)
}

/// Generates the content of a member: kernel BTF, zeros, a kernel image, or random bytes.
fn content(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let content = match u8::arbitrary(u)? % 8 {
        0..=3 => {
            let endian = endian(u)?;
            types(u, Builder::new(endian))?.builder.finish()
        }
        4 => vec![0; *u.choose(&[0usize, 100, 100_000, 2 << 20])?],
        5 => [&b"MZ\0\0zimg\x40\0\0\0\xff\0\0\0"[..], &[0; 48], &compressed(u, b"kernel".to_vec())?].concat(),
        _ => {
            let len = below(u, 200)?.min(u.len());
            u.bytes(len)?.to_vec()
        }
    };
    compressed(u, content)
}

/// Compresses bytes up to six times.
fn compressed(u: &mut Unstructured<'_>, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let times = if one_in(u, 3)? { below(u, 7)? } else { 0 };
    for _ in 0..times {
        bytes = compress(u8::arbitrary(u)?, &bytes);
        if one_in(u, 4)? {
            // Two concatenated streams.
            bytes = [&*bytes, &bytes].concat();
        }
        if one_in(u, 16)? {
            corrupt(u, &mut bytes)?;
        }
    }
    Ok(bytes)
}

/// Compresses bytes in one of five formats.
fn compress(format: u8, bytes: &[u8]) -> Vec<u8> {
    const INFALLIBLE: &str = "a Vec takes all bytes";
    match format % 5 {
        0 => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).expect(INFALLIBLE);
            out.finish().expect(INFALLIBLE)
        }
        1 => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
        2 => {
            let mut out = lz4_flex::frame::FrameEncoder::new(Vec::new());
            out.write_all(bytes).expect(INFALLIBLE);
            out.finish().expect(INFALLIBLE)
        }
        3 => {
            let block = lz4_flex::block::compress(bytes);
            [&b"\x02\x21\x4c\x18"[..], &(block.len() as u32).to_le_bytes(), &block].concat()
        }
        _ => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(bytes).expect(INFALLIBLE);
            out.finish().expect(INFALLIBLE)
        }
    }
}
