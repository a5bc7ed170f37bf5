//! Signed loads by the command: `gen loader --signable`, `prog sign`, `load --keyring`.
//! `tests/signing/README.md` describes the keys.

use super::{
    harness::{Bpffs, Census, CommandRun, Need, live, object, run_command},
    signatures::{SIGNATURES, add_certificate, can_verify, join_session_keyring},
};
use core_relo::Endian;
use core_relo_loader::{
    inventory,
    load::{Kernel as _, RunningKernel, TestRun},
    loader_program::{LoaderFile, LoaderSignatures},
};
use std::{env, fs, path::PathBuf, process};

const KEY: &[u8] = include_bytes!("../../signing/rsa.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../signing/rsa.der");
/// A certificate with the issuer and the serial number of [`CERTIFICATE`], and another key.
const IMPOSTOR: &[u8] = include_bytes!("../../signing/rsa-impostor.der");

/// A directory with the files of the test, and a bpffs for its pins.
struct Place {
    dir: PathBuf,
    bpffs: Bpffs,
    census: Census,
}

impl Place {
    /// Creates the directory with the object, the key and its certificate.
    fn new() -> Self {
        let bpffs = Bpffs::new();
        let dir = env::temp_dir().join(format!("core-relo-signed-loads-{}", process::id()));
        fs::create_dir(&dir).unwrap();
        let place = Self { dir, bpffs, census: Census::take() };
        place.write("syscall.bpf.o", &object("syscall"));
        place.write("key.pem", KEY);
        place.write("cert.der", CERTIFICATE);
        place
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.dir.join(name), bytes).unwrap();
    }

    fn run(&self, line: &str) -> CommandRun {
        run_command(&self.dir, line.split_ascii_whitespace())
    }

    /// Runs a command that succeeds.
    fn succeed(&self, line: &str) {
        let run = self.run(line);
        assert_eq!((run.exit, &*run.err), (Some(0), ""), "{line}: {run:?}");
    }

    /// Returns the command line that loads a file with its signature, and pins what was loaded.
    fn load_line(&self, file: &str) -> String {
        format!("load {file} --keyring session --pin {}/signed", self.bpffs.path().display())
    }

    /// Loads a file that the kernel refuses. The reason is one line, and the kernel holds nothing of the
    /// object.
    fn refuse(&self, file: &str, reason: &str) {
        let CommandRun { out, err, exit } = self.run(&self.load_line(file));
        println!("{out}");
        assert_eq!((exit, &*err, out.lines().count()), (Some(1), "", 1), "{file}: {out}");
        assert!(out.starts_with(&format!("refused  {file}: ")) && out.contains(reason), "{reason}: {out}");
        assert!(fs::read_dir(self.bpffs.path()).unwrap().next().is_none(), "pins are left");
        assert_eq!(self.census.left_behind(), [""; 0], "{file}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("{} stays behind: {error}", self.dir.display());
        }
    }
}

/// Returns a file with one bit of a part changed.
fn with_changed_bit(file: &[u8], part: &[u8]) -> Vec<u8> {
    let at = file.windows(part.len()).position(|window| window == part).unwrap();
    let mut changed = file.to_vec();
    changed[at + part.len() - 1] ^= 1;
    changed
}

#[test]
fn the_command_loads_what_a_key_signed_and_refuses_all_else_in_one_line() {
    let name = "signed_loads::the_command_loads_what_a_key_signed_and_refuses_all_else_in_one_line";
    let needs = [&SIGNATURES[..], &[Need::Command]].concat();
    let Some(_live) = live(name, &needs) else { return };
    if !can_verify(name) {
        return;
    }
    let place = Place::new();
    place.succeed("gen loader syscall.bpf.o --signable -o unsigned.loader");
    place.succeed("prog sign unsigned.loader -k key.pem -i cert.der -o signed.loader");
    let signed = fs::read(place.dir.join("signed.loader")).unwrap();
    let file = LoaderFile::read(&signed).unwrap();
    place.write("insns.loader", &with_changed_bit(&signed, file.instructions()));
    place.write("data.loader", &with_changed_bit(&signed, file.data()));
    let mut malformed = file.clone();
    let signature = || vec![0x30; 9];
    let signatures = LoaderSignatures { instructions: signature(), instructions_and_data: signature() };
    malformed.set_signatures(signatures).unwrap();
    place.write("malformed.loader", &malformed.write().unwrap());

    let no_key = "no key fits the signature: keyring `session` lacks the certificate";
    let mismatch = "the signature does not fit the instructions";
    place.refuse("signed.loader", no_key);
    add_certificate(IMPOSTOR).unwrap();
    place.refuse("signed.loader", mismatch);
    join_session_keyring().unwrap();
    place.refuse("signed.loader", no_key);
    add_certificate(CERTIFICATE).unwrap();
    place.refuse("insns.loader", mismatch);
    place.refuse("malformed.loader", "the signature is malformed");
    place.refuse("unsigned.loader", "the loader program has no signature");
    // Linux 7.3 verifies the data as well. For older kernels the signature fits the instructions, which
    // refuse the data.
    let verifies_data = Need::Kernel(7, 3).is_met().is_ok();
    place.refuse("data.loader", if verifies_data { mismatch } else { "has a wrong hash" });

    place.succeed(&place.load_line("signed.loader"));
    let program = RunningKernel.open_pin(&place.bpffs.path().join("signed/add")).unwrap();
    let context = [2, 3, 0].map(|n| Endian::native().u64_bytes(n)).concat();
    let mut after = [0; 24];
    let mut run = TestRun { ctx_in: &context, ctx_out: &mut after, ..TestRun::default() };
    inventory::test_run(&program, &mut run).unwrap();
    assert_eq!(after[16..], Endian::native().u64_bytes(5));
}
