//! A small kernel for load plans, with some types, functions and symbols that the committed objects use.

use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder},
};
use core_relo_loader::target::KernelBtf;
use std::sync::{Arc, OnceLock};

/// The configuration of the kernel.
pub const CONFIG: &str =
    "CONFIG_HZ=250\nCONFIG_BPF_SYSCALL=y\nCONFIG_MODULES=m\nCONFIG_DEFAULT_HOSTNAME=\"(none)\"\n";
/// The symbols of the kernel, in the format of /proc/kallsyms.
pub const SYMBOLS: &str = "ffffffff81000000 T _text\nffffffff81000010 d bpf_prog_fops\nffffffff81000020 D jiffies\n\
                           ffffffff81000030 d static_variable.llvm.123\nffffffff81000040 D runqueues\n";

/// Returns the types of the kernel.
pub fn types() -> Arc<KernelBtf> {
    static TYPES: OnceLock<Arc<KernelBtf>> = OnceLock::new();
    Arc::clone(TYPES.get_or_init(|| Arc::new(KernelBtf::from_btf(btf(), []))))
}

/// Returns the BTF of the kernel.
pub fn btf() -> Arc<Btf<'static>> {
    static BTF: OnceLock<Arc<Btf<'static>>> = OnceLock::new();
    let parse = || Arc::new(Btf::parse(bytes()).expect("the builder writes valid BTF"));
    Arc::clone(BTF.get_or_init(parse))
}

/// Returns the bytes of the BTF.
fn bytes() -> Vec<u8> {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let long = b.int("long unsigned int", 8, 0);
    let char = b.int("char", 1, Builder::CHAR);
    let name = b.array(char, int, 16);
    let task = b.structure(
        "task_struct",
        64,
        &[("pid", int, 0), ("tgid", int, 32), ("flags", long, 64), ("comm", name, 128)],
    );
    let task = b.pointer(task);
    let regs = b.structure("pt_regs", 168, &[("di", long, 896), ("ip", long, 1024)]);
    b.typedef("bpf_user_pt_regs_t", regs);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_HASH", 1), ("BPF_MAP_TYPE_ARENA", 33)]);
    let helpers = [
        ("BPF_FUNC_unspec", 0),
        ("BPF_FUNC_map_lookup_elem", 1),
        ("BPF_FUNC_ktime_get_ns", 5),
        ("BPF_FUNC_trace_printk", 6),
    ];
    b.enumeration("bpf_func_id", 4, &helpers);
    let program_types = [
        ("BPF_PROG_TYPE_KPROBE", 2),
        ("BPF_PROG_TYPE_SCHED_CLS", 3),
        ("BPF_PROG_TYPE_TRACEPOINT", 5),
        ("BPF_PROG_TYPE_XDP", 6),
        ("BPF_PROG_TYPE_TRACING", 26),
    ];
    b.enumeration("bpf_prog_type", 4, &program_types);
    b.enumeration("bpf_attach_type", 4, &[("BPF_TRACE_RAW_TP", 23), ("BPF_TRACE_FENTRY", 24)]);
    let proto = b.func_proto(int, &[("task", task)]);
    for function in
        ["bpf_task_acquire", "bpf_lsm_file_open", "bpf_iter_task", "do_unlinkat", "tcp_v4_connect"]
    {
        b.func(function, proto, 1);
    }
    let nothing = b.func_proto(TypeId::VOID, &[]);
    for function in ["bpf_rcu_read_lock", "bpf_rcu_read_unlock", "bpf_fentry_test1"] {
        b.func(function, nothing, 1);
    }
    let pointer = b.pointer(proto);
    b.typedef("btf_trace_sched_process_exec", pointer);
    b.typedef("btf_trace_sys_enter", pointer);
    let ops = b.structure(
        "tcp_congestion_ops",
        64,
        &[("ssthresh", pointer, 0), ("undo_cwnd", pointer, 64), ("flags", int, 128), ("name", name, 160)],
    );
    let state = b.structure("bpf_struct_ops_common_value", 8, &[("refcnt", int, 0)]);
    b.structure("bpf_struct_ops_tcp_congestion_ops", 128, &[("common", state, 0), ("data", ops, 512)]);
    let variable = b.var("bpf_prog_active", int, 1);
    b.datasec(".data..percpu", 4, &[(variable, 0, 4)]);
    b.finish()
}
