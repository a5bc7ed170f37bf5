//! Signatures of programs (Linux 6.18). `tests/signing/README.md` describes the keys, certificates and
//! signatures.

use super::harness::{Census, Need, live};
use core_relo::Endian;
use core_relo_loader::{
    Errno,
    features::{Feature, ProbeResult, Prober},
    inventory,
    load::{
        Kernel as _, Keyring, LoadError, ProgLoad, ProgSignature, RunningKernel, SignatureRefusal, TestRun,
        execute_signed_loader_program,
    },
    loader_program::LoaderFile,
};
use core_relo_test_support::skip;
use std::{io, os::fd::OwnedFd, ptr};

/// `r0 = 0; exit`, little-endian.
const RETURN_0: &[u8] = include_bytes!("../../signing/return_0.bin");

/// The loader program of `bpf-progs/live/syscall.bpf.c`, signed with the RSA key by `core-relo prog sign`.
const LOADER: &[u8] = include_bytes!("../../signing/syscall.loader");

/// A certificate, and the signatures of [`RETURN_0`] with its key.
struct Signer {
    name: &'static str,
    certificate: &'static [u8],
    signatures: &'static [&'static [u8]],
}

const RSA: Signer = Signer {
    name: "RSA",
    certificate: include_bytes!("../../signing/rsa.der"),
    signatures: &[
        include_bytes!("../../signing/rsa.p7s"),
        include_bytes!("../../signing/rsa-sha384.p7s"),
        include_bytes!("../../signing/rsa-sha512.p7s"),
    ],
};
const P256: Signer = Signer {
    name: "P-256",
    certificate: include_bytes!("../../signing/p256.der"),
    signatures: &[include_bytes!("../../signing/p256.p7s")],
};
const P384: Signer = Signer {
    name: "P-384",
    certificate: include_bytes!("../../signing/p384.der"),
    signatures: &[include_bytes!("../../signing/p384.p7s")],
};

/// Gives this thread an empty session keyring of its own.
pub fn join_session_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: i32 = 1;
    // SAFETY: without a name, the call reads no memory.
    let done = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, ptr::null::<libc::c_char>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Adds a certificate to the session keyring. Returns the serial number of the key.
pub fn add_certificate(der: &[u8]) -> io::Result<i64> {
    let description = ptr::null::<libc::c_char>();
    let session = Keyring::Session.id();
    // SAFETY: the type ends with NUL, the kernel makes up a description, and the payload has the given
    // length.
    let serial = unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"asymmetric".as_ptr(),
            description,
            der.as_ptr(),
            der.len(),
            session,
        )
    };
    if serial < 0 { Err(io::Error::last_os_error()) } else { Ok(serial) }
}

/// Loads a socket filter with a signature. Returns the reason if the kernel refuses the signature.
fn load(insns: &[u8], pkcs7: &[u8], keyring: Keyring) -> Result<OwnedFd, (Errno, Option<SignatureRefusal>)> {
    let signature = ProgSignature { pkcs7, keyring };
    let load = ProgLoad {
        prog_type: 1,
        name: b"signed",
        insns,
        license: b"GPL",
        signature: Some(signature),
        ..ProgLoad::default()
    };
    RunningKernel
        .prog_load(&load, &mut [])
        .map_err(|errno| (errno, SignatureRefusal::explain(errno, &signature)))
}

fn refusal(insns: &[u8], pkcs7: &[u8], keyring: Keyring) -> SignatureRefusal {
    match load(insns, pkcs7, keyring) {
        Ok(_) => panic!("the kernel accepts the signature"),
        Err((errno, None)) => panic!("{errno} without an explanation"),
        Err((errno, Some(refusal))) => {
            println!("{errno}: {refusal}");
            refusal
        }
    }
}

/// Returns whether the kernel checks signatures.
pub fn checks_signatures() -> ProbeResult {
    Prober::new().feature(Feature::ProgSignature)
}

/// The requirements of tests with a keyring, besides [`can_verify`].
pub const SIGNATURES: [Need; 3] = [Need::Root, Need::Bpf, Need::Kernel(6, 18)];

/// Returns whether the kernel verifies the signatures of these tests. Gives this thread a session keyring.
pub fn can_verify(name: &str) -> bool {
    let probed = checks_signatures().unwrap();
    let reason = if Endian::native() == Endian::Big {
        "the signed instructions are little-endian".to_owned()
    } else if !probed.is_supported {
        probed.evidence
    } else if let Err(error) = join_session_keyring() {
        format!("no session keyring: {error}")
    } else {
        return true;
    };
    skip(name, &reason);
    false
}

#[test]
fn a_kernel_without_signatures_is_named() {
    let name = "signatures::a_kernel_without_signatures_is_named";
    let Some(_live) = live(name, &[Need::Root, Need::Bpf]) else { return };
    if checks_signatures().unwrap().is_supported {
        return skip(name, "this kernel checks signatures");
    }
    for keyring in [Keyring::Builtin, Keyring::Session, Keyring::Serial(i32::MAX)] {
        let found = refusal(RETURN_0, RSA.signatures[0], keyring);
        let is_old = Need::Kernel(6, 18).is_met().is_err();
        assert_eq!(found, if is_old { SignatureRefusal::OldKernel } else { SignatureRefusal::NotBuilt });
    }
    // Without a signature, the kernel would load the program unsigned.
    assert_eq!(load(RETURN_0, &[], Keyring::Session).unwrap_err().0, Errno(libc::EBADMSG));
}

#[test]
fn the_kernel_loads_what_a_key_signed_and_names_what_does_not_fit() {
    let name = "signatures::the_kernel_loads_what_a_key_signed_and_names_what_does_not_fit";
    let Some(_live) = live(name, &SIGNATURES) else { return };
    if !can_verify(name) {
        return;
    }
    let session = Keyring::Session;
    // No key yet.
    assert_eq!(refusal(RETURN_0, RSA.signatures[0], session), SignatureRefusal::NoKey { keyring: session });
    let mut count = 0;
    for signer in [RSA, P256, P384] {
        if let Err(error) = add_certificate(signer.certificate) {
            skip(name, &format!("{}: {error}", signer.name));
            continue;
        }
        for signature in signer.signatures {
            if let Err((errno, reason)) = load(RETURN_0, signature, session) {
                // Debian has ECDSA and some hashes as modules, which the guest lacks.
                assert_eq!(reason, Some(SignatureRefusal::Algorithm), "{}: {errno}", signer.name);
                skip(name, &format!("{}: {errno}", signer.name));
                continue;
            }
            count += 1;
            for bit in 0..RETURN_0.len() * 8 {
                let mut changed = RETURN_0.to_vec();
                changed[bit / 8] ^= 1 << (bit % 8);
                let (errno, reason) = load(&changed, signature, session).unwrap_err();
                assert_eq!((errno, reason), (Errno(libc::EKEYREJECTED), Some(SignatureRefusal::Mismatch)));
            }
        }
    }
    assert!(count > 0, "no key signs programs");
    let signature = RSA.signatures[0];
    for keyring in [Keyring::Builtin, Keyring::Secondary, Keyring::Platform] {
        assert_eq!(refusal(RETURN_0, signature, keyring), SignatureRefusal::NoKey { keyring });
    }
    let keyring = Keyring::Serial(i32::MAX);
    assert_eq!(refusal(RETURN_0, signature, keyring), SignatureRefusal::NoKeyring { keyring });
    for malformed in [&signature[..signature.len() - 1], RETURN_0, &[]] {
        assert_eq!(refusal(RETURN_0, malformed, session), SignatureRefusal::Malformed);
    }
    // The limit came with 7.0.
    let large = refusal(RETURN_0, &[0x30; 9000], session);
    assert!(matches!(large, SignatureRefusal::TooLarge { found: 9000 } | SignatureRefusal::Malformed));
    // The verifier refuses a signed program as any other.
    drop(load(RETURN_0, signature, session).unwrap());
}

/// Returns the loader file with one bit of a part changed.
fn with_changed_bit(part: &[u8]) -> LoaderFile {
    let at = LOADER.windows(part.len()).position(|window| window == part).unwrap();
    let mut changed = LOADER.to_vec();
    changed[at + part.len() - 1] ^= 1;
    LoaderFile::read(&changed).unwrap()
}

#[test]
fn a_signed_loader_program_loads_only_the_object_that_was_signed() {
    let name = "signatures::a_signed_loader_program_loads_only_the_object_that_was_signed";
    let Some(_live) = live(name, &SIGNATURES) else { return };
    if !can_verify(name) {
        return;
    }
    let before = Census::take();
    let keyring = Keyring::Session;
    let refusal = |file: &LoaderFile| match execute_signed_loader_program(file, keyring).unwrap_err() {
        LoadError::Signature { refusal, .. } => refusal,
        error => panic!("{error}"),
    };
    let file = LoaderFile::read(LOADER).unwrap();
    assert_eq!(refusal(&file), SignatureRefusal::NoKey { keyring });
    add_certificate(RSA.certificate).unwrap();
    assert_eq!(refusal(&with_changed_bit(file.instructions())), SignatureRefusal::Mismatch);
    // Linux 7.3 verifies the data as well. For older kernels the signature fits the instructions, which
    // refuse the data.
    match execute_signed_loader_program(&with_changed_bit(file.data()), keyring).unwrap_err() {
        LoadError::Signature { refusal, .. } => {
            assert_eq!((refusal, Need::Kernel(7, 3).is_met()), (SignatureRefusal::Mismatch, Ok(())));
        }
        error => assert!(error.to_string().contains("wrong hash"), "{error}"),
    }
    let mut unsigned = file.clone();
    unsigned.remove_signatures();
    let error = execute_signed_loader_program(&unsigned, keyring).unwrap_err();
    assert!(matches!(error, LoadError::Unsigned { .. }), "{error}");
    assert_eq!(before.left_behind(), [""; 0]);

    let loaded = execute_signed_loader_program(&file, keyring).unwrap();
    let context = [2, 3, 0].map(|n| Endian::native().u64_bytes(n)).concat();
    let mut after = [0; 24];
    let mut run = TestRun { ctx_in: &context, ctx_out: &mut after, ..TestRun::default() };
    inventory::test_run(loaded.program("add").unwrap(), &mut run).unwrap();
    assert_eq!(after[16..], Endian::native().u64_bytes(5));
}
