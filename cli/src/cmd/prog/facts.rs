//! `prog list` and `prog show`: the programs in the running kernel.

use crate::{
    cmd::kernel_facts::{HoldersAndTypes, KernelFacts},
    describe::{known_name, short_type_name},
    error::BadInput,
    kernel_objects::{
        text,
        time::{format_date, unix_seconds},
    },
    text::{
        printer::Printer,
        table::{Cell, left_cell, right_cell},
    },
};
use core_relo_loader::{
    inventory::{self, FdInfo, InfoError, ObjectKind, Process, ProgramInfo, full_program_name},
    object::ProgramType,
};
use serde::Serialize;
use std::{io, os::fd::OwnedFd};

/// The size of an instruction slot, in bytes.
const INSN_BYTES: u32 = 8;

/// The facts that `prog list` and `prog show` print. Their serialization is the JSON line.
#[derive(Debug, Serialize)]
pub(super) struct ProgramFacts {
    id: u32,
    name: String,
    program_type: String,
    tag: String,
    gpl_compatible: bool,
    /// In seconds since 1970-01-01 UTC.
    loaded_at: Option<u64>,
    uid: u32,
    /// The number of translated instructions.
    insns: u32,
    bytes_xlated: u32,
    bytes_jited: u32,
    bytes_memlock: Option<u64>,
    verified_insns: u32,
    map_ids: Vec<u32>,
    btf_id: Option<u32>,
    attach_to: Option<AttachTarget>,
    ifindex: Option<u32>,
    run_cnt: u64,
    run_time_ns: u64,
    recursion_misses: u64,
    pinned: Vec<String>,
    #[serde(serialize_with = "text::serialize_processes")]
    pids: Vec<Process>,
}

/// The attach target of a program: the BTF type that the program was loaded for.
#[derive(Debug, Serialize)]
struct AttachTarget {
    /// The id of the BTF in the kernel.
    btf_id: u32,
    /// The id of the type in this BTF.
    type_id: u32,
    name: Option<String>,
}

impl KernelFacts for ProgramFacts {
    const KIND: ObjectKind = ObjectKind::Program;
    const COLUMNS: &'static [&'static str] = &["ID", "NAME", "TYPE", "INSNS", "MAPS", "LOADED", "HELD BY"];
    const NO_OBJECTS: &'static str = "no programs are loaded";
    type Context = HoldersAndTypes;

    fn read_context() -> Result<HoldersAndTypes, BadInput> {
        Ok(HoldersAndTypes::read())
    }

    fn read(
        fd: &OwnedFd,
        HoldersAndTypes { holders, btfs }: &mut HoldersAndTypes,
    ) -> Result<Self, InfoError> {
        let info = ProgramInfo::query(fd)?;
        let program_type = ProgramType::from_number(info.prog_type).map(ProgramType::name);
        Ok(Self {
            id: info.id,
            name: full_program_name(fd, &info),
            program_type: known_name(program_type, info.prog_type),
            tag: info.tag.iter().map(|b| format!("{b:02x}")).collect(),
            gpl_compatible: info.is_gpl_compatible(),
            loaded_at: unix_seconds(info.load_time),
            uid: info.created_by_uid,
            insns: info.xlated_prog_len / INSN_BYTES,
            bytes_xlated: info.xlated_prog_len,
            bytes_jited: info.jited_prog_len,
            bytes_memlock: FdInfo::read(fd).and_then(|info| info.get("memlock")),
            verified_insns: info.verified_insns,
            map_ids: inventory::program_map_ids(fd)?,
            btf_id: (info.btf_id != 0).then_some(info.btf_id),
            attach_to: (info.attach_btf_id != 0).then(|| AttachTarget {
                btf_id: info.attach_btf_obj_id,
                type_id: info.attach_btf_id,
                name: btfs.type_name(info.attach_btf_obj_id, info.attach_btf_id),
            }),
            ifindex: (info.ifindex != 0).then_some(info.ifindex),
            run_cnt: info.run_cnt,
            run_time_ns: info.run_time_ns,
            recursion_misses: info.recursion_misses,
            pinned: text::pins(holders.pins(ObjectKind::Program, info.id)),
            pids: holders.processes(ObjectKind::Program, info.id).to_vec(),
        })
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            right_cell(self.id),
            left_cell(&self.name),
            left_cell(short_type_name(&self.program_type)),
            right_cell(self.insns),
            left_cell(text::ids_cell(&self.map_ids)),
            left_cell(self.loaded_at.map_or_else(String::new, format_date)),
            left_cell(text::holders_cell(&self.pids, &self.pinned)),
        ]
    }

    fn write(&self, out: &mut Printer<'_>) -> io::Result<()> {
        text::title(out, self.id, &short_type_name(&self.program_type), &self.name)?;
        let license = if self.gpl_compatible { "GPL-compatible" } else { "not GPL-compatible" };
        text::field(out, "tag", format_args!("{}, {license}", self.tag))?;
        let loaded_at = self.loaded_at.map_or_else(|| "at an unknown time".to_owned(), format_date);
        text::field(out, "loaded", format_args!("{loaded_at} by uid {}", self.uid))?;
        let jited = match self.bytes_jited {
            0 => "not JIT-compiled".to_owned(),
            bytes => format!("{bytes} bytes of machine code"),
        };
        let memlock = self.bytes_memlock.map_or_else(String::new, |bytes| format!(", memlock {bytes} bytes"));
        text::field(
            out,
            "size",
            format_args!("{} instructions, {jited}{memlock}; {} verified", self.insns, self.verified_insns),
        )?;
        if !self.map_ids.is_empty() {
            text::field(out, "maps", text::ids_cell(&self.map_ids))?;
        }
        text::optional_field(out, "btf", self.btf_id)?;
        if let Some(target) = &self.attach_to {
            let name = target.name.as_deref().unwrap_or("?");
            text::field(
                out,
                "target",
                format_args!("{name} (type {} of BTF {})", target.type_id, target.btf_id),
            )?;
        }
        text::optional_field(out, "ifindex", self.ifindex)?;
        if self.run_cnt > 0 {
            let misses = self.recursion_misses;
            text::field(
                out,
                "ran",
                format_args!(
                    "{} times, {} ns in total, {misses} recursion misses",
                    self.run_cnt, self.run_time_ns
                ),
            )?;
        }
        text::holders(out, &self.pids, &self.pinned)
    }
}
