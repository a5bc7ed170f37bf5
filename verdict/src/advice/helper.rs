//! Advice on missing helpers.

use super::{
    c_line::CLine,
    fix::{Fix, FixPlace},
    line_guard::LineGuard,
};
use crate::{
    judge::{KernelAnswers, Reason},
    kernel::{HelperCall, answer_helper_call},
};
use core_relo::insn::Helper;

/// Helpers and older helpers with the same arguments and nearly the same result.
const OLDER_HELPERS: [(Helper, Helper, &str); 4] = [
    (
        Helper::KTIME_GET_BOOT_NS,
        Helper::KTIME_GET_NS,
        "it does not count the time that the system is suspended",
    ),
    (Helper::KTIME_GET_COARSE_NS, Helper::KTIME_GET_NS, "it is more precise, and slower"),
    (Helper::SEND_SIGNAL_THREAD, Helper::SEND_SIGNAL, "any thread of the process may receive the signal"),
    (
        Helper::COPY_FROM_USER,
        Helper::PROBE_READ_USER,
        "it fails instead of waiting for a page that is not in memory",
    ),
];

/// Helpers that other code replaces, but not a call with the same arguments.
const REPLACEMENTS: [(Helper, &str); 9] = [
    (
        Helper::RINGBUF_OUTPUT,
        "older kernels have bpf_perf_event_output() with a map of type BPF_MAP_TYPE_PERF_EVENT_ARRAY",
    ),
    (
        Helper::RINGBUF_RESERVE,
        "older kernels have bpf_perf_event_output() with a map of type BPF_MAP_TYPE_PERF_EVENT_ARRAY",
    ),
    (Helper::TASK_STORAGE_GET, "older kernels have hash maps with the thread id as key"),
    (
        Helper::GET_CURRENT_TASK_BTF,
        "older kernels have bpf_get_current_task(); read its members with BPF_CORE_READ()",
    ),
    (Helper::SNPRINTF, "older kernels have bpf_trace_printk() and bpf_seq_printf(); or format in user space"),
    (Helper::TRACE_VPRINTK, "older kernels have bpf_trace_printk() with at most three values"),
    (Helper::LOOP, "older kernels have `for` loops with a constant bound"),
    (Helper::STRNCMP, "older kernels have __builtin_memcmp() for a constant length"),
    (
        Helper::XDP_LOAD_BYTES,
        "older kernels have direct access to the packet: compare with data_end, then read",
    ),
];

/// Returns the fixes of a call of a missing helper.
pub(super) fn fixes(answers: &KernelAnswers<'_, '_>, call: HelperCall, reason: &Reason) -> Vec<Fix> {
    let helper = call.helper;
    let Some(name) = helper.name() else {
        return vec![Fix::without_code(format!(
            "helper {} has no known name: guard the call, or leave out the program",
            helper.0
        ))];
    };
    let older = OLDER_HELPERS.iter().find(|(newer, older, _)| {
        *newer == call.helper
            && answer_helper_call(&answers.facts, HelperCall { helper: *older, ..call }).is_present()
    });
    let line = reason.source.as_ref().and_then(|source| CLine::new(&source.text));
    let called = line.and_then(|line| Some((line, line.find_call(&format!("bpf_{name}"))?)));
    if answers.facts.lockdown_of_helper(helper).is_some() {
        // A condition on the kernel's enum is true here, too.
        return vec![Fix::without_code("boot the machine with lockdown=none, or leave out the program")];
    }
    if answers.facts.helper(helper).is_present() {
        // A condition on the kernel's enum is true here.
        let fix = older_fix(name, older, called.as_ref()).unwrap_or_else(|| {
            Fix::without_code("the kernel has the helper, but not for programs of this type: move the call to a program of another type, or leave out the program")
        });
        return vec![fix.with_source(reason.source.as_ref())];
    }
    let condition = condition(name);
    let source = reason.source.as_ref();
    let mut fixes = Vec::new();
    if let (Some((line, call)), Some((_, older, difference))) = (&called, older)
        && let (Some(older), Some(original)) = (older.name(), line.get(&call.range))
    {
        let either = format!("({condition} ? {original} : bpf_{older}({}))", call.arguments);
        let text = format!("call bpf_{older}() where the kernel lacks bpf_{name}(): {difference}");
        fixes.extend(line.replace(&call.range, &either).map(|code| Fix::c(FixPlace::Line, text, code)));
    }
    fixes.push(guard_fix(name, &condition, line));
    let replacement = REPLACEMENTS.iter().find(|(newer, _)| *newer == call.helper);
    fixes.extend(replacement.map(|(_, text)| Fix::without_code(*text)));
    fixes.into_iter().map(|fix| fix.with_source(source)).collect()
}

fn older_fix(
    name: &str,
    older: Option<&(Helper, Helper, &str)>,
    called: Option<&(CLine<'_>, super::c_line::Call<'_>)>,
) -> Option<Fix> {
    let ((_, older, difference), (line, call)) = (older?, called?);
    let older = older.name()?;
    let code = line.replace(&call.range, &format!("bpf_{older}({})", call.arguments))?;
    Some(Fix::c(FixPlace::Line, format!("call bpf_{older}() instead of bpf_{name}(): {difference}"), code))
}

/// Returns a fix that skips the call.
fn guard_fix(name: &str, condition: &str, line: Option<CLine<'_>>) -> Fix {
    let Some(guard) = line.and_then(|line| LineGuard::call(line, &format!("bpf_{name}"), condition)) else {
        let text = format!("put the call of bpf_{name}() into an `if` with this condition");
        return Fix::c(FixPlace::Condition, text, condition);
    };
    let text = if guard.skips_statement {
        format!("guard the statement, so that kernels without bpf_{name}() skip it")
    } else {
        format!("guard the call; its result is 0 where the kernel lacks bpf_{name}()")
    };
    Fix::c(FixPlace::Line, text, guard.code)
}

/// Returns the condition that the kernel has a helper.
pub(super) fn condition(name: &str) -> String {
    format!("bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_{name})")
}
