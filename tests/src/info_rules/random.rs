//! Random programs with records that are nearly right.

use super::{CONTEXT, EXIT, InfoCase, PACKET_LOAD, Records, TAIL_CALL, ZERO, string_bytes, types};
use core_relo::{
    TypeId,
    insn::{Insn, LD_IMM64},
};
use fastrand::Rng;

/// A generator of programs.
#[derive(Debug)]
pub struct RandomInfo {
    random: Rng,
}

impl RandomInfo {
    /// Creates the generator.
    pub fn new(random: Rng) -> Self {
        Self { random }
    }

    /// Returns the next program.
    pub fn next_case(&mut self) -> InfoCase {
        let returned = if self.random.bool() { TypeId::VOID } else { TypeId(1) };
        let (btf, ids) = types(|_| returned);
        let function_count = self.random.usize(1..4);
        let mut insns = Vec::new();
        let mut functions = Vec::new();
        for function in 0..function_count {
            functions.push(u32::try_from(insns.len()).unwrap());
            insns.push(CONTEXT);
            self.add_body(&mut insns, function > 0);
            if function == 0 {
                insns.extend(vec![Insn { code: 0x85, src: 1, ..Insn::default() }; function_count - 1]);
            }
            insns.extend([ZERO, EXIT]);
        }
        let calls = (0..).zip(&mut insns).filter(|(_, insn)| insn.code == 0x85 && insn.src == 1);
        for ((at, call), start) in calls.zip(&functions[1..]) {
            call.imm = i32::try_from(*start).unwrap() - at - 1;
        }
        let types = [ids.main, ids.number, ids.special];
        let mut func_info: Vec<Vec<u32>> =
            functions.iter().map(|start| vec![*start, types[self.random.usize(..3)]]).collect();
        let mut line_info: Vec<Vec<u32>> = (0..)
            .zip(&insns)
            .filter(|(at, insn)| functions.contains(at) || (insn.code != 0 && self.random.bool()))
            .map(|(at, _)| vec![at, 0, 0, at << 10])
            .collect();
        let end = string_bytes(&btf);
        match self.random.u8(..8) {
            0 => func_info.clear(),
            1 => line_info.clear(),
            2 => self.damage(&mut func_info, &[0, 1, 2, 5, 99]),
            3 => self.damage(&mut line_info, &[0, 1, 2, 5, end - 1, end, u32::MAX]),
            4 => {
                self.damage(&mut func_info, &[0, 1, 4, u32::MAX]);
                self.damage(&mut line_info, &[0, 3, end]);
            }
            _ => {}
        }
        let record_bytes = |records: &[Vec<u32>], known: usize| {
            let words = records.iter().map(Vec::len).max().unwrap_or(known);
            u32::try_from(words * 4).unwrap()
        };
        InfoCase {
            name: "random",
            func_info: Records { record_bytes: record_bytes(&func_info, 2), words: func_info },
            line_info: Records { record_bytes: record_bytes(&line_info, 4), words: line_info },
            btf,
            insns,
            functions,
            message: None,
        }
    }

    /// Adds instructions to a function. Only called functions have loads of packet data and tail calls, in
    /// dead code.
    fn add_body(&mut self, insns: &mut Vec<Insn>, is_called: bool) {
        for _ in 0..self.random.usize(..3) {
            match self.random.u8(..4) {
                0 => {
                    insns.extend([
                        Insn { code: LD_IMM64, dst: 2, imm: 7, ..Insn::default() },
                        Insn::default(),
                    ]);
                }
                1 if is_called => insns.extend([ZERO, Insn { code: 0x15, off: 1, ..ZERO }, TAIL_CALL]),
                2 if is_called => insns.push(PACKET_LOAD),
                _ => insns.push(ZERO),
            }
        }
    }

    /// Changes some records.
    fn damage(&mut self, records: &mut Vec<Vec<u32>>, values: &[u32]) {
        for _ in 0..self.random.usize(1..3) {
            let Some(last) = records.len().checked_sub(1) else { return };
            let at = self.random.usize(..=last);
            match self.random.u8(..6) {
                0 => _ = records.remove(at),
                1 => records.insert(at, records[at].clone()),
                2 => records.swap(at, self.random.usize(..=last)),
                3 => records[at].push(self.random.u32(..2)),
                _ => {
                    let word = self.random.usize(..records[at].len());
                    records[at][word] = values[self.random.usize(..values.len())];
                }
            }
        }
    }
}
